/* order_ask: stores a wish about a source. Apart from order.c, as who carries wishes out
 * takes none. */
#include "core/clock.h"
#include "core/json.h"
#include "ledger/order.h"
#include "ledger/query.h"

static enum rc record(struct ledger *l, const struct order_ask *ask, const char *id, int64_t now,
                      struct err *err)
{
    CLEANUP(buf_release) struct buf body = {0};
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
    TRY(ledger_end(l, add(l, ask, now, id, err), err));
    memcpy(ret_id, id, sizeof id);
    return RC_OK;
}
