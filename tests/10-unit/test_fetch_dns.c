/* Names, spellings and the addresses behind them: the policy looks at what is connected to, not at
 * what a URL says. getaddrinfo is ours here, so that a name can lead anywhere and change
 * its mind. */
#include "tests/10-unit/unit.h"

#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include "core/clock.h"
#include "core/fetch_internal.h"
#include "tests/10-unit/tiny_server.h"

/* ---- a resolver that lies ------------------------------------------------------------------- */

static const char *answers[4]; /* of the names that end with .test; set while nothing is resolved */
static atomic_int lookups;

typedef int resolve_fn(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret)
{
    resolve_fn *real;
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (!node || !str_ends(str_of(node), STR(".test")))
        return real(node, service, hints, ret);
    lookups++;
    struct addrinfo numeric = *hints, **tail = ret;
    numeric.ai_flags |= AI_NUMERICHOST;
    numeric.ai_family = AF_UNSPEC;
    *ret = NULL;
    for (size_t i = 0; i < ARRAY_LEN(answers) && answers[i]; i++) {
        if (real(answers[i], service, &numeric, tail) != 0)
            abort();
        tail = &(*tail)->ai_next;
    }
    return *ret ? 0 : EAI_NONAME;
}

/* ---- fixture -------------------------------------------------------------------------------- */

static struct server here;
static struct conf conf;
static char listed_port[64];
static const char *allow[] = {"inside.test", listed_port};
static struct fetch *f;

