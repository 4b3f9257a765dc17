/* stac: items and collections. What clients check is in the field tests; the order of members is
 * that of the specification's examples. */
#include "handler/stac.h"

#include "core/clock.h"
#include "handler/uri.h"
#include "ledger/license.h"

#define EXT "https://stac-extensions.github.io/"
#define GEOJSON_TYPE "application/geo+json"
#define JSON_TYPE "application/json"

/* ---- geometry -------------------------------------------------------------------------------- */

static void add_position(yyjson_mut_doc *d, yyjson_mut_val *list, double x, double y)
{
    yyjson_mut_val *p = yyjson_mut_arr_add_arr(d, list);
    yyjson_mut_arr_add_real(d, p, x);
    yyjson_mut_arr_add_real(d, p, y);
}

static void add_ring(yyjson_mut_doc *d, yyjson_mut_val *list, const double b[4])
{
    yyjson_mut_val *ring = yyjson_mut_arr_add_arr(d, list);
    add_position(d, ring, b[0], b[1]);
    add_position(d, ring, b[2], b[1]);
    add_position(d, ring, b[2], b[3]);
    add_position(d, ring, b[0], b[3]);
    add_position(d, ring, b[0], b[1]);
}

yyjson_mut_val *stac_box_geometry(yyjson_mut_doc *d, const double b[4])
{
    bool wide = b[0] < b[2], high = b[1] < b[3];
    yyjson_mut_val *g = yyjson_mut_obj(d), *c = yyjson_mut_arr(d);
    json_add_str(d, g, "type", wide && high ? "Polygon" : wide || high ? "LineString" : "Point");
    yyjson_mut_obj_add_val(d, g, "coordinates", c);
    if (wide && high) {
        add_ring(d, c, b);
    } else if (wide || high) {
        add_position(d, c, b[0], b[1]);
        add_position(d, c, b[2], b[3]);
    } else {
        yyjson_mut_arr_add_real(d, c, b[0]);
        yyjson_mut_arr_add_real(d, c, b[1]);
    }
    return g;
}

static void add_place(yyjson_mut_doc *d, yyjson_mut_val *o, const struct validation *qa)
{
    if (!qa->has_bbox) {
        yyjson_mut_obj_add_null(d, o, "geometry");
        return;
    }
    yyjson_mut_obj_add_val(d, o, "geometry", stac_box_geometry(d, qa->bbox));
    yyjson_mut_val *box = yyjson_mut_obj_add_arr(d, o, "bbox");
    for (int i = 0; i < 4; i++)
        yyjson_mut_arr_add_real(d, box, qa->bbox[i]);
}

/* ---- links ----------------------------------------------------------------------------------- */

/* href is a base mark and a printf'd path; type may be NULL. */
static void add_link(yyjson_mut_doc *d, yyjson_mut_val *links, const char *rel, const char *type,
                     yyjson_mut_val *href)
{
    yyjson_mut_val *l = yyjson_mut_arr_add_obj(d, links);
    json_add_str(d, l, "rel", rel);
    yyjson_mut_obj_add_val(d, l, "href", href);
    if (type)
        json_add_str(d, l, "type", type);
}

static yyjson_mut_val *item_href(yyjson_mut_doc *d, const char *collection, const char *item)
{
    return json_fmt(d, JSON_BASE "/stac/collections/%s/items/%s", collection, item);
}

static yyjson_mut_val *collection_href(yyjson_mut_doc *d, const char *collection)
{
    return json_fmt(d, JSON_BASE "/stac/collections/%s", collection);
}

/* Of a licence that is no SPDX identifier: its address, or the source, which has its words. */
static void add_license_link(yyjson_mut_doc *d, yyjson_mut_val *l, const struct source *s)
{
    bool address =
        strncmp(s->license, "https://", 8) == 0 || strncmp(s->license, "http://", 7) == 0;
    if (!*s->license || license_spdx(s->license))
        return;
    if (address) {
        add_link(d, l, "license", NULL, yyjson_mut_strcpy(d, s->license));
        return;
    }
    add_link(d, l, "license", JSON_TYPE, json_fmt(d, JSON_BASE "/sources/%s", s->id));
    json_add_str(d, yyjson_mut_arr_get_last(l), "title", s->license);
}

