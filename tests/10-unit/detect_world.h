/* detect_world: a small server and an instance with a real ledger, for the tests of
 * whole checks. */
#ifndef FRESHET_TESTS_DETECT_WORLD_H
#define FRESHET_TESTS_DETECT_WORLD_H

#include <arpa/inet.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "core/clock.h"
#include "detectors/detect.h"
#include "detectors/orders.h"
#include "ledger/inbox.h"
#include "ledger/request.h"
#include "tests/10-unit/scratch.h"
#include "tests/10-unit/unit.h"

/* ---- a server of a few lines ----------------------------------------------------------------- */

#define REPLY(status, headers, body)                                                               \
    "HTTP/1.1 " status "\r\nConnection: close\r\n" headers "\r\n" body
/* The first row that fits; must is somewhere in the request. */
static const struct {
    const char *start, *must, *reply;
} replies[] = {
    {"HEAD /a", "If-None-Match: \"a\"", REPLY("304 Not Modified", "ETag: \"a\"\r\n", "")},
    {"GET /a", "", REPLY("200 OK", "ETag: \"a\"\r\nContent-Length: 5\r\n", "hello")},
    {"GET /key", "X-Key: s3cret\r\n",
     REPLY("200 OK", "ETag: \"k\"\r\nContent-Length: 5\r\n", "hello")},
    {"GET /key", "", REPLY("401 No", "Content-Length: 0\r\n", "")},
    {"GET /later", "", REPLY("429 Slow down", "Retry-After: 3600\r\nContent-Length: 0\r\n", "")},
    {"GET /moved", "", REPLY("301 Moved", "Location: /a?key=hush\r\nContent-Length: 0\r\n", "")},
    {"GET /half", "", REPLY("200 OK", "Content-Length: 10\r\n", "hello")},
    {"GET /page.zip", "", REPLY("200 OK", "Content-Length: 6\r\n", "<html>")},
    {"GET /hang", "", REPLY("200 OK", "Content-Length: 10\r\n", "hello")},
    {"", "", REPLY("404 Not Found", "Content-Length: 0\r\n", "")},
};

static inline void answer(int fd)
{
    char in[8192];
    size_t n = 0;
    while (n < sizeof in - 1 && (n == 0 || !strstr(in, "\r\n\r\n"))) {
        ssize_t got = read(fd, in + n, sizeof in - 1 - n);
        if (got <= 0)
            return;
        n += (size_t)got;
        in[n] = '\0';
    }
    size_t i = 0;
    while (!str_starts(str_of(in), str_of(replies[i].start)) || !strstr(in, replies[i].must))
        i++;
    (void)!write(fd, replies[i].reply, strlen(replies[i].reply));
    if (!str_is(str_of(replies[i].start), "GET /hang"))
        close(fd); /* else it stays open until the server ends */
}

static inline pid_t serve(int *ret_port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof sa;
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
    assert_int_equal(listen(fd, 512), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &n), 0);
    *ret_port = ntohs(sa.sin_port);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_IGN);
        for (;;) {
            int c = accept(fd, NULL, NULL);
            if (c >= 0)
                answer(c);
        }
    }
    close(fd);
    return pid;
}

/* ---- an instance ----------------------------------------------------------------------------- */

static struct {
    pid_t server;
    int port;
    char dir[64], host[32];
    const char *hosts[1];
    struct instance inst;
    struct ledger *ledger;
    struct arena arena;
    struct detect *detect;
    struct orders *orders;
    int done; /* calls of on_done */
    int dropped;
    struct check_result last;
    int by_outcome[OUTCOME_COUNT];
} t;
static struct err err;

static inline void on_done(void *ctx, const struct source *s, const struct check_result *r)
{
    assert_ptr_equal(ctx, &t);
    assert_string_equal(s->id, r->source_id);
    t.done++;
    t.by_outcome[r->outcome]++;
    t.last = *r;
    t.last.source_id = NULL; /* not ours to keep */
    if (r->request_no && t.orders)
        orders_count(t.orders, r->request_no);
}

