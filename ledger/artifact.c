/* artifact: rows of bytes, looked up and forgotten. */
#include "ledger/artifact.h"

#include "ledger/query.h"

static enum rc there(enum rc rc, bool *ret)
{
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret = rc == RC_OK;
    return RC_OK;
}

enum rc artifact_known(struct ledger *l, const struct sha256 *sha, const char *tier, bool *ret,
                       struct err *err)
{
    int64_t one;
    return there(query_i64(l, Q_ARTIFACT_KNOWN, &one, err, "ht", sha, tier), ret);
}

enum rc artifact_awaited(struct ledger *l, const struct sha256 *sha, bool *ret, struct err *err)
{
    int64_t one;
    return there(query_i64(l, Q_INBOX_NEEDS_SHA, &one, err, "h", sha), ret);
}

enum rc artifact_forget(struct ledger *l, int64_t *ret_n, struct err *err)
{
    TRY(query_run(l, Q_ARTIFACT_FORGET, err, ""));
    *ret_n = sqlite3_changes(l->db);
    return RC_OK;
}

enum rc artifact_each(struct ledger *l, artifact_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    struct sha256 sha;
    char tier[16];
    enum rc rc;
    TRY(query_open(l, Q_V_ARTIFACTS, &q, err, ""));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        col_sha(&q, 0, &sha);
        col_copy(&q, 1, tier, sizeof tier);
        TRY(fn(ctx, &sha, tier, col_i64(&q, 2), err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}
