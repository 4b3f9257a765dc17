/* stac_landing: the root catalog, for programs as JSON and for browsers as a page, and what it
 * conforms to. */
#include "api/openapi.h"
#include "api/stac.h"

#include <stdlib.h>

#define PAGE_COLLECTIONS 100 /* of the page for people */
#define STAC_API "https://api.stacspec.org/"
#define OGC "http://www.opengis.net/spec/"

static const char *const classes[] = {
    STAC_API "v1.0.0/core",
    STAC_API "v1.0.0/collections",
    STAC_API "v1.0.0/ogcapi-features",
    STAC_API "v1.0.0/item-search",
    STAC_API "v1.0.0/item-search#filter",
    STAC_API "v1.0.0/item-search#fields",
    STAC_API "v1.0.0/ogcapi-features#fields",
    STAC_API "v1.0.0/item-search#sort",
    STAC_API "v1.1.0/item-search#sort",
    STAC_API "v1.1.0/ogcapi-features#sort",
    STAC_API "v1.1.0/collection-search#sort",
    STAC_API "v1.0.0-rc.1/collection-search",
    STAC_API "v1.0.0-rc.1/collection-search#free-text",
    STAC_API "v1.0.0-rc.1/item-search#free-text",
    STAC_API "v1.0.0-rc.2/children",
    STAC_API "v1.0.0-rc.3/browseable",
    OGC "ogcapi-common-2/1.0/conf/simple-query",
    OGC "ogcapi-features-1/1.0/conf/core",
    OGC "ogcapi-features-1/1.0/conf/geojson",
    OGC "ogcapi-features-1/1.0/conf/oas30",
    OGC "ogcapi-features-3/1.0/conf/filter",
    OGC "ogcapi-features-3/1.0/conf/features-filter",
    OGC "cql2/1.0/conf/cql2-text",
    OGC "cql2/1.0/conf/cql2-json",
    OGC "cql2/1.0/conf/basic-cql2",
    OGC "cql2/1.0/conf/advanced-comparison-operators",
    OGC "cql2/1.0/conf/basic-spatial-functions",
    OGC "cql2/1.0/conf/basic-spatial-operators",
    OGC "cql2/1.0/conf/temporal-functions",
    OGC "cql2/1.0/conf/temporal-operators",
};

static void put_classes(struct buf *b)
{
    buf_puts(b, "\"conformsTo\":[");
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        buf_printf(b, "%s\"%s\"", i ? "," : "", classes[i]);
    buf_byte(b, ']');
}

enum rc stac_conformance(struct req *r, struct resp *w, struct err *err)
{
    buf_byte(&w->body, '{');
    put_classes(&w->body);
    buf_byte(&w->body, '}');
    return stac_finish(r, w, -1, err);
}

/* ---- Accept ---------------------------------------------------------------------------------- */

/* Weight of one media range, 1 without q, in thousandths. */
static int weight(struct str params)
{
    struct str p;
    while (str_next(&params, ';', &p)) {
        p = str_trim(p);
        if (!str_starts(p, STR("q=")))
            continue;
        char text[8] = "";
        memcpy(text, p.p + 2, p.n - 2 < 7 ? p.n - 2 : 7);
        return (int)(strtod(text, NULL) * 1000);
    }
    return 1000;
}

bool stac_wants_html(struct str accept)
{
    int html = 0, json = 0;
    struct str item, type;
    while (str_next(&accept, ',', &item)) {
        if (!str_next(&item, ';', &type))
            continue;
        type = str_trim(type);
        int q = weight(item);
        if (str_is(type, "text/html") || str_is(type, "application/xhtml+xml"))
            html = q > html ? q : html;
        else if (str_is(type, "application/json") || str_is(type, "*/*"))
            json = q > json ? q : json;
    }
    return html > json;
}

/* ---- the root -------------------------------------------------------------------------------- */

#define SUMMARY                                                                                    \
    "Versions of watched data, each verified by digest, with what changed and why to trust it"