static inline int setup(void **state)
{
    (void)state;
    memset(&t, 0, sizeof t);
    snprintf(t.dir, sizeof t.dir, "/tmp/freshet-detect-XXXXXX");
    assert_non_null(mkdtemp(t.dir));
    t.server = serve(&t.port);
    snprintf(t.host, sizeof t.host, "127.0.0.1:%d", t.port);
    t.hosts[0] = t.host;
    arena_init(&t.arena, 64u << 20);
    t.inst.dir = t.dir;
    conf_defaults(&t.inst.conf);
    t.inst.conf.allow_hosts = (struct conf_list){t.hosts, 1};
    t.inst.conf.fetch_attempts = 1;
    t.inst.conf.max_concurrency = 8;
    t.inst.conf.free_bytes_min = 0;
    assert_ok(ledger_create(t.dir, digest_sha256, &err));
    assert_ok(ledger_open(t.dir, LEDGER_WRITE, digest_sha256, &t.ledger, &err));
    assert_ok(detect_new(t.ledger, &t.inst, on_done, &t, &t.detect, &err));
    assert_ok(orders_new(t.ledger, &t.orders, &err));
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    detect_free(&t.detect);
    orders_free(&t.orders);
    ledger_close(&t.ledger);
    arena_release(&t.arena);
    kill(t.server, SIGKILL);
    waitpid(t.server, NULL, 0);
    return scratch_remove(t.dir);
}

static inline struct source declare_at(const char *id, const char *url, const char *more)
{
    struct source s;
    yyjson_val *decl;
    char *text = arena_printf(&t.arena, "{\"id\":\"%s\",\"url\":\"%s\"%s}", id, url, more);
    assert_ok(json_parse(&t.arena, str_of(text), 0, "source", &decl, &err));
    assert_ok(source_parse(&t.arena, decl, &s, &err));
    assert_ok(source_add(t.ledger, &s, clock_now(), &err));
    return s;
}

/* Declares http://host/path under `id`; more is JSON that goes into the declaration. */
static inline struct source declare(const char *id, const char *path, const char *more)
{
    return declare_at(id, arena_printf(&t.arena, "http://%s%s", t.host, path), more);
}

static inline struct source elsewhere(const char *id, const char *url)
{
    assert_ok(ledger_begin(t.ledger, &err));
    struct source s = declare_at(id, url, "");
    assert_ok(ledger_commit(t.ledger, &err));
    return s;
}

static inline struct source source(const char *id, const char *path, const char *more)
{
    assert_ok(ledger_begin(t.ledger, &err));
    struct source s = declare(id, path, more);
    assert_ok(ledger_commit(t.ledger, &err));
    return s;
}

/* s0, s1, ...; every seventh is not there. */
static inline void many_sources(struct source *s, int n, const char *seventh)
{
    char id[16];
    assert_ok(ledger_begin(t.ledger, &err));
    for (int i = 0; i < n; i++) {
        snprintf(id, sizeof id, "s%d", i);
        s[i] = declare(id, i % 7 ? "/a" : seventh, "");
    }
    assert_ok(ledger_commit(t.ledger, &err));
}

static inline void check(const struct source *s, const char *outcome)
{
    assert_ok(detect_add(t.detect, s, "requested", 0, &err));
    assert_true(detect_has(t.detect, s->no));
    assert_ok(detect_finish(t.detect, &err));
    assert_false(detect_has(t.detect, s->no));
    if (strcmp(outcome_name(t.last.outcome), outcome) != 0)
        fail_msg("%s (%s), not %s", outcome_name(t.last.outcome), t.last.detail, outcome);
}

static inline int spooled(const char *prefix)
{
    char path[80];
    snprintf(path, sizeof path, "%s/spool", t.dir);
    return scratch_count(path, prefix);
}

static inline struct check_state state_of(const struct source *s)
{
    struct check_state st;
    assert_ok(check_state_get(t.ledger, s->no, &st, &err));
    return st;
}

static inline int64_t candidates(void)
{
    struct inbox_stats stats;
    assert_ok(inbox_stats(t.ledger, &stats, &err));
    return stats.ready;
}

/* Behind the back of the ledger. */
static inline void tamper(const char *sql)
{
    sqlite3 *db;
    char *path = arena_printf(&t.arena, "%s/ledger.db", t.dir);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
