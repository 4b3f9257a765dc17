/* order: looking at wishes about sources, and how they end. */
#include "ledger/order.h"

#include "ledger/query.h"

static enum rc read_order(struct ledger *l, struct arena *a, struct query *q, struct order *ret,
                          struct err *err)
{
    enum rc rc = query_next(l, q, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, rc, "", "no such order");
    TRY(rc);
    struct order o = {.no = col_i64(q, 0),
                      .id = col_text(a, q, 1),
                      .kind = col_text(a, q, 2),
                      .source_id = col_text(a, q, 3),
                      .spec = col_str(a, q, 4),
                      .by = col_text(a, q, 6),
                      .state = col_text(a, q, 7),
                      .detail = col_text(a, q, 8),
                      .created_at = col_i64(q, 9),
                      .finished_at = col_time(q, 10)};
    const char *level = col_text(a, q, 5);
    if (!o.id || !o.kind || !o.source_id || !o.spec.p || !o.by || !o.state || !o.detail || !level)
        return err_set(err, RC_NOMEM, "", "no memory for an order");
    if (*level && level_parse(level, &o.level) != RC_OK)
        return err_set(err, RC_CORRUPT, "", "an order names no level");
    *ret = o;
    return RC_OK;
}

enum rc order_of(struct ledger *l, struct arena *a, const char *source_id, struct order *ret,
                 struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_ORDER_OF, &q, err, "t", source_id));
    return read_order(l, a, &q, ret, err);
}

enum rc order_next(struct ledger *l, struct arena *a, struct order *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_ORDER_NEXT, &q, err, ""));
    return read_order(l, a, &q, ret, err);
}

enum rc order_end(struct ledger *l, int64_t no, bool good, const char *detail, int64_t now,
                  struct err *err)
{
    return query_run(l, Q_ORDER_END, err, "itti", no, good ? "done" : "failed",
                     detail && *detail ? detail : NULL, now);
}