static enum rc put_json(struct req *r, struct resp *w, struct err *err)
{
    struct buf *b = &w->body;
    buf_puts(b, "{\"type\":\"Catalog\",\"stac_version\":\"" STAC_VERSION "\",\"id\":\"freshet\","
                "\"title\":\"Freshet\",\"description\":\"" SUMMARY "\",");
    put_classes(b);
    buf_puts(b, ",\"links\":[");
    stac_link(b, r->base, "self", "application/json", "This catalog", "%.*s", STR_FMT(r->path));
    stac_link(b, r->base, "root", "application/json", "This catalog", "%.*s", STR_FMT(r->path));
    stac_link(b, r->base, "service-desc", OPENAPI_TYPE, "OpenAPI", "/stac/api");
    stac_link(b, r->base, "service-doc", "text/html", "Reference", "/docs");
    stac_link(b, r->base, "data", "application/json", "Collections", "/stac/collections");
    stac_link(b, r->base, "conformance", "application/json", "Conformance", "/stac/conformance");
    buf_puts(b, ",{\"rel\":\"search\",\"type\":\"application/geo+json\",\"title\":\"Search\","
                "\"method\":\"GET\",\"href\":\"");
    buf_str(b, r->base);
    buf_puts(b, "/stac/search\"},{\"rel\":\"search\",\"type\":\"application/geo+json\",\"title\":"
                "\"Search\",\"method\":\"POST\",\"href\":\"");
    buf_str(b, r->base);
    buf_puts(b, "/stac/search\"}");
    stac_link(b, r->base, "children", "application/json", "Children", "/stac/children");
    stac_link(b, r->base, "http://www.opengis.net/def/rel/ogc/1.0/queryables",
              "application/schema+json", "Queryables", "/stac/queryables");
    TRY(stac_root_children(r, b, false, err));
    buf_puts(b, "]}");
    return RC_OK;
}

/* "water-bodies" as "Water bodies". Ids are made of a-z, 0-9, _ and -: nothing to escape. */
static void put_name(struct buf *b, struct str id)
{
    for (size_t i = 0; i < id.n; i++) {
        char c = id.p[i] == '-' || id.p[i] == '_' ? ' ' : id.p[i];
        buf_byte(b, i == 0 && c >= 'a' && c <= 'z' ? (char)(c - 32) : c);
    }
}

static enum rc put_row(void *ctx, const struct public_collection *c, struct err *err)
{
    struct buf *b = ctx;
    (void)err;
    buf_printf(b, "<tr><td><a href=\"/stac/collections/%.*s\">", STR_FMT(c->id));
    put_name(b, c->id);
    buf_printf(b, "</a></td><td>%lld</td><td>%.*s</td></tr>\n", (long long)c->items,
               (int)(c->last.n >= 10 ? 10 : 0), c->last.p);
    return RC_OK;
}

static enum rc put_html(struct req *r, struct resp *w, struct err *err)
{
    struct buf *b = &w->body;
    int64_t total = 0;
    buf_puts(
        b, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
           "<meta name=\"viewport\" content=\"width=device-width\"><title>Freshet catalog</title>"
           "<link rel=\"stylesheet\" href=\"/style.css\"></head><body><main>\n<h1>Catalog</h1>\n"
           "<p>" SUMMARY ". This is a STAC API: programs that ask for JSON get the catalog itself."
           "</p>\n<ul><li><a href=\"/stac/collections\">Collections</a></li>"
           "<li><a href=\"/stac/search\">Search</a></li>"
           "<li><a href=\"/stac/queryables\">What a filter can name</a></li>"
           "<li><a href=\"/stac/conformance\">Conformance</a></li>"
           "<li><a href=\"/docs\">API reference</a></li></ul>\n"
           "<p>Links lead to JSON, for programs.</p>\n");
    TRY(public_collection_count(r->ledger, r->arena, &(struct collection_query){0}, &total, err));
    if (total > PAGE_COLLECTIONS)
        buf_printf(b, "<table><caption>The first %d of %lld collections</caption>\n",
                   PAGE_COLLECTIONS, (long long)total);
    else
        buf_puts(b, "<table><caption>Collections</caption>\n");
    buf_puts(b, "<tr><th scope=\"col\">Collection</th><th scope=\"col\">Versions</th>"
                "<th scope=\"col\">Newest</th></tr>\n");
    TRY(public_collection_from(r->ledger, 0, PAGE_COLLECTIONS, put_row, b, err));
    buf_puts(b, "</table>\n</main></body></html>\n");
    w->content_type = "text/html; charset=utf-8";
    return RC_OK;
}

enum rc stac_landing(struct req *r, struct resp *w, struct err *err)
{
    TRY(stac_wants_html(r->accept) ? put_html(r, w, err) : put_json(r, w, err));
    return stac_finish(r, w, -1, err);
}
