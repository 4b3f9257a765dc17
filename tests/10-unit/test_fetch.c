/* The fetch engine: whole responses, broken ones, and the caps on their size. */
#include "tests/10-unit/fetch_world.h"

/* ---- whole responses ------------------------------------------------------------------------ */

static void a_body_arrives(void **state)
{
    struct got g;
    (void)state;
    server_route(&here, "/a", KEEP,
                 "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nLast-Modified: Thu, 2 Jul 2026\r\n"
                 "Content-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello");
    get(&g, "/a?key=SECRET");
    assert_end(g, OK);
    assert_int_equal(g.res.http, 200);
    assert_string_equal(g.body, "hello");
    assert_string_equal(g.res.etag, "\"v1\"");
    assert_string_equal(g.res.last_modified, "Thu, 2 Jul 2026");
    assert_string_equal(g.res.content_type, "text/plain");
    assert_int_equal(g.res.content_length, 5);
    assert_int_equal(g.res.bytes_in, 5);
    assert_int_equal(g.res.wire_in, 5 + 17 + 12 + 32 + 26 + 19 + 2);
    assert_int_equal(g.res.attempts, 1);
    assert_int_equal(g.res.redirects, 0);
    assert_int_equal(g.begins, 1);
    assert_string_equal(g.res.final_url, url_at(&here, "/a?key=SECRET"));
    assert_null(strstr(g.res.detail, "SECRET"));
    assert_true(server_saw(&here, "GET /a?key=SECRET HTTP/1.1\r\n"));
    assert_true(server_saw(&here, "\r\nAccept-Encoding: identity\r\n"));
    assert_true(server_saw(&here, "\r\nUser-Agent: freshet/"));
    assert_false(server_saw(&here, "Cookie"));
}

static void not_modified_and_head_have_no_body(void **state)
{
    struct got g;
    struct fetch_header h[] = {{"If-None-Match", "\"v1\"", false},
                               {"If-Modified-Since", "", false}};
    (void)state;
    server_route(&here, "/a", KEEP,
                 "HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\nContent-Length: 999999\r\n\r\n");
    server_route(&here, "/h", KEEP, "HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n");
    struct fetch_req req = request(&g, "GET", url_at(&here, "/a"));
    req.headers = h;
    req.n_headers = 2;
    run(&req);
    assert_end(g, OK);
    assert_int_equal(g.res.http, 304);
    assert_int_equal(g.begins, 0);
    assert_string_equal(g.res.etag, "\"v1\"");
    assert_true(server_saw(&here, "\r\nIf-None-Match: \"v1\"\r\n"));
    assert_false(server_saw(&here, "If-Modified-Since"));
    req = request(&g, "HEAD", url_at(&here, "/h"));
    req.max_body = 0;
    run(&req);
    assert_end(g, OK);
    assert_int_equal(g.res.http, 200);
    assert_int_equal(g.res.content_length, 999999);
    assert_int_equal(g.begins, 0);
    assert_int_equal(g.res.bytes_in, 0);
    assert_true(server_saw(&here, "HEAD /h "));
    /* and the connection was used again, also by another method on the same handle */
    req = request(&g, "GET", url_at(&here, "/a"));
    run(&req);
    assert_int_equal(server_count(&here, &here.connections), 1);
    assert_true(server_saw(&here, "GET /a "));
}

