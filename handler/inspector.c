/* inspector: starting, asking and replacing the two inspector processes. */
#include "handler/inspector.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/clock.h"
#include "handler/compare.h"
#include "handler/inspect_program.h"
#include "handler/inspect_wire.h"

#define ATTEMPTS 2
#define GRACE_MS 10000 /* beyond the child's time: starting GDAL, sending a long report */
#define PATH_SIZE 4096

struct server {
    const char *program;
    pid_t pid; /* 0: not running */
    int socket;
};
struct inspector {
    char folder[PATH_SIZE];
    int64_t timeout_ms, memory_mb;
    struct server own, gdal;
};

/* ---- processes ------------------------------------------------------------------------------- */

static void stop(struct server *s)
{
    if (s->pid == 0)
        return;
    close(s->socket);
    kill(s->pid, SIGKILL);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    s->pid = 0;
}

/* Standard input is the socket, standard output goes nowhere; nothing else is passed on, no
 * environment either. posix_spawn, as a fork would copy the ledger's open connection. */
static int spawn(const char *path, int socket, pid_t *pid)
{
    static char serve[] = "--serve", *const no_environment[] = {NULL};
    char *argv[] = {(char *)(uintptr_t)path, serve, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int rc = posix_spawn(pid, path, &actions, &attributes, argv, no_environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

static enum rc start(const struct inspector *in, struct server *s, struct err *err)
{
    char path[PATH_SIZE + 32];
    int ends[2];
    if (s->pid != 0)
        return RC_OK;
    snprintf(path, sizeof path, "%s/%s", in->folder, s->program);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return err_set(err, RC_IO, "", "no socket: %s", strerror(errno));
    int rc = spawn(path, ends[1], &s->pid);
    close(ends[1]);
    if (rc != 0) {
        close(ends[0]);
        s->pid = 0;
        return err_set(err, RC_IO, "", "cannot run %s: %s", path, strerror(rc));
    }
    s->socket = ends[0];
    return RC_OK;
}

static enum rc own_folder(char out[PATH_SIZE], struct err *err)
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_SIZE - 1);
    if (n <= 0)
        return err_set(err, RC_IO, "", "cannot read /proc/self/exe: is /proc mounted?");
    out[n] = 0;
    *strrchr(out, '/') = 0;
    return RC_OK;
}

enum rc inspector_new(const struct conf *c, const char *programs, struct inspector **ret,
                      struct err *err)
{
    struct inspector *in = calloc(1, sizeof *in);
    if (!in)
        return err_set(err, RC_NOMEM, "", "no memory for the inspector");
    in->timeout_ms = c->inspect_timeout_s * 1000;
    in->memory_mb = c->inspect_memory_mb;
    in->own.program = INSPECT_PROGRAM_OWN;
    in->gdal.program = INSPECT_PROGRAM_GDAL;
    enum rc rc = RC_OK;
    if (programs)
        snprintf(in->folder, sizeof in->folder, "%s", programs);
    else
        rc = own_folder(in->folder, err);
    if (rc == RC_OK)
        *ret = in;
    else
        free(in);
    return rc;
}

void inspector_free(struct inspector **in)
{
    if (*in) {
        stop(&(*in)->own);
        stop(&(*in)->gdal);
    }
    free(*in);
    *in = NULL;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* One file, or two to be compared. */
struct files {
    int fds[2], n;
};

static bool send_request(int socket, struct wire_request *q, const struct files *f)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof f->fds)];
    } control = {0};
    size_t bytes = (size_t)f->n * sizeof f->fds[0];
    struct iovec io = {q, sizeof *q};
    struct msghdr m = {.msg_iov = &io,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = CMSG_SPACE(bytes)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(bytes);
    memcpy(CMSG_DATA(c), f->fds, bytes);
    return sendmsg(socket, &m, MSG_NOSIGNAL) == (ssize_t)sizeof *q;
}

