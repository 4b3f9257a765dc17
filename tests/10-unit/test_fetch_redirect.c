/* The fetch engine: redirects, where they may lead, and what they may carry there. */
#include "tests/10-unit/fetch_world.h"

static void a_chain_of_redirects(void **state)
{
    struct got g;
    (void)state;
    redirect(&here, "/0", 302, "/1");
    redirect(&here, "/1", 303, "2?x#frag");
    redirect(&here, "/2", 307, url_at(&there, "/3"));
    redirect(&there, "/3", 308, "4");
    redirect(&there, "/4", 301, url_at(&here, "/5"));
    server_route(&here, "/5", KEEP, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    get(&g, "/0");
    assert_end(g, OK);
    assert_int_equal(g.res.http, 200);
    assert_int_equal(g.res.redirects, 5);
    assert_true(g.res.moved_permanently);
    assert_string_equal(g.res.final_url, url_at(&here, "/5"));
    assert_string_equal(g.res.etag, "");
    assert_string_equal(g.res.location, "");
    assert_string_equal(g.body, "hello");
    assert_int_equal(g.begins, 1);
    assert_int_equal(g.res.bytes_in, 5 + 5 * 3);
    redirect(&here, "/t", 302, "/5");
    get(&g, "/t");
    assert_false(g.res.moved_permanently);
    redirect(&here, "/six", 302, "/0");
    get(&g, "/six");
    assert_end(g, REDIRECTS);
    assert_int_equal(g.res.attempts, 1);
}

static void a_loop_ends(void **state)
{
    struct got g;
    (void)state;
    redirect(&here, "/a", 302, "/b");
    redirect(&here, "/b", 302, "/a");
    get(&g, "/a");
    assert_end(g, REDIRECTS);
    assert_int_equal(g.res.redirects, 5);
    assert_int_equal(server_count(&here, &here.requests), 6);
    assert_int_equal(g.begins, 0);
}

static void odd_redirects(void **state)
{
    struct got g;
    (void)state;
    server_route(&here, "/none", KEEP, "HTTP/1.1 302 X\r\nContent-Length: 0\r\n\r\n");
    server_route(&here, "/two", KEEP,
                 "HTTP/1.1 302 X\r\nLocation: /a\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n");
    server_route(&here, "/304", KEEP, "HTTP/1.1 304 X\r\nLocation: /a\r\n\r\n");
    redirect(&here, "/bad", 302, "http://[::1");
    get(&g, "/none");
    assert_end(g, OK);
    assert_int_equal(g.res.http, 302);
    get(&g, "/two");
    assert_int_equal(g.res.http, 302);
    get(&g, "/304");
    assert_int_equal(g.res.http, 304);
    get(&g, "/bad");
    assert_end(g, PROTOCOL);
    /* A redirect with an endless body is followed all the same. */
    char reply[200];
    snprintf(reply, sizeof reply, "HTTP/1.1 302 X\r\nLocation: /none\r\n\r\n");
    flood("/flood", reply, "0123456789");
    get(&g, "/flood");
    assert_end(g, OK);
    assert_int_equal(g.res.redirects, 1);
    assert_in_range(g.res.bytes_in, FETCH_DISCARD_MAX, 4 * FETCH_DISCARD_MAX);
}

/* Every spelling of an address that is not listed. Port 1 would refuse the connection: BLOCKED must
 * come first. */
static void redirects_to_forbidden_places(void **state)
{
    static const char *const targets[] = {"https://127.0.0.2:1/",
                                          "https://2130706434:1/",
                                          "https://0x7f000002:1/",
                                          "https://0177.0.0.2:1/",
                                          "https://127.2:1/",
                                          "https://0x7f.0.0.2:1/",
                                          "https://[::1]:1/",
                                          "https://[::ffff:127.0.0.1]:1/",
                                          "https://[::ffff:7f00:2]:1/",
                                          "https://[64:ff9b::7f00:1]:1/",
                                          "https://[2002:7f00:1::]:1/",
                                          "https://[fe80::1]:1/",
                                          "https://[fc00::1]:1/",
                                          "https://[::]:1/",
                                          "https://0.0.0.0:1/",
                                          "https://0:1/",
                                          "https://10.0.0.1:1/",
                                          "https://169.254.169.254/latest/meta-data",
                                          "https://100.64.0.1/",
                                          "https://224.0.0.1/",
                                          "https://255.255.255.255/",
                                          "https://192.0.2.1/",
                                          "http://127.0.0.2:1/",
                                          "http://[::1]:1/",
                                          "http://example.org/?SECRET",
                                          "https://user:SECRET@127.0.0.1:1/",
                                          "https://SECRET@127.0.0.1:1/",
                                          "file:///etc/passwd",
                                          "ftp://127.0.0.1/",
                                          "gopher://127.0.0.1:1/",
                                          "FILE:///etc/passwd",
                                          "//SECRET@127.0.0.1/"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        struct got g;
        char path[16];
        snprintf(path, sizeof path, "/%zu", i);
        redirect(&here, path, 302, targets[i]);
        get(&g, path);
        if (g.res.end != FETCH_BLOCKED)
            fail_msg("%s: %s", targets[i], fetch_end_name(g.res.end));
        assert_int_equal(g.res.attempts, 1);
        assert_null(strstr(g.res.detail, "SECRET"));
        assert_null(strstr(g.res.location, "SECRET"));
        assert_null(strstr(g.res.final_url, "SECRET"));
    }
}

static void forbidden_from_the_start(void **state)
{
    static const char *const late[] = {"https://127.0.0.2:1/", "https://[::ffff:7f00:2]:1/",
                                       "https://2130706434:1/"};
    static const char *const early[] = {"http://127.0.0.2/", "file:///etc/passwd",
                                        "ftp://127.0.0.1/", "http://u:p@127.0.0.1/",
                                        "http://u@127.0.0.1/"};
    struct got g;
    struct err err;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(late); i++) {
        struct fetch_req req = request(&g, "GET", late[i]);
        run(&req);
        assert_end(g, BLOCKED);
    }
    for (size_t i = 0; i < ARRAY_LEN(early); i++) {
        struct fetch_req req = request(&g, "GET", early[i]);
        assert_rc(fetch_start(f, &req, &err), RC_BLOCKED);
        assert_string_equal(err.field, "url");
    }
    assert_int_equal(fetch_run(f, 0), 0);
    assert_int_equal(g.done, 0);
}

