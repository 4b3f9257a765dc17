/* admin: tokens, scopes, audit, and which sources a token may know of.
 *
 * Invariants (those of admin.h)
 * Called by the intake's router and the /admin routes. */
#include "api/admin.h"

#include "api/put.h"
#include "core/log.h"

#define KEY_MAX 255 /* bytes of an Idempotency-Key */

static struct str bearer(struct str header)
{
    struct str scheme = {"", 0};
    header = str_trim(header);
    if (!str_next(&header, ' ', &scheme) || !str_ieq(scheme, STR("Bearer")))
        return (struct str){"", 0};
    return str_trim(header);
}

static enum rc unauthorized(struct resp *w, bool had_token, struct err *err)
{
    resp_header(w, "WWW-Authenticate", "Bearer realm=\"freshet\"%s",
                had_token ? ", error=\"invalid_token\"" : "");
    return err_set(
        err, RC_UNAUTHORIZED, "",
        "Send a valid token as `Authorization: Bearer ...`; `freshet token create` makes "
        "one.");
}

static enum rc too_little(struct resp *w, unsigned scope, struct err *err)
{
    char names[128];
    scopes_format(scope, names);
    resp_header(w, "WWW-Authenticate",
                "Bearer realm=\"freshet\", error=\"insufficient_scope\", scope=\"%s\"", names);
    return err_set(err, RC_FORBIDDEN, "", "The token lacks the scope `%s`.", names);
}

enum rc admin_authorize(struct req *r, struct resp *w, unsigned scope, struct err *err)
{
    struct str plain = bearer(r->authorization);
    struct token *t = ARENA_NEW(r->arena, struct token);
    if (!t)
        return err_set(err, RC_NOMEM, "", "no memory for the token");
    if (plain.n == 0 || plain.n >= TOKEN_PLAIN_MAX)
        return unauthorized(w, plain.n > 0, err);
    enum rc rc = token_find(r->ledger, r->arena, plain, r->now, t, err);
    if (rc == RC_UNAUTHORIZED || rc == RC_NOT_FOUND)
        return unauthorized(w, true, err);
    TRY(rc);
    r->token = t;
    return (t->scopes & scope) == scope ? RC_OK : too_little(w, scope & ~t->scopes, err);
}

/* request_add has audited an accepted request in its own transaction. */
void admin_audit(const struct req *r, const struct route *route, const struct resp *w)
{
    char what[128];
    struct err err = {0};
    if (!r->ledger || w->status == 202)
        return;
    snprintf(what, sizeof what, "%.*s %s", STR_FMT(str_cut(r->method, 16)), route->pattern);
    if (audit(r->ledger, r->token, what, w->status, r->now, &err) != RC_OK)
        log_err(LOG_ERROR, "intake.audit_failed", &err);
}

static bool may_know(const struct token *t, const struct source *s, bool by_url)
{
    if (t->scopes & SCOPE_READ_RESTRICTED)
        return true;
    /* The address of anything but a public source is withheld, so asking by it may not tell. */
    return by_url ? s->level == LEVEL_PUBLIC : s->level != LEVEL_SOVEREIGN;
}

static enum rc known(struct req *r, enum rc rc, const struct source *s, bool by_url,
                     struct source *ret, struct err *err)
{
    if (rc == RC_OK && !may_know(r->token, s, by_url))
        rc = RC_NOT_FOUND;
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_NOT_FOUND, "", "There is no such source.");
    TRY(rc);
    *ret = *s;
    return RC_OK;
}

/* The first of those with an address that the caller may know of. */
struct by_url {
    const struct token *token;
    int64_t no; /* 0: none */
};

static enum rc find_known(void *ctx, const struct source *s, struct err *err)
{
    struct by_url *by = ctx;
    (void)err;
    if (!by->no && may_know(by->token, s, true))
        by->no = s->no;
    return RC_OK;
}

enum rc admin_source(struct req *r, const char *id, const char *url, struct source *ret,
                     struct err *err)
{
    struct source s = {0};
    struct by_url by = {.token = r->token};
    enum rc rc = id ? source_by_id(r->ledger, r->arena, id, &s, err)
                    : source_each_by_url(r->ledger, url, find_known, &by, err);
    if (!id && rc == RC_OK)
        rc = by.no ? source_by_no(r->ledger, r->arena, by.no, &s, err) : RC_NOT_FOUND;
    return known(r, rc, &s, id == NULL, ret, err);
}

