/* job_rollback: what a rollback brings back, and what must not come again since. */
#include "handler/job_internal.h"

#define QA_MEMORY_MAX (4u << 20) /* one stored validation report, parsed */

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

struct same_content {
    const struct job *j;
    bool found;
};

/* A report of an older inspector, or of another precision, has digests of another kind. */
static enum rc compare_content(void *ctx, struct str qa, struct err *err)
{
    struct same_content *x = ctx;
    CLEANUP(arena_release) struct arena a = {0};
    struct summary then;
    arena_init(&a, QA_MEMORY_MAX);
    enum rc rc = summary_read(&a, qa, x->j->source.precision_m, &then, err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    x->found = strcmp(then.content_digest, x->j->facts.qa.now.content_digest) == 0;
    return x->found ? RC_GONE : RC_OK;
}

enum rc job_is_blocked_content(const struct job *j, bool *ret, struct err *err)
{
    struct same_content x = {.j = j};
    if (*j->facts.qa.now.content_digest)
        TRY(rollback_blocked_qa(j->env->ledger, j->source.no, compare_content, &x, err));
    *ret = x.found;
    return RC_OK;
}
