/* inspect_child: map, fork, enter the sandbox, inspect; and the parent's watch over it. */
#include "handler/inspect_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/fd.h"
#include "handler/compare.h"

#define EXIT_NO_MEMORY 3
#define CPU_GRACE_S 1 /* beyond the time limit: the parent's kill should come first */

/* ---- the child ------------------------------------------------------------------------------- */

/* Libraries may say on standard output and error what they like: nobody hears it. */
static bool set_descriptors(const struct inspect_host *h, int report)
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool ok = nowhere >= 0 && dup2(report, SANDBOX_OUT) >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0 &&
              dup2(nowhere, STDERR_FILENO) >= 0;
    close(nowhere);
    close(report);
    if (h->client >= 0)
        close(h->client);
    return ok;
}

/* The files of one request. */
struct files {
    struct str first, second;
    bool two;
};

static _Noreturn void child(const struct inspect_host *h, const struct files *f,
                            const struct inspect_options *o, const struct inspect_limits *l,
                            int report)
{
    const struct sandbox_limits limits = {.memory_bytes = l->memory_mb << 20,
                                          .cpu_s = l->timeout_ms / 1000 + CPU_GRACE_S};
    struct buf out;
    struct err err;
    signal(SIGXFSZ, SIG_IGN);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || !set_descriptors(h, report))
        _exit(1);
    buf_init(&out, f->two ? COMPARE_MAX : INSPECT_REPORT_MAX);
    if (sandbox_enter(h->sandbox, &limits, &err) != RC_OK)
        _exit(1);
    enum rc rc = f->two ? compare_bytes(f->first, f->second, o, h->reader, &out, &err)
                        : inspect_bytes(f->first, o, h->reader, &out, &err);
    if (rc == RC_NOMEM || rc == RC_TOO_LARGE)
        _exit(EXIT_NO_MEMORY);
    _exit(rc == RC_OK && fd_write_all(SANDBOX_OUT, buf_view(&out)) ? 0 : 1);
}

/* ---- the parent ------------------------------------------------------------------------------ */

enum watch { WATCH_DONE, WATCH_LATE, WATCH_FLOOD, WATCH_ALONE };

/* Reads until the child closes the pipe, the time is over, or the client is gone. */
static enum watch watch_pipe(int pipe_fd, int client, int64_t timeout_ms, struct buf *out)
{
    int64_t end = clock_mono() + timeout_ms;
    char part[65536];
    for (;;) {
        struct pollfd p[2] = {{.fd = pipe_fd, .events = POLLIN}, {.fd = client}};
        int64_t left = end - clock_mono();
        if (left <= 0)
            return WATCH_LATE;
        int ready = poll(p, 2, (int)left);
        if (ready > 0 && p[1].revents & (POLLHUP | POLLERR))
            return WATCH_ALONE;
        if (ready <= 0 || p[0].revents == 0)
            continue;
        ssize_t n = read(pipe_fd, part, sizeof part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return WATCH_DONE;
        buf_add(out, part, (size_t)n);
        if (buf_rc(out) != RC_OK)
            return WATCH_FLOOD;
    }
}

static struct inspect_end judge(enum watch w, int status)
{
    struct inspect_end e = {PROBLEM_INSPECTOR_CRASHED, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    if (w == WATCH_LATE || e.signal == SIGXCPU)
        e.problem = PROBLEM_TIME_LIMIT;
    else if (w == WATCH_FLOOD || (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_MEMORY))
        e.problem = PROBLEM_TOO_LARGE;
    else if (w == WATCH_DONE && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        e.problem = PROBLEM_COUNT;
    return e;
}

static enum watch watch_child(pid_t pid, int pipe_fd, int client, int64_t timeout_ms,
                              struct buf *out, int *status)
{
    enum watch w = watch_pipe(pipe_fd, client, timeout_ms, out);
    /* A child that closed the pipe has nothing left to do but end. */
    if (w != WATCH_DONE)
        kill(pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    return w;
}

/* _Fork, not fork: PROJ's database was opened by the parent, and libraries that notice a fork close
 * it to open it again, which the sandbox forbids. Reading it from here is safe: nobody writes to
 * it, and SQLite reads with pread. Our processes have one thread, so no lock is held across. */
static enum rc run(const struct inspect_host *h, const struct files *f,
                   const struct inspect_options *o, const struct inspect_limits *l, struct buf *out,
                   struct inspect_end *end, struct err *err)
{
    int fds[2], status = 0;
    size_t before = out->len;
    if (pipe2(fds, O_CLOEXEC) != 0)
        return err_set(err, RC_IO, "", "no pipe: %s", strerror(errno));
    pid_t pid = _Fork();
    if (pid == 0) {
        close(fds[0]);
        child(h, f, o, l, fds[1]);
    }
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        return err_set(err, RC_IO, "", "no process: %s", strerror(errno));
    }
    enum watch w = watch_child(pid, fds[0], h->client, l->timeout_ms, out, &status);
    close(fds[0]);
    if (w == WATCH_ALONE)
        return err_set(err, RC_GONE, "", "whoever asked for the inspection is gone");
    *end = judge(w, status);
    if (end->problem == PROBLEM_COUNT)
        return RC_OK;
    out->len = before;
    out->rc = RC_OK;
    if (f->two) {
        compare_unread(end->problem, out);
        return buf_rc(out);
    }
    return inspect_unread(inspect_sniff(f->first), (int64_t)f->first.n, o, end->problem, out, err);
}

/* Private and writable: readers may work in place, the file stays as it is. */
static enum rc map_file(int fd, struct str *ret, struct err *err)
{
    struct stat st;
    void *p = NULL;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return err_set(err, RC_IO, "", "what shall be inspected is not a regular file");
    if (st.st_size > 0)
        p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd,
                 0);
    if (p == MAP_FAILED)
        return err_set(err, RC_IO, "", "cannot map the file: %s", strerror(errno));
    *ret = (struct str){p ? p : "", (size_t)st.st_size};
    return RC_OK;
}

static void unmap_file(struct str s)
{
    if (s.n > 0)
        munmap((char *)(uintptr_t)s.p, s.n);
}

enum rc inspect_child_run(const struct inspect_host *h, int fd, int second,
                          const struct inspect_options *o, const struct inspect_limits *l,
                          struct buf *out, struct inspect_end *end, struct err *err)
{
    struct files f = {.two = second >= 0};
    TRY(map_file(fd, &f.first, err));
    enum rc rc = f.two ? map_file(second, &f.second, err) : RC_OK;
    if (rc == RC_OK)
        rc = run(h, &f, o, l, out, end, err);
    unmap_file(f.first);
    unmap_file(f.second);
    return rc;
}
