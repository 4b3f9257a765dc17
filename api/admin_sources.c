/* admin_sources: /admin/sources: declarations as operators see them, and wishes to add, replace or
 * retire one.
 *
 * Invariants
 *   1. 202 is said after the wish is durable; a handler carries it out (ledger/order.h). What is
 *      wrong with a declaration is a 400 at once, with the field.
 *   2. A sovereign source answers only holders of read:restricted, like one that never was, and so
 *      do the wishes about it. Of a restricted or generalized one others see id, title, collection,
 *      level. To declare the id of a source that one may not know of is taken like any other wish;
 *      it fails when it is carried out, and whoever asked is told so.
 *   3. A raised level takes public rows away when the wish is carried out, before anything else is;
 *      a lowered one waits for a second person (/admin/approvals).
 * Called by the intake's router. */
#include "api/admin.h"
#include "api/put.h"
#include "ledger/order.h"

#define PATH "/admin/sources/"
#define WHOLE_MAX (16u << 20) /* bytes of a page: then it ends early */

/* Of any other level something is withheld: of a generalized one its address. */
static bool sees_all(const struct req *r, enum level l)
{
    return l == LEVEL_PUBLIC || r->token->scopes & SCOPE_READ_RESTRICTED;
}

/* ---- GET ------------------------------------------------------------------------------------- */

static void put_order(struct buf *b, const struct order *o)
{
    put_key(b, "order");
    if (!o) {
        buf_puts(b, "null");
        return;
    }
    buf_byte(b, '{');
    put_text(b, "order_id", o->id);
    put_text(b, "kind", o->kind);
    put_text(b, "state", o->state);
    put_text(b, "asked_by", o->by);
    put_text(b, "detail", o->detail);
    put_time(b, "created_at", o->created_at);
    put_time(b, "finished_at", o->finished_at);
    buf_byte(b, '}');
}

/* s NULL: it is not there, yet or at all. */
static void put_source(struct req *r, struct buf *b, const char *id, const struct source *s,
                       const struct order *o)
{
    bool all = s && sees_all(r, s->level);
    put_object(b);
    put_text(b, "id", id);
    put_text(b, "title", s ? s->title : NULL);
    put_text(b, "collection", s ? s->collection : NULL);
    put_text(b, "sensitivity", s ? level_name(s->level) : NULL);
    put_key(b, "retired");
    buf_puts(b, s && s->retired_at >= 0 ? "true" : "false");
    put_key(b, "declaration");
    buf_str(b, all ? s->spec : STR("null"));
    put_time(b, "created_at", all ? s->created_at : -1);
    put_time(b, "updated_at", all ? s->updated_at : -1);
    put_time(b, "retired_at", all ? s->retired_at : -1);
    put_order(b, o && (all || !s) ? o : NULL);
    buf_byte(b, '}');
}

struct page {
    struct req *r;
    struct resp *w;
    int64_t limit, n;
    char last[SOURCE_LOG_NAME_MAX];
    bool more;
};

static enum rc put_one(void *ctx, const struct source *s, struct err *err)
{
    struct page *p = ctx;
    struct order o;
    struct err none;
    if (s->level == LEVEL_SOVEREIGN && !sees_all(p->r, s->level))
        return RC_OK;
    if (p->n == p->limit || p->w->body.len > WHOLE_MAX) {
        p->more = true;
        return RC_GONE; /* enough: not an error of anybody */
    }
    p->n++;
    enum rc rc = order_of(p->r->ledger, p->r->arena, s->id, &o, &none);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return err_set(err, rc, "", "%s", none.msg);
    put_source(p->r, &p->w->body, s->id, s, rc == RC_OK ? &o : NULL);
    snprintf(p->last, sizeof p->last, "%s", s->id);
    return RC_OK;
}

/* After a source that the caller may not know of the list begins where it would without it. */
static enum rc after_no(struct req *r, int64_t *ret, struct err *err)
{
    struct str after = req_param(r, "after");
    struct source s;
    if (!after.p)
        return RC_OK;
    const char *id = arena_str(r->arena, after);
    if (!id)
        return err_set(err, RC_NOMEM, "", "no memory for an id");
    enum rc rc = admin_source(r, id, NULL, &s, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_INVALID, "after", "names no source; links[rel=next] has it");
    TRY(rc);
    *ret = s.no;
    return RC_OK;
}

enum rc sources_declared(struct req *r, struct resp *w, struct err *err)
{
    struct page p = {.r = r, .w = w};
    char path[128];
    int64_t after = 0;
    TRY(param_limit(req_param(r, "limit"), ADMIN_LIST_DEFAULT, ADMIN_LIST_MAX, &p.limit, err));
    TRY(after_no(r, &after, err));
    buf_puts(&w->body, "{\"sources\":[");
    enum rc rc = source_each(r->ledger, after, put_one, &p, err);
    if (rc != RC_OK && rc != RC_GONE)
        return rc;
    buf_puts(&w->body, "],\"links\":[");
    if (p.more) {
        snprintf(path, sizeof path, "/admin/sources?limit=%lld&after=%s", (long long)p.limit,
                 p.last);
        put_link(&w->body, "next", r->base, path);
    }
    buf_puts(&w->body, "]}");
    return RC_OK;
}

static enum rc no_such_source(struct err *err)
{
    return err_set(err, RC_NOT_FOUND, "", "There is no such source.");
}

