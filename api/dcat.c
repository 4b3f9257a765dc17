/* dcat: the routes of the catalog. A page of it is a Hydra view; the same is said in Link headers.
 *
 * Invariants
 *   1. A page is bounded, and following `next` meets every dataset once.
 *   2. Suffix beats f=, which beats Accept.
 * Called by the route table. */
#include "api/dcat.h"

#include "api/conditional.h"
#include "api/negotiate.h"
#include "api/put.h"
#include "ledger/public_catalog.h"
#include "ledger/public_items.h"

#define COLLECTION_MAX 64
#define PAGE_DEFAULT 20
#define PAGE_MAX 100
#define DATA_JSON_MAX 1000 /* datasets of /data.json: harvesters read one file */
#define DATA_JSON_DEFAULT 1000

enum { AS_JSONLD, AS_TURTLE };
static const struct media formats[] = {
    {"jsonld", "application/ld+json", "application/ld+json"},
    {"ttl", "text/turtle", "text/turtle; charset=utf-8"},
};

static void put_graph(struct rdf *g, struct resp *w, size_t format)
{
    if (format == AS_TURTLE)
        rdf_write_turtle(g, &w->body);
    else
        rdf_write_jsonld(g, &w->body);
}

static enum rc finish(const struct req *r, struct resp *w, struct etag gens, int64_t as, int64_t at,
                      struct err *err)
{
    struct public_meta m = {0};
    const struct conf *c = &r->inst->conf;
    TRY(public_meta_get(r->ledger, r->arena, &m, err));
    struct etag e = etag_start(m.policy_version, r->base);
    etag_int(&e, (int64_t)gens.h);
    etag_int(&e, as);
    etag_str(&e, str_of(c->publisher_name));
    etag_str(&e, str_of(c->publisher_url));
    etag_str(&e, str_of(c->contact_email));
    etag_set(&e, w);
    w->last_modified = at > 0 ? at : -1;
    w->etag_only = true; /* what was withdrawn moves no date */
    return RC_OK;
}

/* ---- one dataset ----------------------------------------------------------------------------- */

static enum rc dataset_as(struct req *r, struct resp *w, size_t format, struct err *err)
{
    struct dcat_publisher p;
    struct dcat_dataset d;
    struct rdf g;
    char path[32 + COLLECTION_MAX];
    TRY(route_lookup(dcat_read(r, r->path_vars[0], DCAT_VERSIONS_MAX, &d, err), err));
    TRY(dcat_publisher(r, &p, err));
    rdf_init(&g, r->arena, r->base);
    dcat_graph_dataset(&g, &d, &p);
    TRY(rdf_rc(&g, err));
    put_graph(&g, w, format);
    snprintf(path, sizeof path, "/dcat/datasets/%s", d.collection);
    link_alternates(w, r, path, formats, ARRAY_LEN(formats), format);
    if (d.n > 0 && *d.versions[0].prov)
        resp_link(w, r->base, d.versions[0].prov + 1, "",
                  "http://www.w3.org/ns/prov#has_provenance");
    return finish(r, w, d.gens, (int64_t)format, d.at, err);
}

static enum rc check_collection(const struct req *r, struct err *err)
{
    return str_is_slug(r->path_vars[0], COLLECTION_MAX) ? RC_OK : route_not_found(err);
}

enum rc dcat_dataset(struct req *r, struct resp *w, struct err *err)
{
    size_t format;
    int64_t gen;
    TRY(check_collection(r, err));
    TRY(route_lookup(public_collection_gen(r->ledger, r->path_vars[0], &gen, err), err));
    TRY(negotiate(r, w, formats, ARRAY_LEN(formats), &format, err));
    return dataset_as(r, w, format, err);
}

enum rc dcat_dataset_jsonld(struct req *r, struct resp *w, struct err *err)
{
    TRY(check_collection(r, err));
    return dataset_as(r, w, AS_JSONLD, err);
}

enum rc dcat_dataset_turtle(struct req *r, struct resp *w, struct err *err)
{
    TRY(check_collection(r, err));
    return dataset_as(r, w, AS_TURTLE, err);
}