static bool receive_all(int socket, void *out, size_t n, int64_t end)
{
    char *at = out;
    while (n > 0) {
        struct pollfd p = {.fd = socket, .events = POLLIN};
        int64_t left = end - clock_mono();
        if (left <= 0)
            return false;
        if (poll(&p, 1, (int)left) <= 0)
            continue;
        ssize_t got = recv(socket, at, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

/* But for RC_OK the process is of no use any more: nobody knows where its answer ends. */
static enum rc ask(struct server *s, struct wire_request *q, const struct files *f, struct arena *a,
                   struct wire_reply *reply, struct str *report)
{
    int64_t end = clock_mono() + q->timeout_ms + GRACE_MS;
    if (!send_request(s->socket, q, f) || !receive_all(s->socket, reply, sizeof *reply, end))
        return RC_IO;
    if (reply->magic != WIRE_MAGIC || reply->n > INSPECT_REPORT_MAX || reply->rc >= RC_COUNT)
        return RC_IO;
    char *text = arena_alloc(a, (size_t)reply->n + 1);
    if (!text)
        return RC_NOMEM;
    if (!receive_all(s->socket, text, (size_t)reply->n, end))
        return RC_IO;
    text[reply->n] = 0;
    *report = (struct str){text, (size_t)reply->n};
    return RC_OK;
}

static enum rc ask_any(struct inspector *in, struct server *s, const struct files *f,
                       const struct inspect_options *o, struct arena *a, struct inspection *ret,
                       struct err *err)
{
    struct wire_request q = {.magic = WIRE_MAGIC,
                             .memory_mb = (uint32_t)in->memory_mb,
                             .timeout_ms = in->timeout_ms,
                             .precision_m = o->precision_m};
    struct wire_reply reply;
    snprintf(q.feature_key, sizeof q.feature_key, "%s", o->feature_key);
    snprintf(q.legal_date_field, sizeof q.legal_date_field, "%s",
             o->legal_date_field ? o->legal_date_field : "");
    for (int i = 0; i < ATTEMPTS; i++) {
        TRY(start(in, s, err));
        enum rc rc = ask(s, &q, f, a, &reply, &ret->report);
        if (rc == RC_OK) {
            ret->signal = (int)reply.signal;
            if (reply.rc == RC_OK)
                return RC_OK;
            return err_set(err, (enum rc)reply.rc, "", "%s could not inspect", s->program);
        }
        stop(s);
        if (rc == RC_NOMEM)
            return err_set(err, RC_NOMEM, "", "no memory for the report");
    }
    return err_set(err, RC_IO, "", "%s does not answer", s->program);
}

/* ---- answers --------------------------------------------------------------------------------- */

static enum rc unread(enum inspect_format f, int64_t size, const struct inspect_options *o,
                      enum inspect_problem p, struct arena *a, struct str *ret, struct err *err)
{
    struct buf out;
    buf_init(&out, INSPECT_REPORT_MAX);
    enum rc rc = inspect_unread(f, size, o, p, &out, err);
    char *copy = rc == RC_OK ? arena_str(a, buf_view(&out)) : NULL;
    if (copy)
        *ret = (struct str){copy, out.len};
    else if (rc == RC_OK)
        rc = err_set(err, RC_NOMEM, "", "no memory for the report");
    buf_release(&out);
    return rc;
}

static enum rc sniff_file(int fd, enum inspect_format *format, int64_t *size, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return err_set(err, RC_IO, "", "what shall be inspected is not a regular file");
    size_t n = (size_t)st.st_size;
    void *p = n > 0 ? mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    if (p == MAP_FAILED)
        return err_set(err, RC_IO, "", "cannot map the file: %s", strerror(errno));
    *format = inspect_sniff((struct str){p ? p : "", n});
    *size = st.st_size;
    if (p)
        munmap(p, n);
    return RC_OK;
}

/* An object with the list that every report has; RC_INVALID when it is none. */
static enum rc parse_report(struct arena *a, struct inspection *i)
{
    struct err why;
    TRY(json_parse(a, i->report, 0, "the report", &i->root, &why));
    return yyjson_is_arr(yyjson_obj_get(i->root, "problems")) ? RC_OK : RC_INVALID;
}

enum rc inspector_run(struct inspector *in, int fd, const struct inspect_options *o,
                      struct arena *a, struct inspection *ret, struct err *err)
{
    enum inspect_format format;
    struct inspection found = {0};
    int64_t size;
    const struct files f = {{fd, -1}, 1};
    TRY(inspect_options_check(o, err));
    TRY(sniff_file(fd, &format, &size, err));
    switch (inspect_formats[format].engine) {
    case ENGINE_OWN: TRY(ask_any(in, &in->own, &f, o, a, &found, err)); break;
    case ENGINE_GDAL: TRY(ask_any(in, &in->gdal, &f, o, a, &found, err)); break;
    case ENGINE_NONE: TRY(unread(format, size, o, PROBLEM_COUNT, a, &found.report, err)); break;
    }
    enum rc rc = parse_report(a, &found);
    if (rc != RC_OK && rc != RC_NOMEM) {
        TRY(unread(format, size, o, PROBLEM_INSPECTOR_CRASHED, a, &found.report, err));
        rc = parse_report(a, &found);
    }
    if (rc != RC_OK)
        return err_set(err, RC_NOMEM, "", "no memory to read the report");
    *ret = found;
    return RC_OK;
}

/* A comparison with its lists, or with a reason and none. */
static bool is_comparison(yyjson_val *root)
{
    yyjson_val *reason = yyjson_obj_get(root, "reason");
    return yyjson_is_str(reason) ||
           (yyjson_is_null(reason) && yyjson_is_obj(yyjson_obj_get(root, "totals")) &&
            yyjson_is_arr(yyjson_obj_get(root, "added")) &&
            yyjson_is_arr(yyjson_obj_get(root, "removed")) &&
            yyjson_is_arr(yyjson_obj_get(root, "modified")));
}

static enum rc parse_comparison(struct arena *a, struct inspection *i)
{
    struct err why;
    if (i->report.n > COMPARE_MAX)
        return RC_INVALID;
    TRY(json_parse(a, i->report, 0, "the comparison", &i->root, &why));
    return is_comparison(i->root) ? RC_OK : RC_INVALID;
}

enum rc inspector_compare(struct inspector *in, int older, int fd, const struct inspect_options *o,
                          struct arena *a, struct inspection *ret, struct err *err)
{
    static const char crashed[] = "{\"reason\":\"INSPECTOR_CRASHED\"}";
    const struct files f = {{older, fd}, 2};
    enum inspect_format formats[2];
    struct inspection found = {0};
    int64_t size;
    TRY(inspect_options_check(o, err));
    for (int i = 0; i < 2; i++)
        TRY(sniff_file(f.fds[i], &formats[i], &size, err));
    bool gdal = inspect_formats[formats[0]].engine == ENGINE_GDAL ||
                inspect_formats[formats[1]].engine == ENGINE_GDAL;
    TRY(ask_any(in, gdal ? &in->gdal : &in->own, &f, o, a, &found, err));
    enum rc rc = parse_comparison(a, &found);
    if (rc != RC_OK && rc != RC_NOMEM) {
        found.report = str_of(crashed);
        rc = parse_comparison(a, &found);
    }
    if (rc != RC_OK)
        return err_set(err, RC_NOMEM, "", "no memory to read the comparison");
    *ret = found;
    return RC_OK;
}

bool inspection_has(const struct inspection *i, enum inspect_problem p)
{
    size_t k, n;
    yyjson_val *one;
    yyjson_arr_foreach(yyjson_obj_get(i->root, "problems"), k, n, one)
    {
        if (yyjson_equals_str(yyjson_obj_get(one, "code"), inspect_problem_name(p)))
            return true;
    }
    return false;
}
