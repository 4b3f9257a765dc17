/* sources: /sources and /sources/{source}, the public descriptions.
 *
 * Invariants
 *   1. The list holds what the public may see, and counts nothing else.
 *   2. Health and the next window are read beside the description, not stored in it: they move with
 *      every check and with the clock. ledger/health.h and ledger/calendar.h decide.
 * Called by the route table. */
#include "api/conditional.h"
#include "api/documents.h"
#include "api/put.h"
#include "ledger/calendar.h"
#include "ledger/health.h"

#define LIST_LIMIT_DEFAULT 100
#define LIST_LIMIT_MAX 1000
#define DESCRIPTION_MEMORY (1u << 20) /* to read one: a few KiB of text */

static struct health health_of(const struct public_source_row *s, bool template, int64_t now)
{
    struct health h;
    struct health_facts f = {.retired = s->retired,
                             .template = template,
                             .checked_at = s->checked_at,
                             .reached_at = s->reached_at,
                             .verified_at = s->verified_at,
                             .failures = s->failures,
                             .next_check_at = s->next_check_at,
                             .removed_at = s->removed_at,
                             .stream_down_at = s->stream_down_at,
                             .refused = s->refused,
                             .last_outcome = s->last_outcome};
    health_judge(&f, now, &h);
    return h;
}

static void put_health(struct buf *b, const struct public_source_row *s, const struct health *h)
{
    put_key(b, "health");
    buf_byte(b, '{');
    put_text(b, "state", health_name(h->state));
    put_key(b, "breach");
    buf_puts(b, health_breach(h->state) ? "true" : "false");
    put_text(b, "text", h->text);
    put_text(b, "reason", h->reason);
    put_key(b, "last_outcome");
    if (s->last_outcome.n)
        json_put_str(b, s->last_outcome);
    else
        buf_puts(b, "null");
    put_number(b, "failures", s->failures);
    put_time(b, "checked_at", s->checked_at);
    put_time(b, "reached_at", s->reached_at);
    put_time(b, "verified_at", s->verified_at);
    put_time(b, "next_check_at", s->next_check_at);
    buf_byte(b, '}');
}

/* What of the declaration decides here: triggers, and whether the address is a template. A
 * description that cannot be read has neither: it was checked when it was written. */
static struct source read_declared(const struct public_source_row *s, bool *ret_template)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct source declared = {.retired_at = s->retired ? 0 : -1}, read = declared;
    struct err ignored;
    yyjson_val *doc = NULL;
    arena_init(&a, DESCRIPTION_MEMORY);
    *ret_template = false;
    if (json_parse(&a, s->d.doc, 0, "source", &doc, &ignored) != RC_OK)
        return declared;
    const char *url = yyjson_get_str(yyjson_obj_get(doc, "url"));
    *ret_template = url && source_is_template(&(struct source){.url = url});
    return source_read_triggers(doc, &read, &ignored) == RC_OK ? read : declared;
}

/* The window that is open, or the next one; null without seasons. */
static void put_window(struct buf *b, struct etag *e, const struct source *declared,
                       const struct req *r)
{
    struct span w = calendar_window(declared, r->now);
    etag_int(e, w.opens); /* turns with the clock alone */
    put_key(b, "next_window");
    if (w.opens < 0) {
        buf_puts(b, "null");
        return;
    }
    char text[CALENDAR_TEXT_MAX];
    calendar_text(w, r->now, text);
    etag_int(e, w.opens <= r->now);
    buf_byte(b, '{');
    put_text(b, "text", text);
    put_time(b, "opens", w.opens);
    put_time(b, "closes", w.closes);
    buf_byte(b, '}');
}

/* The stored description with its health put before the closing brace. */
static void put_source(struct buf *b, struct etag *e, const struct public_source_row *s,
                       const struct req *r)
{
    json_put_based(b, (struct str){s->d.doc.p, s->d.doc.n - 1}, r->base);
    etag_int(e, s->d.gen);
    if (s->shown) {
        bool template;
        struct source declared = read_declared(s, &template);
        put_window(b, e, &declared, r);
        struct health h = health_of(s, template, r->now);
        put_health(b, s, &h);
        etag_int(e, h.state);
        etag_str(e, s->refused); /* turns with the clock alone */
    }
    buf_byte(b, '}');
}

enum rc sources_one(struct req *r, struct resp *w, struct err *err)
{
    struct public_source_row s = {0};
    struct public_meta m = {0};
    if (!str_is_slug(r->path_vars[0], REQ_ID_MAX))
        return route_not_found(err);
    TRY(route_lookup(public_source_get(r->ledger, r->arena, r->path_vars[0], &s, err), err));
    TRY(public_meta_get(r->ledger, r->arena, &m, err));
    struct etag e = etag_start(m.policy_version, r->base);
    put_source(&w->body, &e, &s, r);
    etag_set(&e, w);
    w->last_modified = s.d.at;
    w->etag_only = true; /* health turns with the clock, and moves no date */
    return RC_OK;
}

struct listing {
    struct req *r;
    struct resp *w;
    int64_t limit, n, newest;
    bool more;
    char last[REQ_ID_MAX + 1];
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
    put_source(&x->w->body, &x->etag, s, x->r);
    snprintf(x->last, sizeof x->last, "%.*s", STR_FMT(s->source_id));
    x->newest = s->d.at > x->newest ? s->d.at : x->newest;
    return RC_OK;
}

static void put_page(const struct listing *x, const char *rel, struct str after)
{
    char path[64 + REQ_ID_MAX];
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
    if (after.p && !str_is_slug(after, REQ_ID_MAX))
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
