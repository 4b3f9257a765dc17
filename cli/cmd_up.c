/* up: runs an instance in the foreground: api, intake, stream, scheduler, handlers, outbox
 * and nginx.
 *
 * Invariants
 *   1. One `up` per instance: run/up.lock is held (flock) as long as it lives.
 *   2. What can be known to fail (port, programs, ledger, paths) fails before anything starts.
 *   3. Ctrl-C and TERM stop everything in reverse order; nothing is left running, exit 0.
 *   4. Root works as the owner of the instance, so that nothing in it becomes root's.
 * Called by main_freshet.c. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/children.h"
#include "cli/cli.h"
#include "cli/find.h"
#include "cli/nginx_conf.h"
#include "cli/ready.h"
#include "core/clock.h"
#include "core/fd.h"
#include "core/lock.h"
#include "core/log.h"
#include "ledger/slots.h"

#define READY_POLL_MS 100   /* between two looks at /readyz */
#define READY_SLOW_MS 15000 /* then a word about what is missing */

struct up {
    struct cli *c;
    int port, lock, signals;
    struct children children;
    const char *nginx_conf, *www, *nginx;
    bool stop, ready, said_slow;
    int64_t began;
};

/* ---- before anything starts ------------------------------------------------------------------ */

static enum rc become_owner(struct cli *c)
{
    struct stat st;
    if (geteuid() != 0 || stat(c->inst.dir, &st) != 0 || st.st_uid == 0)
        return RC_OK;
    const struct passwd *who = getpwuid(st.st_uid);
    if (who && initgroups(who->pw_name, st.st_gid) == 0 && setgid(st.st_gid) == 0 &&
        setuid(st.st_uid) == 0)
        return RC_OK;
    return err_set(&c->err, RC_IO, "", "cannot become uid %lu, the owner of %s",
                   (unsigned long)st.st_uid, c->inst.dir);
}

static enum rc refuse_second(struct cli *c, const char *path)
{
    char pid[24] = "";
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd_read_all(fd, pid, sizeof pid - 1);
    pid[n > 0 ? n : 0] = '\0';
    return err_set(&c->err, RC_CONFLICT, "",
                   "this instance is running already (process %.*s). Stop that one first",
                   (int)strcspn(pid, "\n"), pid);
}

static enum rc take_lock(struct up *u)
{
    struct cli *c = u->c;
    const char *path = instance_path(&c->arena, &c->inst, "run/up.lock");
    char pid[24] = "";
    if (!path)
        return err_set(&c->err, RC_NOMEM, "", "no memory for a path");
    enum rc rc = lock_take(path, 0640, &u->lock, &c->err);
    if (rc == RC_BUSY)
        return refuse_second(c, path);
    TRY(rc);
    int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    if (ftruncate(u->lock, 0) != 0 || pwrite(u->lock, pid, (size_t)n, 0) != n)
        return err_set(&c->err, RC_IO, "", "cannot write %s: %s", path, strerror(errno));
    return RC_OK;
}

/* A ledger of an older version is brought forward here, once, not by five processes at a time. */
static enum rc try_ledger(struct cli *c)
{
    CLEANUP(ledger_close) struct ledger *l = NULL;
    return ledger_open(c->inst.dir, LEDGER_WRITE, digest_sha256, &l, &c->err);
}

static enum rc check_paths(struct cli *c)
{
    size_t room = sizeof((struct sockaddr_un *)0)->sun_path - sizeof "/run/intake.sock";
    if (strlen(c->inst.dir) <= room)
        return RC_OK;
    return err_set(&c->err, RC_INVALID, "",
                   "the path %s is too long for a socket. Use one of at most %zu characters",
                   c->inst.dir, room);
}

static enum rc remove_stale(struct cli *c)
{
    static const char *const files[] = {"run/api.sock", "run/intake.sock", "run/stream.sock",
                                        "run/stream.stat", "run/nginx.pid"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        const char *path = instance_path(&c->arena, &c->inst, files[i]);
        if (!path)
            return err_set(&c->err, RC_NOMEM, "", "no memory for a path");
        if (unlink(path) != 0 && errno != ENOENT)
            return err_set(&c->err, RC_IO, "", "cannot remove %s: %s", path, strerror(errno));
    }
    return RC_OK;
}

static enum rc prepare(struct up *u)
{
    struct cli *c = u->c;
    TRY(become_owner(c));
    TRY(check_paths(c));
    TRY(take_lock(u));
    TRY(find_nginx(&c->arena, &u->nginx, &c->err));
    TRY(find_www(&c->arena, &u->www, &c->err));
    if (!find_port_free(u->port))
        return err_set(&c->err, RC_CONFLICT, "",
                       "port %d on 127.0.0.1 cannot be used: %s. Choose another one: "
                       "freshet up --port N",
                       u->port, errno == EACCES ? "it needs root" : "something listens on it");
    TRY(try_ledger(c));
    TRY(remove_stale(c));
    TRY(slots_reset(c->inst.dir, &c->err)); /* nothing kept before is handed out after */
    struct nginx_conf n = {.www = u->www, .port = u->port};
    return nginx_conf_write(c, &n, &u->nginx_conf);
}

/* ---- the children ---------------------------------------------------------------------------- */

static enum rc add_child(struct up *u, const char *name, const char *const *argv)
{
    struct cli *c = u->c;
    struct child *child = &u->children.list[u->children.n];
    const char *file = arena_printf(&c->arena, "log/%s.log", name);
    *child =
        (struct child){.name = name, .log = file ? instance_path(&c->arena, &c->inst, file) : NULL};
    if (!child->log)
        return err_set(&c->err, RC_NOMEM, "", "no memory for a path");
    for (size_t i = 0; argv[i]; i++)
        child->argv[i] = argv[i];
    u->children.n++;
    return RC_OK;
}

