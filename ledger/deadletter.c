/* deadletter: looking at candidates that were given up, and deciding on them. */
#include "ledger/deadletter.h"

#include "core/json.h"
#include "ledger/query.h"
#include "ledger/runs.h"

enum rc dead_get(struct ledger *l, struct arena *a, const char *event_id, struct candidate *ret,
                 struct err *err)
{
    int64_t no;
    struct candidate c;
    enum rc rc = query_i64(l, Q_DEAD_FIND, &no, err, "t", event_id);
    if (rc == RC_NOT_FOUND)
        return err_set(err, rc, "event", "no such event");
    TRY(rc);
    TRY(inbox_get(l, a, no, &c, err));
    if (strcmp(c.state, "dead") != 0)
        return err_set(err, RC_CONFLICT, "event", "is %s, not dead: nothing is to be decided",
                       c.state);
    *ret = c;
    return RC_OK;
}

enum rc dead_source(struct ledger *l, const char *event_id, int64_t *ret_src, struct err *err)
{
    return query_i64(l, Q_DEAD_SOURCE, ret_src, err, "t", event_id);
}

enum rc dead_each_run(struct ledger *l, int64_t cand_no, dead_run_fn *fn, void *ctx,
                      struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    arena_init(&a, 1 << 16);
    TRY(query_open(l, Q_DEAD_RUNS, &q, err, "i", cand_no));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        arena_reset(&a);
        const struct dead_run r = {.run_id = col_text(&a, &q, 0),
                                   .reason = col_text(&a, &q, 1),
                                   .started_at = col_i64(&q, 2),
                                   .ended_at = col_time(&q, 3)};
        if (!r.run_id || !r.reason)
            return err_set(err, RC_NOMEM, "", "no memory for a run");
        TRY(fn(ctx, &r, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* ---- decisions ------------------------------------------------------------------------------- */

static enum rc refuse_late(struct ledger *l, const struct candidate *c, struct err *err)
{
    int64_t head = 0;
    enum rc rc = query_i64(l, Q_HEAD_CANDIDATE, &head, err, "i", c->src_no);
    if (rc == RC_OK && head > c->no)
        return err_set(err, RC_CONFLICT, "event",
                       "a newer candidate of its source was promoted since: drop this one");
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc record(struct ledger *l, const struct dead_decision *d, int64_t src_no, int64_t now,
                      struct err *err)
{
    CLEANUP(buf_release) struct buf body = {0};
    buf_init(&body, 8 * DEAD_REASON_MAX);
    buf_puts(&body, "{\"by\":");
    json_put_str(&body, str_of(d->by));
    if (d->drop) {
        buf_puts(&body, ",\"reason\":");
        json_put_str(&body, str_of(d->drop));
    }
    buf_byte(&body, '}');
    if (buf_rc(&body) != RC_OK)
        return err_set(err, RC_NOMEM, "", "no memory for a decision");
    return replay_append(l, now, d->drop ? "dead.drop" : "dead.retry", src_no, d->event_id,
                         buf_view(&body), err);
}

static enum rc decide(struct ledger *l, struct arena *a, const struct dead_decision *d, int64_t now,
                      struct err *err)
{
    struct candidate c;
    char id[48];
    bool repeated = false;
    TRY(request_key_find(l, &d->key, id, &repeated, err));
    if (repeated)
        return RC_OK;
    TRY(dead_get(l, a, d->event_id, &c, err));
    if (!d->drop)
        TRY(refuse_late(l, &c, err));
    TRY(d->drop ? query_run(l, Q_DEAD_DROP, err, "iti", c.no, d->drop, now)
                : query_run(l, Q_DEAD_RETRY, err, "ii", c.no, now));
    TRY(record(l, d, c.src_no, now, err));
    return request_key_add(l, &d->key, d->event_id, now, err);
}

enum rc dead_decide(struct ledger *l, const struct dead_decision *d, int64_t now, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    size_t n = d->drop ? str_trim(str_of(d->drop)).n : 1;
    if (n == 0 || n > DEAD_REASON_MAX)
        return err_set(err, RC_INVALID, "reason", "must have 1 to %d bytes", DEAD_REASON_MAX);
    arena_init(&a, 1 << 16);
    TRY(ledger_begin(l, err));
    return ledger_end(l, decide(l, &a, d, now, err), err);
}
