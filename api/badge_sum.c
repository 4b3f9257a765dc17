/* badge_sum: /badges/collections/{collection} and /badges/all: how many of many are current.
 *
 * Invariants (those of badge.h, and)
 *   1. freshness_judge decides about each source, here as everywhere.
 *   2. A collection without a public row is answered like one that never existed.
 * Called by the route table. */
#include "api/badge.h"

#define EVERYTHING "All sources"

void badge_sum_add(struct badge_sum *s, const struct public_fresh *f, int64_t now)
{
    struct verdict v;
    freshness_judge(f, now, &v);
    s->rows++;
    if (v.state == FRESH_restricted || v.state == FRESH_retired || f->template)
        return;
    s->by_state[v.state]++;
    int64_t at = freshness_shown_at(f, &v);
    s->newest = at > s->newest ? at : s->newest;
}

static int64_t total_of(const struct badge_sum *s)
{
    int64_t n = 0;
    for (size_t i = 0; i < FRESH_COUNT; i++)
        n += s->by_state[i];
    return n;
}

/* What most needs a look comes first. */
static enum fresh_state worst_of(const struct badge_sum *s)
{
    static const enum fresh_state rank[] = {FRESH_past_window, FRESH_unknown, FRESH_held};
    for (size_t i = 0; i < ARRAY_LEN(rank); i++)
        if (s->by_state[rank[i]])
            return rank[i];
    return s->by_state[FRESH_current] ? FRESH_current : FRESH_unknown;
}

void badge_of_sum(const char *title, const struct badge_sum *s, struct badge *ret)
{
    struct badge b = {.title = title, .state = worst_of(s)};
    long long all = (long long)total_of(s), current = (long long)s->by_state[FRESH_current];
    if (all > 0)
        snprintf(b.words, sizeof b.words, "%lld of %lld current", current, all);
    else
        snprintf(b.words, sizeof b.words, "Nothing to judge");
    snprintf(
        b.why, sizeof b.why,
        "%lld current, %lld past their freshness window, %lld of which nothing can be claimed, "
        "%lld with an update awaiting review. Retired and restricted sources are not counted.",
        current, (long long)s->by_state[FRESH_past_window], (long long)s->by_state[FRESH_unknown],
        (long long)s->by_state[FRESH_held]);
    *ret = b;
}

struct counting {
    struct badge_sum sum;
    int64_t now;
};

static enum rc count_row(void *ctx, const struct public_fresh *f, struct err *err)
{
    struct counting *x = ctx;
    (void)err;
    badge_sum_add(&x->sum, f, x->now);
    return RC_OK;
}

static enum rc answer_sum(struct req *r, struct resp *w, struct str collection, bool svg,
                          struct err *err)
{
    struct counting x = {.now = r->now, .sum.newest = -1};
    struct badge b;
    TRY(public_fresh_facts(r->ledger, collection, count_row, &x, err));
    if (collection.n && x.sum.rows == 0)
        return route_not_found(err);
    const char *title = collection.n ? arena_str(r->arena, collection) : EVERYTHING;
    if (!title)
        return err_set(err, RC_NOMEM, "", "no memory for a badge");
    badge_of_sum(title, &x.sum, &b);
    resp_header(w, "Link", "<%.*s/freshness%s%.*s>; rel=\"describedby\"", STR_FMT(r->base),
                collection.n ? "?collection=" : "", STR_FMT(collection));
    return badge_answer(r, w, &b, svg, x.sum.newest, err);
}

static enum rc answer_collection(struct req *r, struct resp *w, bool svg, struct err *err)
{
    if (!str_is_slug(r->path_vars[0], REQ_ID_MAX))
        return route_not_found(err);
    return answer_sum(r, w, r->path_vars[0], svg, err);
}

enum rc badge_collection_svg(struct req *r, struct resp *w, struct err *err)
{
    return answer_collection(r, w, true, err);
}

enum rc badge_collection_json(struct req *r, struct resp *w, struct err *err)
{
    return answer_collection(r, w, false, err);
}

enum rc badge_all_svg(struct req *r, struct resp *w, struct err *err)
{
    return answer_sum(r, w, STR(""), true, err);
}

enum rc badge_all_json(struct req *r, struct resp *w, struct err *err)
{
    return answer_sum(r, w, STR(""), false, err);
}
