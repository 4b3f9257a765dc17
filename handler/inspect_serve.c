/* inspect_serve: receiving descriptors, sending reports. */
#include "handler/inspect_serve.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>
#include "core/fd.h"
#include "handler/inspect_wire.h"

static void close_both(int fds[2])
{
    for (int i = 0; i < 2; i++)
        fd_close(&fds[i]);
}

/* One request and its descriptors, -1 for none; false when the client has closed or speaks another
 * language. */
static bool receive(int socket, struct wire_request *q, int fds[2])
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec io = {q, sizeof *q};
    struct msghdr m = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t n;
    fds[0] = fds[1] = -1;
    do
        n = recvmsg(socket, &m, MSG_WAITALL | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
        return false;
    memcpy(fds, CMSG_DATA(c), c->cmsg_len > CMSG_LEN(sizeof(int)) ? 2 * sizeof(int) : sizeof(int));
    if (n == (ssize_t)sizeof *q && q->magic == WIRE_MAGIC &&
        memchr(q->feature_key, 0, sizeof q->feature_key) &&
        memchr(q->legal_date_field, 0, sizeof q->legal_date_field))
        return true;
    close_both(fds);
    return false;
}

static bool send_all(int socket, const void *p, size_t n)
{
    const char *at = p;
    while (n > 0) {
        ssize_t done = send(socket, at, n, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

static bool reply(int socket, enum rc rc, const struct inspect_end *end, struct str report)
{
    struct wire_reply head = {.magic = WIRE_MAGIC,
                              .rc = rc,
                              .problem = end->problem,
                              .signal = (uint32_t)end->signal,
                              .n = rc == RC_OK ? report.n : 0};
    return send_all(socket, &head, sizeof head) && send_all(socket, report.p, (size_t)head.n);
}

enum rc inspect_serve(const struct inspect_host *h, int socket, struct err *err)
{
    struct wire_request q;
    struct buf out;
    int fds[2];
    enum rc rc = RC_OK;
    buf_init(&out, INSPECT_REPORT_MAX);
    while (receive(socket, &q, fds)) {
        const struct inspect_options o = {q.feature_key, q.precision_m, q.legal_date_field};
        const struct inspect_limits l = {q.timeout_ms, q.memory_mb};
        struct inspect_end end = {PROBLEM_COUNT, 0};
        buf_clear(&out);
        rc = inspect_options_check(&o, err);
        if (rc == RC_OK)
            rc = inspect_child_run(h, fds[0], fds[1], &o, &l, &out, &end, err);
        close_both(fds);
        if (rc == RC_GONE || !reply(socket, rc, &end, buf_view(&out)))
            break;
    }
    buf_release(&out);
    return rc == RC_GONE ? RC_OK : rc;
}
