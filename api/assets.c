/* assets: /assets/sha256/{hex}. We say whether and as what; nginx sends the bytes, ranges and all.
 *
 * Invariants
 *   1. Only digests with a public row are handed over; a file in the store is not enough.
 *   2. The path given to nginx is made of the 64 checked hex digits, of nothing else.
 * Called by the route table. */
#include "api/documents.h"

/* Types are told by providers: only plain ones may reach a header. */
static const char *safe_type(const char *type)
{
    struct str s = str_of(type);
    bool good = s.n > 2 && s.n <= 100 && memchr(s.p, '/', s.n) && str_is_clean(s);
    return good ? type : "application/octet-stream";
}

static bool is_digest(struct str hex)
{
    if (hex.n != SHA256_HEX - 1)
        return false;
    for (size_t i = 0; i < hex.n; i++)
        if (!((hex.p[i] >= '0' && hex.p[i] <= '9') || (hex.p[i] >= 'a' && hex.p[i] <= 'f')))
            return false;
    return true;
}

enum rc asset_one(struct req *r, struct resp *w, struct err *err)
{
    struct str hex = r->path_vars[0];
    struct sha256 sha;
    struct public_asset asset = {0};
    if (!is_digest(hex) || hex_decode(hex, sha.b, sizeof sha.b) != RC_OK)
        return route_not_found(err);
    TRY(route_lookup(public_asset_get(r->ledger, r->arena, &sha, &asset, err), err));
    w->content_type = safe_type(asset.media_type);
    w->last_modified = asset.at;
    snprintf(w->etag, sizeof w->etag, "\"%.*s\"", STR_FMT(hex));
    snprintf(w->hand_over, sizeof w->hand_over, "/_store/sha256/%.2s/%.2s/%.*s", hex.p, hex.p + 2,
             STR_FMT(hex));
    resp_link(w, r->base, "/prov/", asset.run_id, "http://www.w3.org/ns/prov#has_provenance");
    return RC_OK;
}
