/* public_catalog: the public rows as catalogs need them: collections in order, and what is in one.
 * READ role; views are valid during the call.
 */
#ifndef FRESHET_LEDGER_PUBLIC_CATALOG_H
#define FRESHET_LEDGER_PUBLIC_CATALOG_H

#include "ledger/public.h"

typedef enum rc public_dataset_fn(void *ctx, struct str collection, int64_t gen, struct err *err);
/* By name, after `after` ("" from the start), at most limit. */
MUST_CHECK enum rc public_dataset_each(struct ledger *l, struct str after, int64_t limit,
                                       public_dataset_fn *fn, void *ctx, struct err *err);
/* RC_NOT_FOUND when nothing public is in it. */
MUST_CHECK enum rc public_collection_gen(struct ledger *l, struct str collection, int64_t *ret,
                                         struct err *err);

/* A description or an item of a collection. */
struct public_member {
    int64_t src_no;
    struct str id;
    struct public_doc d;
};
typedef enum rc public_member_fn(void *ctx, const struct public_member *m, struct err *err);
/* Sources in the order they were added. */
MUST_CHECK enum rc public_sources_in(struct ledger *l, struct str collection, int64_t limit,
                                     public_member_fn *fn, void *ctx, struct err *err);
/* Items, newest first. */
MUST_CHECK enum rc public_items_in(struct ledger *l, struct str collection, int64_t limit,
                                   public_member_fn *fn, void *ctx, struct err *err);

#endif
