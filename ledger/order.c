/* order: see the header. */
#include "ledger/order.h"

#include "core/clock.h"
#include "core/json.h"
#include "ledger/query.h"

static enum rc record(struct ledger *l, const struct order_ask *ask, const char *id, int64_t now,
                      struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, 1u << 16);
    buf_puts(&body, "{\"by\":");
    json_put_str(&body, str_of(ask->by->name));
    buf_printf(&body, ",\"kind\":\"%s\",\"source\":", ask->kind);
    json_put_str(&body, str_of(ask->source_id));
    buf_byte(&body, '}');
    if (buf_rc(&body) != RC_OK)
        return err_set(err, RC_NOMEM, "", "no memory for the row of an order");
    return replay_append(l, now, "admin.source", 0, id, buf_view(&body), err);
}

static enum rc add(struct ledger *l, const struct order_ask *ask, int64_t now,
                   char ret_id[ORDER_ID_MAX], struct err *err)
{
    const struct request_key k = {"source", ask->by, ask->key, ask->body};
    const struct source *s = ask->source;
    bool repeated = false;
    char uuid[37];
    TRY(request_key_find(l, &k, ret_id, &repeated, err));
    if (repeated)
        return RC_OK;
    uuid7(now, uuid);
    snprintf(ret_id, ORDER_ID_MAX, "ord_%s", uuid);
    TRY(query_run(l, Q_ORDER_ADD, err, "tttstti", ret_id, ask->kind, ask->source_id,
                  s ? s->spec : (struct str){0}, s ? level_name(s->level) : "", ask->by->name,
                  now));
    TRY(record(l, ask, ret_id, now, err));
    return request_key_add(l, &k, ret_id, now, err);
}

enum rc order_add(struct ledger *l, const struct order_ask *ask, int64_t now,
                  char ret_id[ORDER_ID_MAX], struct err *err)
{
    char id[ORDER_ID_MAX] = "";
    TRY(ledger_begin(l, err));
    enum rc rc = add(l, ask, now, id, err);
    if (rc != RC_OK) {
        ledger_abort(l);
        return rc;
    }
    TRY(ledger_commit(l, err));
    memcpy(ret_id, id, sizeof id);
    return RC_OK;
}

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
