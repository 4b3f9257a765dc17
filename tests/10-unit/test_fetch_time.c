/* The fetch engine: deadlines, slow servers, and trying again. */
#include "tests/10-unit/fetch_world.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(slow_ones_end_by_the_deadline),
        TEST(the_deadline_spans_redirects),
        TEST(crawling_ends_as_slow),
        TEST(the_wait_is_bounded),
        TEST(again_then_well),
        TEST(again_until_the_last),
        TEST(a_long_retry_after_is_handed_out),
        TEST(a_short_retry_after_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
