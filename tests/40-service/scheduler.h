/* scheduler: a real freshet-scheduler on an instance of its own, between two servers that say what
 * a test tells them to. Waiting is always for a state of the ledger, with a limit. */
#ifndef FRESHET_TESTS_SCHEDULER_H
#define FRESHET_TESTS_SCHEDULER_H

#include <libgen.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "tests/10-unit/tiny_server.h"
#include "tests/10-unit/scratch.h"
#include "core/file.h"
#include "core/instance.h"
#include "ledger/check.h"
#include "ledger/public.h"
#include "ledger/request.h"

#define LIMIT_MS 20000 /* for anything to happen, on a busy machine under a sanitizer */

static struct server server, other;
static struct {
    char dir[64], program[4200];
    struct ledger *ledger;
    struct arena arena;
    struct token token;
    pid_t pid;
} t;
static struct err err;
/* Until x holds. */
#define await(x)                                                                                   \
    for (int64_t until_ = clock_mono() + LIMIT_MS; !(x);) {                                        \
        if (clock_mono() > until_)                                                                 \
            fail_msg("never came: %s", #x);                                                        \
        usleep(3000);                                                                              \
    }

static inline void find_program(void)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    assert_true(n > 0);
    exe[n] = '\0';
    snprintf(t.program, sizeof t.program, "%s/freshet-scheduler", dirname(dirname(dirname(exe))));
}

static inline void make_instance(void)
{
    static const char *const folders[] = {"run", "spool", "secrets"};
    char text[128];
    snprintf(t.dir, sizeof t.dir, "/tmp/freshet-scheduler-XXXXXX");
    assert_non_null(mkdtemp(t.dir));
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        snprintf(text, sizeof text, "%s/%s", t.dir, folders[i]);
        assert_int_equal(mkdir(text, 0700), 0);
    }
    char *path = arena_printf(&t.arena, "%s/freshet.json", t.dir);
    snprintf(text, sizeof text,
             "{\"allow_hosts\":[\"127.0.0.1\"],\"fetch_attempts\":1,\"stream_quiet_s\":1}");
    assert_ok(file_replace(path, str_of(text), 0600, &err));
    assert_ok(ledger_create(t.dir, digest_sha256, &err));
    assert_ok(ledger_open(t.dir, LEDGER_WRITE, digest_sha256, &t.ledger, &err));
    char plain[TOKEN_PLAIN_MAX];
    int64_t no;
    assert_ok(token_create(t.ledger, "test", SCOPE_CHECK, -1, clock_now(), plain, &no, &err));
    assert_ok(token_find(t.ledger, &t.arena, str_of(plain), clock_now(), &t.token, &err));
}

static inline int setup(void **state)
{
    (void)state;
    memset(&t, 0, sizeof t);
    arena_init(&t.arena, 64u << 20);
    server_start(&server);
    server_route(&server, "/a", KEEP,
                 "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 5\r\n\r\nhello");
    server_route(&server, "/hang", HANG, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
    find_program();
    make_instance();
    return 0;
}

static inline int end(int sig)
{
    int status = 0;
    assert_int_equal(kill(t.pid, sig), 0);
    assert_int_equal(waitpid(t.pid, &status, 0), t.pid);
    t.pid = 0;
    return status;
}

static inline int teardown(void **state)
{
    (void)state;
    if (t.pid > 0)
        (void)end(SIGKILL);
    ledger_close(&t.ledger);
    arena_release(&t.arena);
    server_stop(&server);
    return scratch_remove(t.dir);
}

/* Only calls that are safe beside the server's thread stand between fork and exec. */
static inline pid_t start_in(const char *dir)
{
    char log[96];
    snprintf(log, sizeof log, "%s/log", t.dir);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* never outlives the test */
        dup2(fd, STDERR_FILENO);
        execl(t.program, t.program, "-C", dir, (char *)NULL);
        _exit(127);
    }
    close(fd);
    return pid;
}

static inline pid_t start(void)
{
    return start_in(t.dir);
}

/* Inside a transaction. */
static inline struct source declare(const char *id, int port, const char *path, const char *trigger)
{
    struct source s;
    yyjson_val *decl;
    char *text = arena_printf(&t.arena,
                              "{\"id\":\"%s\",\"url\":\"http://127.0.0.1:%d%s\",\"triggers\":[%s]}",
                              id, port, path, trigger);
    assert_ok(json_parse(&t.arena, str_of(text), 0, "source", &decl, &err));
    assert_ok(source_parse(&t.arena, decl, &s, &err));
    assert_ok(source_add(t.ledger, &s, clock_now(), &err));
    return s;
}

static inline struct source source(const char *id, const char *path, const char *trigger)
{
    assert_ok(ledger_begin(t.ledger, &err));
    struct source s = declare(id, server.port, path, trigger);
    assert_ok(ledger_commit(t.ledger, &err));
    return s;
}
#define MANUAL "{\"type\":\"manual\"}"
#define HOURLY "{\"type\":\"interval\",\"seconds\":3600}"
#define OFTEN "{\"type\":\"interval\",\"seconds\":1}"

static inline int64_t checks(const struct source *s)
{
    struct check_state st;
    assert_ok(check_state_get(t.ledger, s->no, &st, &err));
    return st.checks;
}

static inline const char *order(const char *body)
{
    bool repeated;
    char *id = arena_alloc(&t.arena, 48);
    assert_ok(
        request_add(t.ledger, &t.token, str_of(body), STR(""), clock_now(), id, &repeated, &err));
    return id;
}

static inline bool order_is(const char *id, const char *state)
{
    struct check_request r;
    struct arena a;
    arena_init(&a, 1u << 20);
    assert_ok(request_get(t.ledger, &a, id, &r, &err));
    bool yes = strcmp(r.state, state) == 0;
    arena_release(&a);
    return yes;
}

static inline int requests_seen(void)
{
    pthread_mutex_lock(&server.lock);
    int n = server.requests;
    pthread_mutex_unlock(&server.lock);
    return n;
}

/* Temporary files in the spool. */
static inline int unfinished(void)
{
    char path[80];
    snprintf(path, sizeof path, "%s/spool", t.dir);
    return scratch_count(path, "tmp-");
}

#endif
