/* fetch_poll: epoll under libcurl's multi interface.
 *
 * A request takes a connection from libcurl's cache and puts it back: libcurl stops watching the
 * socket and starts again with the next request. Telling epoll of each would be two system calls a
 * request, so a socket stays where it is, and only an event that nobody wants takes it out.
 *
 *   on_opensocket ─▶ ours ─(wanted)─▶ in epoll ─(not wanted, an event)─▶ out of epoll ─▶ ...
 *                     └───────────────── on_closesocket ◀────────────────────┘
 *
 * Invariants
 *   1. What is remembered of a descriptor ends when it is closed: the kernel drops it from epoll
 *      then, and the next socket may have its number.
 *   2. Descriptors that libcurl makes by itself (its resolver's) are not remembered: epoll is
 *      told all.
 *   3. A socket that nobody wants wakes the loop at most once.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/fd.h"
#include "core/fetch_internal.h"

#define FDS_FIRST 64

/* NULL when it is not ours. */
static struct fetch_fd *find(struct fetch *f, int fd)
{
    return fd >= 0 && (size_t)fd < f->n_fds && f->fds[fd].ours ? &f->fds[fd] : NULL;
}

void fetch_fd_opened(struct fetch *f, int fd)
{
    if (fd < 0)
        return;
    if ((size_t)fd >= f->n_fds) {
        size_t n = (size_t)fd < FDS_FIRST ? FDS_FIRST : 2 * (size_t)fd;
        struct fetch_fd *grown = reallocarray(f->fds, n, sizeof *grown);
        if (!grown)
            return; /* then it is told all, like a stranger */
        memset(grown + f->n_fds, 0, (n - f->n_fds) * sizeof *grown);
        f->fds = grown;
        f->n_fds = n;
    }
    f->fds[fd] = (struct fetch_fd){.ours = true};
}

static int on_closesocket(void *ctx, curl_socket_t fd)
{
    struct fetch *f = ctx;
    struct fetch_fd *e = find(f, fd);
    if (e)
        *e = (struct fetch_fd){0};
    return close(fd);
}

/* Also where epoll knows more, or less, than libcurl thinks it does. */
static int tell(struct fetch *f, int fd, uint32_t events, bool known)
{
    struct epoll_event ev = {.data.fd = fd, .events = events};
    if (epoll_ctl(f->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &ev) == 0)
        return 0;
    return errno == EEXIST ? epoll_ctl(f->epoll, EPOLL_CTL_MOD, fd, &ev) : -1;
}

static int watch_ours(struct fetch *f, int fd, struct fetch_fd *e, uint32_t events)
{
    e->wanted = events;
    if (events == 0 || events == e->told)
        return 0;
    if (tell(f, fd, events, e->told != 0) != 0)
        return -1;
    e->told = events;
    return 0;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *known)
{
    struct fetch *f = ctx;
    struct fetch_fd *e = find(f, fd);
    uint32_t events = what == CURL_POLL_REMOVE ? 0
                                               : (what & CURL_POLL_IN ? EPOLLIN : 0u) |
                                                     (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
    (void)easy;
    if (e)
        return watch_ours(f, fd, e, events);
    if (what == CURL_POLL_REMOVE)
        return epoll_ctl(f->epoll, EPOLL_CTL_DEL, fd, NULL), 0;
    if (tell(f, fd, events, known != NULL) != 0)
        return -1;
    if (!known)
        curl_multi_assign(f->multi, fd, f);
    return 0;
}

static int on_timer(CURLM *multi, long ms, void *ctx)
{
    struct fetch *f = ctx;
    (void)multi;
    f->timer_at = ms < 0 ? INT64_MAX : ms == 0 ? 0 : clock_mono() + ms;
    return 0;
}

void fetch_timer(struct fetch *f)
{
    int running;
    if (f->timer_at > clock_mono())
        return;
    f->timer_at = INT64_MAX;
    curl_multi_socket_action(f->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

/* Most often the end of a connection that waits in the cache; libcurl finds it when it
 * looks there. */
static bool is_unwanted(struct fetch *f, int fd)
{
    struct fetch_fd *e = find(f, fd);
    if (!e || e->wanted != 0)
        return false;
    if (e->told != 0)
        epoll_ctl(f->epoll, EPOLL_CTL_DEL, fd, NULL);
    e->told = 0;
    return true;
}

bool fetch_poll(struct fetch *f, int64_t wait_ms)
{
    struct epoll_event events[64];
    bool woken = false;
    int running, n = epoll_wait(f->epoll, events, ARRAY_LEN(events), (int)wait_ms);
    for (int i = 0; i < n; i++) {
        int fd = events[i].data.fd;
        if (fd == f->wake) {
            woken = true;
            continue;
        }
        if (is_unwanted(f, fd))
            continue;
        int mask = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                   (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        curl_multi_socket_action(f->multi, fd, mask, &running);
    }
    return woken;
}

CURLcode fetch_poll_handle(struct fetch *f, CURL *easy)
{
    CURLcode rc = curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_closesocket);
    return rc == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, f) : rc;
}

enum rc fetch_poll_open(struct fetch *f, struct err *err)
{
    f->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (f->epoll < 0)
        return err_set(err, RC_IO, "", "epoll_create1: %s", strerror(errno));
    f->multi = curl_multi_init();
    if (!f->multi)
        return err_set(err, RC_NOMEM, "", "libcurl could not be started");
    curl_multi_setopt(f->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(f->multi, CURLMOPT_SOCKETDATA, f);
    curl_multi_setopt(f->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(f->multi, CURLMOPT_TIMERDATA, f);
    return RC_OK;
}

/* libcurl closes its sockets before what we know of them goes. */
void fetch_poll_close(struct fetch *f)
{
    if (f->multi)
        curl_multi_cleanup(f->multi);
    fd_close(&f->epoll);
    free(f->fds);
}
