/* work: one worker of the handler: claim, run, finish. freshet-handler and `freshet work` drive it.
 *
 * Invariants
 *   1. A worker owns a slot lock (run/worker-<k>.lock, flock) while it lives; leases of a slot
 *      whose lock is free belong to the dead and are reclaimed at once.
 *   2. Each candidate in hand (batch.h) is leased to this slot; when the worker ends in good order,
 *      none is.
 *   3. A run ends promoted or without effect (I5), by one transaction.
 */
#ifndef FRESHET_HANDLER_WORK_H
#define FRESHET_HANDLER_WORK_H

#include "core/instance.h"
#include "ledger/inbox.h"

/* RETRY is also the result of a run whose lease went to another worker (reason LEASE_LOST): this
 * one wrote nothing, the other one does it. */
enum work_result { WORK_PROMOTED, WORK_NOOP, WORK_FAILED, WORK_HELD, WORK_RETRY, WORK_DEAD };
const char *work_result_name(enum work_result r); /* "promoted" */
struct work_counts {
    int64_t done, noop, failed, held, dead, retry; /* done: promoted */
};
/* How the last run ended, for logs. */
struct work_end {
    enum work_result result;
    char source[SOURCE_LOG_NAME_MAX]; /* source_log_name */
    char run_id[37];
    const char *reason; /* a literal, "" when promoted */
    enum level level;
    int64_t version, seq, bytes, elapsed_ms; /* 0 where it does not apply */
};

/* Takes the lock of a slot whose worker is dead, or that nobody has; -1 when its worker lives. The
 * caller closes it. */
int work_lock_slot(const struct instance *inst, int slot);

struct worker;
MUST_CHECK enum rc worker_new(struct ledger *l, const struct instance *inst, struct worker **ret,
                              struct err *err);
void worker_free(struct worker **w);
/* Goes on for a moment with what is in hand, with the oldest rollback that was asked for, and with
 * the oldest candidates that are ready: fn (may be NULL) is called for each that ended.
 * RC_NOT_FOUND when there is nothing to do. */
typedef void work_end_fn(void *ctx, const struct work_end *end);
MUST_CHECK enum rc work_some(struct worker *w, work_end_fn *fn, void *ctx, struct err *err);
/* Ends what was begun, and gives back the rest: nothing is in hand then. */
MUST_CHECK enum rc work_finish(struct worker *w, work_end_fn *fn, void *ctx, struct err *err);
/* One alone: the oldest rollback that was asked for, else the oldest candidate that is ready;
 * RC_NOT_FOUND when there is none. */
MUST_CHECK enum rc work_one(struct worker *w, enum work_result *ret, struct err *err);
/* Runs this rollback; RC_NOT_FOUND when it is not open any more, or its source is busy. */
MUST_CHECK enum rc work_rollback(struct worker *w, const char *rollback_id, enum work_result *ret,
                                 struct err *err);
/* A run of a replay log again (handler/replay.h), for its event and under its id: with the bytes
 * that the log names, or to the end that it had. RC_CORRUPT when it ends otherwise. */
MUST_CHECK enum rc work_again(struct worker *w, const char *event, const char *run_id,
                              const struct sha256 *sha, struct err *err);
MUST_CHECK enum rc work_end_again(struct worker *w, const char *event, const char *run_id,
                                  enum inbox_end end, const char *reason, bool dead,
                                  struct err *err);
/* The run that ended last. */
const struct work_end *work_last(const struct worker *w);
/* From now on the worker gives a sign of life under this role, also during long transfers. */
void worker_heartbeat(struct worker *w, const char *role);
/* Gives the sign of life when it is due. */
MUST_CHECK enum rc worker_beat(struct worker *w, struct err *err);
/* Candidates of workers that died, or whose lease ran out, are made ready again. */
MUST_CHECK enum rc worker_reclaim(struct worker *w, int64_t *ret_n, struct err *err);
/* Until nothing is ready now (what waits for a retry stays). */
MUST_CHECK enum rc work_drain(struct worker *w, struct work_counts *ret, struct err *err);

#endif
