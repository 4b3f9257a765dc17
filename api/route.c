/* route: from a request to a response, by the table.
 *
 * Invariants (those of route.h, and)
 *   1. Checks come in one order: address, method, the request itself, scope, parameters, ledger,
 *      then the route; the first that fails answers.
 *   2. A cause inside (status 500) is logged here once and never told to the client.
 * Called by service and by tests. */
#include "api/route.h"

#include "api/conditional.h"
#include "core/log.h"

/* ---- matching -------------------------------------------------------------------------------- */

/* One segment: a literal, or {name} with a literal tail. */
static bool match_segment(struct str want, struct str got, struct str vars[4], size_t *n)
{
    const char *close = want.n && want.p[0] == '{' ? memchr(want.p, '}', want.n) : NULL;
    if (!close)
        return str_eq(want, got);
    size_t named = (size_t)(close - want.p) + 1;
    struct str tail = {want.p + named, want.n - named};
    if (got.n <= tail.n || !str_ends(got, tail) || *n == 4)
        return false;
    vars[(*n)++] = (struct str){got.p, got.n - tail.n};
    return true;
}

bool route_match(const char *pattern, struct str path, struct str vars[4])
{
    struct str rest = str_of(pattern), want, got;
    size_t n = 0;
    bool slash = rest.n > 0 && rest.p[rest.n - 1] == '/';
    if (path.n == 0 || path.p[0] != '/' || (path.p[path.n - 1] == '/') != slash)
        return false;
    for (;;) {
        bool more = str_next(&rest, '/', &want);
        if (str_next(&path, '/', &got) != more)
            return false;
        if (!more)
            return true;
        if (!match_segment(want, got, vars, &n))
            return false;
    }
}

static bool method_is(const struct route *route, struct str method)
{
    return str_is(method, route->method) ||
           (str_is(method, "HEAD") && str_is(STR("GET"), route->method));
}

/* Do they begin alike, up to the first name in braces? Most routes end here. */
static bool may_match(const char *pattern, struct str path)
{
    size_t i = 0;
    while (pattern[i] && pattern[i] != '{' && i < path.n && pattern[i] == path.p[i])
        i++;
    return pattern[i] == '{' || (!pattern[i] && i == path.n);
}

/* *ret_any: some route at this address, whatever the method; NULL when there is none. */
static const struct route *find(const struct router *t, struct req *r, const struct route **ret_any)
{
    *ret_any = NULL;
    for (size_t i = 0; i < t->n; i++) {
        struct str vars[4] = {{0}};
        if (!may_match(t->routes[i].pattern, r->path) ||
            !route_match(t->routes[i].pattern, r->path, vars))
            continue;
        *ret_any = &t->routes[i];
        memcpy(r->path_vars, vars, sizeof vars);
        if (method_is(&t->routes[i], r->method))
            return &t->routes[i];
    }
    return NULL;
}

/* "GET, HEAD, OPTIONS": all methods of the routes with this pattern. */
static void allow_header(const struct router *t, const char *pattern, struct resp *w,
                         const char *name)
{
    char list[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct route *route = &t->routes[i];
        if (strcmp(route->pattern, pattern) != 0)
            continue;
        if (strcmp(route->method, "OPTIONS") == 0) /* named at the end, for all */
            continue;
        bool get = strcmp(route->method, "GET") == 0;
        int n =
            snprintf(list + used, sizeof list - used, "%s%s, ", route->method, get ? ", HEAD" : "");
        used += n > 0 && (size_t)n < sizeof list - used ? (size_t)n : 0;
    }
    resp_header(w, name, "%sOPTIONS", list);
}

/* ---- parameters ------------------------------------------------------------------------------ */

static bool is_listed(const char *list, struct str name)
{
    struct str rest = str_of(list), item;
    while (str_next(&rest, ' ', &item))
        if (str_eq(item, name))
            return true;
    return false;
}

static bool is_repeated(const struct req *r, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (str_eq(r->params[i].name, r->params[at].name))
            return true;
    return false;
}

static enum rc check_params(const struct req *r, const struct route *route, struct resp *w,
                            struct err *err)
{
    bool known = true, once = true;
    for (size_t i = 0; i < r->n_params; i++) {
        struct str name = r->params[i].name;
        if (!is_listed(route->params, name)) {
            known = false;
            resp_error(w, name, "is not a parameter of this address");
        } else if (is_repeated(r, i)) {
            once = false;
            resp_error(w, name, "is given more than once");
        }
    }
    if (known && once)
        return RC_OK;
    if (!known && !route->params[0])
        return err_set(err, RC_INVALID, "", "this address takes no query parameters");
    if (!known)
        return err_set(err, RC_INVALID, "", "unknown query parameter; known are: %s",
                       route->params);
    return err_set(err, RC_INVALID, "", "each query parameter may be given once");
}

