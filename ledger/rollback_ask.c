/* rollback_ask: requests to take a change back, and how far they are. */
#include "core/clock.h"
#include "core/json.h"
#include "ledger/query.h"
#include "ledger/rollback.h"

/* ---- asking ------------------------------------------------------------------------------------ */

static enum rc record(struct ledger *l, const struct rollback_ask *ask, int64_t src_no,
                      const char *id, int64_t now, struct err *err)
{
    CLEANUP(buf_release) struct buf body = {0};
    buf_init(&body, 16 * ROLLBACK_REASON_MAX);
    buf_puts(&body, "{\"by\":");
    json_put_str(&body, str_of(ask->by));
    buf_printf(&body, ",\"delta\":\"%s\",\"reason\":", ask->delta_id);
    json_put_str(&body, str_of(ask->reason));
    buf_byte(&body, '}');
    if (buf_rc(&body) != RC_OK)
        return err_set(err, RC_NOMEM, "", "no memory for the row of a rollback");
    return replay_append(l, now, "admin.rollback", src_no, id, buf_view(&body), err);
}

static enum rc add(struct ledger *l, const struct rollback_ask *ask, int64_t now,
                   char ret_id[ROLLBACK_ID_MAX], struct err *err)
{
    struct rollback_plan p;
    char uuid[37];
    TRY(rollback_plan(l, ask->delta_id, &p, err));
    TRY(rollback_allowed(&p, err));
    uuid7(now, uuid);
    if (ask->id)
        snprintf(ret_id, ROLLBACK_ID_MAX, "%s", ask->id);
    else
        snprintf(ret_id, ROLLBACK_ID_MAX, "rbk_%s", uuid);
    TRY(query_run(l, Q_ROLLBACK_ADD, err, "ttitti", ret_id, p.run_id, p.src_no, ask->reason,
                  ask->by, now));
    return record(l, ask, p.src_no, ret_id, now, err);
}

static enum rc add_once(struct ledger *l, const struct rollback_ask *ask, int64_t now,
                        char ret_id[ROLLBACK_ID_MAX], struct err *err)
{
    const struct request_key k = {"rollback", ask->token, ask->key, ask->body};
    bool repeated = false;
    TRY(request_key_find(l, &k, ret_id, &repeated, err));
    if (repeated)
        return RC_OK;
    TRY(add(l, ask, now, ret_id, err));
    return request_key_add(l, &k, ret_id, now, err);
}

enum rc rollback_ask(struct ledger *l, const struct rollback_ask *ask, int64_t now,
                     char ret_id[ROLLBACK_ID_MAX], struct err *err)
{
    char id[ROLLBACK_ID_MAX] = "";
    struct str reason = str_trim(str_of(ask->reason));
    if (reason.n == 0 || reason.n > ROLLBACK_REASON_MAX)
        return err_set(err, RC_INVALID, "reason", "must have 1 to %d bytes", ROLLBACK_REASON_MAX);
    TRY(ledger_begin(l, err));
    TRY(ledger_end(l, add_once(l, ask, now, id, err), err));
    memcpy(ret_id, id, sizeof id);
    return RC_OK;
}

/* ---- looking ----------------------------------------------------------------------------------- */

static enum rc read_rollback(struct arena *a, const struct query *q, struct rollback *ret,
                             struct err *err)
{
    struct rollback r = {.no = col_i64(q, 0),
                         .src_no = col_i64(q, 1),
                         .created_at = col_i64(q, 2),
                         .ended_at = col_time(q, 3),
                         .id = col_text(a, q, 4),
                         .delta_id = col_text(a, q, 5),
                         .reason = col_text(a, q, 6),
                         .by = col_text(a, q, 7),
                         .state = col_text(a, q, 8),
                         .event_id = col_text(a, q, 9),
                         .detail = col_text(a, q, 10)};
    if (!r.id || !r.delta_id || !r.reason || !r.by || !r.state || !r.event_id || !r.detail)
        return err_set(err, RC_NOMEM, "", "no memory for a rollback");
    *ret = r;
    return RC_OK;
}

enum rc rollback_get(struct ledger *l, struct arena *a, const char *id, struct rollback *ret,
                     struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_ROLLBACK_GET, &q, err, "t", id));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, rc, "rollback_id", "no such rollback");
    TRY(rc);
    return read_rollback(a, &q, ret, err);
}

enum rc rollback_each(struct ledger *l, int64_t max, rollback_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    arena_init(&a, 1 << 16);
    TRY(query_open(l, Q_ROLLBACK_LIST, &q, err, "i", max));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct rollback r;
        arena_reset(&a);
        TRY(read_rollback(&a, &q, &r, err));
        TRY(fn(ctx, &r, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}
