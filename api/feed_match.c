/* feed_match: does an entry pass the filters of a query? The same answer as CHANGE_FILTER
 * (ledger/query.h) gives in the ledger, for entries that are in memory.
 *
 * Invariants
 *   1. What a level withholds matches no filter.
 * Pure. Called by the stream. */
#include "api/feed.h"

static bool is_among(struct str name, const struct str *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(name, list[i]))
            return true;
    return n == 0;
}

/* list is as in ",one,two,"; NULL asks nothing. */
static bool is_listed(struct str name, const char *list)
{
    struct str rest = str_of(list), item;
    if (!list)
        return true;
    while (str_next(&rest, ',', &item))
        if (item.n > 0 && str_eq(item, name))
            return true;
    return false;
}

/* west > east: over the antimeridian. */
static bool touches(const double want[4], const struct public_change_facts *f)
{
    bool after_west = f->bbox[2] >= want[0], before_east = f->bbox[0] <= want[2];
    if (!f->has_bbox || f->bbox[1] > want[3] || f->bbox[3] < want[1])
        return false;
    return want[0] <= want[2] ? after_west && before_east : after_west || before_east;
}

static bool passes(const struct public_change_filter *w, const struct public_change_facts *f)
{
    return is_listed(f->collection, w->collections) && is_listed(f->type, w->types) &&
           is_listed(f->class, w->classes) && is_listed(f->detector, w->detectors) &&
           (w->from == PUBLIC_OPEN || f->finalized_at >= w->from) &&
           (w->until == PUBLIC_OPEN || f->finalized_at <= w->until) &&
           (w->unexpected < 0 || f->unexpected == w->unexpected) &&
           (!w->has_bbox || touches(w->bbox, f));
}

bool feed_matches(const struct feed_query *q, const struct public_change_facts *f)
{
    return is_among(f->source_id, q->sources, q->n_sources) &&
           (!q->filtered || passes(&q->filter, f));
}
