/* The fetch engine against a server that misbehaves in every way we know. */
#include "tests/10-unit/unit.h"

#include "core/clock.h"
#include "core/fetch_internal.h"
#include "tests/10-unit/tiny_server.h"

/* ---- fixture -------------------------------------------------------------------------------- */

static struct server here, there; /* two origins: same host, other port */
static struct conf conf;
static const char *allow[] = {"127.0.0.1", "localhost"};
static struct fetch *f;

static int setup(void **state)
{
    struct err err;
    (void)state;
    server_start(&here);
    server_start(&there);
    conf_defaults(&conf);
    conf.allow_hosts = (struct conf_list){allow, ARRAY_LEN(allow)};
    conf.fetch_retry_ms = 1;
    conf.connect_timeout_ms = 2000;
    conf.per_host_rate = 0; /* budget and breaker have tests of their own: test_fetch_host.c */
    conf.breaker_failures = 0;
    assert_rc(fetch_new(&conf, &f, &err), RC_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fetch_free(&f);
    assert_null(f);
    server_stop(&here);
    server_stop(&there);
    return 0;
}

struct got {
    int done, begins;
    struct fetch_res res;
    size_t n;
    char body[4096];
    enum rc say_begin, say_body;
    size_t pieces;
};

static enum rc on_begin(void *ctx, const struct fetch_res *res)
{
    struct got *g = ctx;
    assert_true(res->http >= 200);
    g->begins++;
    g->n = 0;
    return g->say_begin;
}

static enum rc on_body(void *ctx, const void *p, size_t n)
{
    struct got *g = ctx;
    if (g->n + n < sizeof g->body) { /* what does not fit is only counted */
        memcpy(g->body + g->n, p, n);
        g->body[g->n + n] = '\0';
    }
    g->n += n;
    g->pieces++;
    return g->say_body;
}

static void on_done(void *ctx, const struct fetch_res *res)
{
    struct got *g = ctx;
    g->done++;
    g->res = *res;
}

static struct fetch_req request(struct got *g, const char *method, const char *url)
{
    memset(g, 0, sizeof *g);
    return (struct fetch_req){.method = method,
                              .url = url,
                              .max_body = 100000,
                              .timeout_ms = 3000,
                              .on_begin = on_begin,
                              .on_body = on_body,
                              .on_done = on_done,
                              .ctx = g};
}

static const char *url_at(const struct server *s, const char *path)
{
    static char url[8][FETCH_URL_MAX];
    static size_t i;
    i = (i + 1) % 8;
    snprintf(url[i], sizeof url[i], "http://127.0.0.1:%d%s", s->port, path);
    return url[i];
}

static void run(const struct fetch_req *req)
{
    struct err err;
    const struct got *g = req->ctx;
    assert_rc(fetch_one(f, req, &err), RC_OK);
    assert_int_equal(g->done, 1);
    assert_int_equal(f->pending, 0);
    assert_int_equal(f->active, 0);
    assert_true(g->res.detail[0]);
}

static void get(struct got *g, const char *path)
{
    struct fetch_req req = request(g, "GET", url_at(&here, path));
    run(&req);
}

#define assert_end(g, want)                                                                        \
    assert_string_equal(fetch_end_name((g).res.end), fetch_end_name(FETCH_##want))

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

static void flood(const char *path, const char *reply, const char *more)
{
    struct route r = {.manner = FLOOD, .uses = -1};
    snprintf(r.path, sizeof r.path, "%s", path);
    snprintf(r.reply, sizeof r.reply, "%s", reply);
    snprintf(r.more, sizeof r.more, "%s", more);
    server_add(&here, r);
}

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

/* ---- time ----------------------------------------------------------------------------------- */

static void slow_ones_end_by_the_deadline(void **state)
{
    struct got g;
    struct route drip = {.path = "/drip", .manner = DRIP, .uses = -1};
    (void)state;
    clock_set(1782993600000); /* a frozen clock stops no time-out */
    snprintf(drip.reply, sizeof drip.reply, "HTTP/1.1 200 OK\r\nX: ");
    snprintf(drip.more, sizeof drip.more, "slow");
    server_add(&here, drip);
    server_route(&here, "/hang", HANG, "%s", "");
    server_route(&here, "/half", HANG, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    const char *paths[] = {"/drip", "/hang", "/half"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct fetch_req req = request(&g, "GET", url_at(&here, paths[i]));
        req.timeout_ms = 60;
        req.attempts = 2;
        run(&req);
        assert_end(g, TIMEOUT);
        assert_int_equal(g.res.attempts, 2);
        assert_in_range(g.res.elapsed_ms, 115, 2000);
    }
    clock_set(-1);
}

static void the_deadline_spans_redirects(void **state)
{
    struct got g;
    (void)state;
    struct route r = {.path = "/r", .manner = KEEP, .uses = -1, .delay_ms = 80};
    snprintf(r.reply, sizeof r.reply,
             "HTTP/1.1 302 Found\r\nLocation: /r\r\nContent-Length: 0\r\n\r\n");
    server_add(&here, r);
    struct fetch_req req = request(&g, "GET", url_at(&here, "/r"));
    req.timeout_ms = 250; /* enough for each hop, not for all six */
    req.attempts = 1;
    run(&req);
    assert_end(g, TIMEOUT);
    assert_in_range(g.res.elapsed_ms, 240, 2000);
}

static void crawling_ends_as_slow(void **state)
{
    struct got g;
    (void)state;
    f->low_speed_s = 1;
    server_route(&here, "/a", HANG, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    struct fetch_req req = request(&g, "GET", url_at(&here, "/a"));
    req.timeout_ms = 10000;
    req.attempts = 1;
    run(&req);
    assert_end(g, SLOW);
}

static void the_wait_is_bounded(void **state)
{
    struct got g;
    struct err err;
    int ends[2];
    (void)state;
    assert_int_equal(fetch_run(f, 5000), 0); /* nothing to do: at once */
    server_route(&here, "/hang", HANG, "%s", "");
    struct fetch_req req = request(&g, "GET", url_at(&here, "/hang"));
    assert_rc(fetch_start(f, &req, &err), RC_OK);
    int64_t from = clock_mono();
    assert_int_equal(fetch_run(f, 0), 1);
    assert_int_equal(fetch_run(f, 40), 1);
    assert_in_range(clock_mono() - from, 39, 1000);
    assert_int_equal(pipe(ends), 0);
    fetch_wake_fd(f, ends[0]);
    assert_int_equal(fetch_run(f, 40), 1);
    assert_int_equal(write(ends[1], "x", 1), 1);
    from = clock_mono();
    assert_int_equal(fetch_run(f, 2500), 1);
    assert_in_range(clock_mono() - from, 0, 1000);
    /* With nothing in flight it waits for the wake descriptor. */
    fetch_free(&f);
    assert_rc(fetch_new(&conf, &f, &err), RC_OK);
    fetch_wake_fd(f, ends[0]);
    from = clock_mono();
    assert_int_equal(fetch_run(f, 2500), 0);
    assert_in_range(clock_mono() - from, 0, 1000);
    assert_int_equal(read(ends[0], (char[1]){0}, 1), 1);
    from = clock_mono();
    assert_int_equal(fetch_run(f, 40), 0);
    assert_in_range(clock_mono() - from, 39, 1000);
    /* fetch_one is not disturbed by it, and it stays set. */
    server_route(&here, "/a", KEEP, "HTTP/1.1 204 No Content\r\n\r\n");
    assert_int_equal(write(ends[1], "x", 1), 1);
    get(&g, "/a");
    assert_int_equal(g.res.http, 204);
    assert_int_equal(f->wake, ends[0]);
    close(ends[0]);
    close(ends[1]);
}

/* ---- trying again --------------------------------------------------------------------------- */

static void again_then_well(void **state)
{
    static const int codes[] = {429, 502, 503, 504};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct got g;
        struct route first = {.manner = KEEP, .uses = 1};
        snprintf(first.path, sizeof first.path, "/%d", codes[i]);
        snprintf(
            first.reply, sizeof first.reply,
            "HTTP/1.1 %d X\r\nRetry-After: 0\r\nETag: \"bad\"\r\nContent-Length: 4\r\n\r\nbusy",
            codes[i]);
        server_add(&here, first);
        server_route(&here, first.path, KEEP, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        get(&g, first.path);
        assert_end(g, OK);
        assert_int_equal(g.res.http, 200);
        assert_int_equal(g.res.attempts, 2);
        assert_int_equal(g.begins, 1);
        assert_string_equal(g.body, "hello");
        assert_string_equal(g.res.etag, "");
        assert_int_equal(g.res.bytes_in, 9);
    }
}

static void again_until_the_last(void **state)
{
    struct got g;
    (void)state;
    server_route(&here, "/a", KEEP, "HTTP/1.1 503 X\r\nContent-Length: 4\r\n\r\nbusy");
    get(&g, "/a");
    assert_end(g, OK);
    assert_int_equal(g.res.http, 503);
    assert_int_equal(g.res.attempts, 3);
    assert_int_equal(g.begins, 1); /* the last one is the caller's */
    assert_string_equal(g.body, "busy");
    assert_int_equal(g.res.bytes_in, 12);
    server_route(&here, "/b", KEEP, "HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n");
    get(&g, "/b");
    assert_int_equal(g.res.http, 500);
    assert_int_equal(g.res.attempts, 1);
}

/* Whatever a host asked for is over. */
static void forget_hosts(void)
{
    for (size_t i = 0; i < FETCH_BUCKETS; i++)
        for (struct fetch_host *h = f->hosts[i]; h; h = h->next)
            h->quiet_until = h->open_until = 0;
}

static void a_long_retry_after_is_handed_out(void **state)
{
    struct got g;
    (void)state;
    clock_set(1782993600000);
    server_route(&here, "/a", KEEP,
                 "HTTP/1.1 503 X\r\nRetry-After: 11\r\nContent-Length: 4\r\n\r\nbusy");
    server_route(&here, "/b", KEEP,
                 "HTTP/1.1 429 X\r\nRetry-After: Thu, 02 Jul 2026 13:00:00 GMT\r\n"
                 "Content-Length: 0\r\n\r\n");
    get(&g, "/a");
    assert_int_equal(g.res.http, 503);
    assert_int_equal(g.res.attempts, 1);
    assert_int_equal(g.res.retry_after_ms, 11000);
    assert_string_equal(g.body, "busy");
    forget_hosts();
    get(&g, "/b");
    assert_int_equal(g.res.attempts, 1);
    assert_int_equal(g.res.retry_after_ms, 3600000);
    clock_set(-1);
}

static void a_short_retry_after_is_waited_for(void **state)
{
    struct got g;
    struct route first = {.path = "/a", .manner = KEEP, .uses = 1};
    (void)state;
    snprintf(first.reply, sizeof first.reply,
             "HTTP/1.1 503 X\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n");
    server_add(&here, first);
    server_route(&here, "/a", KEEP, "HTTP/1.1 204 X\r\n\r\n");
    struct fetch_req req = request(&g, "GET", url_at(&here, "/a"));
    struct err err;
    assert_rc(fetch_start(f, &req, &err), RC_OK);
    while (!f->n_due)
        assert_int_equal(fetch_run(f, 5), 1);
    int64_t left = f->due[0].at - clock_mono();
    assert_in_range(left, 800, 1000);
    assert_int_equal(f->active, 0); /* a pause holds no slot */
    f->due[0].at = 0;               /* the test does not wait */
    forget_hosts();
    assert_int_equal(fetch_run(f, 3000), 0);
    assert_int_equal(g.res.http, 204);
    assert_int_equal(g.res.attempts, 2);
}

/* ---- redirects ------------------------------------------------------------------------------ */

static void redirect(struct server *s, const char *path, int code, const char *location)
{
    server_route(
        s, path, KEEP,
        "HTTP/1.1 %d Moved\r\nETag: \"hop\"\r\nLocation: %s\r\nContent-Length: 3\r\n\r\nhop", code,
        location);
}

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

/* ---- requests that cannot be ---------------------------------------------------------------- */

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

/* ---- many ----------------------------------------------------------------------------------- */

enum { MANY = 500 };
static struct got many[MANY];

static void start_many(size_t n, const char *host, const char *path)
{
    for (size_t i = 0; i < n; i++) {
        char url[100];
        struct err err;
        snprintf(url, sizeof url, "http://%s:%d%s", host, here.port, path);
        struct fetch_req req = request(&many[i], "GET", url);
        req.timeout_ms = 20000;
        assert_rc(fetch_start(f, &req, &err), RC_OK);
    }
}

static size_t slots_made(void)
{
    size_t n = 0;
    struct fetch_slot *s;
    LIST_FOREACH(s, &f->slots, all_link)
    n++;
    return n;
}

static void drain(size_t n, int http)
{
    int64_t until = clock_mono() + 20000;
    while (fetch_run(f, 100))
        assert_true(clock_mono() < until);
    assert_int_equal(f->active, 0);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(many[i].done, 1);
        assert_int_equal(many[i].res.http, http);
    }
    assert_int_equal(f->n_idle, f->n_hosts);
}

static void many_end_once_each(void **state)
{
    (void)state;
    conf.per_host = 20;
    conf.max_concurrency = 20;
    server_route(&here, "/a", KEEP, "HTTP/1.1 304 X\r\nETag: \"a\"\r\n\r\n");
    start_many(MANY, "127.0.0.1", "/a");
    drain(MANY, 304);
    assert_int_equal(server_count(&here, &here.requests), MANY);
    assert_in_range(server_count(&here, &here.connections), 1, 20); /* reused */
    assert_in_range(slots_made(), 1, 20);
}

static void slow_route(int delay_ms)
{
    struct route r = {.path = "/slow", .manner = KEEP, .uses = -1, .delay_ms = delay_ms};
    snprintf(r.reply, sizeof r.reply, "HTTP/1.1 204 X\r\n\r\n");
    server_add(&here, r);
}

static void per_host_is_respected(void **state)
{
    (void)state;
    conf.per_host = 3;
    slow_route(6);
    start_many(30, "127.0.0.1", "/slow");
    drain(30, 204);
    assert_int_equal(server_count(&here, &here.max_in_flight), 3);
}

static void max_concurrency_is_respected(void **state)
{
    static struct got other[15];
    (void)state;
    conf.max_concurrency = 4;
    slow_route(6);
    start_many(15, "127.0.0.1", "/slow");
    for (size_t i = 0; i < 15; i++) {
        char url[100];
        struct err err;
        snprintf(url, sizeof url, "http://localhost:%d/slow", here.port);
        struct fetch_req req = request(&other[i], "GET", url);
        assert_rc(fetch_start(f, &req, &err), RC_OK);
    }
    drain(15, 204);
    for (size_t i = 0; i < 15; i++)
        assert_int_equal(other[i].res.http, 204);
    assert_int_equal(server_count(&here, &here.max_in_flight), 4);
    assert_int_equal(slots_made(), 4);
}

/* Redirects count for the host they lead to, and waiting for it holds up nobody for ever. */
static void redirects_queue_at_their_target(void **state)
{
    char to[100];
    (void)state;
    conf.per_host = 2;
    slow_route(6);
    snprintf(to, sizeof to, "http://localhost:%d/slow", here.port);
    redirect(&here, "/a", 302, to);
    conf.max_concurrency = 8;
    start_many(24, "127.0.0.1", "/a");
    drain(24, 204);
    assert_in_range(server_count(&here, &here.max_in_flight), 2, 4);
    fetch_free(&f);
    struct err err;
    conf.max_concurrency = 1;
    assert_rc(fetch_new(&conf, &f, &err), RC_OK);
    start_many(5, "127.0.0.1", "/a");
    drain(5, 204);
}

struct chain {
    int left, done;
    const char *url;
};

static void next_link(void *ctx, const struct fetch_res *res)
{
    struct chain *c = ctx;
    struct err err;
    assert_int_equal(res->http, 304);
    c->done++;
    if (c->left-- > 0) {
        struct fetch_req req = {.method = "GET",
                                .url = c->url,
                                .max_body = 1,
                                .timeout_ms = 3000,
                                .on_done = next_link,
                                .ctx = c};
        assert_rc(fetch_start(f, &req, &err), RC_OK);
        if (c->left % 2) /* and a second one that ends the chain */
            assert_rc(fetch_start(f,
                                  &(struct fetch_req){.method = "HEAD",
                                                      .url = c->url,
                                                      .timeout_ms = 3000,
                                                      .on_done = on_done,
                                                      .ctx = &many[c->left]},
                                  &err),
                      RC_OK);
    }
}

static void on_done_may_start_more(void **state)
{
    struct chain c = {.left = 20, .url = url_at(&here, "/a")};
    (void)state;
    memset(many, 0, sizeof many);
    server_route(&here, "/a", KEEP, "HTTP/1.1 304 X\r\n\r\n");
    next_link(&c, &(struct fetch_res){.http = 304});
    while (fetch_run(f, 100))
        ;
    assert_int_equal(c.done, 21);
    for (int i = 0; i < 20; i++)
        assert_int_equal(many[i].done, i % 2);
}

/* Sanitizers tell whether all memory was given back. */
static void free_with_all_in_flight(void **state)
{
    struct got g;
    struct err err;
    (void)state;
    conf.per_host = 5;
    conf.fetch_retry_ms = 10000;
    server_route(&here, "/hang", HANG, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    server_route(&here, "/cut", CUT, "%s", "");
    struct fetch_req req = request(&g, "GET", url_at(&here, "/cut"));
    assert_rc(fetch_start(f, &req, &err), RC_OK);
    while (!f->n_due)
        fetch_run(f, 10);
    start_many(40, "127.0.0.1", "/hang");
    while (server_count(&here, &here.in_flight) < 5)
        fetch_run(f, 10);
    fetch_free(&f);
    assert_null(f);
    assert_int_equal(g.done, 0);
    for (size_t i = 0; i < 40; i++)
        assert_int_equal(many[i].done, 0);
    fetch_free(&f); /* NULL is fine */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_body_arrives),
        TEST(not_modified_and_head_have_no_body),
        TEST(post_sends_its_body),
        TEST(an_empty_body_begins_too),
        TEST(bodies_stay_encoded),
        TEST(doubled_etag_on_the_wire),
        TEST(truncated_and_broken),
        TEST(refused_connection),
        TEST(endless_body),
        TEST(the_cap_is_exact),
        TEST(endless_headers),
        TEST(the_header_cap_is_exact),
        TEST(the_receiver_may_stop),
        TEST(slow_ones_end_by_the_deadline),
        TEST(the_deadline_spans_redirects),
        TEST(crawling_ends_as_slow),
        TEST(the_wait_is_bounded),
        TEST(again_then_well),
        TEST(again_until_the_last),
        TEST(a_long_retry_after_is_handed_out),
        TEST(a_short_retry_after_is_waited_for),
        TEST(a_chain_of_redirects),
        TEST(a_loop_ends),
        TEST(odd_redirects),
        TEST(redirects_to_forbidden_places),
        TEST(forbidden_from_the_start),
        TEST(reused_connections_are_checked_too),
        TEST(the_list_holds_only_from_within),
        TEST(secrets_stay_at_their_origin),
        TEST(retries_begin_at_the_beginning),
        TEST(bad_headers),
        TEST(bad_requests),
        TEST(the_environment_names_no_proxy),
        TEST(the_operator_is_named),
        TEST(many_end_once_each),
        TEST(per_host_is_respected),
        TEST(max_concurrency_is_respected),
        TEST(redirects_queue_at_their_target),
        TEST(on_done_may_start_more),
        TEST(free_with_all_in_flight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
