/* route: matching, methods, parameters, conditional answers, over a table of its own and ours. */
#include "tests/10-unit/unit.h"

#include "api/route.h"
#include "core/log.h"

static struct arena memory;
static struct req r;
static struct resp w;
static struct err err;
static int calls;

static enum rc answer(struct req *q, struct resp *p, struct err *e)
{
    (void)e;
    calls++;
    buf_puts(&p->body, "{\"id\":\"");
    buf_str(&p->body, q->path_vars[0]);
    buf_puts(&p->body, "\"}");
    snprintf(p->etag, sizeof p->etag, "\"v1\"");
    p->last_modified = 1000;
    return RC_OK;
}

static enum rc nothing(struct req *q, struct resp *p, struct err *e)
{
    (void)q;
    (void)p;
    return route_not_found(e);
}

static enum rc broken(struct req *q, struct resp *p, struct err *e)
{
    (void)q;
    buf_puts(&p->body, "half");
    return err_set(e, RC_IO, "disk", "the secret file cannot be read");
}

static enum rc guard(struct req *q, struct resp *p, unsigned scope, struct err *e)
{
    (void)p;
    (void)scope;
    if (!str_is(q->authorization, "Bearer good"))
        return err_set(e, RC_UNAUTHORIZED, "", "no");
    return RC_OK;
}

static int audits, audited_status;

static void watch(const struct req *q, const struct route *route, const struct resp *p)
{
    (void)q;
    (void)route;
    audits++;
    audited_status = p->status;
}

static const struct route routes[] = {
    {"GET", "/things/{id}", answer, "a b", 0, ROUTE_CORS, "no-cache", "application/json", ""},
    {"POST", "/things/{id}", answer, "", 0, 0, "no-store", "application/json", ""},
    {"GET", "/nothing", nothing, "", 0, ROUTE_CORS, "no-cache", "application/json", ""},
    {"GET", "/broken", broken, "", 0, ROUTE_CORS, "no-cache", "application/json", ""},
    {"GET", "/ledger", answer, "", 0, ROUTE_LEDGER, "no-cache", "application/json", ""},
    {"GET", "/guarded", answer, "", 1, 0, "no-store", "application/json", ""},
};
static const struct router router = {routes, ARRAY_LEN(routes), "/ /page", guard, watch};

static int setup(void **state)
{
    (void)state;
    arena_init(&memory, 1u << 20);
    r = (struct req){.arena = &memory, .base = STR("http://h")};
    resp_init(&w);
    calls = audits = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    resp_release(&w);
    arena_release(&memory);
    return 0;
}

static int serve(const char *method, const char *path, const char *query)
{
    resp_clear(&w);
    r.method = str_of(method);
    r.path = str_of(path);
    r.query = str_of(query);
    route_serve(&router, &r, &w);
    return w.status;
}

/* What nginx answers itself comes here for its query alone. */
static void pages_take_no_query(void **state)
{
    (void)state;
    assert_int_equal(serve("GET", "/page", "colour=red&b"), 400);
    assert_non_null(strstr(w.body.data, "{\"field\":\"colour\""));
    assert_non_null(strstr(w.body.data, "{\"field\":\"b\""));
    assert_int_equal(serve("GET", "/", "&"), 400);
    assert_int_equal(serve("GET", "/page", ""), 404);
    assert_int_equal(serve("GET", "/pag", "x=1"), 404);
}

static bool has_header(const char *line)
{
    return w.headers.data && strstr(w.headers.data, line) != NULL;
}

static void patterns_match_whole_paths(void **state)
{
    struct str v[4] = {{0}};
    (void)state;
    assert_true(route_match("/a/b", STR("/a/b"), v));
    assert_false(route_match("/a/b", STR("/a"), v));
    assert_false(route_match("/a", STR("/a/b"), v));
    assert_false(route_match("/a", STR("/a/"), v));
    assert_false(route_match("/a", STR("//a"), v));
    assert_false(route_match("/a", STR("a"), v));
    assert_false(route_match("/a", STR(""), v));
    assert_false(route_match("/a/{x}", STR("/a/"), v));
    assert_true(route_match("/a/{x}/c/{y}.svg", STR("/a/one/c/two.svg"), v));
    assert_str(v[0], "one");
    assert_str(v[1], "two");
    assert_false(route_match("/a/{x}.svg", STR("/a/.svg"), v));
    assert_false(route_match("/a/{x}.svg", STR("/a/b.json"), v));
    assert_false(route_match("/a/{x}", STR("/a/b/c"), v));
}

