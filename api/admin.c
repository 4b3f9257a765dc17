/* admin: tokens, scopes, audit, and which sources a token may know of.
 *
 * Invariants (those of admin.h)
 * Called by the intake's router and the /admin routes. */
#include "api/admin.h"

#include "core/log.h"

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

enum rc admin_source(struct req *r, const char *id, const char *url, struct source *ret,
                     struct err *err)
{
    struct source s = {0};
    enum rc rc = id ? source_by_id(r->ledger, r->arena, id, &s, err)
                    : source_by_url(r->ledger, r->arena, url, &s, err);
    if (rc == RC_OK && !may_know(r->token, &s, id == NULL))
        rc = RC_NOT_FOUND;
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_NOT_FOUND, "", "There is no such source.");
    TRY(rc);
    *ret = s;
    return RC_OK;
}