static enum rc path_id(struct req *r, const char **ret, struct err *err)
{
    struct str id = r->path_vars[0];
    if (!str_is_slug(id, SOURCE_LOG_NAME_MAX - 1))
        return no_such_source(err);
    *ret = arena_str(r->arena, id);
    return *ret ? RC_OK : err_set(err, RC_NOMEM, "", "no memory for an id");
}

/* Of a source that is not there, as far as the caller may know, its own wish to have it is told. */
static bool tells_wish(const struct req *r, const struct order *o)
{
    return r->token->scopes & SCOPE_READ_RESTRICTED ||
           (strcmp(o->kind, ORDER_CREATE) == 0 && strcmp(o->by, r->token->name) == 0);
}

enum rc sources_declared_one(struct req *r, struct resp *w, struct err *err)
{
    struct source s;
    struct order o;
    struct err none;
    const char *id;
    TRY(path_id(r, &id, err));
    enum rc known = admin_source(r, id, NULL, &s, err);
    if (known != RC_OK && known != RC_NOT_FOUND)
        return known;
    enum rc asked = order_of(r->ledger, r->arena, id, &o, &none);
    if (asked != RC_OK && asked != RC_NOT_FOUND)
        return err_set(err, asked, "", "%s", none.msg);
    if (known != RC_OK && (asked != RC_OK || !tells_wish(r, &o)))
        return no_such_source(err);
    put_source(r, &w->body, id, known == RC_OK ? &s : NULL, asked == RC_OK ? &o : NULL);
    return RC_OK;
}

/* ---- wishes ---------------------------------------------------------------------------------- */

static enum rc accept(struct req *r, struct resp *w, struct order_ask *ask, struct buf *canon,
                      struct err *err)
{
    char id[ORDER_ID_MAX];
    /* The same key on another address is another wish. */
    buf_printf(canon, "\n%s %s", ask->kind, ask->source_id);
    if (buf_rc(canon) != RC_OK)
        return err_set(err, RC_NOMEM, "", "no memory for a declaration");
    ask->by = r->token;
    ask->key = r->idempotency_key;
    ask->body = buf_view(canon);
    TRY(order_add(r->ledger, ask, r->now, id, err));
    put_object(&w->body);
    put_text(&w->body, "order_id", id);
    put_text(&w->body, "source_id", ask->source_id);
    admin_accepted(r, w, PATH, ask->source_id);
    return RC_OK;
}

static enum rc read_declaration(struct req *r, struct source *ret, struct buf *canon,
                                struct err *err)
{
    yyjson_val *body = NULL;
    TRY(admin_key(r, err));
    TRY(admin_json(r, &body, err));
    TRY(source_parse(r->arena, body, ret, err));
    buf_str(canon, ret->spec);
    return RC_OK;
}

/* Asked again with the key that was used before, the answer is the one from before; so a wish with
 * a key is looked at by order_add first. */
static bool repeats(struct req *r, const struct order_ask *ask, const struct buf *canon)
{
    CLEANUP(buf_release) struct buf body = {0};
    struct err none;
    char id[48];
    bool repeated = false;
    buf_init(&body, JSON_MAX);
    buf_str(&body, buf_view(canon));
    buf_printf(&body, "\n%s %s", ask->kind, ask->source_id);
    const struct request_key k = {"source", r->token, r->idempotency_key, buf_view(&body)};
    return request_key_find(r->ledger, &k, id, &repeated, &none) != RC_OK || repeated;
}

enum rc sources_post(struct req *r, struct resp *w, struct err *err)
{
    CLEANUP(buf_release) struct buf canon = {0};
    struct source s, there;
    struct err none;
    buf_init(&canon, JSON_MAX);
    TRY(read_declaration(r, &s, &canon, err));
    struct order_ask ask = {.kind = ORDER_CREATE, .source_id = s.id, .source = &s};
    if (!repeats(r, &ask, &canon) && admin_source(r, s.id, NULL, &there, &none) == RC_OK)
        return err_set(err, RC_CONFLICT, "id",
                       "is taken: PUT /admin/sources/%s replaces a declaration", s.id);
    return accept(r, w, &ask, &canon, err);
}

enum rc sources_put(struct req *r, struct resp *w, struct err *err)
{
    CLEANUP(buf_release) struct buf canon = {0};
    struct source s, there;
    const char *id;
    buf_init(&canon, JSON_MAX);
    TRY(path_id(r, &id, err));
    TRY(admin_source(r, id, NULL, &there, err));
    TRY(read_declaration(r, &s, &canon, err));
    if (strcmp(s.id, id) != 0)
        return err_set(err, RC_INVALID, "id", "must be %s, as in the address: an id never changes",
                       id);
    struct order_ask ask = {.kind = ORDER_REPLACE, .source_id = id, .source = &s};
    return accept(r, w, &ask, &canon, err);
}

enum rc sources_delete(struct req *r, struct resp *w, struct err *err)
{
    CLEANUP(buf_release) struct buf canon = {0};
    struct source s;
    const char *id;
    buf_init(&canon, JSON_MAX);
    TRY(path_id(r, &id, err));
    TRY(admin_key(r, err));
    TRY(admin_source(r, id, NULL, &s, err));
    struct order_ask ask = {.kind = ORDER_RETIRE, .source_id = id};
    if (s.retired_at >= 0 && !repeats(r, &ask, &canon))
        return err_set(err, RC_CONFLICT, "", "This source is retired already.");
    return accept(r, w, &ask, &canon, err);
}