static void get_and_head_share_a_route(void **state)
{
    (void)state;
    assert_int_equal(serve("GET", "/things/x", ""), 200);
    assert_str(buf_view(&w.body), "{\"id\":\"x\"}");
    assert_string_equal(w.route, "/things/{id}");
    assert_string_equal(w.cache_control, "no-cache");
    assert_int_equal(serve("HEAD", "/things/x", ""), 200);
    assert_int_equal(calls, 2);
}

static void unknown_addresses_are_404(void **state)
{
    (void)state;
    assert_int_equal(serve("GET", "/thing", ""), 404);
    assert_int_equal(serve("OPTIONS", "/thing", ""), 404);
    assert_string_equal(w.content_type, "application/problem+json");
}

/* What is not there and what must not be known answer alike, header by header. */
static void the_404_is_always_the_same(void **state)
{
    char first[1024];
    struct buf h;
    (void)state;
    buf_init(&h, 8192);
    assert_int_equal(serve("GET", "/nothing", ""), 404);
    snprintf(first, sizeof first, "%s", w.body.data);
    assert_int_equal(serve("GET", "/no/such/address", ""), 404);
    assert_string_equal(w.body.data, first);
    assert_null(strstr(first, "such"));
    buf_release(&h);
}

static void wrong_methods_are_405_with_allow(void **state)
{
    (void)state;
    assert_int_equal(serve("DELETE", "/things/x", ""), 405);
    assert_true(has_header("Allow: GET, HEAD, POST, OPTIONS\r\n"));
    assert_int_equal(serve("POST", "/nothing", ""), 405);
    assert_true(has_header("Allow: GET, HEAD, OPTIONS\r\n"));
    assert_int_equal(serve("get", "/nothing", ""), 405);
    assert_int_equal(calls, 0);
}

static void options_are_answered_without_the_route(void **state)
{
    (void)state;
    assert_int_equal(serve("OPTIONS", "/nothing", ""), 204);
    assert_true(has_header("Allow: GET, HEAD, OPTIONS\r\n"));
    assert_true(has_header("Access-Control-Allow-Methods: GET, HEAD, OPTIONS\r\n"));
    assert_true(w.cors);
    assert_int_equal(serve("OPTIONS", "/guarded", ""), 204);
    assert_false(has_header("Access-Control"));
    assert_false(w.cors);
}

static void parameters_are_known_and_single(void **state)
{
    (void)state;
    assert_int_equal(serve("GET", "/things/x", "a=1&b=2"), 200);
    assert_int_equal(serve("GET", "/things/x", "a=1&c=2&%64=3"), 400);
    assert_non_null(strstr(w.body.data, "{\"field\":\"c\",\"message\":\"is not a parameter"));
    assert_non_null(strstr(w.body.data, "{\"field\":\"d\",\"message\":\"is not a parameter"));
    assert_int_equal(serve("GET", "/things/x", "a=1&a=1"), 400);
    assert_non_null(
        strstr(w.body.data, "{\"field\":\"a\",\"message\":\"is given more than once\"}"));
    assert_int_equal(serve("GET", "/nothing", "a"), 400);
    assert_int_equal(serve("GET", "/things/x", "a=%zz"), 400);
    assert_int_equal(calls, 1);
}

static void conditional_requests_are_answered(void **state)
{
    (void)state;
    r.if_none_match = STR("W/\"v1\"");
    assert_int_equal(serve("GET", "/things/x", ""), 304);
    assert_int_equal(w.body.len, 0);
    assert_string_equal(w.etag, "\"v1\"");
    r.if_none_match = STR("\"v0\"");
    assert_int_equal(serve("GET", "/things/x", ""), 200);
    r.if_none_match = STR("*");
    assert_int_equal(serve("GET", "/nothing", ""), 404);
}

