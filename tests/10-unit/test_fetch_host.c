/* What the fetch engine knows of hosts: budget, Retry-After, circuit breaker, and for how long it
 * remembers. H1… are the invariants of core/fetch_host.c. No test waits for a pause to end: times
 * in a host's record are moved instead. */
#include "tests/10-unit/unit.h"

#include <malloc.h>
#include <time.h>
#include "core/clock.h"
#include "core/fetch_internal.h"
#include "detectors/detector.h"
#include "tests/10-unit/tiny_server.h"

/* ---- fixture -------------------------------------------------------------------------------- */

static struct server here, there;
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
    conf.fetch_attempts = 1;
    assert_rc(fetch_new(&conf, &f, &err), RC_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fetch_free(&f);
    server_stop(&here);
    server_stop(&there);
    return 0;
}

enum { MANY = 120 };
static struct fetch_res got[MANY];
static int done;

static void on_done(void *ctx, const struct fetch_res *res)
{
    *(struct fetch_res *)ctx = *res;
    done++;
}

static void start_within(size_t i, const char *method, int port, const char *path, int64_t ms)
{
    char url[100];
    struct err err;
    snprintf(url, sizeof url, "http://127.0.0.1:%d%s?key=SECRET", port, path);
    struct fetch_req req = {.method = method,
                            .url = url,
                            .max_body = 1000,
                            .timeout_ms = ms,
                            .on_done = on_done,
                            .ctx = &got[i]};
    assert_rc(fetch_start(f, &req, &err), RC_OK);
}

static void start(size_t i, const char *method, int port, const char *path)
{
    start_within(i, method, port, path, 3000);
}

static void drain(void)
{
    int64_t until = clock_mono() + 20000;
    while (fetch_run(f, 100))
        assert_true(clock_mono() < until);
    assert_int_equal(f->active, 0);
    assert_int_equal(f->n_idle, f->n_hosts);
}

static struct fetch_res *get(int port, const char *path)
{
    start(0, "GET", port, path);
    drain();
    assert_null(strstr(got[0].detail, "SECRET"));
    return &got[0];
}

