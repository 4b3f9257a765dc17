/* prefork: socket, children, signals.
 *
 * Invariants (those of prefork.h, and)
 *   1. Signals are blocked in the parent and taken by sigtimedwait, so none comes between
 *      two steps.
 * Called by service. */
#include "api/prefork.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "api/listen.h"
#include "core/clock.h"
#include "core/log.h"

#define PROCESSES_MAX 256
#define BACKLOG 511       /* what nginx asks for its own sockets */
#define STOP_MAX_MS 10000 /* longer than any answer takes */
#define YOUNG_MS 1000     /* a child that ends before this age did not get going */
#define BACKOFF_MIN_MS 100
#define BACKOFF_MAX_MS 5000

struct child {
    pid_t pid; /* 0: not running */
    int64_t born, due, backoff;
};

struct parent {
    const struct prefork *p;
    int fd;
    sigset_t signals, before;
    struct child children[PROCESSES_MAX];
};

/* ---- children -------------------------------------------------------------------------------- */

static noreturn void be_child(struct parent *x, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGINT, SIG_IGN); /* Ctrl-C reaches the whole group; the parent decides */
    sigdelset(&x->before, SIGTERM);
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_SETMASK, &x->before, NULL);
    sigprocmask(SIG_BLOCK, &term, NULL); /* until fcgi_serve waits */
    if (getppid() != parent)
        _exit(0);
    _exit(x->p->child(x->p->ctx, x->fd));
}

static void start(struct parent *x, struct child *c)
{
    pid_t self = getpid(), pid = fork();
    if (pid == 0)
        be_child(x, self);
    c->born = clock_mono();
    if (pid > 0) {
        c->pid = pid;
        return;
    }
    c->due = c->born + BACKOFF_MAX_MS;
    log_event(LOG_ERROR, "prefork.no_child", LOG_S("reason", strerror(errno)));
}

static void plan_restart(struct child *c)
{
    int64_t now = clock_mono();
    bool young = now - c->born < YOUNG_MS;
    c->backoff = !young ? 0 : c->backoff ? c->backoff * 2 : BACKOFF_MIN_MS;
    if (c->backoff > BACKOFF_MAX_MS)
        c->backoff = BACKOFF_MAX_MS;
    c->pid = 0;
    c->due = now + c->backoff;
}

static void note_end(pid_t pid, int status)
{
    log_event(LOG_WARN, "prefork.child_ended", LOG_I("child", pid),
              LOG_I("signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0),
              LOG_I("exit", WIFEXITED(status) ? WEXITSTATUS(status) : 0));
}

/* Takes note of children that ended. Returns how many still run. */
static int reap(struct parent *x, bool quiet)
{
    int status, running = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (int i = 0; i < x->p->processes; i++)
            if (x->children[i].pid == pid) {
                plan_restart(&x->children[i]);
                if (!quiet)
                    note_end(pid, status);
            }
    for (int i = 0; i < x->p->processes; i++)
        running += x->children[i].pid > 0;
    return running;
}

/* Starts who is due. Returns the milliseconds until the next one is, at most a minute. */
static int64_t start_due(struct parent *x)
{
    int64_t now = clock_mono(), wait = 60000;
    for (int i = 0; i < x->p->processes; i++) {
        struct child *c = &x->children[i];
        if (c->pid == 0 && c->due <= now)
            start(x, c);
        if (c->pid == 0 && c->due - now < wait)
            wait = c->due > now ? c->due - now : 1;
    }
    return wait;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int wait_signal(const struct parent *x, int64_t ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    return sigtimedwait(&x->signals, NULL, &t);
}

static void signal_all(const struct parent *x, int sig)
{
    for (int i = 0; i < x->p->processes; i++)
        if (x->children[i].pid > 0)
            kill(x->children[i].pid, sig);
}

/* Connects fail from the shutdown on; what is in the queue can still be accepted (unix sockets). */
static void stop(struct parent *x)
{
    int64_t end = clock_mono() + STOP_MAX_MS;
    shutdown(x->fd, SHUT_RDWR);
    unlink(x->p->socket);
    signal_all(x, SIGTERM);
    while (reap(x, true) > 0 && clock_mono() < end)
        wait_signal(x, 100);
    signal_all(x, SIGKILL);
    while (reap(x, true) > 0)
        wait_signal(x, 100);
    close(x->fd);
}

static void block_signals(struct parent *x)
{
    static const int taken[] = {SIGTERM, SIGINT, SIGCHLD};
    sigemptyset(&x->signals);
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        sigaddset(&x->signals, taken[i]);
    sigprocmask(SIG_BLOCK, &x->signals, &x->before);
}

enum rc prefork_run(const struct prefork *p, struct err *err)
{
    struct parent x = {.p = p, .fd = -1};
    if (p->processes < 1 || p->processes > PROCESSES_MAX)
        return err_set(err, RC_INVALID, "", "1 to %d processes can serve", PROCESSES_MAX);
    TRY(listen_stream(p->socket, BACKLOG, &x.fd, err));
    block_signals(&x);
    log_event(LOG_INFO, "prefork.started", LOG_I("processes", p->processes));
    for (;;) {
        int sig = wait_signal(&x, start_due(&x));
        if (sig == SIGTERM || sig == SIGINT)
            break;
        reap(&x, false);
    }
    stop(&x);
    log_event(LOG_INFO, "prefork.stopped", LOG_I("processes", p->processes));
    sigprocmask(SIG_SETMASK, &x.before, NULL);
    return RC_OK;
}
