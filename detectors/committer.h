/* committer: makes finished checks durable while the request loop goes on. One thread, with a ledger
 * connection of its own; it is handed a batch, and handed no other before that one was taken back.
 *
 *   committer_give(batch) ─▶ (its thread: one transaction) ─▶ committer_take: how it ended
 *
 * Invariants
 *   1. Between give and take the looks of the batch belong to the thread: nobody else reads or writes
 *      their results. The thread touches nothing else.
 *   2. A batch is committed whole or not at all (I3), under ledger.lock like any other (I13).
 *   3. committer_free waits for the batch that is under way: its end is known before the process goes on.
 * Owned by detect.c. */
#ifndef FRESHET_DETECTORS_COMMITTER_H
#define FRESHET_DETECTORS_COMMITTER_H

#include "detectors/look.h"

TAILQ_HEAD(looks, look);

struct committer;
MUST_CHECK enum rc committer_new(const char *dir, struct committer **ret, struct err *err);
void committer_free(struct committer **c);
/* The list must stay where it is until it is taken back. */
void committer_give(struct committer *c, const struct looks *batch, int64_t now);
/* False: it is not done yet, and we were not to wait. Else *ret_rc and err say how it went. */
bool committer_take(struct committer *c, bool wait, enum rc *ret_rc, struct err *err);

#endif
