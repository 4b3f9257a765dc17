/* public_catalog: collections and their members. */
#include "ledger/public_catalog.h"

#include "ledger/query.h"

enum rc public_dataset_each(struct ledger *l, struct str after, int64_t limit,
                            public_dataset_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_R_COLLECTIONS, &q, err, "si", after, limit));
    while ((rc = query_next(l, &q, err)) == RC_OK)
        TRY(fn(ctx, col_view(&q, 0), col_i64(&q, 1), err));
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc public_collection_gen(struct ledger *l, struct str collection, int64_t *ret,
                              struct err *err)
{
    enum rc rc = query_i64(l, Q_R_HAS_COLLECTION, ret, err, "s", collection);
    return rc == RC_NOT_FOUND ? err_set(err, rc, "", "nothing public is in this collection") : rc;
}

static enum rc members(struct ledger *l, enum stmt_id id, struct str collection, int64_t limit,
                       public_member_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, id, &q, err, "si", collection, limit));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct public_member m = {
            .src_no = col_i64(&q, 0),
            .id = col_view(&q, 1),
            .d = {.doc = col_view(&q, 2), .gen = col_i64(&q, 3), .at = col_i64(&q, 4)}};
        TRY(fn(ctx, &m, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc public_sources_in(struct ledger *l, struct str collection, int64_t limit,
                          public_member_fn *fn, void *ctx, struct err *err)
{
    return members(l, Q_R_SOURCES_IN, collection, limit, fn, ctx, err);
}

enum rc public_items_in(struct ledger *l, struct str collection, int64_t limit,
                        public_member_fn *fn, void *ctx, struct err *err)
{
    return members(l, Q_R_ITEMS_IN, collection, limit, fn, ctx, err);
}
