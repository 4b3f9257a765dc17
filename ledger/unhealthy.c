/* unhealthy: see the header. */
#include "ledger/unhealthy.h"

#include "ledger/query.h"

#define ONE_SOURCE (1u << 20) /* a source with the longest spec, parsed */

struct health_facts health_facts_of(const struct source *s, const struct check_state *st)
{
    return (struct health_facts){.retired = s->retired_at >= 0,
                                 .template = source_is_template(s),
                                 .pushed = source_is_pushed(s),
                                 .checked_at = st->checked_at,
                                 .reached_at = st->reached_at,
                                 .verified_at = st->verified_at,
                                 .failures = st->failures,
                                 .next_check_at = st->next_check_at,
                                 .removed_at = source_is_unlisted(s) ? s->unlisted_at : -1,
                                 .stream_down_at = st->stream_down_at,
                                 .last_outcome = str_of(st->last_outcome)};
}

static enum rc judge_one(struct ledger *l, struct arena *a, int64_t src_no, int64_t now,
                         unhealthy_fn *fn, void *ctx, struct err *err)
{
    struct source s;
    struct check_state st;
    struct health h;
    arena_reset(a);
    TRY(source_by_no(l, a, src_no, &s, err));
    TRY(check_state_get(l, src_no, &st, err));
    struct health_facts f = health_facts_of(&s, &st);
    health_judge(&f, now, &h);
    return health_breach(h.state) ? fn(ctx, &s, &st, &h, err) : RC_OK;
}

enum rc unhealthy_each(struct ledger *l, int64_t now, unhealthy_fn *fn, void *ctx, struct err *err)
{
    struct arena a;
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_UNHEALTHY, &q, err, "ii", now - HEALTH_OVERDUE_MS,
                   now - HEALTH_VERIFIED_MS));
    arena_init(&a, ONE_SOURCE);
    enum rc rc = query_next(l, &q, err);
    for (; rc == RC_OK; rc = query_next(l, &q, err)) {
        rc = judge_one(l, &a, col_i64(&q, 0), now, fn, ctx, err);
        if (rc != RC_OK)
            break;
    }
    arena_release(&a);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}