/* ---- pages ----------------------------------------------------------------------------------- */

struct page {
    const char *names[DATA_JSON_MAX];
    size_t n;
    int64_t limit;
    bool more;
    struct str after;
    struct arena *a;
};

static enum rc take_name(void *ctx, struct str collection, int64_t gen, struct err *err)
{
    struct page *x = ctx;
    (void)gen;
    if ((int64_t)x->n == x->limit) {
        x->more = true;
        return RC_OK;
    }
    x->names[x->n] = arena_str(x->a, collection);
    return x->names[x->n++] ? RC_OK : err_set(err, RC_NOMEM, "", "no memory for a page");
}

static enum rc read_page(struct req *r, int64_t def, int64_t max, struct page **ret,
                         struct err *err)
{
    struct page *x = ARENA_NEW(r->arena, struct page);
    struct str after = req_param(r, "after");
    if (!x)
        return err_set(err, RC_NOMEM, "", "no memory for a page");
    x->a = r->arena;
    x->after = after.p ? after : STR("");
    TRY(param_limit(req_param(r, "limit"), def, max, &x->limit, err));
    if (after.p && !str_is_slug(after, COLLECTION_MAX))
        return err_set(err, RC_INVALID, "after", "is not a place in this catalog");
    TRY(public_dataset_each(r->ledger, x->after, x->limit + 1, take_name, x, err));
    *ret = x;
    return RC_OK;
}

/* The page as Hydra says it: which part of the whole this is, and where the others are. */
static enum rc add_view(struct req *r, struct resp *w, struct rdf *g, const struct page *x,
                        size_t format, struct err *err)
{
    static const char whole[] = JSON_BASE "/dcat";
    int64_t total;
    char count[24];
    TRY(public_collection_count(r->ledger, r->arena, &(struct collection_query){0}, &total, err));
    snprintf(count, sizeof count, "%lld", (long long)total);
    const char *self =
        arena_printf(r->arena, JSON_BASE "/dcat?limit=%lld%s%.*s", (long long)x->limit,
                     x->after.n ? "&after=" : "", STR_FMT(x->after));
    const char *first = arena_printf(r->arena, JSON_BASE "/dcat?limit=%lld", (long long)x->limit);
    const char *next = x->more ? arena_printf(r->arena, JSON_BASE "/dcat?limit=%lld&after=%s",
                                              (long long)x->limit, x->names[x->n - 1])
                               : NULL;
    rdf_class(g, whole, "hydra:Collection");
    rdf_typed(g, whole, "hydra:totalItems", count, "xsd:integer");
    rdf_link(g, whole, "hydra:view", self);
    rdf_class(g, self, "hydra:PartialCollectionView");
    rdf_link(g, self, "hydra:first", first);
    rdf_link(g, self, "hydra:next", next);
    if (next)
        resp_header(w, "Link", "<%.*s%s&f=%s>; rel=\"next\"", STR_FMT(r->base), next + 1,
                    formats[format].name);
    resp_header(w, "Link", "<%.*s%s&f=%s>; rel=\"first\"", STR_FMT(r->base), first + 1,
                formats[format].name);
    return RC_OK;
}

static enum rc catalog_as(struct req *r, struct resp *w, size_t format, struct err *err)
{
    struct page *x;
    struct dcat_publisher p;
    struct dcat_dataset d;
    struct rdf g;
    struct etag gens = {0xcbf29ce484222325u};
    int64_t at = -1;
    TRY(read_page(r, PAGE_DEFAULT, PAGE_MAX, &x, err));
    TRY(dcat_publisher(r, &p, err));
    rdf_init(&g, r->arena, r->base);
    dcat_graph_catalog(&g, &p);
    for (size_t i = 0; i < x->n; i++) {
        TRY(dcat_read(r, str_of(x->names[i]), DCAT_PAGE_VERSIONS_MAX, &d, err));
        rdf_link(&g, JSON_BASE "/dcat", "dcat:dataset",
                 arena_printf(r->arena, JSON_BASE "/dcat/datasets/%s", d.collection));
        dcat_graph_dataset(&g, &d, &p);
        etag_int(&gens, (int64_t)d.gens.h);
        at = d.at > at ? d.at : at;
    }
    TRY(add_view(r, w, &g, x, format, err));
    TRY(rdf_rc(&g, err));
    put_graph(&g, w, format);
    etag_int(&gens, x->more);
    link_alternates(w, r, "/dcat", formats, ARRAY_LEN(formats), format);
    return finish(r, w, gens, (int64_t)format, at, err);
}

