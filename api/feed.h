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

#include "api/conditional.h"
#include "api/route.h"
#include "ledger/public.h"

#define FEED_LIMIT_DEFAULT 100
#define FEED_LIMIT_MAX 1000
#define FEED_LIST_MAX PUBLIC_LIST_MAX /* names in one filter */
#define FEED_LIST_BYTES 1152 /* as many names of 64 characters, commas between and around */
#define FEED_FILTERS_MAX 8
#define FEED_WAIT_DEFAULT_MS 30000 /* of a long poll that names no timeout */
#define FEED_WAIT_MAX_MS 60000     /* more is taken as this: proxies on the way give up later */

enum feed_order { FEED_ORDER_DEFAULT, FEED_ORDER_ASC, FEED_ORDER_DESC };
struct feed_query {
    bool has_since, since_now;
    int64_t since;  /* exclusive; 0: start of retention */
    int64_t before; /* newest first only: exclusive upper end; 0: the tip */
    int64_t limit;
    enum feed_order order; /* default: oldest first with since, else newest first */
    struct str sources[FEED_LIST_MAX], collections[FEED_LIST_MAX];
    size_t n_sources, n_collections;
    bool filtered; /* by anything but source and collection */
    struct public_change_filter filter;
    char lists[4][FEED_LIST_BYTES];       /* what filter points to */
    struct param given[FEED_FILTERS_MAX]; /* the filters as they came, for links */
    size_t n_given;
    const char *format; /* f= of links; NULL: none */
    bool waits;      /* feed=longpoll: freshet-stream answers when there is something, or after */
    int64_t wait_ms; /* timeout=; -1: not given */
};

/* What a response's validators are made of. */
struct feed_page {
    struct etag etag;
    int64_t newest; /* latest date shown on the page, -1 when empty */
    bool coarse;    /* a date on it is a day only, or the page can change without a newer date */
};

void feed_query_init(struct feed_query *q);
/* Sets one parameter by its name on the wire: since, before, limit, order, feed, timeout, and the
 * filters source, collection, type, class, detector, bbox, datetime, unexpected. name and value are
 * kept as views. RC_INVALID names it. */
MUST_CHECK enum rc feed_query_set(struct feed_query *q, const char *name, struct str value,
                                  struct err *err);
bool feed_is_descending(const struct feed_query *q);
/* The query of a request, without f. One that waits and names no place asks for what comes next;
 * and `now` is when the request came, however long it waited. */
MUST_CHECK enum rc feed_query_read(const struct req *r, struct feed_query *ret, struct err *err);
/* RC_INVALID for a cursor of the future, RC_GONE for one before the retention (ret_first_seq then
 * holds its start). */
MUST_CHECK enum rc feed_check_cursor(const struct feed_query *q, const struct public_meta *m,
                                     int64_t *ret_first_seq, struct err *err);
/* Where the retention starts, for the problem that RC_GONE becomes. */
void feed_tell_first(struct resp *w, int64_t first_seq);
/* feed_match.c: does an entry pass the filters? */
bool feed_matches(const struct feed_query *q, const struct public_change_facts *f);
/* The address of a page: of q itself (cursor NULL), or from another cursor (since, before) on. */
void feed_put_href(struct buf *out, const struct feed_query *q, struct str base, const char *cursor,
                   int64_t at);

/* What is the same of all pages: /changes with the filters. */
void feed_put_id(struct buf *out, const struct feed_query *q, struct str base);

/* A page while it is written, as the formats see it. */
struct feed_page_out {
    struct buf *out;
    struct str base;
    const struct feed_query *q;
    const struct conf *conf;              /* who publishes */
    struct arena *row;                    /* memory for one entry */
    int64_t n, first, last;               /* entries so far, places of the first and the last */
    int64_t newest;                       /* latest date shown, -1: none */
    int64_t last_seq, first_seq, pending; /* known when the tail is written */
    int64_t day;                          /* when anything changed last */
    bool coarse;
    struct etag etag;
    int64_t floor; /* newest first: rows down to this one are wanted */
    const struct feed_format *format;
};
/* One row of formats.def. entry is called per row, tail once at the end; head may be NULL. */
struct feed_format {
    const char *name, *type, *content_type;
    void (*head)(struct feed_page_out *x);
    enum rc (*entry)(struct feed_page_out *x, const struct public_change *c, struct err *err);
    void (*tail)(struct feed_page_out *x);
    bool alone; /* fit for one entry under its own address */
};
extern const struct feed_format feed_formats[];
extern const size_t feed_formats_n;
/* An entry, parsed, for formats that show some of its members. */
MUST_CHECK enum rc feed_read_entry(struct feed_page_out *x, struct str doc, yyjson_val **ret,
                                   struct err *err);
/* What a person reads: "Modified (content): 40 features, 2 added". */
void feed_summary(struct buf *out, yyjson_val *entry);
/* A text of an entry with its base mark replaced. */
void feed_put_ref(struct buf *out, struct str base, const char *ref);

/* Appends the body of /changes in a format (NULL: JSON). RC_INVALID for a cursor of the future,
 * RC_GONE for one before the retention (ret_first_seq then holds its start). ret_page and
 * ret_first_seq may be NULL. */
MUST_CHECK enum rc feed_render_page(struct ledger *l, struct arena *a, const struct feed_query *q,
                                    struct str base, struct buf *out, struct feed_page *ret_page,
                                    int64_t *ret_first_seq, struct err *err);
/* The same in a format; x holds out, base, q, conf and format. */
MUST_CHECK enum rc feed_render_as(struct ledger *l, struct arena *a, struct feed_page_out *x,
                                  struct feed_page *ret_page, int64_t *ret_first_seq,
                                  struct err *err);
/* The same, for callers that want the bytes alone. */
MUST_CHECK enum rc feed_render(struct ledger *l, struct arena *a, const struct feed_query *q,
                               struct str base, struct buf *out, struct err *err);
/* One entry with its sequence, as in results[]. */
void feed_put_entry(struct buf *out, int64_t seq, struct str doc, struct str base);

route_fn feed_list, feed_entry;

#endif
