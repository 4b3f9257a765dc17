/* job: one run over one candidate.
 *
 *   gate --> bytes --> inspect, validate --> policy, stage --> documents --> promote
 *     |        |               |                   `--> hold (a person decides; it goes on here)
 *     `--------+---------------+--> end without effect: noop, failed or retry, with its evidence
 *
 *   gate --> gone --> documents --> promote    a deletion: the head becomes a tombstone, its bytes
 *              `--> hold                       stay in the store, and its delta tells how to return
 *
 *   gate --> back --> documents --> promote    a rollback: the bytes from before, or a tombstone
 *
 *   gate --> vintage                           a template: a source per year is opened, as a noop
 *
 * Invariants
 *   1. (I5) It ends by exactly one transaction: promote, promote_hold or inbox_finish. Until then
 *      it writes nothing to the ledger, so the ends of several runs can be one group
 *      of transactions.
 *   2. (I4) Bytes are durable in the store before that transaction begins.
 *   3. (I2, I10) Only the digest of the bytes, compared with the present head, decides whether
 *      there is a change; what the detector claimed does not.
 *   4. A listing (detector manifest) comes from the spool alone. When it is lost there the run
 *      fails as SPOOL_LOST, and the source is due at once with nothing remembered: the next check
 *      finds it again. Its entries become children in the transaction that promotes
 *      it (children.h).
 *   5. Bytes are never asked for with conditions: who comes here has news of a change, and a 304
 *      would be one server's word against another's. The digest decides.
 *   6. Bytes that an operator took back, and a deletion, are not promoted again: ROLLED_BACK, until
 *      the block is lifted; nor are other bytes of the same content: ROLLED_BACK_CONTENT. What the
 *      detector remembers stays, so that it does not come every time.
 *   7. Bytes with the content of the head (reordered, reformatted, within precision) end as the
 *      no-op BYTE_ONLY: head and feed stay.
 *   8. An entry of a listing, or a source that was told to have changed, whose bytes could not be
 *      had by the last try is due again for the scheduler, and shown as failing, by the same
 *      transaction: its listing will not name it again.
 *   9. What the policy (gate.h) denies ends as a dead letter: it can be retried when policy or
 *      declaration are another. The decision is written by the transaction that acts on it.
 *  10. A run that settles what is head, by a promotion or by finding that it is what the upstream
 *      has, ends what was held before it (ledger/overtake.h), in its transaction.
 * Called by batch, and by work for replays.
 */
#ifndef FRESHET_HANDLER_JOB_H
#define FRESHET_HANDLER_JOB_H

#include "handler/bytes.h"
#include "handler/inspector.h"
#include "handler/work.h"
#include "ledger/policy.h"

typedef enum rc job_tick_fn(void *ctx, struct err *err);
/* What a worker lends to a job. */
struct job_env {
    struct ledger *ledger;
    const struct instance *inst;
    struct store *store;
    struct fetch **engine;
    struct inspector **inspector;
    const struct policy *policy;
    struct arena *arena;
    job_tick_fn *tick; /* after what may have taken long; NULL: nobody waits for a sign of life */
    void *tick_ctx;
    const struct sha256 *again; /* a replay: these bytes, from the store; NULL: spool or upstream */
};
struct job_claim {
    struct candidate cand;
    char run_id[37];
    bool resumed;
    int64_t at;
    struct run_tags tags;
};

/* One after the other:
 *   begin    the gate; bytes from the spool or a past version are taken, others are asked for
 *   (waits)  until the engine of env has brought them
 *   decide   inspects, judges, asks the policy, makes the documents: now it is known how the
 *            run ends
 *   stages   does it need its bytes in the store? Then *ret says where
 *   write    the transaction, or a part of a group (ledger.h), once the bytes are durable. Undone
 *            with its group it may be called again
 *   done     it is on disk: tells how it ended
 *   free     at any time; what was not written never was
 * The job is in env->arena. RC_CONFLICT: lease, head or declaration moved meanwhile. Other errors
 * are ours (disk, memory, ledger). After any of them job_give_up ends the run. */
struct job;
MUST_CHECK enum rc job_begin(const struct job_env *env, const struct job_claim *claim,
                             struct job **ret, struct err *err);
bool job_waits(const struct job *j);
int64_t job_size(const struct job *j); /* of the bytes so far */
MUST_CHECK enum rc job_decide(struct job *j, struct err *err);
bool job_stages(struct job *j, struct store_keep *ret);
MUST_CHECK enum rc job_write(struct job *j, struct err *err);
void job_done(struct job *j, struct work_end *ret);
void job_free(struct job **j);
/* All of it for one job that asks nobody: a replay. */
MUST_CHECK enum rc job_run(const struct job_env *env, const struct job_claim *claim,
                           struct work_end *ret, struct err *err);
/* Ends a run that met an error of ours: another try where the error may pass, else failed.
 * RC_CONFLICT when the lease was lost: then another worker has the candidate. */
MUST_CHECK enum rc job_give_up(const struct job_env *env, const struct job_claim *claim,
                               enum rc why, struct work_end *ret, struct err *err);
/* Ends a replayed run as the log says that it ended, without looking at bytes. max_attempts: below
 * the candidate's tries it is dead. */
MUST_CHECK enum rc job_end_as(const struct job_env *env, const struct job_claim *claim,
                              enum inbox_end end, const char *reason, int64_t max_attempts,
                              struct err *err);
/* Milliseconds until the next try after `attempts` of them: full jitter below 1 s * 2^n, at most an
 * hour; not before the upstream's Retry-After (-1: none), which counts up to a day. */
int64_t job_backoff(int64_t attempts, int64_t retry_after_ms);

#endif
