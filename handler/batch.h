/* batch: the candidates that a worker has in hand at once, from their claim to the commit that
 * ends them.
 *
 *   free --claim--> claimed --begin--> waits for its bytes --arrived--> decided --settle--> free
 *
 * Transfers run beside each other; files are inspected one after the other. What is decided then is
 * made durable together: all bytes by one wave of syncs, all ends by one group of transactions
 * (ledger.h), which also claims the next candidates.
 *
 * Invariants
 *   1. Each candidate has a lease, a fencing token and memory of its own, and its end is a
 *      transaction of its own: when one of a group is refused, the group is undone and each is
 *      tried alone.
 *   2. An end is told after its commit.
 *   3. A candidate whose workers died again and again is alone in hand: it may be what killed them.
 *   4. Who is decided waits for others BATCH_WAIT_MS and BATCH_DECIDE_MS, and for the inspection of
 *      one small file more (at most inspect_timeout_s); not for a transfer, and not for a
 *      large file.
 *   5. Memory: documents beyond BATCH_MEMORY are settled before more are made.
 * Called by work.
 */
#ifndef FRESHET_HANDLER_BATCH_H
#define FRESHET_HANDLER_BATCH_H

#include "handler/job.h"

#define BATCH_MAX 32 /* beyond it a change hardly gets cheaper, and a crash would repeat more */

struct batch;
/* lent: what the jobs get, but for memory. What it points to, and owner (of the leases), outlive
 * the batch. */
MUST_CHECK enum rc batch_new(const struct job_env *lent, const char *owner, struct batch **ret,
                             struct err *err);
/* What is in hand is dropped: give it back before, or whoever comes next takes it for a crash. */
void batch_free(struct batch **b);
size_t batch_count(const struct batch *b); /* in hand */

/* What every claim of now has, whoever makes it. */
struct job_claim batch_new_claim(const struct policy *p);
/* Up to `max` in hand; RC_NOT_FOUND when nothing was to be had. Own transaction. */
MUST_CHECK enum rc batch_claim(struct batch *b, size_t max, struct err *err);
/* The same for a rollback (rollback_claim), beside whatever is in hand. */
MUST_CHECK enum rc batch_claim_rollback(struct batch *b, const char *id, struct err *err);
/* Goes on for a moment: what has its bytes then ends, and fn is called for each, maybe for none.
 * Claims anew up to `refill` in hand by the same commit. */
typedef void batch_end_fn(void *ctx, const struct work_end *end);
MUST_CHECK enum rc batch_work(struct batch *b, size_t refill, batch_end_fn *fn, void *ctx,
                              struct err *err);
/* Signs of life: their leases last lease_s from now. */
MUST_CHECK enum rc batch_renew(struct batch *b, struct err *err);
/* Ready again, as if nobody had taken them: all, or those that were not begun. */
void batch_give_back(struct batch *b, bool begun_too);

#endif
