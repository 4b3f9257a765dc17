/* rollback_ask: requests to take a change back, and how far they are; blocks that an
 * operator lifts. */
#include "core/clock.h"
#include "core/json.h"
#include "ledger/query.h"
#include "ledger/rollback.h"

#define WAY_MEMORY_MAX (256u << 10) /* of ROLLBACK_FIRST_MAX deltas */

/* ---- asking ---------------------------------------------------------------------------------- */

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

static enum rc add_row(struct ledger *l, const struct rollback_ask *ask, const char *run_id,
                       int64_t src_no, int64_t now, char ret_id[ROLLBACK_ID_MAX], struct err *err)
{
    char uuid[37];
    uuid7(now, uuid);
    if (ask->id)
        snprintf(ret_id, ROLLBACK_ID_MAX, "%s", ask->id);
    else
        snprintf(ret_id, ROLLBACK_ID_MAX, "rbk_%s", uuid);
    TRY(query_run(l, Q_ROLLBACK_ADD, err, "ttitti", ret_id, run_id, src_no, ask->reason, ask->by,
                  now));
    return record(l, ask, src_no, ret_id, now, err);
}

static enum rc add(struct ledger *l, const struct rollback_ask *ask, int64_t now,
                   char ret_id[ROLLBACK_ID_MAX], struct err *err)
{
    struct rollback_plan p;
    TRY(rollback_plan(l, ask->delta_id, &p, err));
    if (!ask->id)
        TRY(rollback_allowed(&p, err));
    return add_row(l, ask, p.run_id, p.src_no, now, ret_id, err);
}

/* A row for each: those behind the first may be taken back when those before them are. */
static enum rc add_way(struct ledger *l, const struct rollback_ask *ask, int64_t now,
                       char ret_id[ROLLBACK_ID_MAX], struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct rollback_list way;
    arena_init(&a, WAY_MEMORY_MAX);
    *ret_id = 0;
    TRY(rollback_way(l, &a, ask->delta_id, &way, err));
    if (way.more)
        return err_set(err, RC_CONFLICT, "to",
                       "more than %d changes came after it: go to a newer one first",
                       ROLLBACK_FIRST_MAX);
    for (size_t i = 0; i < way.n; i++) {
        struct rollback_ask one = *ask;
        one.delta_id = way.ids[i];
        TRY(add_row(l, &one, one.delta_id + strlen(DELTA_PREFIX), way.src_no, now, ret_id, err));
    }
    return RC_OK;
}

static enum rc add_once(struct ledger *l, const struct rollback_ask *ask, int64_t now,
                        char ret_id[ROLLBACK_ID_MAX], struct err *err)
{
    const struct request_key k = {"rollback", ask->token, ask->key, ask->body};
    bool repeated = false;
    TRY(request_key_find(l, &k, ret_id, &repeated, err));
    if (repeated)
        return RC_OK;
    TRY(ask->to ? add_way(l, ask, now, ret_id, err) : add(l, ask, now, ret_id, err));
    return request_key_add(l, &k, ret_id, now, err);
}

static enum rc check_reason(const char *text, struct err *err)
{
    struct str reason = str_trim(str_of(text));
    if (reason.n == 0 || reason.n > ROLLBACK_REASON_MAX)
        return err_set(err, RC_INVALID, "reason", "must have 1 to %d bytes", ROLLBACK_REASON_MAX);
    return RC_OK;
}

enum rc rollback_ask(struct ledger *l, const struct rollback_ask *ask, int64_t now,
                     char ret_id[ROLLBACK_ID_MAX], struct err *err)
{
    char id[ROLLBACK_ID_MAX] = "";
    TRY(check_reason(ask->reason, err));
    TRY(ledger_begin(l, err));
    TRY(ledger_end(l, add_once(l, ask, now, id, err), err));
    memcpy(ret_id, id, sizeof id);
    return RC_OK;
}

/* ---- lifting --------------------------------------------------------------------------------- */

static void put_member(struct buf *b, const char *name, const char *text)
{
    if (!text)
        return;
    buf_printf(b, "\"%s\":", name);
    json_put_str(b, str_of(text));
    buf_byte(b, ',');
}

static enum rc lift(struct ledger *l, const struct rollback_lift *ask, int64_t now, int64_t *ret_n,
                    struct err *err)
{
    CLEANUP(buf_release) struct buf body = {0};
    TRY(query_i64(l, Q_BLOCK_COUNT, ret_n, err, "i", ask->src_no));
    if (*ret_n == 0)
        return RC_OK;
    buf_init(&body, 16 * ROLLBACK_REASON_MAX);
    buf_byte(&body, '{');
    put_member(&body, "by", ask->by);
    put_member(&body, "reason", ask->reason);
    buf_printf(&body, "\"lifted\":%lld}", (long long)*ret_n);
    if (buf_rc(&body) != RC_OK)
        return err_set(err, RC_NOMEM, "", "no memory for the row of a lifted block");
    TRY(query_run(l, Q_BLOCK_LIFT_ALL, err, "ii", ask->src_no, now));
    TRY(check_forget(l, ask->src_no, now, err));
    return replay_append(l, now, "rollback.lifted", ask->src_no, "", buf_view(&body), err);
}

/* Its key keeps how many there were. */
static enum rc lift_once(struct ledger *l, const struct rollback_lift *ask, int64_t now,
                         int64_t *ret_n, struct err *err)
{
    const struct request_key k = {"rollback", ask->token, ask->key, ask->body};
    char n[ROLLBACK_ID_MAX] = "";
    bool repeated = false;
    TRY(request_key_find(l, &k, n, &repeated, err));
    if (repeated)
        return str_to_i64(str_of(n), ret_n) == RC_OK
                   ? RC_OK
                   : err_set(err, RC_CORRUPT, "", "a stored answer is none");
    TRY(lift(l, ask, now, ret_n, err));
    snprintf(n, sizeof n, "%lld", (long long)*ret_n);
    return request_key_add(l, &k, n, now, err);
}

enum rc rollback_lift(struct ledger *l, const struct rollback_lift *ask, int64_t now,
                      int64_t *ret_n, struct err *err)
{
    int64_t n = 0;
    if (ask->reason)
        TRY(check_reason(ask->reason, err));
    TRY(ledger_begin(l, err));
    TRY(ledger_end(l, lift_once(l, ask, now, &n, err), err));
    *ret_n = n;
    return RC_OK;
}

/* ---- looking --------------------------------------------------------------------------------- */

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
