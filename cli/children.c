/* children: starting, watching and stopping processes.
 * Called by cmd_up.c. */
#include "cli/children.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/log.h"

#define TICK_MS 20 /* between two looks at children that are stopping */

/* ---- starting -------------------------------------------------------------------------------- */

/* In the new process: never returns. Only what is safe after fork. */
static void become(const struct child *c, pid_t parent)
{
    sigset_t none;
    int fd = open(c->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || in < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0 ||
        dup2(fd, STDERR_FILENO) < 0)
        _exit(126);
    setpgid(0, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* it died before the line above */
        _exit(125);
    execv(c->argv[0], (char *const *)c->argv);
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", c->argv[0], strerror(errno));
    _exit(127);
}

static enum rc start_one(struct child *c, struct err *err)
{
    pid_t self = getpid(), pid = fork();
    if (pid == 0)
        become(c, self);
    if (pid < 0)
        return err_set(err, RC_IO, "", "cannot start %s: %s", c->name, strerror(errno));
    setpgid(pid, pid); /* in both, whoever comes first */
    c->pid = pid;
    c->started_at = clock_mono();
    log_event(LOG_INFO, "up.started", LOG_S("child", c->name), LOG_I("child_pid", pid));
    return RC_OK;
}

enum rc children_start(struct children *c, struct err *err)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->list[i].pid == 0 && c->list[i].restart_at <= clock_mono())
            TRY(start_one(&c->list[i], err));
    return RC_OK;
}

/* ---- watching -------------------------------------------------------------------------------- */

static struct child *find(struct children *c, pid_t pid)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->list[i].pid == pid)
            return &c->list[i];
    return NULL;
}

static int64_t pause_ms(int deaths)
{
    int64_t ms = CHILDREN_PAUSE_MS;
    for (int i = 1; i < deaths && ms < CHILDREN_PAUSE_MAX_MS; i++)
        ms *= 2;
    return ms < CHILDREN_PAUSE_MAX_MS ? ms : CHILDREN_PAUSE_MAX_MS;
}

static void note_end(struct child *c, int status, children_said_fn *said, void *ctx)
{
    char how[64], sentence[256];
    bool killed = WIFSIGNALED(status);
    kill(-c->pid, SIGKILL); /* what it left behind would hold its port or socket */
    c->deaths = clock_mono() - c->started_at >= CHILDREN_STEADY_MS ? 1 : c->deaths + 1;
    c->restart_at = clock_mono() + pause_ms(c->deaths);
    c->pid = 0;
    snprintf(how, sizeof how, killed ? "signal %d" : "exit %d",
             killed ? WTERMSIG(status) : WEXITSTATUS(status));
    snprintf(sentence, sizeof sentence, "%s ended (%s) and is started again in %lld ms. See %s",
             c->name, how, (long long)pause_ms(c->deaths), c->log);
    log_event(LOG_WARN, "up.ended", LOG_S("child", c->name), LOG_S("how", how),
              LOG_I("pause_ms", pause_ms(c->deaths)));
    if (said)
        said(ctx, sentence);
}

void children_reap(struct children *c, children_said_fn *said, void *ctx)
{
    int status = 0;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct child *child = find(c, pid);
        if (child)
            note_end(child, status, said, ctx);
    }
}

int children_wait_ms(const struct children *c)
{
    int64_t wait = -1, now = clock_mono();
    for (size_t i = 0; i < c->n; i++) {
        if (c->list[i].pid != 0)
            continue;
        int64_t left = c->list[i].restart_at > now ? c->list[i].restart_at - now : 0;
        wait = wait < 0 || left < wait ? left : wait;
    }
    return (int)wait;
}

/* ---- stopping -------------------------------------------------------------------------------- */

/* True when it has ended by then. */
static bool wait_for(struct child *c, int64_t until, children_hurry_fn *hurry, void *ctx)
{
    for (;;) {
        pid_t got = waitpid(c->pid, NULL, WNOHANG);
        if (got == c->pid || (got < 0 && errno == ECHILD))
            return true;
        if (clock_mono() >= until || (hurry && hurry(ctx)))
            return false;
        poll(NULL, 0, TICK_MS);
    }
}

void children_stop(struct children *c, children_hurry_fn *hurry, void *ctx)
{
    int64_t until = clock_mono() + CHILDREN_STOP_MS;
    for (size_t i = c->n; i-- > 0;) {
        struct child *child = &c->list[i];
        if (child->pid == 0)
            continue;
        kill(child->pid, SIGTERM);
        int64_t least = clock_mono() + CHILDREN_STOP_LEAST_MS;
        bool ended = wait_for(child, until > least ? until : least, hurry, ctx);
        kill(-child->pid, SIGKILL);
        if (!ended)
            waitpid(child->pid, NULL, 0);
        log_event(LOG_INFO, ended ? "up.stopped" : "up.killed", LOG_S("child", child->name));
        child->pid = 0;
    }
}