/* The list changed while a connection was open: it is not used for what is no longer allowed. */
static void reused_connections_are_checked_too(void **state)
{
    struct got g;
    (void)state;
    struct route slow = {.path = "/a", .manner = KEEP, .uses = -1};
    snprintf(slow.reply, sizeof slow.reply, "HTTP/1.1 204 X\r\n\r\n");
    server_add(&here, slow);
    get(&g, "/a");
    assert_int_equal(g.res.http, 204);
    struct fetch_req req = request(&g, "GET", url_at(&here, "/a"));
    struct err err;
    assert_rc(fetch_start(f, &req, &err), RC_OK);
    STAILQ_FIRST(&STAILQ_FIRST(&f->ring)->waiting)->home.listed = false;
    assert_int_equal(fetch_run(f, 3000), 0);
    assert_end(g, BLOCKED);
    assert_int_equal(server_count(&here, &here.requests), 1);
}

/* As if the first hop were some public host: it may not lead to a listed one. */
static void the_list_holds_only_from_within(void **state)
{
    struct got g;
    struct err err;
    struct route r = {.path = "/a", .manner = KEEP, .uses = -1, .delay_ms = 20};
    (void)state;
    snprintf(r.reply, sizeof r.reply, "HTTP/1.1 302 X\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n",
             url_at(&there, "/b"));
    server_add(&here, r);
    server_route(&there, "/b", KEEP, "HTTP/1.1 204 X\r\n\r\n");
    get(&g, "/a");
    assert_int_equal(g.res.http, 204);
    struct fetch_req req = request(&g, "GET", url_at(&here, "/a"));
    assert_rc(fetch_start(f, &req, &err), RC_OK);
    assert_int_equal(fetch_run(f, 0), 1); /* connected already, the reply takes its time */
    LIST_FIRST(&f->slots)->place.listed = false;
    assert_int_equal(fetch_run(f, 3000), 0);
    assert_end(g, BLOCKED);
    assert_int_equal(g.res.http, 302);
    assert_int_equal(server_count(&there, &there.requests), 1);
}

