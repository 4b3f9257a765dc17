/* job_rollback: what a rollback brings back, and what must not come again since. */
#include "handler/job_internal.h"

bool job_is_rollback(const struct job *j)
{
    return strcmp(j->claim->cand.outcome, ROLLBACK_OUTCOME) == 0;
}

/* Its source had this job alone since it was claimed; but who died in between left a candidate that
 * may have waited. */
enum rc job_find_prior(struct job *j, const char **ret_refused, struct err *err)
{
    struct rollback_order *b = &j->back;
    const struct head *h = &j->head;
    TRY(rollback_order(j->env->ledger, j->env->arena, j->claim->cand.no, b, err));
    if (b->plan.verdict != ROLLBACK_READY) {
        *ret_refused = "HEAD_MOVED_ON";
        return RC_OK;
    }
    bool put = b->version > 0;
    j->bytes =
        (struct bytes){.reason = "", .sha = put ? b->sha : h->sha, .size = put ? b->size : h->size};
    j->facts.qa.features = -1;
    j->facts.reviewer = b->by;
    j->facts.note = b->reason;
    return RC_OK;
}

enum rc job_is_blocked(const struct job *j, const struct sha256 *sha, bool *ret, struct err *err)
{
    return rollback_blocks(j->env->ledger, j->source.no, sha, ret, err);
}
