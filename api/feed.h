/* feed: the body of /changes, and its routes. Rendering knows no HTTP, so that `freshet changes`
 * prints the same bytes.
 *
 * Invariants
 *   1. Following `last_seq` meets every entry once: the tip is read before the rows, so it never
 *      runs ahead of what was handed out.
 *   2. Going back along links[rel=next] meets every entry once, also while new ones arrive.
 *   3. Cursors are places in the public, dense sequence; nothing withheld moves them.
 */
#ifndef FRESHET_API_FEED_H
#define FRESHET_API_FEED_H

#include "api/route.h"
#include "ledger/public.h"

#define FEED_LIMIT_DEFAULT 100
#define FEED_LIMIT_MAX 1000
#define FEED_SOURCES_MAX 64 /* ids in one filter; the statement binds as many */

enum feed_order { FEED_ORDER_DEFAULT, FEED_ORDER_ASC, FEED_ORDER_DESC };
struct feed_query {
    bool has_since, since_now;
    int64_t since;  /* exclusive; 0: start of retention */
    int64_t before; /* newest first only: exclusive upper end; 0: the tip */
    int64_t limit;
    enum feed_order order; /* default: oldest first with since, else newest first */
    struct str sources[FEED_SOURCES_MAX];
    size_t n_sources;
};

/* What a response's validators are made of. */
struct feed_page {
    struct etag etag;
    int64_t newest; /* latest date shown on the page, -1 when empty */
    bool coarse;    /* a date on it is a day only, or the page can change without a newer date */
};

void feed_query_init(struct feed_query *q);
/* Sets one parameter by its name on the wire: since, before, limit, order, source. Views of value
 * are kept. RC_INVALID names it. */
MUST_CHECK enum rc feed_query_set(struct feed_query *q, const char *name, struct str value,
                                  struct err *err);
/* Appends the body of /changes. RC_INVALID for a cursor of the future, RC_GONE for one before the
 * retention (ret_first_seq then holds its start). ret_page and ret_first_seq may be NULL. */
MUST_CHECK enum rc feed_render_page(struct ledger *l, struct arena *a, const struct feed_query *q,
                                    struct str base, struct buf *out, struct feed_page *ret_page,
                                    int64_t *ret_first_seq, struct err *err);
/* The same, for callers that want the bytes alone. */
MUST_CHECK enum rc feed_render(struct ledger *l, struct arena *a, const struct feed_query *q,
                               struct str base, struct buf *out, struct err *err);
/* One entry with its sequence, as in results[]. */
void feed_put_entry(struct buf *out, int64_t seq, struct str doc, struct str base);

route_fn feed_list, feed_entry;

#endif