static void post_sends_its_body(void **state)
{
    struct got g;
    struct fetch_header h[] = {{"Content-Type", "application/json", false}};
    (void)state;
    server_route(&here, "/p", KEEP, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    server_route(&here, "/r", KEEP,
                 "HTTP/1.1 307 Moved\r\nLocation: /p\r\nContent-Length: 0\r\n\r\n");
    struct fetch_req req = request(&g, "POST", url_at(&here, "/p"));
    req.headers = h;
    req.n_headers = 1;
    req.body = STR("{\"a\":1}");
    run(&req);
    assert_end(g, OK);
    assert_int_equal(g.res.http, 202);
    assert_int_equal(g.begins, 1);
    assert_true(server_saw(&here, "POST /p "));
    assert_true(server_saw(&here, "Content-Type: application/json\r\n"));
    assert_true(server_saw(&here, "\r\n\r\n{\"a\":1}"));
    req = request(&g, "POST", url_at(&here, "/r"));
    run(&req);
    assert_int_equal(g.res.http, 307);
    assert_string_equal(g.res.location, "/p");
    assert_int_equal(g.res.redirects, 0);
}

static void an_empty_body_begins_too(void **state)
{
    struct got g;
    struct route cut = {.path = "/a", .manner = CUT, .uses = 1};
    (void)state;
    snprintf(cut.reply, sizeof cut.reply, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    server_add(&here, cut);
    server_route(&here, "/a", KEEP, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    get(&g, "/a");
    assert_end(g, OK);
    assert_int_equal(g.res.attempts, 2);
    assert_int_equal(g.begins, 2);
    assert_int_equal(g.n, 0); /* what the first attempt left is forgotten */
    assert_int_equal(g.res.bytes_in, 4);
}

static void bodies_stay_encoded(void **state)
{
    struct got g;
    (void)state;
    server_route(
        &here, "/a", KEEP,
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b??");
    get(&g, "/a");
    assert_end(g, OK);
    assert_string_equal(g.body, "\x1f\x8b??");
    assert_string_equal(g.res.content_encoding, "gzip");
}

static void doubled_etag_on_the_wire(void **state)
{
    struct got g;
    (void)state;
    server_route(&here, "/a", KEEP,
                 "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nETag: \"b\"\r\nContent-Length: 0\r\n\r\n");
    server_route(&here, "/b", KEEP,
                 "HTTP/1.1 200 OK\r\nETag: \"a\rX: y\"\r\nContent-Length: 0\r\n\r\n");
    server_route(&here, "/c", KEEP,
                 "HTTP/1.1 103 Early\r\nETag: \"a\"\r\n\r\nHTTP/1.1 200 OK\r\n"
                 "Transfer-Encoding: chunked\r\nTrailer: ETag\r\n\r\n1\r\nx\r\n0\r\n"
                 "ETag: \"b\"\r\n\r\n");
    const char *paths[] = {"/a", "/b", "/c"};
    for (size_t i = 0; i < 3; i++) {
        get(&g, paths[i]);
        assert_end(g, OK);
        assert_int_equal(g.res.http, 200);
        assert_string_equal(g.res.etag, "");
    }
}

/* ---- broken responses ----------------------------------------------------------------------- */

static void truncated_and_broken(void **state)
{
    struct got g;
    (void)state;
    conf.fetch_attempts = 2;
    server_route(&here, "/cl", CUT, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    server_route(&here, "/ch", CUT,
                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf");
    server_route(&here, "/rst", RESET, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    server_route(&here, "/rst0", RESET, "%s", "");
    server_route(&here, "/none", CUT, "%s", "");
    server_route(&here, "/head", CUT, "HTTP/1.1 200 OK\r\nContent-Le");
    server_route(&here, "/head2", CUT, "HTTP/1.1 200 OK\r\nETag: \"a\"\r\n");
    server_route(&here, "/09", CUT, "hello, world, this is no HTTP\r\n\r\n");
    server_route(&here, "/junk", CUT, "HTTP/1.1 abc\r\n\r\n");
    get(&g, "/cl");
    assert_end(g, TRUNCATED);
    assert_int_equal(g.res.http, 200);
    assert_int_equal(g.res.attempts, 2);
    assert_int_equal(g.begins, 2);
    assert_int_equal(g.res.bytes_in, 8);
    get(&g, "/ch");
    assert_end(g, TRUNCATED);
    get(&g, "/rst");
    assert_end(g, BROKEN);
    assert_int_equal(g.res.attempts, 2);
    get(&g, "/rst0");
    assert_end(g, BROKEN);
    get(&g, "/none");
    assert_end(g, BROKEN);
    get(&g, "/head");
    assert_end(g, BROKEN);
    get(&g, "/head2");
    assert_end(g, BROKEN);
    get(&g, "/09");
    assert_end(g, PROTOCOL);
    assert_int_equal(g.res.attempts, 1);
    get(&g, "/junk");
    assert_end(g, PROTOCOL);
}

static void refused_connection(void **state)
{
    struct got g;
    struct fetch_req req;
    char url[64];
    (void)state;
    server_stop(&there);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/?SECRET", there.port);
    req = request(&g, "GET", url);
    run(&req);
    server_start(&there);
    assert_end(g, CONNECT);
    assert_int_equal(g.res.http, 0);
    assert_int_equal(g.res.attempts, 3);
    assert_null(strstr(g.res.detail, "SECRET"));
    assert_non_null(strstr(g.res.detail, "127.0.0.1"));
}

/* ---- caps ----------------------------------------------------------------------------------- */

static void endless_body(void **state)
{
    struct got g;
    (void)state;
    flood("/a", "HTTP/1.1 200 OK\r\n\r\n", "0123456789");
    flood("/b", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "5\r\nhello\r\n");
    flood("/c", "HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n\r\n", "0123456789");
    const char *paths[] = {"/a", "/b"};
    for (size_t i = 0; i < 2; i++) {
        get(&g, paths[i]);
        assert_end(g, TOO_LARGE);
        assert_int_equal(g.res.http, 200);
        assert_int_equal(g.res.attempts, 1);
        assert_true(g.n > 0 && g.n <= 100000);
    }
    get(&g, "/c"); /* announced: not a byte is taken */
    assert_end(g, TOO_LARGE);
    assert_int_equal(g.begins, 0);
    assert_int_equal(g.n, 0);
}

static void the_cap_is_exact(void **state)
{
    struct got g;
    (void)state;
    server_route(&here, "/a", CUT, "HTTP/1.1 200 OK\r\n\r\n0123456789");
    for (int max = 9; max <= 11; max++) {
        struct fetch_req req = request(&g, "GET", url_at(&here, "/a"));
        req.max_body = max;
        run(&req);
        if (max < 10) {
            assert_end(g, TOO_LARGE);
            assert_int_equal(g.n, 0);
        } else {
            assert_end(g, OK);
            assert_int_equal(g.n, 10);
        }
    }
}

static void endless_headers(void **state)
{
    struct got g;
    (void)state;
    char line[900] = "X: ";
    memset(line + 3, 'x', 800);
    memcpy(line + 803, "\r\n", 3);
    flood("/lines", "HTTP/1.1 200 OK\r\n", "A: b\r\n");
    flood("/bytes", "HTTP/1.1 200 OK\r\n", line);
    flood("/one", "HTTP/1.1 200 OK\r\nX: ", "xxxxxxxxxxxxxxxx");
    flood("/interim", "", "HTTP/1.1 103 Early\r\n\r\n");
    flood("/trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "A: b\r\n");
    const char *paths[] = {"/lines", "/bytes", "/one", "/interim", "/trailers"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        get(&g, paths[i]);
        if (g.res.end != FETCH_TOO_LARGE)
            fail_msg("%s: %s", paths[i], fetch_end_name(g.res.end));
        assert_int_equal(g.res.attempts, 1);
        assert_int_equal(g.n, 0);
        assert_in_range(g.res.wire_in, 1, FETCH_HEAD_BYTES_MAX + sizeof line);
    }
}

/* 200 lines are taken, 201 are not: status line, fields and the empty line count. */
static void the_header_cap_is_exact(void **state)
{
    struct got g;
    char lines[2000] = "";
    (void)state;
    for (int i = 0; i < FETCH_HEAD_LINES_MAX - 3; i++)
        memcpy(lines + 6 * i, "A: b\r\n", 7);
    server_route(&here, "/a", KEEP, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n%s\r\n", lines);
    server_route(&here, "/b", KEEP, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n%sA: b\r\n\r\n",
                 lines);
    get(&g, "/a");
    assert_end(g, OK);
    get(&g, "/b");
    assert_end(g, TOO_LARGE);
}

static void the_receiver_may_stop(void **state)
{
    struct got g;
    (void)state;
    server_route(&here, "/a", KEEP, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    server_route(&here, "/0", KEEP, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    struct fetch_req req = request(&g, "GET", url_at(&here, "/a"));
    g.say_begin = RC_FULL;
    run(&req);
    assert_end(g, STOPPED);
    assert_int_equal(g.pieces, 0);
    assert_int_equal(g.res.attempts, 1);
    req = request(&g, "GET", url_at(&here, "/0"));
    g.say_begin = RC_FULL;
    run(&req);
    assert_end(g, STOPPED);
    req = request(&g, "GET", url_at(&here, "/a"));
    g.say_body = RC_FULL;
    run(&req);
    assert_end(g, STOPPED);
    assert_int_equal(g.pieces, 1);
    req = request(&g, "GET", url_at(&here, "/a"));
    req.on_begin = NULL;
    req.on_body = NULL;
    run(&req);
    assert_end(g, OK);
    assert_int_equal(g.res.bytes_in, 5);
}

/* What stays open begins with its header: the first byte may come much later, or never. */
static void what_stays_open_begins_with_its_header(void **state)
{
    struct got g;
    (void)state;
    server_route(&here, "/s", HANG, "HTTP/1.1 200 OK\r\n\r\n");
    server_route(&here, "/204", KEEP, "HTTP/1.1 204 X\r\n\r\n");
    struct fetch_req req = request(&g, "GET", url_at(&here, "/s"));
    req.quiet_s = 1;
    req.timeout_ms = 10000;
    req.attempts = 1;
    run(&req);
    assert_end(g, SLOW);
    assert_int_equal(g.begins, 1);
    req = request(&g, "GET", url_at(&here, "/s"));
    req.quiet_s = 60;
    g.say_begin = RC_FULL;
    run(&req);
    assert_end(g, STOPPED);
    req = request(&g, "GET", url_at(&here, "/204"));
    req.quiet_s = 60;
    run(&req);
    assert_end(g, OK);
    assert_int_equal(g.begins, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_body_arrives),        TEST(not_modified_and_head_have_no_body),
        TEST(post_sends_its_body),   TEST(an_empty_body_begins_too),
        TEST(bodies_stay_encoded),   TEST(doubled_etag_on_the_wire),
        TEST(truncated_and_broken),  TEST(refused_connection),
        TEST(endless_body),          TEST(the_cap_is_exact),
        TEST(endless_headers),       TEST(the_header_cap_is_exact),
        TEST(the_receiver_may_stop), TEST(what_stays_open_begins_with_its_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
