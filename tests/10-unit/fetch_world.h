/* fetch_world: the fetch engine between two servers that say what a test tells them to. */
#ifndef FRESHET_TESTS_FETCH_WORLD_H
#define FRESHET_TESTS_FETCH_WORLD_H

#include "core/clock.h"
#include "core/fetch_internal.h"
#include "tests/10-unit/tiny_server.h"

static struct server here, there; /* two origins: same host, other port */
static struct conf conf;
static const char *allow[] = {"127.0.0.1", "localhost"};
static struct fetch *f;

static inline int setup(void **state)
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

static inline int teardown(void **state)
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

static inline enum rc on_begin(void *ctx, const struct fetch_res *res)
{
    struct got *g = ctx;
    assert_true(res->http >= 200);
    g->begins++;
    g->n = 0;
    return g->say_begin;
}

static inline enum rc on_body(void *ctx, const void *p, size_t n)
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

static inline void on_done(void *ctx, const struct fetch_res *res)
{
    struct got *g = ctx;
    g->done++;
    g->res = *res;
}

static inline struct fetch_req request(struct got *g, const char *method, const char *url)
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

static inline const char *url_at(const struct server *s, const char *path)
{
    static char url[8][FETCH_URL_MAX];
    static size_t i;
    i = (i + 1) % 8;
    snprintf(url[i], sizeof url[i], "http://127.0.0.1:%d%s", s->port, path);
    return url[i];
}

static inline void run(const struct fetch_req *req)
{
    struct err err;
    const struct got *g = req->ctx;
    assert_rc(fetch_one(f, req, &err), RC_OK);
    assert_int_equal(g->done, 1);
    assert_int_equal(f->pending, 0);
    assert_int_equal(f->active, 0);
    assert_true(g->res.detail[0]);
}

static inline void get(struct got *g, const char *path)
{
    struct fetch_req req = request(g, "GET", url_at(&here, path));
    run(&req);
}

#define assert_end(g, want)                                                                        \
    assert_string_equal(fetch_end_name((g).res.end), fetch_end_name(FETCH_##want))

static inline void redirect(struct server *s, const char *path, int code, const char *location)
{
    server_route(
        s, path, KEEP,
        "HTTP/1.1 %d Moved\r\nETag: \"hop\"\r\nLocation: %s\r\nContent-Length: 3\r\n\r\nhop", code,
        location);
}

static inline void flood(const char *path, const char *reply, const char *more)
{
    struct route r = {.manner = FLOOD, .uses = -1};
    snprintf(r.path, sizeof r.path, "%s", path);
    snprintf(r.reply, sizeof r.reply, "%s", reply);
    snprintf(r.more, sizeof r.more, "%s", more);
    server_add(&here, r);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
