/* dcat_model: a dataset as its public rows tell it. */
#include "api/conditional.h"
#include "api/dcat.h"

#include <stdlib.h>
#include "ledger/license.h"
#include "ledger/public_catalog.h"

struct reading {
    struct req *r;
    struct dcat_dataset *d;
    struct {
        int64_t src_no;
        const char *id, *license;
        int64_t version; /* of its head; 0: none */
        bool vintage;
    } sources[DCAT_SOURCES_MAX];
    size_t n_sources;
    int64_t max;
};

static bool read_box(yyjson_val *v, double ret[4])
{
    for (size_t i = 0; i < 4; i++) {
        if (!yyjson_is_num(yyjson_arr_get(v, i)))
            return false;
        ret[i] = yyjson_get_num(yyjson_arr_get(v, i));
    }
    return true;
}

static void grow_box(struct dcat_dataset *d, const double b[4])
{
    for (int i = 0; i < 4; i++)
        if (!d->has_bbox || (i < 2 ? b[i] < d->bbox[i] : b[i] > d->bbox[i]))
            d->bbox[i] = b[i];
    d->has_bbox = true;
}

/* ---- sources --------------------------------------------------------------------------------- */

/* The most open of the sources: versions that are not public say so themselves. */
static const char *more_open(const char *have, const char *level)
{
    const char *access = strcmp(level, "public") == 0        ? "PUBLIC"
                         : strcmp(level, "generalized") == 0 ? "RESTRICTED"
                                                             : "NON_PUBLIC";
    if (!*have || strcmp(access, "PUBLIC") == 0 || strcmp(have, "NON_PUBLIC") == 0)
        return access;
    return have;
}

static enum rc take_source(void *ctx, const struct public_member *m, struct err *err)
{
    struct reading *x = ctx;
    struct dcat_dataset *d = x->d;
    yyjson_val *doc;
    if (x->n_sources == DCAT_SOURCES_MAX)
        return RC_OK;
    TRY(json_parse(x->r->arena, m->d.doc, 0, "a stored description", &doc, err));
    const char *url = json_member_text(doc, "url"), *updated = json_member_text(doc, "updated_at");
    x->sources[x->n_sources].src_no = m->src_no;
    x->sources[x->n_sources].id = json_member_text(doc, "id");
    x->sources[x->n_sources].license = json_member_text(doc, "license");
    x->sources[x->n_sources].version =
        yyjson_get_sint(yyjson_obj_get(yyjson_obj_get(doc, "object_identity"), "version"));
    x->n_sources++;
    d->series = d->series || strstr(url, "{year}");
    d->title = d->n_sources++ == 0 ? json_member_text(doc, "title") : d->title;
    if (x->n_sources == 1)
        d->license = json_member_text(doc, "license");
    else if (strcmp(d->license, json_member_text(doc, "license")) != 0)
        d->license = "";
    d->boundary_type =
        *d->boundary_type ? d->boundary_type : json_member_text(doc, "boundary_type");
    d->modified = strcmp(updated, d->modified) > 0 ? updated : d->modified;
    d->access = more_open(d->access, json_member_text(doc, "sensitivity"));
    d->at = m->d.at > d->at ? m->d.at : d->at;
    etag_int(&d->gens, m->d.gen);
    return RC_OK;
}

/* ---- versions -------------------------------------------------------------------------------- */

static const char *link_of(yyjson_val *doc, const char *rel)
{
    size_t i, n;
    yyjson_val *l;
    yyjson_arr_foreach(yyjson_obj_get(doc, "links"), i, n,
                       l) if (strcmp(json_member_text(l, "rel"), rel) ==
                              0) return json_member_text(l, "href");
    return "";
}

/* Without a parameter, which an older declaration may have; "" when it is none. */
static const char *type_alone(struct arena *a, const char *type)
{
    struct str s = str_trim((struct str){type, strcspn(type, ";")});
    bool whole = s.n && memchr(s.p, '/', s.n) && strcspn(s.p, " \t\"") >= s.n;
    const char *alone = whole ? arena_str(a, s) : "";
    return alone ? alone : "";
}

static void take_bytes(struct arena *a, struct dcat_version *v, yyjson_val *data)
{
    const char *sum = json_member_text(data, "file:checksum"); /* multihash: 1220 and the digest */
    if (!data || strlen(sum) != 68)
        return;
    v->download = json_member_text(data, "href");
    v->media_type = type_alone(a, json_member_text(data, "type"));
    v->size = yyjson_get_sint(yyjson_obj_get(data, "file:size"));
    v->sha256 = sum + 4;
}

