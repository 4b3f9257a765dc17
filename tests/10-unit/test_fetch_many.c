/* The fetch engine: many requests at once, and their places. */
#include <sys/socket.h>
#include "tests/10-unit/fetch_world.h"

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

/* Invariants 1 and 3 of fetch_poll.c: what waits in the cache stays in epoll, its end wakes the
 * loop once, and its number is another socket's then. */
static void idle_connections_are_left_alone(void **state)
{
    (void)state;
    size_t fd = 0;
    server_route(&here, "/a", KEEP, "HTTP/1.1 304 X\r\nETag: \"a\"\r\n\r\n");
    start_many(1, "127.0.0.1", "/a");
    drain(1, 304);
    while (fd < f->n_fds && !f->fds[fd].ours)
        fd++;
    assert_true(fd < f->n_fds);
    assert_int_equal(f->fds[fd].wanted, 0);
    assert_int_not_equal(f->fds[fd].told, 0);
    assert_int_equal(shutdown((int)fd, SHUT_RDWR), 0); /* as if the server had closed it */
    assert_false(fetch_poll(f, 10000));
    assert_int_equal(f->fds[fd].told, 0);
    int64_t from = clock_mono();
    assert_false(fetch_poll(f, 50));
    assert_true(clock_mono() - from >= 45);
    many[0].done = 0;
    start_many(1, "127.0.0.1", "/a");
    drain(1, 304);
    assert_int_equal(server_count(&here, &here.connections), 2);
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
        TEST(many_end_once_each),
        TEST(idle_connections_are_left_alone),
        TEST(per_host_is_respected),
        TEST(max_concurrency_is_respected),
        TEST(redirects_queue_at_their_target),
        TEST(on_done_may_start_more),
        TEST(free_with_all_in_flight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
