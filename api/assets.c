/* assets: /assets/sha256/{hex} and /manifests/{manifest}. We say whether and as what; nginx sends
 * the bytes, ranges and all.
 *
 * Invariants
 *   1. Only digests with a public row are handed over; a file in the store is not enough.
 *   2. A manifest is promoted bytes under the name of its run. The public delta of that run tells
 *      which bytes these are; where the level withholds delta or bytes, there is no manifest.
 *   3. The path given to nginx is made of the 64 checked hex digits, of nothing else.
 * Called by the route table. */
#include "api/documents.h"

#define MANIFEST_ID_MAX 64

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

static enum rc hand_over(struct req *r, struct resp *w, struct str hex, struct err *err)
{
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

enum rc asset_one(struct req *r, struct resp *w, struct err *err)
{
    return hand_over(r, w, r->path_vars[0], err);
}

/* man_<run> → the delta dlt_<run>, which names the manifest and the digest of its bytes. */
enum rc manifest_one(struct req *r, struct resp *w, struct err *err)
{
    struct public_doc d = {0};
    yyjson_val *delta;
    const char *name = "", *hex = "";
    struct str id = r->path_vars[0], prefix = STR("man_");
    if (!str_is_slug(id, MANIFEST_ID_MAX) || !str_starts(id, prefix))
        return route_not_found(err);
    struct str run = {id.p + prefix.n, id.n - prefix.n};
    char *delta_id = arena_printf(r->arena, "dlt_%.*s", STR_FMT(run));
    if (!delta_id)
        return err_set(err, RC_NOMEM, "", "no memory for an id");
    TRY(route_lookup(public_delta_get(r->ledger, r->arena, str_of(delta_id), &d, err), err));
    TRY(json_parse(r->arena, d.doc, 0, "a stored delta", &delta, err));
    TRY(json_get_str(delta, "manifest", &name, err));
    TRY(json_get_str(yyjson_obj_get(delta, "to"), "sha256", &hex, err));
    if (!str_is(id, name))
        return route_not_found(err);
    return hand_over(r, w, str_of(hex), err);
}
