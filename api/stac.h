/* stac: the routes below /stac, STAC API 1.0.0 over STAC 1.1.0 documents.
 *
 * Invariants
 *   1. Items leave as they were rendered at promotion (handler/stac.c); only links that later
 *      versions move are added. Everything is read from public_* rows, so counts, extents and
 *      cursors know nothing of what is withheld (I8).
 *   2. A cursor (`token`) is a place in an order, not an offset; one that we did not make is a 400.
 *   3. No document of the browsable tree has more than about 20 links, and every item is
 *      below /stac.
 * Called by the route table; helpers below by these files alone.
 */
#ifndef FRESHET_API_STAC_H
#define FRESHET_API_STAC_H

#include "api/route.h"
#include "ledger/public_items.h"

#define STAC_VERSION "1.1.0"
#define STAC_LIMIT_DEFAULT 10
#define STAC_LIMIT_MAX 1000
#define STAC_ID_MAX 96           /* a source id, "-v" and a number */
#define STAC_LIST_MAX 1000       /* ids or collections in one search */
#define STAC_WORDS_MAX 16        /* terms of q */
#define STAC_FIELDS_MAX 64       /* names in fields */
#define STAC_BODY_MAX (1u << 20) /* of POST /stac/search */
#define STAC_FAN 10              /* children of a node of the tree */

route_fn stac_landing, stac_conformance;                           /* stac_landing.c */
route_fn stac_collections, stac_collection_one;                    /* stac_collections.c */
route_fn stac_item_one, stac_items, stac_search, stac_search_post; /* stac_search.c */
route_fn stac_queryables, stac_queryables_of;                      /* stac_queryables.c */
route_fn stac_children, stac_catalog, stac_year, stac_year_node;   /* stac_tree.c */

/* ---- stac_query.c: what a client asks for ---------------------------------------------------- */

struct stac_fields {
    struct str include[STAC_FIELDS_MAX], exclude[STAC_FIELDS_MAX];
    size_t n_include, n_exclude;
};
struct stac_query {
    struct item_query q;
    struct stac_fields fields;
    struct str token;
    bool has_token;
};
/* Times of `datetime`: an instant or an interval, open with `..` or nothing at one end. */
MUST_CHECK enum rc stac_datetime(struct arena *a, struct str v, struct str *ret_from,
                                 struct str *ret_until, struct err *err);
MUST_CHECK enum rc stac_bbox(struct arena *a, struct str v, struct place **ret, struct err *err);
/* A comma list into *ret (arena). what names the parameter. */
MUST_CHECK enum rc stac_list(struct arena *a, const char *what, struct str v, size_t max,
                             struct str **ret, size_t *ret_n, struct err *err);
MUST_CHECK enum rc stac_fields_read(struct arena *a, struct str v, struct stac_fields *ret,
                                    struct err *err);
MUST_CHECK enum rc stac_sortby(struct arena *a, struct str v, struct sort_by *ret, size_t *ret_n,
                               struct err *err);
/* From the parameters of a GET, or the body of a POST (*ret_body: parsed, for the links of
 * the answer). */
MUST_CHECK enum rc stac_query_get(struct req *r, struct stac_query *ret, struct err *err);
MUST_CHECK enum rc stac_query_post(struct req *r, struct stac_query *ret, yyjson_val **ret_body,
                                   struct err *err);

/* ---- stac_token.c: cursors ------------------------------------------------------------------- */

/* backward: the page before this row. */
void stac_token_put(struct buf *out, const struct item_query *q, const struct sort_value *keys,
                    size_t n, bool backward);
/* Sets beyond and backward of q. RC_INVALID for what stac_token_put did not make for this order. */
MUST_CHECK enum rc stac_token_read(struct arena *a, struct str token, struct item_query *q,
                                   struct err *err);

/* ---- stac_doc.c: pieces of documents --------------------------------------------------------- */

/* {"rel":…,"href":base path,"type":…,"title":…}; title NULL: none. */
void stac_link(struct buf *b, struct str base, const char *rel, const char *type, const char *title,
               const char *path, ...) PRINTF_LIKE(6, 7);
void stac_put_item(struct buf *b, const struct public_item *i, struct str base);
void stac_put_collection(struct buf *b, const struct public_collection *c, struct req *r,
                         struct err *err);
/* What of a rendered document the client wants. */
MUST_CHECK enum rc stac_put_fields(struct buf *out, struct str doc, const struct stac_fields *f,
                                   struct err *err);
/* This page's address with another token; NULL: without. */
void stac_put_self(struct buf *b, const struct req *r, const char *token);
/* The day of a moment that may be that of a withdrawal, which nobody is told. -1 stays. */
int64_t stac_day(int64_t at);
/* Validators from the body itself. at: newest date in it, -1 unknown. */
MUST_CHECK enum rc stac_finish(struct req *r, struct resp *w, int64_t at, struct err *err);
/* Child links of the root, or whole children with a comma between. */
MUST_CHECK enum rc stac_root_children(struct req *r, struct buf *b, bool whole, struct err *err);
bool stac_wants_html(struct str accept);

#endif
