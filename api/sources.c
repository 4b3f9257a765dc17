/* sources: /sources and /sources/{source}, the public descriptions.
 *
 * Invariants
 *   1. The list holds what the public may see, and counts nothing else.
 *   2. Health is read beside the description, not stored in it: it moves with every check, and must
 *      never say "ok" while the freshness of the same source says that checks fail.
 * Called by the route table. */
#include "api/documents.h"

#define LIST_LIMIT_DEFAULT 100
#define LIST_LIMIT_MAX 1000
#define SOURCE_ID_MAX 128

static const char *health_state(const struct public_source_row *s)
{
    return s->checked_at < 0 ? "unknown" : s->failures > 0 ? "failing" : "ok";
}

/* The stored description with its health put before the closing brace. */
static void put_source(struct buf *b, const struct public_source_row *s, struct str base)
{
    json_put_based(b, (struct str){s->d.doc.p, s->d.doc.n - 1}, base);
    if (s->shown) {
        buf_printf(b, ",\"health\":{\"state\":\"%s\",\"last_outcome\":", health_state(s));
        if (s->last_outcome.n)
            json_put_str(b, s->last_outcome);
        else
            buf_puts(b, "null");
        buf_printf(b, ",\"failures\":%lld", (long long)s->failures);
        put_time(b, "checked_at", s->checked_at);
        put_time(b, "reached_at", s->reached_at);
        put_time(b, "next_check_at", s->next_check_at);
        buf_byte(b, '}');
    }
    buf_byte(b, '}');
}

enum rc sources_one(struct req *r, struct resp *w, struct err *err)
{
    struct public_source_row s = {0};
    struct public_meta m = {0};
    if (!str_is_slug(r->path_vars[0], SOURCE_ID_MAX))
        return route_not_found(err);
    TRY(route_lookup(public_source_get(r->ledger, r->arena, r->path_vars[0], &s, err), err));
    TRY(public_meta_get(r->ledger, r->arena, &m, err));
    put_source(&w->body, &s, r->base);
    struct etag e = etag_start(m.policy_version, r->base);
    etag_int(&e, s.d.gen);
    etag_set(&e, w);
    w->last_modified = s.d.at;
    return RC_OK;
}

struct listing {
    struct req *r;
    struct resp *w;
    int64_t limit, n, newest;
    bool more;
    char last[SOURCE_ID_MAX + 1];
    struct etag etag;
};

static enum rc list_row(void *ctx, const struct public_source_row *s, struct err *err)
{
    struct listing *x = ctx;
    (void)err;
    if (x->n == x->limit) {
        x->more = true;
        return RC_OK;
    }
    if (x->n++ > 0)
        buf_byte(&x->w->body, ',');
    put_source(&x->w->body, s, x->r->base);
    snprintf(x->last, sizeof x->last, "%.*s", STR_FMT(s->source_id));
    etag_int(&x->etag, s->d.gen);
    x->newest = s->d.at > x->newest ? s->d.at : x->newest;
    return RC_OK;
}

static void put_page(const struct listing *x, const char *rel, struct str after)
{
    char path[64 + SOURCE_ID_MAX];
    snprintf(path, sizeof path, "/sources?limit=%lld%s%.*s", (long long)x->limit,
             after.n ? "&after=" : "", STR_FMT(after));
    put_link(&x->w->body, rel, x->r->base, path);
}

static void list_end(const struct listing *x)
{
    struct buf *b = &x->w->body;
    buf_puts(b, "],\"links\":[");
    put_page(x, "self", req_param(x->r, "after"));
    if (x->more)
        put_page(x, "next", str_of(x->last));
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