enum rc dcat_catalog(struct req *r, struct resp *w, struct err *err)
{
    size_t format;
    TRY(negotiate(r, w, formats, ARRAY_LEN(formats), &format, err));
    return catalog_as(r, w, format, err);
}

enum rc dcat_catalog_jsonld(struct req *r, struct resp *w, struct err *err)
{
    return catalog_as(r, w, AS_JSONLD, err);
}

enum rc dcat_catalog_turtle(struct req *r, struct resp *w, struct err *err)
{
    return catalog_as(r, w, AS_TURTLE, err);
}

/* ---- DCAT-US --------------------------------------------------------------------------------- */

static void put_us_head(struct req *r, struct buf *b, bool three, const struct dcat_publisher *p)
{
    if (!three) {
        buf_puts(b,
                 "{\"@context\":\"https://project-open-data.cio.gov/v1.1/schema/catalog.jsonld\","
                 "\"@id\":\"");
        buf_str(b, r->base);
        buf_puts(b, "/data.json\",\"@type\":\"dcat:Catalog\",\"conformsTo\":"
                    "\"https://project-open-data.cio.gov/v1.1/schema\",\"describedBy\":"
                    "\"https://project-open-data.cio.gov/v1.1/schema/catalog.json\",\"dataset\":[");
        return;
    }
    buf_puts(b, "{\"@type\":\"Catalog\",\"@id\":\"");
    buf_str(b, r->base);
    buf_puts(b, "/data.json?version=3\"");
    put_text(b, "title", "Watched datasets");
    put_text(b, "description", "Watched datasets with their versions, checksums and provenance");
    buf_puts(b, ",\"publisher\":{\"@type\":\"Organization\"");
    put_text(b, "name", p->name);
    buf_puts(b, "},\"dataset\":[");
}

enum rc data_json(struct req *r, struct resp *w, struct err *err)
{
    struct page *x;
    struct dcat_publisher p;
    struct dcat_dataset d;
    struct etag gens = {0xcbf29ce484222325u};
    struct str version = req_param(r, "version");
    bool three = str_is(version, "3") || str_is(version, "3.0");
    int64_t at = -1;
    size_t n = 0;
    if (version.p && !three && !str_is(version, "1.1"))
        return err_set(err, RC_INVALID, "version", "must be 1.1 or 3");
    TRY(read_page(r, DATA_JSON_DEFAULT, DATA_JSON_MAX, &x, err));
    TRY(dcat_publisher(r, &p, err));
    put_us_head(r, &w->body, three, &p);
    for (size_t i = 0; i < x->n; i++) {
        TRY(dcat_read(r, str_of(x->names[i]), DCAT_PAGE_VERSIONS_MAX, &d, err));
        if (three ||
            *d.modified) { /* 1.1 wants a date of every dataset: what has no version has none */
            buf_puts(&w->body, n++ ? "," : "");
            (three ? dcat_us3_dataset : dcat_us_dataset)(r, &w->body, &d, &p);
        }
        etag_int(&gens, (int64_t)d.gens.h);
        at = d.at > at ? d.at : at;
    }
    buf_puts(&w->body, "]}");
    if (x->more)
        resp_header(w, "Link", "<%.*s/data.json?%slimit=%lld&after=%s>; rel=\"next\"",
                    STR_FMT(r->base), three ? "version=3&" : "", (long long)x->limit,
                    x->names[x->n - 1]);
    etag_int(&gens, x->more);
    return finish(r, w, gens, three, at, err);
}
