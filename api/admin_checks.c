/* admin_checks: POST /admin/checks asks for a check, GET /admin/checks/{id} tells how far it is.
 *
 * Invariants
 *   1. 202 is said after the request is durable, never before.
 *   2. A body names exactly one of source, url, trigger, all, and nothing else.
 *   3. Numbers of a request that covers many sources count withheld ones too, so they are shown
 *      only to tokens that may know of those.
 *   4. Nothing is accepted that there is no room for: 503 while the inbox is full.
 * Called by the intake's router. */
#include "api/admin.h"
#include "api/put.h"

#include "ledger/inbox.h"

#define CHECK_ID_MAX 47
#define PATH "/admin/checks/"

static const char *const FIELDS[] = {"source", "url", "trigger", "all"};

/* ---- reading the body ------------------------------------------------------------------------ */

/* What was asked for: one of these is set. */
struct wish {
    const char *source, *url, *trigger;
    bool all;
};

static enum rc read_values(yyjson_val *body, struct wish *ret, struct err *err)
{
    enum trigger_type type;
    struct wish x = {0};
    TRY(json_get_str(body, "source", &x.source, err));
    TRY(json_get_str(body, "url", &x.url, err));
    TRY(json_get_str(body, "trigger", &x.trigger, err));
    TRY(json_get_bool(body, "all", &x.all, err));
    if (x.source && !x.source[0])
        return err_set(err, RC_INVALID, "source", "is empty");
    if (x.url && !x.url[0])
        return err_set(err, RC_INVALID, "url", "is empty");
    if (x.trigger && trigger_parse(x.trigger, &type) != RC_OK)
        return err_set(err, RC_INVALID, "trigger",
                       "must be annual, redistricting, census, interval or manual");
    if (!x.source && !x.url && !x.trigger && !x.all)
        return err_set(err, RC_INVALID, "all",
                       "give exactly one of source, url, trigger, all: true");
    *ret = x;
    return RC_OK;
}

static enum rc read_wish(struct req *r, struct resp *w, struct wish *ret, struct buf *canon,
                         struct err *err)
{
    yyjson_val *body = NULL;
    size_t known = 0;
    TRY(admin_body(r, w, FIELDS, ARRAY_LEN(FIELDS), &body, &known, canon, err));
    if (known != 1)
        return err_set(err, RC_INVALID, "", "give exactly one of source, url, trigger, all");
    return read_values(body, ret, err);
}

/* ---- POST ------------------------------------------------------------------------------------ */

static enum rc check_target(struct req *r, const struct wish *x, struct err *err)
{
    struct source s = {0};
    if (!x->source && !x->url)
        return RC_OK;
    TRY(admin_source(r, x->source, x->url, &s, err));
    if (s.retired_at >= 0)
        return err_set(err, RC_CONFLICT, "source", "is retired and no longer checked");
    return RC_OK;
}

enum rc checks_post(struct req *r, struct resp *w, struct err *err)
{
    struct wish x = {0};
    struct str key = r->idempotency_key;
    char id[48] = "";
    bool repeated = false;
    CLEANUP(buf_release) struct buf canon = {0};
    buf_init(&canon, JSON_MAX);
    TRY(admin_key(r, err));
    TRY(read_wish(r, w, &x, &canon, err));
    TRY(check_target(r, &x, err));
    TRY(inbox_room(r->ledger, r->inst->conf.inbox_max, err));
    TRY(request_add(r->ledger, r->token, buf_view(&canon), key.p ? key : STR(""), r->now, id,
                    &repeated, err));
    put_object(&w->body);
    put_text(&w->body, "check_id", id);
    admin_accepted(r, w, PATH, id);
    return RC_OK;
}

/* ---- GET ------------------------------------------------------------------------------------- */

/* A stored body is one that read_wish accepted. */
static enum rc reread(struct req *r, const struct check_request *c, struct wish *ret,
                      struct err *err)
{
    yyjson_val *body = NULL;
    TRY(json_parse(r->arena, c->body, 0, "the stored request", &body, err));
    return read_values(body, ret, err);
}

static void put_progress(struct buf *b, const struct check_request *c, bool shown)
{
    put_key(b, "progress");
    if (!shown) {
        buf_puts(b, "null");
        put_key(b, "withheld");
        buf_puts(b, "[\"progress\",\"detail\"]");
        return;
    }
    buf_byte(b, '{');
    put_number(b, "total", c->total);
    put_number(b, "done", c->done);
    put_key(b, "outcomes");
    buf_str(b, c->outcomes.n ? c->outcomes : STR("{}"));
    buf_byte(b, '}');
}

static void put_status(struct req *r, struct resp *w, const struct check_request *c, bool counts)
{
    struct buf *b = &w->body;
    buf_byte(b, '{');
    put_text(b, "check_id", c->id);
    put_text(b, "state", c->state);
    put_key(b, "request");
    buf_str(b, c->body);
    put_progress(b, c, counts);
    put_text(b, "detail", counts ? c->detail : "");
    put_time(b, "created_at", c->created_at);
    put_time(b, "finished_at", c->finished_at);
    admin_status_url(b, r, PATH, c->id);
    buf_byte(b, '}');
}

static bool is_check_id(struct str id)
{
    return str_starts(id, STR("chk_")) && str_is_slug(id, CHECK_ID_MAX);
}

enum rc checks_get(struct req *r, struct resp *w, struct err *err)
{
    struct check_request c = {0};
    struct wish x = {0};
    struct source s = {0};
    char *id = arena_str(r->arena, r->path_vars[0]);
    if (!is_check_id(r->path_vars[0]))
        return route_not_found(err);
    if (!id)
        return err_set(err, RC_NOMEM, "", "no memory for the id");
    TRY(route_lookup(request_get(r->ledger, r->arena, id, &c, err), err));
    TRY(reread(r, &c, &x, err));
    bool one = x.source || x.url;
    if (one)
        TRY(route_lookup(admin_source(r, x.source, x.url, &s, err), err));
    put_status(r, w, &c, one || (r->token->scopes & SCOPE_READ_RESTRICTED));
    return RC_OK;
}