static void secrets_stay_at_their_origin(void **state)
{
    struct got g;
    struct fetch_header h[] = {{"X-Api-Key", "SECRET1", true},
                               {"Authorization", "Bearer SECRET2", false},
                               {"Cookie", "SECRET3", false},
                               {"X-Plain", "plain", false}};
    (void)state;
    redirect(&here, "/same", 302, "/end");
    redirect(&here, "/other", 302, url_at(&there, "/end"));
    redirect(&here, "/back", 302, url_at(&there, "/back"));
    redirect(&there, "/back", 302, url_at(&here, "/end"));
    server_route(&here, "/end", KEEP, "HTTP/1.1 204 X\r\n\r\n");
    server_route(&there, "/end", KEEP, "HTTP/1.1 204 X\r\n\r\n");
    static const struct {
        const char *path;
        struct server *at;
        bool kept;
    } rows[] = {{"/end", &here, true},
                {"/same", &here, true},
                {"/other", &there, false},
                {"/back", &here, false}}; /* once gone they do not come back */
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fetch_req req = request(&g, "GET", url_at(&here, rows[i].path));
        req.headers = h;
        req.n_headers = ARRAY_LEN(h);
        run(&req);
        assert_int_equal(g.res.http, 204);
        assert_int_equal(server_saw(rows[i].at, "X-Api-Key: SECRET1\r\n"), rows[i].kept);
        assert_int_equal(server_saw(rows[i].at, "Authorization: Bearer SECRET2\r\n"), rows[i].kept);
        assert_int_equal(server_saw(rows[i].at, "SECRET"), rows[i].kept);
        assert_true(server_saw(rows[i].at, "X-Plain: plain\r\n"));
    }
}

/* A try that begins anew begins at the first URL, with everything it had. */
static void retries_begin_at_the_beginning(void **state)
{
    struct got g;
    struct fetch_header h[] = {{"X-Api-Key", "SECRET1", true}};
    struct route once = {.path = "/end", .manner = KEEP, .uses = 1};
    (void)state;
    snprintf(once.reply, sizeof once.reply, "HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n");
    redirect(&here, "/a", 301, url_at(&there, "/end"));
    server_add(&there, once);
    server_route(&there, "/end", KEEP, "HTTP/1.1 204 X\r\n\r\n");
    struct fetch_req req = request(&g, "GET", url_at(&here, "/a"));
    req.headers = h;
    req.n_headers = 1;
    run(&req);
    assert_int_equal(g.res.http, 204);
    assert_int_equal(g.res.attempts, 2);
    assert_int_equal(g.res.redirects, 1);
    assert_int_equal(server_count(&here, &here.requests), 2);
    assert_true(server_saw(&here, "SECRET1"));
    assert_false(server_saw(&there, "SECRET1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_chain_of_redirects),
        TEST(a_loop_ends),
        TEST(odd_redirects),
        TEST(redirects_to_forbidden_places),
        TEST(forbidden_from_the_start),
        TEST(reused_connections_are_checked_too),
        TEST(the_list_holds_only_from_within),
        TEST(secrets_stay_at_their_origin),
        TEST(retries_begin_at_the_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