enum rc admin_source_no(struct req *r, int64_t no, struct source *ret, struct err *err)
{
    struct source s = {0};
    enum rc rc = source_by_no(r->ledger, r->arena, no, &s, err);
    return known(r, rc, &s, false, ret, err);
}

/* ---- what POSTs bring ------------------------------------------------------------------------ */

enum rc admin_key(const struct req *r, struct err *err)
{
    struct str key = r->idempotency_key;
    if (key.p && (key.n == 0 || key.n > KEY_MAX || !str_is_clean(key) || !str_is_utf8(key)))
        return err_set(err, RC_INVALID, "Idempotency-Key", "must have 1 to %d printable characters",
                       KEY_MAX);
    return RC_OK;
}

static enum rc check_fields(yyjson_val *body, const char *const *fields, size_t n, struct resp *w,
                            size_t *ret_known, struct err *err)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(body);
    yyjson_val *key;
    char names[128] = "";
    size_t known_ones = 0, len = 0;
    bool unknown = false;
    while ((key = yyjson_obj_iter_next(&it))) {
        const char *name = yyjson_get_str(key);
        if (str_is_one_of(str_of(name), fields, n)) {
            known_ones++;
            continue;
        }
        unknown = true;
        resp_error(w, str_of(name), "is not a field of this request");
    }
    for (size_t i = 0; i < n && len < sizeof names; i++)
        len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", i ? ", " : "", fields[i]);
    if (unknown)
        return err_set(err, RC_INVALID, "", "unknown field; known are: %s", names);
    *ret_known = known_ones;
    return RC_OK;
}

static bool is_json(struct str content_type)
{
    struct str type = {"", 0};
    (void)str_next(&content_type, ';', &type);
    return str_ieq(str_trim(type), STR("application/json"));
}

enum rc admin_json(struct req *r, yyjson_val **ret, struct err *err)
{
    yyjson_val *body = NULL;
    if (r->body_too_large || (int64_t)r->body.n > r->inst->conf.admin_max_body)
        return err_set(err, RC_TOO_LARGE, "", "the body may have %lld bytes",
                       (long long)r->inst->conf.admin_max_body);
    if (!is_json(r->content_type))
        return err_set(err, RC_MEDIA_TYPE, "", "send Content-Type: application/json");
    TRY(json_parse(r->arena, r->body, 0, "the body", &body, err));
    if (!yyjson_is_obj(body))
        return err_set(err, RC_INVALID, "", "the body must be a JSON object");
    *ret = body;
    return RC_OK;
}

enum rc admin_body(struct req *r, struct resp *w, const char *const *fields, size_t n,
                   yyjson_val **ret, size_t *ret_known, struct buf *canon, struct err *err)
{
    yyjson_val *body = NULL;
    TRY(admin_json(r, &body, err));
    TRY(check_fields(body, fields, n, w, ret_known, err));
    TRY(json_canon(canon, body, err));
    *ret = body;
    return RC_OK;
}

/* ---- what GETs and POSTs answer -------------------------------------------------------------- */

enum rc admin_list_begin(struct admin_list *l, struct req *r, struct resp *w, const char *key,
                         struct err *err)
{
    *l = (struct admin_list){.r = r, .w = w};
    TRY(param_limit(req_param(r, "limit"), ADMIN_LIST_DEFAULT, ADMIN_LIST_MAX, &l->limit, err));
    put_object(&w->body);
    put_key(&w->body, key);
    buf_byte(&w->body, '[');
    return RC_OK;
}

void admin_list_end(struct admin_list *l)
{
    buf_puts(&l->w->body, "]}");
}

void admin_status_url(struct buf *b, const struct req *r, const char *path, const char *id)
{
    put_key(b, "status_url");
    buf_byte(b, '"');
    buf_str(b, r->base);
    buf_printf(b, "%s%s\"", path, id);
}

void admin_accepted(const struct req *r, struct resp *w, const char *path, const char *id)
{
    w->status = 202;
    admin_status_url(&w->body, r, path, id);
    buf_byte(&w->body, '}');
    resp_header(w, "Location", "%.*s%s%s", STR_FMT(r->base), path, id);
}