static enum rc take_item(void *ctx, const struct public_member *m, struct err *err)
{
    struct reading *x = ctx;
    struct dcat_dataset *d = x->d;
    struct dcat_version *v = &d->versions[d->n];
    yyjson_val *doc;
    if ((int64_t)d->n == x->max)
        return RC_OK;
    TRY(json_parse(x->r->arena, m->d.doc, 0, "a stored item", &doc, err));
    yyjson_val *p = yyjson_obj_get(doc, "properties"), *assets = yyjson_obj_get(doc, "assets");
    *v = (struct dcat_version){.item_id = json_member_text(doc, "id"),
                               .source_id = "",
                               .title = json_member_text(p, "title"),
                               .version = json_member_text(p, "version"),
                               .created = json_member_text(p, "created"),
                               .license = "",
                               .sha256 = "",
                               .media_type = "",
                               .download = "",
                               .item = link_of(doc, "self"),
                               .via = link_of(doc, "via"),
                               .previous = link_of(doc, "predecessor-version"),
                               .prov =
                                   json_member_text(yyjson_obj_get(assets, "provenance"), "href"),
                               .deprecated = yyjson_get_bool(yyjson_obj_get(p, "deprecated")),
                               .has_bbox = read_box(yyjson_obj_get(doc, "bbox"), v->bbox)};
    v->has_bbox = read_box(yyjson_obj_get(doc, "bbox"), v->bbox);
    take_bytes(x->r->arena, v, yyjson_obj_get(assets, "data"));
    for (size_t i = 0; i < x->n_sources; i++)
        if (x->sources[i].src_no == m->src_no) {
            v->source_id = x->sources[i].id;
            v->license = x->sources[i].license;
            v->current = !v->deprecated && x->sources[i].version == strtoll(v->version, NULL, 10);
        }
    if (v->has_bbox && v->current)
        grow_box(d, v->bbox);
    d->n_current += v->current;
    d->issued = v->created; /* the last one is the oldest */
    d->at = m->d.at > d->at ? m->d.at : d->at;
    d->n++;
    etag_int(&d->gens, m->d.gen);
    return RC_OK;
}

/* The version before, by the end of its address, if it is among these. */
static void link_versions(struct dcat_dataset *d)
{
    for (size_t i = 0; i < d->n; i++) {
        const char *slash = strrchr(d->versions[i].previous, '/'), *found = NULL;
        for (size_t j = 0; slash && j < d->n; j++)
            if (strcmp(d->versions[j].item_id, slash + 1) == 0)
                found = d->versions[j].item_id;
        d->versions[i].previous = found;
    }
}

static enum rc describe(struct req *r, struct dcat_dataset *d, struct err *err)
{
    if (d->n_sources != 1 || !*d->title)
        d->title = d->collection;
    d->description =
        strcmp(d->access, "NON_PUBLIC") == 0
            ? arena_printf(r->arena, "%s. Its content is not public.", d->title)
            : arena_printf(r->arena,
                           "%s: versions as the upstream published them, each verified by digest, "
                           "with provenance and the change between two versions.",
                           d->title);
    return d->description ? RC_OK : err_set(err, RC_NOMEM, "", "no memory for a dataset");
}

enum rc dcat_read(struct req *r, struct str collection, int64_t versions, struct dcat_dataset *ret,
                  struct err *err)
{
    int64_t gen;
    TRY(public_collection_gen(r->ledger, collection, &gen, err));
    struct dcat_dataset d = {.collection = arena_str(r->arena, collection),
                             .title = "",
                             .modified = "",
                             .issued = "",
                             .license = "",
                             .boundary_type = "",
                             .access = "",
                             .gens = {0xcbf29ce484222325u}};
    d.versions = arena_zalloc(r->arena, (size_t)versions * sizeof *d.versions);
    struct reading *x = ARENA_NEW(r->arena, struct reading);
    if (!d.versions || !d.collection || !x)
        return err_set(err, RC_NOMEM, "", "no memory for a dataset");
    *x = (struct reading){.r = r, .d = &d, .max = versions};
    TRY(public_sources_in(r->ledger, collection, DCAT_SOURCES_MAX, take_source, x, err));
    TRY(public_items_in(r->ledger, collection, versions, take_item, x, err));
    if (d.n_sources == 0)
        return err_set(err, RC_NOT_FOUND, "", "nothing public is in this collection");
    link_versions(&d);
    TRY(describe(r, &d, err));
    *ret = d;
    return RC_OK;
}

/* ---- shared ---------------------------------------------------------------------------------- */

enum rc dcat_publisher(struct req *r, struct dcat_publisher *ret, struct err *err)
{
    const struct conf *c = &r->inst->conf;
    ret->iri = *c->publisher_url ? c->publisher_url : arena_str(r->arena, r->base);
    ret->name = *c->publisher_name ? c->publisher_name : "Freshet";
    ret->mail = arena_printf(r->arena, "mailto:%s",
                             *c->contact_email ? c->contact_email : "contact@example.org");
    if (!ret->iri || !ret->mail)
        return err_set(err, RC_NOMEM, "", "no memory for the publisher");
    return RC_OK;
}

const char *dcat_license(struct arena *a, const char *license)
{
    if (strncmp(license, "https://", 8) == 0 || strncmp(license, "http://", 7) == 0)
        return license;
    const char *id = license_spdx(license);
    return id ? arena_printf(a, "https://spdx.org/licenses/%s.html", id) : "";
}

const char *dcat_wkt(struct arena *a, const double b[4])
{
    char n[4][32];
    for (int i = 0; i < 4; i++)
        json_number(b[i], n[i]);
    return arena_printf(a, "POLYGON((%s %s,%s %s,%s %s,%s %s,%s %s))", n[0], n[1], n[2], n[1], n[2],
                        n[3], n[0], n[3], n[0], n[1]);
}