static enum rc add_own(struct up *u, const char *name, const char *program)
{
    const char *path = NULL;
    TRY(find_program(&u->c->arena, program, &path, &u->c->err));
    return add_child(u, name, (const char *const[]){path, "-C", u->c->inst.dir, NULL});
}

static enum rc add_nginx(struct up *u)
{
    struct cli *c = u->c;
    const char *errors = instance_path(&c->arena, &c->inst, "log/nginx-error.log");
    if (!errors)
        return err_set(&c->err, RC_NOMEM, "", "no memory for a path");
    return add_child(u, "nginx",
                     (const char *const[]){u->nginx, "-e", errors, "-c", u->nginx_conf, "-p",
                                           c->inst.dir, NULL});
}

static enum rc add_several(struct up *u, const char *child, const char *program, int64_t n)
{
    struct cli *c = u->c;
    for (int64_t i = 1; i <= n; i++) {
        const char *name = arena_printf(&c->arena, "%s-%lld", child, (long long)i);
        if (!name)
            return err_set(&c->err, RC_NOMEM, "", "no memory");
        TRY(add_own(u, name, program));
    }
    return RC_OK;
}

static enum rc add_children(struct up *u)
{
#define STARTED(child, program) TRY(add_own(u, child, program));
#define SEVERAL(child, program, setting)                                                           \
    TRY(add_several(u, child, program, u->c->inst.conf.setting));
#define CALLED(program)
#include "cli/programs.def"
#undef STARTED
#undef SEVERAL
#undef CALLED
    return add_nginx(u);
}

/* Links of all programs lead to where nginx listens. */
static enum rc tell_port(const struct up *u)
{
    char text[16];
    snprintf(text, sizeof text, "%d", u->port);
    if (!env_set(INSTANCE_PORT_VARIABLE, text))
        return err_set(&u->c->err, RC_NOMEM, "", "no memory for the environment");
    return RC_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static enum rc open_signals(struct up *u)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &set, NULL) == 0)
        u->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return u->signals >= 0 ? RC_OK : err_set(&u->c->err, RC_IO, "", "cannot receive signals");
}

/* True when somebody asked to stop. */
static bool take_signals(const struct up *u)
{
    struct signalfd_siginfo info;
    bool stop = false;
    while (read(u->signals, &info, sizeof info) == (ssize_t)sizeof info)
        stop |= info.ssi_signo != SIGCHLD;
    return stop;
}

static bool in_a_hurry(void *ctx)
{
    return take_signals(ctx);
}

static void say(void *ctx, const char *sentence)
{
    const struct up *u = ctx;
    cli_error(u->c, "up", "%s", sentence);
}

static void print_ready_json(const struct up *u)
{
    struct cli *c = u->c;
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    yyjson_mut_obj_add_bool(d, o, "ready", true);
    json_add_str(d, o, "base", arena_printf(&c->arena, "http://127.0.0.1:%d", u->port));
    yyjson_mut_obj_add_int(d, o, "pid", getpid());
    (void)cli_print_json(c, d);
}

static void print_ready(const struct up *u)
{
    const char *dir = u->c->inst.dir;
    if (u->c->json) {
        print_ready_json(u);
    } else {
        printf("Freshet is up. Open:\n"
               "  http://127.0.0.1:%d/            newest changes and badges\n"
               "  http://127.0.0.1:%d/changes     the feed\n"
               "  http://127.0.0.1:%d/freshness   how fresh each source is\n"
               "Logs: %s/log. Stop with Ctrl-C.\n",
               u->port, u->port, u->port, dir);
    }
    fflush(stdout);
}

/* One look at /readyz, until it says yes. */
static void look_ready(struct up *u)
{
    char why[200] = "";
    if (ready_ask(u->port, why, sizeof why)) {
        u->ready = true;
        print_ready(u);
        log_event(LOG_INFO, "up.ready", LOG_I("port", u->port));
    } else if (!u->said_slow && clock_mono() - u->began > READY_SLOW_MS) {
        u->said_slow = true;
        cli_error(u->c, "up", "not ready yet: %s. See %s/log", why, u->c->inst.dir);
    }
}

static enum rc run(struct up *u)
{
    u->began = clock_mono();
    while (!u->stop) {
        TRY(children_start(&u->children, &u->c->err));
        int wait = children_wait_ms(&u->children);
        if (!u->ready && (wait < 0 || wait > READY_POLL_MS))
            wait = READY_POLL_MS;
        struct pollfd fd = {.fd = u->signals, .events = POLLIN};
        poll(&fd, 1, wait);
        u->stop = take_signals(u);
        children_reap(&u->children, say, u);
        if (!u->ready && !u->stop)
            look_ready(u);
    }
    return RC_OK;
}

int cmd_up(struct cli *c)
{
    struct up u = {.c = c, .lock = -1, .signals = -1};
    int64_t port = 0;
    if (!cli_opt_i64(c, "port", 1, 65535, &port))
        return CLI_USAGE;
    if (!cli_instance(c))
        return CLI_FAILED;
    u.port = (int)(port ? port : c->inst.conf.port);
    const char *log = instance_path(&c->arena, &c->inst, "log/up.log");
    if (!log || prepare(&u) != RC_OK || tell_port(&u) != RC_OK || add_children(&u) != RC_OK ||
        open_signals(&u) != RC_OK || log_open("up", log, &c->err) != RC_OK)
        return cli_fail(c);
    enum rc rc = run(&u);
    children_stop(&u.children, in_a_hurry, &u);
    cli_hint(c, "\nStopped.\n");
    return rc == RC_OK ? CLI_DONE : cli_fail(c);
}
