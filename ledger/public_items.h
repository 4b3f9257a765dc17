/* public_items: searching the items and collections that the public may see. READ role.
 *
 * Invariants
 *   1. Only public_* tables are read: what is withheld is neither found nor counted (I8).
 *   2. A page is a range of keys, not an offset: items that come or go while somebody pages are
 *      neither repeated nor skipped.
 * Texts are views, valid during the call of the callback.
 */
#ifndef FRESHET_LEDGER_PUBLIC_ITEMS_H
#define FRESHET_LEDGER_PUBLIC_ITEMS_H

#include "core/cql2.h"
#include "ledger/public.h"

#define ITEM_SORT_MAX 6 /* fields to sort by; the id comes after them by itself */

struct public_item {
    struct str doc, id, collection;
    struct str latest; /* id of the newest version */
    struct str next;   /* of the following one, "" for the newest */
    int64_t gen, at;
};
MUST_CHECK enum rc public_item_get(struct ledger *l, struct arena *a, struct str collection,
                                   struct str item_id, struct public_item *ret, struct err *err);

/* One value of a row that the order is made of. */
struct sort_value {
    enum { SORT_NULL, SORT_INT, SORT_REAL, SORT_TEXT } kind;
    int64_t i;
    double d;
    struct str s;
};
struct sort_by {
    struct str field; /* id, collection, datetime, title or any name in properties */
    bool down;
};
struct item_query {
    const struct str *collections, *ids, *words; /* n = 0: all; words: any of them */
    size_t n_collections, n_ids, n_words;
    const struct place *area;  /* NULL: anywhere */
    struct str from, until;    /* RFC 3339 as time_format writes it, inclusive; n = 0: open */
    const struct cql2 *filter; /* NULL: none */
    struct sort_by sort[ITEM_SORT_MAX];
    size_t n_sort;                   /* 0: newest first */
    const struct sort_value *beyond; /* n_sort + 1 values: only what follows this row; NULL: all */
    bool backward;                   /* towards the start, nearest first */
    int64_t limit;
};
/* keys: n_sort + 1 values, the last is the id; with the default order datetime and id. */
typedef enum rc public_item_fn(void *ctx, const struct public_item *i,
                               const struct sort_value *keys, size_t n_keys, struct err *err);
/* *ret_matched: how many there are, whatever the page. RC_INVALID names what of the filter cannot
 * be answered. */
MUST_CHECK enum rc public_item_search(struct ledger *l, struct arena *a, const struct item_query *q,
                                      public_item_fn *fn, void *ctx, int64_t *ret_matched,
                                      struct err *err);
/* The number alone. */
MUST_CHECK enum rc public_item_count(struct ledger *l, struct arena *a, const struct item_query *q,
                                     int64_t *ret, struct err *err);

struct public_collection {
    struct str id, doc; /* doc lacks extent and links */
    int64_t gen, items, at;
    struct str first, last; /* "" without items */
    double box[4];
    bool has_box;
};
typedef enum rc public_collection_fn(void *ctx, const struct public_collection *c, struct err *err);
MUST_CHECK enum rc public_collection_get(struct ledger *l, struct str id, public_collection_fn *fn,
                                         void *ctx, struct err *err);
/* In order of id, by place; for the tree. */
MUST_CHECK enum rc public_collection_from(struct ledger *l, int64_t offset, int64_t limit,
                                          public_collection_fn *fn, void *ctx, struct err *err);
struct collection_query {
    const struct str *words;
    size_t n_words;
    const struct place *area;
    struct str from, until;
    bool down;                /* by id, or from z to a */
    struct str after, before; /* id of the neighbour; n = 0: from the start */
    int64_t limit;
};
MUST_CHECK enum rc public_collection_search(struct ledger *l, struct arena *a,
                                            const struct collection_query *q,
                                            public_collection_fn *fn, void *ctx, struct err *err);
MUST_CHECK enum rc public_collection_count(struct ledger *l, struct arena *a,
                                           const struct collection_query *q, int64_t *ret,
                                           struct err *err);

/* The first year at or after `year` in which a collection has items; 0: none. */
MUST_CHECK enum rc public_item_year(struct ledger *l, struct str collection, int year, int *ret,
                                    struct err *err);
MUST_CHECK enum rc public_item_year_count(struct ledger *l, struct str collection, int year,
                                          int64_t *ret, struct err *err);
typedef enum rc public_id_fn(void *ctx, struct str id, struct err *err);
MUST_CHECK enum rc public_item_year_ids(struct ledger *l, struct str collection, int year,
                                        int64_t offset, int64_t limit, public_id_fn *fn, void *ctx,
                                        struct err *err);

#endif