#define assert_end(res, want)                                                                      \
    assert_string_equal(fetch_end_name((res)->end), fetch_end_name(FETCH_##want))

static struct fetch_host *host_at(int port)
{
    char name[32];
    snprintf(name, sizeof name, "127.0.0.1:%d", port);
    for (size_t i = 0; i < FETCH_BUCKETS; i++)
        for (struct fetch_host *h = f->hosts[i]; h; h = h->next)
            if (strcmp(h->name, name) == 0)
                return h;
    fail_msg("%s is not remembered", name);
    return NULL;
}

static void route(struct server *s, const char *path, int delay_ms, const char *reply)
{
    struct route r = {.manner = KEEP, .uses = -1, .delay_ms = delay_ms};
    snprintf(r.path, sizeof r.path, "%s", path);
    snprintf(r.reply, sizeof r.reply, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", reply);
    server_add(s, r);
}

/* A port where nobody listens. */
static int dead_port(void)
{
    server_stop(&there);
    int port = there.port;
    server_start(&there);
    return port;
}

/* ---- budget --------------------------------------------------------------------------------- */

static void queue_init(struct fetch *q)
{
    q->conf = &conf;
    STAILQ_INIT(&q->ring);
    STAILQ_INIT(&q->refused);
    TAILQ_INIT(&q->idle);
}

static void a_token_comes_when_it_is_due(void **state)
{
    struct fetch q = {0};
    struct fetch_place p;
    struct fetch_target t = {.name = "a:443"};
    struct fetch_due d;
    (void)state;
    queue_init(&q);
    conf.per_host = 1000000;
    conf.per_host_rate = 0;
    assert_rc(fetch_place_enter(&q, &t, &p), RC_OK);
    struct fetch_host *h = p.host;
    int64_t now = h->tokens_at;
    for (int i = 0; i < 1000; i++) { /* no limit */
        assert_true(fetch_host_ready(&q, h, now));
        fetch_host_take(&q, h, now);
    }
    conf.per_host = 3;
    conf.per_host_rate = 100;
    h->tokens = 200 * 1000;
    for (int i = 0; i < 200; i++) { /* two seconds' worth at once */
        h->in_flight = 0;
        assert_true(fetch_host_ready(&q, h, now));
        fetch_host_take(&q, h, now);
    }
    h->in_flight = 0;
    assert_false(fetch_host_ready(&q, h, now));
    assert_int_equal(q.n_due, 1);
    assert_int_equal(q.due[0].at, now + 10); /* not a millisecond late, not one early */
    assert_false(fetch_host_ready(&q, h, now + 9));
    assert_int_equal(q.n_due, 1); /* one entry is enough */
    assert_false(fetch_due_pop(&q, now + 9, &d));
    assert_true(fetch_due_pop(&q, now + 10, &d));
    fetch_host_woken(&q, h, now + 10);
    assert_true(fetch_host_ready(&q, h, now + 10));
    fetch_host_take(&q, h, now + 10);
    h->in_flight = 0;
    assert_false(fetch_host_ready(&q, h, now + 10));
    assert_true(fetch_host_ready(&q, h, now + DAY_MS)); /* and a day's rest brings no more */
    assert_int_equal(h->tokens, 200 * 1000);
    conf.per_host_rate = 1; /* the burst is never below per_host */
    assert_true(fetch_host_ready(&q, h, now + 2 * DAY_MS));
    assert_int_equal(h->tokens, 3 * 1000);
    fetch_place_leave(&q, &p);
    fetch_hosts_free(&q);
    free(q.due);
}

static int64_t thread_cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void the_rate_is_kept(void **state)
{
    (void)state;
    conf.per_host = 50;
    conf.per_host_rate = 50; /* so 100 at once, then one every 20 ms */
    route(&here, "/a", 0, "200 OK");
    int64_t from = clock_mono(), cpu = thread_cpu_ms();
    for (size_t i = 0; i < 115; i++)
        start(i, "GET", here.port, "/a");
    while (f->pending > 15)
        fetch_run(f, 1);
    fetch_run(f, 10);
    assert_in_range(f->active, 0, 2); /* those that wait hold no slot */
    drain();
    assert_in_range(clock_mono() - from, 280, 3000);
    assert_in_range(thread_cpu_ms() - cpu, 0, 150); /* nor do they keep the loop busy */
    for (size_t i = 0; i < 115; i++)
        assert_int_equal(got[i].http, 200);
    assert_int_equal(server_count(&here, &here.requests), 115);
}

/* Others are not held up, be it another port of the same host (H1). However slow the machine is:
 * what the budget gave is judged by the time that went by, and the other host is asked when the
 * budget is so far in debt that no token comes while it answers. */
static void a_spent_budget_is_one_hosts(void **state)
{
    (void)state;
    conf.per_host = 1;
    conf.per_host_rate = 1;
    route(&here, "/a", 0, "200 OK");
    route(&there, "/a", 0, "200 OK");
    int64_t from = clock_mono(), until = from + 60000;
    for (size_t i = 0; i < 10; i++)
        start_within(i, "GET", here.port, "/a", 60000);
    while (f->pending > 8 || f->active) {
        assert_true(clock_mono() < until);
        fetch_run(f, 5);
    }
    size_t left = f->pending; /* two seconds' worth went, and what came meanwhile */
    assert_in_range(10 - left, 2, 2 + (clock_mono() - from) / 1000);
    assert_true(left > 0);
    host_at(here.port)->tokens = -3600 * 1000;
    got[10].http = 0;
    start_within(10, "GET", there.port, "/a", 60000);
    while (f->pending > left) {
        assert_true(clock_mono() < until);
        fetch_run(f, 5);
    }
    assert_int_equal(got[10].http, 200);
    assert_int_equal(f->pending, left);
    assert_int_equal(server_count(&here, &here.requests), 10 - left);
}

/* ---- Retry-After ---------------------------------------------------------------------------- */

static void a_long_pause_is_for_all(void **state)
{
    (void)state;
    clock_set(1782993600000);
    conf.per_host = 1;
    route(&here, "/busy", 0, "429 Slow\r\nRetry-After: 3600");
    route(&here, "/a", 0, "200 OK");
    route(&there, "/a", 0, "200 OK");
    done = 0;
    start(0, "GET", here.port, "/busy");
    for (size_t i = 1; i < 10; i++)
        start(i, "GET", here.port, "/a");
    drain();
    assert_int_equal(done, 10);
    assert_int_equal(got[0].http, 429);
    for (size_t i = 1; i < 10; i++) {
        assert_end(&got[i], DEFERRED);
        assert_int_equal(got[i].http, 0);
        assert_int_equal(got[i].attempts, 0);
        assert_in_range(got[i].retry_after_ms, 3590000, 3600000);
    }
    assert_int_equal(server_count(&here, &here.requests), 1);
    /* Every job has ended, and it is not forgotten (H2); it says until when, and no query. */
    struct fetch_res *res = get(here.port, "/a");
    assert_end(res, DEFERRED);
    assert_non_null(strstr(res->detail, host_at(here.port)->name));
    assert_non_null(strstr(res->detail, "until 2026-07-02T1"));
    assert_int_equal(verdict_failure(res).outcome, OUTCOME_rate_limited);
    assert_true(fetch_end_transient(res->end)); /* worth a retry of whoever can wait */
    assert_end(get(there.port, "/a"), OK);      /* H1 */
    host_at(here.port)->quiet_until = clock_mono();
    assert_end(get(here.port, "/a"), OK);
    clock_set(-1);
}

static void a_short_pause_is_waited_for(void **state)
{
    (void)state;
    route(&here, "/busy", 0, "503 Slow\r\nRetry-After: 9");
    route(&here, "/a", 0, "200 OK");
    get(here.port, "/busy");
    assert_int_equal(got[0].http, 503);
    start(1, "GET", here.port, "/a");
    assert_int_equal(fetch_run(f, 20), 1);
    assert_int_equal(f->active, 0);
    assert_int_equal(f->n_due, 1);
    assert_int_equal(f->due[0].at, host_at(here.port)->quiet_until); /* it will be woken for it */
    host_at(here.port)->quiet_until = f->due[0].at = clock_mono();
    drain();
    assert_int_equal(got[1].http, 200);
    /* 11 s left are too many, 10 s are not. */
    host_at(here.port)->quiet_until = clock_mono() + 11000;
    assert_end(get(here.port, "/a"), DEFERRED);
    host_at(here.port)->quiet_until = clock_mono() + 10000;
    start(0, "GET", here.port, "/a");
    assert_int_equal(fetch_run(f, 20), 1);
}

static void strangers_share_no_pause(void **state)
{
    (void)state;
    route(&here, "/busy", 0, "429 Slow\r\nRetry-After: 3600");
    route(&here, "/a", 0, "200 OK");
    fetch_each_alone(f);
    struct fetch_res *res = get(here.port, "/busy");
    assert_int_equal(res->http, 429);
    assert_in_range(res->retry_after_ms, 3590000, 3600000); /* told all the same */
    assert_end(get(here.port, "/a"), OK);
    assert_true(host_at(here.port)->quiet_until <= clock_mono());
}

/* H4: neither an answer nor a shorter Retry-After takes a pause back; a day is the most. */
static void a_pause_only_grows(void **state)
{
    (void)state;
    conf.per_host = 3;
    route(&here, "/month", 0, "429 Slow\r\nRetry-After: 2592000");
    route(&here, "/hour", 40, "429 Slow\r\nRetry-After: 3600");
    route(&here, "/slow", 40, "200 OK");
    start(0, "GET", here.port, "/month");
    start(1, "GET", here.port, "/hour");
    start(2, "GET", here.port, "/slow");
    drain();
    assert_int_equal(got[2].http, 200);
    int64_t left = host_at(here.port)->quiet_until - clock_mono();
    assert_in_range(left, DAY_MS - 5000, DAY_MS);
}

/* ---- circuit breaker ------------------------------------------------------------------------ */

static void open_after_five_failures(void **state)
{
    (void)state;
    int port = dead_port();
    for (int i = 0; i < 5; i++)
        assert_end(get(port, "/"), CONNECT);
    struct fetch_res *res = get(port, "/");
    assert_end(res, HOST_DOWN);
    assert_int_equal(res->attempts, 0);
    assert_in_range(res->retry_after_ms, 20000, 30000);
    assert_non_null(strstr(res->detail, host_at(port)->name));
    assert_non_null(strstr(res->detail, "no connection could be made"));
    assert_int_equal(verdict_failure(res).outcome, OUTCOME_unavailable);
    route(&here, "/a", 0, "200 OK");
    assert_end(get(here.port, "/a"), OK); /* H1 */
}

/* H3: those that wait are refused at once, those that failed say how, and nobody tries again. */
static void opening_ends_what_waits(void **state)
{
    (void)state;
    int port = dead_port();
    conf.fetch_attempts = 3;
    conf.per_host = 1;
    done = 0;
    int64_t from = clock_mono();
    for (size_t i = 0; i < 50; i++)
        start(i, "GET", port, "/");
    drain();
    assert_int_equal(done, 50);
    assert_in_range(clock_mono() - from, 0, 2000);
    int connect = 0, down = 0, tries = 0;
    for (size_t i = 0; i < 50; i++) {
        connect += got[i].end == FETCH_CONNECT;
        down += got[i].end == FETCH_HOST_DOWN;
        tries += got[i].attempts;
    }
    assert_int_equal(connect + down, 50);
    assert_in_range(connect, 1, 5);
    assert_int_equal(tries, 5);
}

static void half_open_lets_one_through(void **state)
{
    (void)state;
    route(&here, "/a", 200, "200 OK");
    get(here.port, "/a");
    struct fetch_host *h = host_at(here.port);
    h->opened = 1;
    h->failures = 5;
    h->open_until = clock_mono();
    for (size_t i = 0; i < 6; i++)
        start(i, "GET", here.port, "/a");
    while (server_count(&here, &here.in_flight) == 0)
        fetch_run(f, 5);
    fetch_run(f, 10);
    assert_int_equal(h->in_flight, 1);
    assert_int_equal(server_count(&here, &here.in_flight), 1);
    drain();
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(got[i].http, 200);
    assert_int_equal(h->opened, 0);
    assert_int_equal(h->failures, 0);
    assert_in_range(server_count(&here, &here.max_in_flight), 2, 6); /* closed: all together */
}

static void each_failure_doubles_the_wait(void **state)
{
    static const int64_t want[] = {30, 60, 120, 240, 480, 600, 600};
    (void)state;
    int port = dead_port();
    for (int i = 0; i < 4; i++)
        get(port, "/");
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        start(0, "GET", port, "/");
        start(1, "GET", port, "/"); /* waits for the first, and shares its fate */
        drain();
        assert_end(&got[0], CONNECT);
        assert_true(got[1].end == FETCH_HOST_DOWN || i == 0);
        int64_t left = host_at(port)->open_until - clock_mono();
        assert_in_range(left, want[i] * 1000 - 10000, want[i] * 1000);
        host_at(port)->open_until = clock_mono();
    }
}

/* A request sent before may still be answered: then the host is up. One that fails is no news. */
static void answers_of_before_count(void **state)
{
    (void)state;
    route(&here, "/slow", 250, "200 OK");
    struct route cut = {.path = "/cut", .manner = CUT, .uses = -1, .delay_ms = 250};
    server_add(&here, cut);
    start(0, "GET", here.port, "/cut");
    while (server_count(&here, &here.in_flight) < 1)
        fetch_run(f, 2);
    struct fetch_host *h = host_at(here.port);
    h->opened = 1;
    h->open_until = clock_mono() + 30000;
    int64_t until = h->open_until;
    drain();
    assert_end(&got[0], BROKEN);
    assert_int_equal(h->open_until, until);
    assert_int_equal(h->opened, 1);
    h->opened = 0;
    h->open_until = 0;
    start(0, "GET", here.port, "/slow");
    while (server_count(&here, &here.in_flight) < 1)
        fetch_run(f, 2);
    h->opened = 1;
    h->open_until = clock_mono() + 30000;
    drain();
    assert_int_equal(got[0].http, 200);
    assert_int_equal(h->opened, 0);
    assert_end(get(here.port, "/slow"), OK);
}

/* What speaks of the host and what of one path. */
static void which_ends_are_failures(void **state)
{
    static const struct {
        const char *method, *path;
        int failures; /* after one that was there before */
    } rows[] = {
        {"GET", "/200", 0},   {"GET", "/404", 0},  {"GET", "/500", 0},  {"GET", "/429", 0},
        {"GET", "/502", 2},   {"GET", "/503", 2},  {"GET", "/504", 2},  {"GET", "/503r", 0},
        {"GET", "/cut", 2},   {"HEAD", "/cut", 1}, {"GET", "/junk", 1}, {"GET", "/flood", 1},
        {"HEAD", "/hang", 1}, {"GET", "/hang", 2}, {"GET", "/half", 0}, {"HEAD", "/502", 2},
    };
    struct route flood = {.path = "/flood", .manner = FLOOD, .uses = -1, .more = "A: b\r\n"};
    (void)state;
    route(&here, "/200", 0, "200 OK");
    route(&here, "/404", 0, "404 X");
    route(&here, "/500", 0, "500 X");
    route(&here, "/429", 0, "429 X");
    route(&here, "/502", 0, "502 X");
    route(&here, "/503", 0, "503 X");
    route(&here, "/504", 0, "504 X");
    route(&here, "/503r", 0, "503 X\r\nRetry-After: 0");
    server_route(&here, "/cut", CUT, "%s", "");
    server_route(&here, "/junk", CUT, "hello, world\r\n\r\n");
    snprintf(flood.reply, sizeof flood.reply, "HTTP/1.1 200 OK\r\n");
    server_add(&here, flood);
    server_route(&here, "/hang", HANG, "%s", "");
    server_route(&here, "/half", CUT, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    get(here.port, "/200");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char url[100];
        struct err err;
        snprintf(url, sizeof url, "http://127.0.0.1:%d%s", here.port, rows[i].path);
        struct fetch_req req = {.method = rows[i].method,
                                .url = url,
                                .max_body = 1000,
                                .timeout_ms = 80,
                                .on_done = on_done,
                                .ctx = &got[0]};
        host_at(here.port)->failures = 1;
        assert_rc(fetch_one(f, &req, &err), RC_OK);
        if (host_at(here.port)->failures != rows[i].failures)
            fail_msg("%s %s (%s): %d failures", rows[i].method, rows[i].path, got[0].detail,
                     host_at(here.port)->failures);
    }
}

static void the_breaker_can_be_off(void **state)
{
    (void)state;
    int port = dead_port();
    conf.breaker_failures = 0;
    for (int i = 0; i < 20; i++)
        assert_end(get(port, "/"), CONNECT);
}

/* A redirect leads to a host that is left alone: the same ends. */
static void redirects_meet_refusals(void **state)
{
    char reply[200];
    (void)state;
    route(&there, "/a", 0, "200 OK");
    get(there.port, "/a");
    snprintf(reply, sizeof reply, "302 Found\r\nLocation: http://127.0.0.1:%d/a?key=SECRET",
             there.port);
    route(&here, "/r", 0, reply);
    host_at(there.port)->quiet_until = clock_mono() + 60000;
    struct fetch_res *res = get(here.port, "/r");
    assert_end(res, DEFERRED);
    assert_in_range(res->retry_after_ms, 50000, 60000);
    host_at(there.port)->quiet_until = 0;
    host_at(there.port)->opened = 1;
    host_at(there.port)->why = FETCH_TIMEOUT;
    host_at(there.port)->open_until = clock_mono() + 60000;
    res = get(here.port, "/r");
    assert_end(res, HOST_DOWN);
    assert_int_equal(res->redirects, 1);
    host_at(there.port)->open_until = clock_mono();
    assert_end(get(here.port, "/r"), OK);
    assert_int_equal(server_count(&there, &there.requests), 2);
}

/* A refused request may be followed by another one from its own on_done, for ever: fetch_run still
 * keeps its time. */
static void again_and_again(void *ctx, const struct fetch_res *res)
{
    struct err err;
    int *left = ctx;
    assert_end(res, HOST_DOWN);
    struct fetch_req req = {.method = "HEAD",
                            .url = res->final_url,
                            .timeout_ms = 1000,
                            .on_done = again_and_again,
                            .ctx = ctx};
    if (--*left)
        assert_rc(fetch_start(f, &req, &err), RC_OK);
}

static void refusals_do_not_hold_the_loop(void **state)
{
    (void)state;
    int left = 2000000000;
    int port = dead_port();
    get(port, "/");
    host_at(port)->opened = 1;
    host_at(port)->open_until = clock_mono() + 60000;
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", port);
    struct err err;
    struct fetch_req req = {
        .method = "HEAD", .url = url, .timeout_ms = 1000, .on_done = again_and_again, .ctx = &left};
    assert_rc(fetch_start(f, &req, &err), RC_OK);
    int64_t from = clock_mono();
    assert_int_equal(fetch_run(f, 30), 1);
    assert_in_range(clock_mono() - from, 29, 1000);
    assert_in_range(left, 1, 2000000000 - 10);
    left = 1;
    drain();
}

/* ---- memory --------------------------------------------------------------------------------- */

/* H2: the oldest idle ones go, those that refuse last. */
static void idle_hosts_are_bounded(void **state)
{
    static struct fetch q;
    struct fetch_target t = {0};
    struct fetch_place p;
    (void)state;
    queue_init(&q);
    for (int i = 0; i < FETCH_IDLE_HOSTS_MAX + 100; i++) {
        snprintf(t.name, sizeof t.name, "h%d:443", i);
        assert_rc(fetch_place_enter(&q, &t, &p), RC_OK);
        if (i == 3)
            p.host->quiet_until = clock_mono() + DAY_MS;
        if (i == 5)
            p.host->open_until = clock_mono() + 60000;
        fetch_place_leave(&q, &p);
    }
    assert_int_equal(q.n_idle, FETCH_IDLE_HOSTS_MAX);
    assert_int_equal(q.n_hosts, FETCH_IDLE_HOSTS_MAX);
    static const struct {
        const char *name;
        bool known;
    } rows[] = {{"h0:443", false},
                {"h3:443", true},
                {"h5:443", true},
                {"h99:443", false},
                {"h110:443", true}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t before = q.n_hosts;
        snprintf(t.name, sizeof t.name, "%s", rows[i].name);
        assert_rc(fetch_place_enter(&q, &t, &p), RC_OK);
        assert_int_equal(q.n_hosts == before, rows[i].known);
        fetch_place_leave(&q, &p);
    }
    fetch_hosts_free(&q);
    free(q.due);
}

/* After a while without requests an https host is met carefully again. */
static void warmth_passes(void **state)
{
    struct fetch q = {0};
    struct fetch_target t = {.name = "a:443", .https = true};
    struct fetch_place p;
    (void)state;
    queue_init(&q);
    for (int i = 0; i < 3; i++) {
        assert_rc(fetch_place_enter(&q, &t, &p), RC_OK);
        assert_int_equal(p.host->warm, i == 1);
        struct fetch_host *h = p.host;
        h->warm = true;
        fetch_place_leave(&q, &p);
        if (i == 1)
            h->idle_since -= FETCH_WARM_MS + 1;
    }
    fetch_hosts_free(&q);
    free(q.due);
}

/* What a request costs while it waits; slots come only with concurrency. */
static void waiting_is_cheap(void **state)
{
    enum { N = 100000 };
    static const struct fetch_header headers[] = {
        {"If-None-Match", "\"5f3a-61b2c8d9e4f00\"", false},
        {"If-Modified-Since", "Thu, 02 Jul 2026 10:00:00 GMT", false}};
    static struct fetch_res res;
    struct err err;
    (void)state;
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (int i = 0; i < N; i++) {
        char url[100];
        snprintf(url, sizeof url, "https://data%d.example.org/parcels/%d.geojson", i % 1000, i);
        struct fetch_req req = {.method = "HEAD",
                                .url = url,
                                .headers = headers,
                                .n_headers = 2,
                                .timeout_ms = 1000,
                                .on_done = on_done,
                                .ctx = &res};
        assert_rc(fetch_start(f, &req, &err), RC_OK);
    }
    size_t each = (mallinfo2().uordblks + mallinfo2().hblkhd - before) / N;
    print_message("a waiting request costs %zu bytes, a slot %zu\n", each,
                  sizeof(struct fetch_slot));
    assert_in_range(each, 0, 500); /* sanitizers count none */
    assert_null(LIST_FIRST(&f->slots));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_token_comes_when_it_is_due),
        TEST(the_rate_is_kept),
        TEST(a_spent_budget_is_one_hosts),
        TEST(a_long_pause_is_for_all),
        TEST(a_short_pause_is_waited_for),
        TEST(strangers_share_no_pause),
        TEST(a_pause_only_grows),
        TEST(open_after_five_failures),
        TEST(opening_ends_what_waits),
        TEST(half_open_lets_one_through),
        TEST(each_failure_doubles_the_wait),
        TEST(answers_of_before_count),
        TEST(which_ends_are_failures),
        TEST(the_breaker_can_be_off),
        TEST(redirects_meet_refusals),
        TEST(refusals_do_not_hold_the_loop),
        TEST(idle_hosts_are_bounded),
        TEST(warmth_passes),
        TEST(waiting_is_cheap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
