/* stac_queryables: what a filter can name, as JSON Schema. Other names are taken too and
 * match nothing. */
#include "api/stac.h"

static const char properties[] =
    "\"id\":{\"title\":\"Item id\",\"type\":\"string\"},"
    "\"collection\":{\"title\":\"Collection id\",\"type\":\"string\"},"
    "\"geometry\":{\"title\":\"Footprint\",\"format\":\"geometry-any\"},"
    "\"datetime\":{\"title\":\"When the version was found\",\"type\":\"string\",\"format\":\"date-time\"},"
    "\"created\":{\"title\":\"When it was promoted\",\"type\":\"string\",\"format\":\"date-time\"},"
    "\"updated\":{\"title\":\"When the item last changed\",\"type\":\"string\",\"format\":\"date-time\"},"
    "\"title\":{\"title\":\"Title of the source\",\"type\":\"string\"},"
    "\"license\":{\"title\":\"Licence\",\"type\":\"string\"},"
    "\"version\":{\"title\":\"Version of the source\",\"type\":\"string\"},"
    "\"deprecated\":{\"title\":\"Removed upstream or taken back\",\"type\":\"boolean\"},"
    "\"checksum:sha256\":{\"title\":\"sha256 of the bytes\",\"type\":\"string\"},"
    "\"proj:code\":{\"title\":\"Reference system of the footprint\",\"type\":\"string\"},"
    "\"kfm:change_detection:detector\":{\"title\":\"Detector\",\"type\":\"string\"},"
    "\"kfm:change_detection:detected_at\":{\"title\":\"Detected at\",\"type\":\"string\","
    "\"format\":\"date-time\"},"
    "\"kfm:change_detection:received_at\":{\"title\":\"Received at\",\"type\":\"string\","
    "\"format\":\"date-time\"},"
    "\"kfm:change_detection:idempotency_key\":{\"title\":\"Identity of the effect\",\"type\":\"string\"}";

static enum rc put(struct req *r, struct resp *w, struct err *err)
{
    struct buf *b = &w->body;
    buf_puts(b, "{\"$schema\":\"https://json-schema.org/draft/2019-09/schema\",\"$id\":\"");
    buf_str(b, r->base);
    buf_str(b, r->path);
    buf_puts(
        b, "\",\"type\":\"object\",\"title\":\"Queryables\",\"description\":\"Names that a filter "
           "can use\",\"properties\":{");
    buf_puts(b, properties);
    buf_puts(b, "},\"additionalProperties\":true}");
    return stac_finish(r, w, -1, err);
}

enum rc stac_queryables(struct req *r, struct resp *w, struct err *err)
{
    return put(r, w, err);
}

static enum rc is_there(void *ctx, const struct public_collection *c, struct err *err)
{
    (void)ctx;
    (void)c;
    (void)err;
    return RC_OK;
}

enum rc stac_queryables_of(struct req *r, struct resp *w, struct err *err)
{
    if (!str_is_slug(r->path_vars[0], STAC_ID_MAX))
        return route_not_found(err);
    TRY(route_lookup(public_collection_get(r->ledger, r->path_vars[0], is_there, NULL, err), err));
    return put(r, w, err);
}