enum rc param_limit(struct str value, int64_t def, int64_t max, int64_t *ret, struct err *err)
{
    int64_t v = def;
    bool digits = value.n > 0;
    for (size_t i = 0; i < value.n; i++)
        digits = digits && value.p[i] >= '0' && value.p[i] <= '9';
    if (value.p && !digits)
        return err_set(err, RC_INVALID, "limit", "must be a number from 1 to %lld", (long long)max);
    if (value.p && str_to_i64(value, &v) != RC_OK)
        v = max; /* more digits than a number holds: more than the maximum */
    if (v < 1)
        return err_set(err, RC_INVALID, "limit", "must be at least 1");
    *ret = v > max ? max : v;
    return RC_OK;
}

enum rc route_lookup(enum rc found, struct err *err)
{
    return found == RC_NOT_FOUND ? route_not_found(err) : found;
}

/* ---- serving --------------------------------------------------------------------------------- */

static void answer_options(const struct router *t, const struct route *route, struct resp *w)
{
    w->status = 204;
    w->cache_control = "no-store";
    allow_header(t, route->pattern, w, "Allow");
    if (!(route->flags & ROUTE_CORS))
        return;
    allow_header(t, route->pattern, w, "Access-Control-Allow-Methods");
    resp_header(w, "Access-Control-Allow-Headers",
                "Accept, Content-Type, If-None-Match, If-Modified-Since, Last-Event-ID, Range");
    resp_header(w, "Access-Control-Max-Age", "86400");
}

static enum rc run(const struct router *t, const struct route *route, struct req *r, struct resp *w,
                   struct err *err)
{
    if (r->refused)
        return err_set(err, RC_INVALID, "", "%s", r->refused);
    if (route->scope && r->ledger)
        TRY(t->authorize(r, w, route->scope, err));
    if (!(route->flags & ROUTE_QUERY)) {
        TRY(req_parse_query(r, err));
        TRY(check_params(r, route, w, err));
    }
    if ((route->flags & ROUTE_LEDGER) && !r->ledger)
        return err_set(err, RC_BUSY, "", "The ledger cannot be read at the moment.");
    TRY(route->fn(r, w, err));
    if (buf_rc(&w->body) != RC_OK)
        return err_set(err, buf_rc(&w->body), "limit",
                       "the answer would be too large; ask for less at once");
    return RC_OK;
}

static void finish(const struct req *r, const struct route *route, struct resp *w)
{
    if (!w->cache_control)
        w->cache_control = route->cache;
    if (!resp_not_modified(w, r))
        return;
    w->status = 304;
    w->hand_over[0] = 0; /* else nginx would send the bytes all the same */
    buf_clear(&w->body);
}

static void fail(struct req *r, struct resp *w, const struct err *err)
{
    if (rc_http(err->rc) == 500)
        log_err(LOG_ERROR, "api.failed", err);
    if (rc_http(err->rc) == 503) /* handlers need longer to make room than a lock to be free */
        resp_header(w, "Retry-After", err->rc == RC_FULL ? "30" : "5");
    resp_problem(w, r, err);
}

void route_end(struct req *r, struct resp *w, enum rc rc, const struct err *err)
{
    w->later = NULL;
    if (rc == RC_OK)
        finish(r, w->row, w);
    else
        fail(r, w, err);
}

static void serve_route(const struct router *t, const struct route *route, struct req *r,
                        struct resp *w)
{
    struct err err = {0};
    w->content_type = route->produces;
    w->row = route;
    enum rc rc = run(t, route, r, w, &err);
    if (rc == RC_OK && w->later)
        return;
    route_end(r, w, rc, &err);
    if (route->scope && t->audited)
        t->audited(r, route, w);
}

/* A page is nginx's; only a query brings it here, and it takes none. */
static bool is_page(const struct router *t, const struct req *r)
{
    return t->pages && r->query.n && is_listed(t->pages, r->path);
}

static void refuse_query(struct req *r, struct resp *w)
{
    static const struct route page = {.params = ""};
    struct err err = {0};
    if (req_parse_query(r, &err) == RC_OK && check_params(r, &page, w, &err) == RC_OK)
        err_set(&err, RC_INVALID, "", "this address takes no query parameters");
    fail(r, w, &err);
}

void route_serve(const struct router *t, struct req *r, struct resp *w)
{
    const struct route *any, *route = find(t, r, &any);
    struct err err = {0};
    if (!any) {
        w->cors = true;
        if (is_page(t, r)) {
            refuse_query(r, w);
            return;
        }
        route_not_found(&err);
        fail(r, w, &err);
        return;
    }
    w->route = any->pattern;
    w->cors = (any->flags & ROUTE_CORS) != 0;
    if (route) {
        serve_route(t, route, r, w);
    } else if (str_is(r->method, "OPTIONS")) {
        answer_options(t, any, w);
    } else {
        allow_header(t, any->pattern, w, "Allow");
        err_set(&err, RC_METHOD, "", "this address does not take the method");
        fail(r, w, &err);
    }
}
