/* documents: /deltas/{delta} and one STAC item.
 *
 * Invariants
 *   1. A document leaves as it is stored, with base marks replaced; nothing is added or read from
 *      elsewhere, so that what was redacted stays so.
 * Called by the route table. */
#include "api/documents.h"

#include "api/prov.h"

#define DELTA_ID_MAX 64
#define ITEM_ID_MAX 96 /* a source id, "-v" and a number */

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

enum rc item_one(struct req *r, struct resp *w, struct err *err)
{
    struct public_doc d = {0};
    struct str collection = r->path_vars[0], id = r->path_vars[1];
    if (!str_is_slug(collection, ITEM_ID_MAX) || !str_is_slug(id, ITEM_ID_MAX))
        return route_not_found(err);
    TRY(route_lookup(public_item_get(r->ledger, r->arena, collection, id, &d, err), err));
    TRY(document_put(r, w, &d, err));
    prov_link(w, r->base, d.doc);
    w->etag_only = true; /* an item is marked when its source goes away; that moves no date */
    return RC_OK;
}
