/* unhealthy: an index names suspects, health_judge has the last word on each. */
#include "ledger/unhealthy.h"

#include "ledger/query.h"

struct health_facts health_facts_of(const struct source *s, const struct check_state *st)
{
    return (struct health_facts){.retired = s->retired_at >= 0,
                                 .template = source_is_template(s),
                                 .pushed = source_is_pushed(s),
                                 .heard = st->heard,
                                 .heard_at = st->heard_at,
                                 .checked_at = st->checked_at,
                                 .reached_at = st->reached_at,
                                 .verified_at = st->verified_at,
                                 .failures = st->failures,
                                 .next_check_at = st->next_check_at,
                                 .removed_at = source_is_unlisted(s) ? s->unlisted_at : -1,
                                 .stream_down_at = st->stream_down_at,
                                 .refused = str_of(st->refused),
                                 .last_outcome = str_of(st->last_outcome)};
}

struct walk {
    struct ledger *ledger;
    struct arena arena;
    int64_t now;
    bool ahead; /* those that were looked at in the future, and no others; else all others */
    unhealthy_fn *fn;
    void *ctx;
};

/* What cannot be read is blocked: its check says so, and hides no other here. */
static enum rc judge_one(struct walk *w, int64_t src_no, bool apart, struct err *err)
{
    struct source s;
    struct check_state st;
    struct health h;
    arena_reset(&w->arena);
    enum rc rc = source_by_no(w->ledger, &w->arena, src_no, &s, err);
    if (source_is_unreadable(rc))
        return RC_OK;
    TRY(rc);
    TRY(check_state_get(w->ledger, src_no, &st, err));
    struct health_facts f = health_facts_of(&s, &st);
    health_judge(&f, w->now, &h);
    if (!health_breach(h.state) || (apart && w->ahead != (h.state == HEALTH_ahead)))
        return RC_OK;
    return w->fn(w->ctx, &s, &st, &h, err);
}

static enum rc judge_all(struct walk *w, struct query *q, bool apart, struct err *err)
{
    enum rc rc;
    while ((rc = query_next(w->ledger, q, err)) == RC_OK)
        TRY(judge_one(w, col_i64(q, 0), apart, err));
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc suspects(struct walk *w, bool apart, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(w->ledger, Q_UNHEALTHY, &q, err, "ii", w->now - HEALTH_OVERDUE_MS,
                   w->now - HEALTH_VERIFIED_MS));
    return judge_all(w, &q, apart, err);
}

/* No index tells them: they are looked for only when checks were made on later days. */
static enum rc those_ahead(struct walk *w, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(w->ledger, Q_AHEAD_EACH, &q, err, "i", w->now + HEALTH_AHEAD_MS));
    w->ahead = true;
    return judge_all(w, &q, true, err);
}

enum rc unhealthy_each(struct ledger *l, int64_t now, unhealthy_fn *fn, void *ctx, struct err *err)
{
    struct walk w = {.ledger = l, .now = now, .fn = fn, .ctx = ctx};
    int64_t counted;
    TRY(query_i64(l, Q_AHEAD_COUNTED, &counted, err, "i", now));
    arena_init(&w.arena, SOURCE_MEMORY_MAX);
    enum rc rc = suspects(&w, counted > 0, err);
    if (rc == RC_OK && counted > 0)
        rc = those_ahead(&w, err);
    arena_release(&w.arena);
    return rc;
}