static void failures_say_nothing_of_their_cause(void **state)
{
    struct err e = {0};
    char log[64];
    (void)state;
    unit_temp(log);
    assert_rc(log_open("unit", log, &e), RC_OK);
    assert_int_equal(serve("GET", "/broken", ""), 500);
    assert_null(strstr(w.body.data, "secret"));
    assert_null(strstr(w.body.data, "half"));
    assert_rc(log_open("unit", NULL, &e), RC_OK);
    unlink(log);
}

static void without_a_ledger_it_is_503(void **state)
{
    (void)state;
    assert_int_equal(serve("GET", "/ledger", ""), 503);
    assert_true(has_header("Retry-After: "));
}

static void scopes_are_asked_and_audited(void **state)
{
    struct ledger *some = (struct ledger *)&memory; /* never followed by this table */
    (void)state;
    r.ledger = some;
    assert_int_equal(serve("GET", "/guarded", ""), 401);
    assert_int_equal(calls, 0);
    assert_int_equal(audits, 1);
    assert_int_equal(audited_status, 401);
    r.authorization = STR("Bearer good");
    assert_int_equal(serve("GET", "/guarded", ""), 200);
    assert_int_equal(audits, 2);
    assert_int_equal(serve("GET", "/things/x", ""), 200);
    assert_int_equal(audits, 2);
}

static void a_refused_request_reaches_no_route(void **state)
{
    (void)state;
    r.refused = "A header was sent twice.";
    assert_int_equal(serve("GET", "/things/x", ""), 400);
    assert_int_equal(calls, 0);
}

static int64_t limit(const char *text)
{
    int64_t v = -1;
    struct str s = text ? str_of(text) : (struct str){0};
    return param_limit(s, 100, 1000, &v, &err) == RC_OK ? v : -1;
}

static void limits_clamp_above_and_refuse_below(void **state)
{
    (void)state;
    assert_int_equal(limit(NULL), 100);
    assert_int_equal(limit("1"), 1);
    assert_int_equal(limit("1000"), 1000);
    assert_int_equal(limit("1001"), 1000);
    assert_int_equal(limit("99999999999999999999999"), 1000);
    assert_int_equal(limit("0"), -1);
    assert_int_equal(limit("-1"), -1);
    assert_int_equal(limit(""), -1);
    assert_int_equal(limit("ten"), -1);
    assert_int_equal(limit("1.5"), -1);
    assert_int_equal(limit(" 5"), -1);
}

/* The real tables: every row is complete, no two rows answer the same. */
static void tables_are_complete(void **state)
{
    const struct router *tables[] = {&router_api, &router_intake};
    (void)state;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < tables[t]->n; i++) {
            const struct route *a = &tables[t]->routes[i];
            assert_non_null(a->fn);
            assert_true(a->pattern[0] == '/' && a->summary[0] && a->produces[0] && a->cache[0]);
            /* the api reads: a POST there is a question that does not fit into an address */
            assert_true(t == 1 || strcmp(a->method, "GET") == 0 ||
                        strcmp(a->pattern, "/stac/search") == 0);
            /* whoever delivers to /hooks shows no token but a signature */
            bool signs = strncmp(a->pattern, "/hooks/", 7) == 0;
            assert_true((a->scope != 0) == (t == 1 && !signs));
            for (size_t j = 0; j < i; j++) {
                const struct route *b = &tables[t]->routes[j];
                assert_false(strcmp(a->method, b->method) == 0 &&
                             strcmp(a->pattern, b->pattern) == 0);
            }
        }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(patterns_match_whole_paths),
        TEST(pages_take_no_query),
        TEST(get_and_head_share_a_route),
        TEST(unknown_addresses_are_404),
        TEST(the_404_is_always_the_same),
        TEST(wrong_methods_are_405_with_allow),
        TEST(options_are_answered_without_the_route),
        TEST(parameters_are_known_and_single),
        TEST(conditional_requests_are_answered),
        TEST(failures_say_nothing_of_their_cause),
        TEST(without_a_ledger_it_is_503),
        TEST(scopes_are_asked_and_audited),
        TEST(a_refused_request_reaches_no_route),
        TEST(limits_clamp_above_and_refuse_below),
        TEST(tables_are_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
