/* committer: makes finished checks durable, and reads the sources that come next, while the request
 * loop goes on. One thread, with a ledger connection of its own; it is handed a batch, and handed
 * no other before that one was taken back.
 *
 *   committer_give(batch, ahead) ─▶ (its thread: one transaction, then one read) ─▶ committer_take
 *
 * Invariants
 *   1. Between give and take the looks of both lists belong to the thread: nobody else reads or
 *      writes them. The thread touches nothing else.
 *   2. A batch is committed whole or not at all (I3), under ledger.lock like any other (I13).
 *   3. committer_free waits for the batch that is under way: its end is known before the process
 *      goes on.
 *   4. What is read ahead is read after the batch was committed, so never older than that. One that
 *      could not be read is left to the loop, which meets the same error and tells it.
 * Owned by detect.c. */
#ifndef FRESHET_DETECTORS_COMMITTER_H
#define FRESHET_DETECTORS_COMMITTER_H

#include "detectors/look.h"

TAILQ_HEAD(looks, look);

struct committer;
MUST_CHECK enum rc committer_new(const char *dir, struct committer **ret, struct err *err);
void committer_free(struct committer **c);
/* The lists must stay where they are until they are taken back. Of a look that is read ahead
 * result.src_no says which source; `loaded` tells how it went. */
void committer_give(struct committer *c, const struct looks *batch, const struct looks *ahead,
                    int64_t now);
/* False: it is not done yet, and we were not to wait. Else *ret_rc and err say how it went. */
bool committer_take(struct committer *c, bool wait, enum rc *ret_rc, struct err *err);

#endif
