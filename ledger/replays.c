/* replays: the record of each. */
#include "ledger/replays.h"

#include "core/clock.h"
#include "core/json.h"
#include "ledger/policy.h"
#include "ledger/query.h"

enum rc replays_check(int64_t since, int64_t until, const char *by, const char *approved_by,
                      struct err *err)
{
    if (until <= since)
        return err_set(err, RC_INVALID, "until", "must be after since");
    if (!approved_by && until - since > REPLAYS_DAYS_MAX * DAY_MS)
        return err_set(err, RC_INVALID, "approved_by",
                       "is needed for a window of more than %d days", REPLAYS_DAYS_MAX);
    if (!approved_by)
        return RC_OK;
    TRY(policy_check_text("approved_by", approved_by, PERSON_MAX, err));
    if (policy_same_person(approved_by, by))
        return err_set(err, RC_INVALID, "approved_by", "must be somebody else than who asks");
    return RC_OK;
}

enum rc replays_log(struct ledger *l, const struct replay_done *r, const char *id, int64_t now,
                    struct err *err)
{
    CLEANUP(buf_release) struct buf body = {0};
    buf_init(&body, 1u << 16);
    buf_puts(&body, "{\"approved_by\":");
    json_put_str(&body, str_of(r->approved_by ? r->approved_by : ""));
    buf_puts(&body, ",\"by\":");
    json_put_str(&body, str_of(r->by));
    buf_printf(&body, ",\"since\":%lld,\"until\":%lld}", (long long)r->since, (long long)r->until);
    if (buf_rc(&body) != RC_OK)
        return err_set(err, RC_INVALID, "by", "is too long");
    return replay_append(l, now, "admin.replay", r->src_no, id, buf_view(&body), err);
}

static enum rc add(struct ledger *l, const struct replay_done *r, int64_t now, struct err *err)
{
    char uuid[37], id[48];
    const char *state = r->good ? "done" : "failed";
    uuid7(now, uuid);
    snprintf(id, sizeof id, "rpl_%s", uuid);
    TRY(query_run(l, Q_REPLAY_SET, err, "tiimitttiiiitii", id, r->since, r->until,
                  r->src_no ? r->src_no : -1, (int64_t)0, r->by, r->approved_by, state, r->rows,
                  r->noop, r->applied, r->failed, r->detail, now, now));
    TRY(query_run(l, Q_REPLAY_RESULT, err, "t", state));
    return r->own ? replays_log(l, r, id, now, err) : RC_OK;
}

enum rc replays_done(struct ledger *l, const struct replay_done *r, int64_t now, struct err *err)
{
    TRY(ledger_begin(l, err));
    return ledger_end(l, add(l, r, now, err), err);
}

/* ---- over HTTP ------------------------------------------------------------------------------- */

static enum rc read_request(struct ledger *l, struct arena *a, struct query *q,
                            struct replay_request *ret, struct err *err)
{
    enum rc rc = query_next(l, q, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, rc, "replay_id", "no such replay");
    TRY(rc);
    struct replay_request r = {.no = col_i64(q, 0),
                               .since = col_i64(q, 1),
                               .until = col_i64(q, 2),
                               .src_no = col_i64(q, 3),
                               .by = col_text(a, q, 4),
                               .approved_by = col_text(a, q, 5),
                               .state = col_text(a, q, 6),
                               .rows = col_i64(q, 7),
                               .noop = col_i64(q, 8),
                               .applied = col_i64(q, 9),
                               .failed = col_i64(q, 10),
                               .detail = col_text(a, q, 11),
                               .created_at = col_i64(q, 12),
                               .finished_at = col_time(q, 13),
                               .id = col_text(a, q, 14)};
    if (!r.by || !r.approved_by || !r.state || !r.detail || !r.id)
        return err_set(err, RC_NOMEM, "", "no memory for a replay");
    *ret = r;
    return RC_OK;
}

enum rc replays_get(struct ledger *l, struct arena *a, const char *id, struct replay_request *ret,
                    struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_REPLAY_GET, &q, err, "t", id));
    return read_request(l, a, &q, ret, err);
}

enum rc replays_open(struct ledger *l, struct arena *a, struct replay_request *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_REPLAY_OPEN, &q, err, ""));
    return read_request(l, a, &q, ret, err);
}

enum rc replays_each(struct ledger *l, int64_t max, replay_request_fn *fn, void *ctx,
                     struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    CLEANUP(query_close) struct query q = {0};
    struct replay_request r;
    struct err why = {0};
    enum rc rc;
    arena_init(&a, 1 << 16);
    TRY(query_open(l, Q_REPLAY_LIST, &q, err, "i", max));
    while ((rc = read_request(l, &a, &q, &r, &why)) == RC_OK) {
        TRY(fn(ctx, &r, err));
        arena_reset(&a);
    }
    return rc == RC_NOT_FOUND ? RC_OK : err_set(err, rc, "", "%s", why.msg);
}

static enum rc end(struct ledger *l, int64_t no, const struct replay_done *d, int64_t now,
                   struct err *err)
{
    const char *state = d->good ? "done" : "failed";
    TRY(query_run(l, Q_REPLAY_END, err, "itiiiiti", no, state, d->rows, d->noop, d->applied,
                  d->failed, d->detail, now));
    return query_run(l, Q_REPLAY_RESULT, err, "t", state);
}

enum rc replays_end(struct ledger *l, int64_t no, const struct replay_done *d, int64_t now,
                    struct err *err)
{
    TRY(ledger_begin(l, err));
    return ledger_end(l, end(l, no, d, now, err), err);
}
