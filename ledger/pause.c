/* pause: see the header. */
#include "ledger/pause.h"

#include "ledger/query.h"

static enum rc put_all(struct ledger *l, const struct pause *all, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        TRY(query_run(l, Q_PAUSE_PUT, err, "ti", all[i].host, all[i].until));
    return RC_OK;
}

enum rc pause_put(struct ledger *l, const struct pause *all, size_t n, struct err *err)
{
    TRY(ledger_begin(l, err));
    return ledger_end(l, put_all(l, all, n, err), err);
}

enum rc pause_forget(struct ledger *l, int64_t now, struct err *err)
{
    TRY(ledger_begin(l, err));
    return ledger_end(l, query_run(l, Q_PAUSE_FORGET, err, "i", now), err);
}

enum rc pause_each(struct ledger *l, int64_t now, pause_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_PAUSE_EACH, &q, err, "i", now));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct pause p = {.until = col_i64(&q, 1)};
        col_copy(&q, 0, p.host, sizeof p.host);
        TRY(fn(ctx, &p, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}