static int setup(void **state)
{
    struct err err;
    (void)state;
    server_start(&here);
    conf_defaults(&conf);
    snprintf(listed_port, sizeof listed_port, "port.test:%d", here.port);
    conf.allow_hosts = (struct conf_list){allow, ARRAY_LEN(allow)};
    conf.fetch_retry_ms = 1;
    memset(answers, 0, sizeof answers);
    answers[0] = "127.0.0.1";
    lookups = 0;
    assert_rc(fetch_new(&conf, &f, &err), RC_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fetch_free(&f);
    server_stop(&here);
    return 0;
}

static struct fetch_res got;

static void on_done(void *ctx, const struct fetch_res *res)
{
    (void)ctx;
    got = *res;
}

static enum rc get(const char *scheme, const char *host, int port)
{
    char url[200];
    struct err err;
    snprintf(url, sizeof url, "%s://%s:%d/?SECRET", scheme, host, port);
    struct fetch_req req = {
        .method = "GET", .url = url, .max_body = 100, .timeout_ms = 3000, .on_done = on_done};
    enum rc rc = fetch_one(f, &req, &err);
    assert_null(strstr(rc == RC_OK ? got.detail : err.msg, "SECRET"));
    return rc;
}

static void assert_blocked(const char *host)
{
    assert_rc(get("https", host, here.port), RC_OK);
    if (got.end != FETCH_BLOCKED)
        fail_msg("%s: %s", host, got.detail);
    assert_int_equal(got.attempts, 1);
    assert_int_equal(server_count(&here, &here.connections), 0); /* not even a connection */
}

/* ---- tests ---------------------------------------------------------------------------------- */

/* The server listens on the very port: only the policy keeps us away from it. */
static void no_spelling_reaches_loopback(void **state)
{
    static const char *const hosts[] = {"127.0.0.1",
                                        "127.1",
                                        "127.0.1",
                                        "2130706433",
                                        "017700000001",
                                        "0177.0.0.1",
                                        "0x7f000001",
                                        "0x7f.1",
                                        "0X7F.0.0.1",
                                        "127.255.255.254",
                                        "0.0.0.0",
                                        "0",
                                        "localhost",
                                        "LOCALHOST",

                                        "any.localhost",
                                        "[::1]",
                                        "[0:0:0:0:0:0:0:1]",
                                        "[::]",
                                        "[::ffff:127.0.0.1]",
                                        "[::ffff:7f00:1]",
                                        "[::ffff:0.0.0.0]",
                                        "[::127.0.0.1]",
                                        "[64:ff9b::7f00:1]",
                                        "[64:ff9b::127.0.0.1]",
                                        "[2002:7f00:1::]"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        assert_blocked(hosts[i]);
        assert_rc(get("http", hosts[i], here.port), RC_BLOCKED);
    }
}

/* Rebinding: a name of the public net that leads inside, in every way a resolver can say it. */
static void no_name_leads_inside(void **state)
{
    static const char *const inside[] = {
        "127.0.0.1",  "0.0.0.0",          "10.0.0.1",        "100.64.0.1",      "169.254.169.254",
        "172.16.0.1", "192.168.1.1",      "224.0.0.1",       "255.255.255.255", "::1",
        "::",         "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::",   "fc00::1",
        "fe80::1",    "ff02::1"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(inside); i++) {
        char host[32]; /* a new one each time: answers are kept for a minute */
        answers[0] = inside[i];
        snprintf(host, sizeof host, "n%zu.rebind.test", i);
        assert_blocked(host);
    }
    answers[0] = "10.0.0.1", answers[1] = "127.0.0.1", answers[2] = "::1";
    assert_blocked("all.rebind.test"); /* the next address is no way in either */
    assert_int_equal(lookups, ARRAY_LEN(inside) + 1);
}

/* The list holds for names and ports that are in it, whatever else resolves to the same address. */
static void the_list_is_of_names(void **state)
{
    (void)state;
    server_route(&here, "/", CUT, "HTTP/1.1 204 X\r\n\r\n");
    assert_rc(get("http", "inside.test", here.port), RC_OK);
    assert_int_equal(got.http, 204);
    assert_rc(get("http", "port.test", here.port), RC_OK);
    assert_int_equal(got.http, 204);
    assert_int_equal(server_count(&here, &here.connections), 2);
    assert_rc(get("http", "port.test", here.port + 1), RC_BLOCKED);
    assert_rc(get("http", "outside.test", here.port), RC_BLOCKED);
    assert_rc(get("https", "outside.test", here.port), RC_OK);
    assert_int_equal(got.end, FETCH_BLOCKED);
    assert_rc(get("https", "127.0.0.1", here.port), RC_OK);
    assert_int_equal(got.end, FETCH_BLOCKED);
    assert_int_equal(server_count(&here, &here.connections), 2);
}

/* A listed host redirects to a name that leads inside but is not listed. */
static void no_redirect_leads_inside(void **state)
{
    (void)state;
    server_route(&here, "/", CUT,
                 "HTTP/1.1 302 X\r\nLocation: https://rebind.test:%d/\r\nContent-Length: 0\r\n\r\n",
                 here.port);
    assert_rc(get("http", "inside.test", here.port), RC_OK);
    assert_int_equal(got.end, FETCH_BLOCKED);
    assert_int_equal(got.redirects, 1);
    assert_int_equal(server_count(&here, &here.connections), 1);
}

/* Every connection is new here, and the name is looked up once. */
static void answers_are_kept(void **state)
{
    (void)state;
    server_route(&here, "/", CUT, "HTTP/1.1 200 X\r\nContent-Length: 0\r\n\r\n");
    for (int i = 0; i < 20; i++) {
        assert_rc(get("http", "inside.test", here.port), RC_OK);
        assert_int_equal(got.http, 200);
    }
    assert_int_equal(server_count(&here, &here.connections), 20);
    assert_int_equal(lookups, 1);
}

static void a_name_that_is_not(void **state)
{
    (void)state;
    answers[0] = NULL;
    assert_rc(get("https", "nowhere.test", here.port), RC_OK);
    assert_int_equal(got.end, FETCH_DNS);
    assert_int_equal(got.attempts, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_spelling_reaches_loopback), TEST(no_name_leads_inside), TEST(the_list_is_of_names),
        TEST(no_redirect_leads_inside),     TEST(answers_are_kept),     TEST(a_name_that_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
