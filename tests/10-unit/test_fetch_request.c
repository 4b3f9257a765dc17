/* The fetch engine: requests that cannot be, and what every request says of us. */
#include "tests/10-unit/fetch_world.h"

static void assert_refused(struct fetch_req req, const char *field)
{
    struct err err;
    assert_rc(fetch_start(f, &req, &err), RC_INVALID);
    assert_string_equal(err.field, field);
    assert_null(strstr(err.msg, "SECRET"));
    assert_int_equal(fetch_run(f, 0), 0);
}

static void bad_headers(void **state)
{
    static const struct fetch_header bad[] = {{"If-None-Match", "\"a\"\r\nSECRET: 1", false},
                                              {"X", "SECRET\n", false},
                                              {"X", "\x01SECRET", false},
                                              {"X\r\nSECRET", "1", false},
                                              {"X SECRET", "1", false},
                                              {"X:", "1", false},
                                              {"", "1", false},
                                              {"Host", "SECRET", false},
                                              {"content-length", "1", false},
                                              {"Transfer-Encoding", "chunked", false},
                                              {"Accept-Encoding", "gzip", false},
                                              {"Connection", "close", false}};
    struct got g;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct fetch_req req = request(&g, "GET", url_at(&here, "/"));
        req.headers = &bad[i];
        req.n_headers = 1;
        assert_refused(req, "headers");
    }
    struct fetch_header many[FETCH_REQ_HEADERS_MAX + 1];
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = (struct fetch_header){"A", "b", i % 2};
    struct fetch_req req = request(&g, "GET", url_at(&here, "/"));
    req.headers = many;
    req.n_headers = ARRAY_LEN(many);
    assert_refused(req, "headers");
    server_route(&here, "/", KEEP, "HTTP/1.1 204 X\r\n\r\n");
    req = request(&g, "POST", url_at(&here, "/"));
    req.headers = many;
    req.n_headers = FETCH_REQ_HEADERS_MAX;
    run(&req);
    assert_int_equal(g.res.http, 204);
}

static void bad_requests(void **state)
{
    struct got g;
    const char *url = url_at(&here, "/");
    struct fetch_req ok = request(&g, "GET", url), req = ok;
    (void)state;
    req.method = "DELETE";
    assert_refused(req, "method");
    req = ok;
    req.max_body = 0;
    assert_refused(req, "max_body");
    req = ok;
    req.timeout_ms = 0;
    assert_refused(req, "timeout_ms");
    req = ok;
    req.timeout_ms = 1LL << 40;
    assert_refused(req, "timeout_ms");
    req = ok;
    req.attempts = -1;
    assert_refused(req, "attempts");
    req = ok;
    req.on_done = NULL;
    assert_refused(req, "on_done");
    req = ok;
    req.url = "https://example.org/";
    req.pin_sha256 = "/etc/passwd";
    assert_refused(req, "pin_sha256");
    req.pin_sha256 = "";
    assert_refused(req, "pin_sha256");
    req.url = url; /* http has no key to pin */
    req.pin_sha256 = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    assert_refused(req, "pin_sha256");
}

/* A proxy would connect for us, and no address would be checked. */
static void the_environment_names_no_proxy(void **state)
{
    static const char *const names[] = {"http_proxy", "https_proxy", "all_proxy", "ALL_PROXY"};
    struct got g;
    (void)state;
    server_route(&here, "/", KEEP, "HTTP/1.1 204 X\r\n\r\n");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        setenv(names[i], "http://127.0.0.1:1", 1);
    get(&g, "/");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        unsetenv(names[i]);
    assert_int_equal(g.res.http, 204);
}

static void the_operator_is_named(void **state)
{
    struct got g;
    struct err err;
    (void)state;
    fetch_free(&f);
    conf.operator_name = "A\r\nB";
    assert_rc(fetch_new(&conf, &f, &err), RC_INVALID);
    assert_null(f);
    assert_string_equal(err.field, "operator_name");
    conf.operator_name = "Some Office";
    conf.operator_contact = "mail@example.org";
    assert_rc(fetch_new(&conf, &f, &err), RC_OK);
    server_route(&here, "/", KEEP, "HTTP/1.1 204 X\r\n\r\n");
    get(&g, "/");
    assert_true(server_saw(&here, " (Some Office; mail@example.org)\r\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bad_headers),
        TEST(bad_requests),
        TEST(the_environment_names_no_proxy),
        TEST(the_operator_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
