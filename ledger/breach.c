/* breach: one function tells a move; checks call it in their commit, the sweep for what time
 * brings. */
#include "ledger/breach.h"

#include "ledger/notice.h"
#include "ledger/query.h"
#include "ledger/unhealthy.h"

#define SWEEP_MAX 256 /* moves of one transaction; the next sweep goes on */

/* The name of the breach, or NULL. */
static const char *breach_of(const struct health_facts *f, int64_t now)
{
    struct health h;
    health_judge(f, now, &h);
    bool late = f->next_check_at >= 0 && now - f->next_check_at > HEALTH_OVERDUE_MS;
    if (!health_breach(h.state) || (h.state == HEALTH_never_checked && !late))
        return NULL;
    return health_name(h.state);
}

static bool moved(const char *is, const char *told)
{
    return strcmp(is ? is : "", told) != 0;
}

enum rc breach_follow(struct ledger *l, int64_t src_no, const struct health_facts *f,
                      const char *told, int64_t now, struct err *err)
{
    const char *is = breach_of(f, now);
    int64_t one;
    if (!moved(is, told))
        return RC_OK;
    enum rc rc = query_i64(l, Q_BREACH_SET, &one, err, "it", src_no, is);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    return notice_put(l, is ? NOTICE_breach_began : NOTICE_breach_ended, src_no, "", is ? is : told,
                      now, err);
}

/* ---- the sweep ------------------------------------------------------------------------------- */

struct sweep {
    int64_t now, nos[SWEEP_MAX];
    size_t n;
};

static enum rc read_facts(struct ledger *l, struct arena *a, int64_t src_no, struct source *s,
                          struct check_state *st, struct health_facts *ret, struct err *err)
{
    arena_reset(a);
    TRY(source_by_no(l, a, src_no, s, err));
    TRY(check_state_get(l, src_no, st, err));
    *ret = health_facts_of(s, st);
    return RC_OK;
}

static enum rc suspect(void *ctx, const struct source *s, const struct check_state *st,
                       const struct health *h, struct err *err)
{
    struct sweep *w = ctx;
    const struct health_facts f = health_facts_of(s, st);
    (void)h, (void)err;
    if (w->n < SWEEP_MAX && moved(breach_of(&f, w->now), st->breach))
        w->nos[w->n++] = s->no;
    return RC_OK;
}

/* Those that were told of, and may be over. */
static enum rc find_over(struct ledger *l, struct arena *a, struct sweep *w, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    struct source s;
    struct check_state st;
    struct health_facts f;
    enum rc rc = RC_OK;
    TRY(query_open(l, Q_BREACH_TOLD, &q, err, ""));
    while (w->n < SWEEP_MAX && (rc = query_next(l, &q, err)) == RC_OK) {
        rc = read_facts(l, a, col_i64(&q, 0), &s, &st, &f, err);
        if (source_is_unreadable(rc)) /* and so not over */
            continue;
        TRY(rc);
        if (!breach_of(&f, w->now))
            w->nos[w->n++] = s.no;
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* Looked at again, as a check may have been quicker. */
static enum rc follow_all(struct ledger *l, struct arena *a, const struct sweep *w, struct err *err)
{
    struct source s;
    struct check_state st;
    struct health_facts f;
    for (size_t i = 0; i < w->n; i++) {
        TRY(read_facts(l, a, w->nos[i], &s, &st, &f, err));
        TRY(breach_follow(l, s.no, &f, st.breach, w->now, err));
    }
    return RC_OK;
}

static enum rc sweep(struct ledger *l, struct arena *a, struct sweep *w, struct err *err)
{
    TRY(unhealthy_each(l, w->now, suspect, w, err));
    TRY(find_over(l, a, w, err));
    if (!w->n)
        return RC_OK;
    TRY(ledger_begin(l, err));
    return ledger_end(l, follow_all(l, a, w, err), err);
}

enum rc breach_sweep(struct ledger *l, int64_t now, int64_t *ret_n, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct sweep w = {.now = now};
    arena_init(&a, SOURCE_MEMORY_MAX);
    TRY(sweep(l, &a, &w, err));
    *ret_n = (int64_t)w.n;
    return RC_OK;
}
