/* documents: /deltas/{delta}.
 *
 * Invariants
 *   1. A document leaves as it is stored, with base marks replaced; nothing is added or read from
 *      elsewhere, so that what was redacted stays so.
 * Called by the route table. */
#include "api/documents.h"

#include "api/conditional.h"

#define DELTA_ID_MAX 64

enum rc document_put(struct req *r, struct resp *w, const struct public_doc *d, struct err *err)
{
    struct public_meta m = {0};
    TRY(public_meta_get(r->ledger, r->arena, &m, err));
    json_put_based(&w->body, d->doc, r->base);
    struct etag e = etag_start(m.policy_version, r->base);
    etag_int(&e, d->gen);
    etag_set(&e, w);
    w->last_modified = d->at;
    return RC_OK;
}

enum rc delta_one(struct req *r, struct resp *w, struct err *err)
{
    struct public_doc d = {0};
    struct str id = r->path_vars[0];
    if (!str_is_slug(id, DELTA_ID_MAX))
        return route_not_found(err);
    TRY(route_lookup(public_delta_get(r->ledger, r->arena, id, &d, err), err));
    return document_put(r, w, &d, err);
}
