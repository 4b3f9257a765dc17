/* work: one worker of the handler: claim, run, finish. freshet-handler and `freshet work` drive it.
 *
 * Invariants
 *   1. A worker owns a slot lock (run/worker-<k>.lock, flock) while it lives; leases of a slot
 *      whose lock is free belong to the dead and are reclaimed at once.
 *   2. A run ends promoted or without effect (I5), by one transaction.
 */
#ifndef FRESHET_HANDLER_WORK_H
#define FRESHET_HANDLER_WORK_H

#include "core/instance.h"
#include "ledger/inbox.h"

enum work_result { WORK_PROMOTED, WORK_NOOP, WORK_FAILED, WORK_HELD, WORK_RETRY, WORK_DEAD };
struct work_counts {
    int64_t done, noop, failed, held, dead, retry; /* done: promoted */
};

struct worker;
MUST_CHECK enum rc worker_new(struct ledger *l, const struct instance *inst, struct worker **ret,
                              struct err *err);
void worker_free(struct worker **w);
/* Runs the oldest candidate that is ready; RC_NOT_FOUND when none is. */
MUST_CHECK enum rc work_one(struct worker *w, enum work_result *ret, struct err *err);
/* Until nothing is ready now (what waits for a retry stays). */
MUST_CHECK enum rc work_drain(struct worker *w, struct work_counts *ret, struct err *err);

#endif