static void add_item_links(yyjson_mut_doc *d, yyjson_mut_val *o, const struct facts *f,
                           const char *uri)
{
    const char *c = f->source->collection;
    yyjson_mut_val *l = yyjson_mut_obj_add_arr(d, o, "links");
    add_link(d, l, "self", GEOJSON_TYPE, item_href(d, c, f->item_id));
    add_link(d, l, "root", JSON_TYPE, json_fmt(d, JSON_BASE "/stac"));
    add_link(d, l, "parent", JSON_TYPE, collection_href(d, c));
    add_link(d, l, "collection", JSON_TYPE, collection_href(d, c));
    if (f->prev_item_id)
        add_link(d, l, "predecessor-version", GEOJSON_TYPE, item_href(d, c, f->prev_item_id));
    add_link(d, l, "delta", JSON_TYPE, json_fmt(d, JSON_BASE "/deltas/%s", f->delta_id));
    add_link(d, l, "via", f->to.media_type, yyjson_mut_strcpy(d, uri));
    add_license_link(d, l, f->source);
}

/* ---- the item -------------------------------------------------------------------------------- */

/* The same identity of an effect as the ledger's (promote.c). */
static void idempotency_key(const struct facts *f, char out[SHA256_HEX])
{
    char hex[SHA256_HEX], text[256];
    struct sha256 key;
    sha256_hex(&f->to.sha, hex);
    int n =
        snprintf(text, sizeof text, "%s\n%lld\n%s", f->source->id, (long long)f->to.version, hex);
    digest_sha256(text, (size_t)n, &key); /* an id has at most 64 characters: it fits */
    sha256_hex(&key, out);
}

static void add_detection(yyjson_mut_doc *d, yyjson_mut_val *p, const struct facts *f)
{
    char key[SHA256_HEX];
    idempotency_key(f, key);
    json_add_str(d, p, "kfm:change_detection:detector", f->cand->detector);
    json_add_time(d, p, "kfm:change_detection:detected_at", f->cand->detected_at);
    json_add_time(d, p, "kfm:change_detection:received_at", f->cand->received_at);
    json_add_str(d, p, "kfm:change_detection:idempotency_key", key);
}

/* STAC takes an SPDX identifier; anything else is "other", and a link tells it. */
static const char *license_id(const char *license)
{
    const char *id = license_spdx(license);
    return id ? id : "other";
}

static void add_properties(yyjson_mut_doc *d, yyjson_mut_val *o, const struct facts *f)
{
    char hex[SHA256_HEX];
    yyjson_mut_val *p = yyjson_mut_obj_add_obj(d, o, "properties");
    sha256_hex(&f->to.sha, hex);
    json_add_str(d, p, "title", f->source->title);
    json_add_time(d, p, "datetime", f->cand->detected_at);
    json_add_time(d, p, "created", f->finalized_at);
    json_add_time(d, p, "updated", f->finalized_at);
    if (*f->source->license)
        json_add_str(d, p, "license", license_id(f->source->license));
    yyjson_mut_obj_add_val(d, p, "version", json_fmt(d, "%lld", (long long)f->to.version));
    yyjson_mut_obj_add_bool(d, p, "deprecated", false);
    yyjson_mut_obj_add_val(d, p, "checksum:sha256", json_fmt(d, "sha256:%s", hex));
    if (f->qa.has_bbox)
        json_add_str(d, p, "proj:code", "EPSG:4326");
    else
        yyjson_mut_obj_add_null(d, p, "proj:code");
    add_detection(d, p, f);
}

static yyjson_mut_val *add_asset(yyjson_mut_doc *d, yyjson_mut_val *assets, const char *key,
                                 yyjson_mut_val *href, const char *type, const char *title,
                                 const char *role)
{
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(d, assets, key);
    yyjson_mut_obj_add_val(d, v, "href", href);
    json_add_str(d, v, "type", type);
    json_add_str(d, v, "title", title);
    yyjson_mut_arr_add_strcpy(d, yyjson_mut_obj_add_arr(d, v, "roles"), role);
    return v;
}

