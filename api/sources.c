/* sources: /sources and /sources/{source}, the public descriptions.
 *
 * Invariants
 *   1. The list holds what the public may see, and counts nothing else.
 * Called by the route table. */
#include "api/documents.h"

#define LIST_LIMIT_DEFAULT 100
#define LIST_LIMIT_MAX 1000
#define SOURCE_ID_MAX 128

enum rc sources_one(struct req *r, struct resp *w, struct err *err)
{
    struct public_doc d = {0};
    if (!str_is_slug(r->path_vars[0], SOURCE_ID_MAX))
        return route_not_found(err);
    TRY(route_lookup(public_source_get(r->ledger, r->arena, r->path_vars[0], &d, err), err));
    return document_put(r, w, &d, err);
}

struct listing {
    struct req *r;
    struct resp *w;
    int64_t limit, n, newest;
    bool more;
    char last[SOURCE_ID_MAX + 1];
    struct etag etag;
};

static enum rc list_row(void *ctx, struct str id, const struct public_doc *d, struct err *err)
{
    struct listing *x = ctx;
    (void)err;
    if (x->n == x->limit) {
        x->more = true;
        return RC_OK;
    }
    if (x->n++ > 0)
        buf_byte(&x->w->body, ',');
    json_put_based(&x->w->body, d->doc, x->r->base);
    snprintf(x->last, sizeof x->last, "%.*s", STR_FMT(id));
    etag_int(&x->etag, d->gen);
    x->newest = d->at > x->newest ? d->at : x->newest;
    return RC_OK;
}

static void list_end(struct listing *x)
{
    struct buf *b = &x->w->body;
    char path[64 + SOURCE_ID_MAX];
    buf_puts(b, "],\"links\":[");
    put_link(b, "self", x->r->base, "/sources");
    if (x->more) {
        snprintf(path, sizeof path, "/sources?limit=%lld&after=%s", (long long)x->limit, x->last);
        put_link(b, "next", x->r->base, path);
    }
    buf_puts(b, "]}");
}

enum rc sources_list(struct req *r, struct resp *w, struct err *err)
{
    struct public_meta m = {0};
    struct str after = req_param(r, "after");
    struct listing x = {.r = r, .w = w, .newest = -1};
    TRY(param_limit(req_param(r, "limit"), LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX, &x.limit, err));
    if (after.p && !str_is_slug(after, SOURCE_ID_MAX))
        return err_set(err, RC_INVALID, "after", "is not a place in this list");
    TRY(public_meta_get(r->ledger, r->arena, &m, err));
    x.etag = etag_start(m.policy_version, r->base);
    buf_puts(&w->body, "{\"results\":[");
    TRY(public_source_each(r->ledger, after.p ? after : STR(""), x.limit + 1, list_row, &x, err));
    list_end(&x);
    etag_int(&x.etag, x.more);
    etag_set(&x.etag, w);
    w->last_modified = x.newest;
    w->etag_only = true; /* a source that went away moves no date */
    return RC_OK;
}