static void add_assets(yyjson_mut_doc *d, yyjson_mut_val *o, const struct facts *f)
{
    char hex[SHA256_HEX];
    yyjson_mut_val *assets = yyjson_mut_obj_add_obj(d, o, "assets");
    sha256_hex(&f->to.sha, hex);
    yyjson_mut_val *data =
        add_asset(d, assets, "data", json_fmt(d, JSON_BASE "/assets/sha256/%s", hex),
                  f->to.media_type, f->source->title, "data");
    /* A multihash: 0x12 is sha2-256, 0x20 its 32 bytes. */
    yyjson_mut_obj_add_val(d, data, "file:checksum", json_fmt(d, "1220%s", hex));
    yyjson_mut_obj_add_int(d, data, "file:size", f->to.size);
    add_asset(d, assets, "provenance", json_fmt(d, JSON_BASE "/prov/%s", f->run_id), JSON_TYPE,
              "Provenance", "metadata");
}

enum rc stac_item(struct arena *a, const struct facts *f, struct str *ret, struct err *err)
{
    static const char *const extensions[] = {EXT "version/v1.2.0/schema.json",
                                             EXT "file/v2.1.0/schema.json",
                                             EXT "projection/v2.0.0/schema.json"};
    yyjson_mut_doc *d = json_doc(a);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    const char *uri = uri_shown(a, f->source->url);
    if (!uri)
        return err_set(err, RC_NOMEM, "", "no memory for a STAC item");
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "type", "Feature");
    json_add_str(d, o, "stac_version", "1.1.0");
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(d, o, "stac_extensions");
    for (size_t i = 0; i < ARRAY_LEN(extensions); i++)
        yyjson_mut_arr_add_str(d, list, extensions[i]);
    json_add_str(d, o, "id", f->item_id);
    json_add_str(d, o, "collection", f->source->collection);
    add_place(d, o, &f->qa);
    add_properties(d, o, f);
    add_assets(d, o, f);
    add_item_links(d, o, f, uri); /* last: the api adds the links that later versions move */
    return json_write(a, d, 0, ret, err);
}

enum rc stac_item_gone(struct arena *a, struct str item, const struct facts *f, struct str *ret,
                       struct err *err)
{
    yyjson_val *root;
    TRY(json_parse(a, item, 0, "a stored STAC item", &root, err));
    yyjson_mut_doc *d = json_doc(a);
    yyjson_mut_val *o = yyjson_val_mut_copy(d, root), *p = yyjson_mut_obj_get(o, "properties");
    yyjson_mut_doc_set_root(d, o);
    /* In place, so that the order of members stays. */
    yyjson_mut_set_bool(yyjson_mut_obj_get(p, "deprecated"), true);
    char when[TIME_MAX];
    time_format(f->finalized_at, when);
    yyjson_mut_val *updated = yyjson_mut_obj_get(p, "updated"), *text = yyjson_mut_strcpy(d, when);
    if (updated && text)
        yyjson_mut_set_str(updated, yyjson_mut_get_str(text));
    return json_write(a, d, 0, ret, err);
}

/* ---- the collection -------------------------------------------------------------------------- */

enum rc stac_collection(struct arena *a, const char *collection, struct str *ret, struct err *err)
{
    yyjson_mut_doc *d = json_doc(a);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "type", "Collection");
    json_add_str(d, o, "stac_version", "1.1.0");
    json_add_str(d, o, "id", collection);
    json_add_str(d, o, "title", collection);
    yyjson_mut_obj_add_val(
        d, o, "description",
        json_fmt(d, "Versions of the sources of %s, each verified by digest", collection));
    json_add_str(d, o, "license", "other");
    json_add_str(d, o, "itemType", "feature");
    return json_write(a, d, 0, ret, err);
}
