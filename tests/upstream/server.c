/* server: see server.h. The loop, the timers, the listeners. */
#include "tests/upstream/server.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 256
#define BACKLOG 4096
#define OPEN_MAX_CAP 20000 /* connections; TLS ones take about 40 KB each */
#define FILES_SPARE 32     /* descriptors that are no connections */
#define IN_MAX (HTTP_HEAD_MAX + HTTP_BODY_MAX + 2 * SERVER_READ)
#define OUT_MAX (4u << 20) /* a few pipelined replies, one of which may have a huge head */

/* ---- timers: a binary heap of connections -------------------------------------------------- */

static void timer_put(struct server *s, size_t at, struct conn *c)
{
    s->timers[at] = c;
    c->timer_at = at;
}

static void timer_up(struct server *s, size_t at, struct conn *c)
{
    for (; at && s->timers[(at - 1) / 2]->due > c->due; at = (at - 1) / 2)
        timer_put(s, at, s->timers[(at - 1) / 2]);
    timer_put(s, at, c);
}

static void timer_down(struct server *s, size_t at, struct conn *c)
{
    for (size_t child; (child = at * 2 + 1) < s->n_timers; at = child) {
        if (child + 1 < s->n_timers && s->timers[child + 1]->due < s->timers[child]->due)
            child++;
        if (s->timers[child]->due >= c->due)
            break;
        timer_put(s, at, s->timers[child]);
    }
    timer_put(s, at, c);
}

/* The heap has room for every connection, see conn_open. */
void server_timer(struct server *s, struct conn *c, int64_t after_ms)
{
    server_untimer(s, c);
    c->due = clock_mono() + after_ms;
    timer_up(s, s->n_timers++, c);
}

void server_untimer(struct server *s, struct conn *c)
{
    if (c->due < 0)
        return;
    c->due = -1;
    struct conn *last = s->timers[--s->n_timers];
    if (last == c)
        return;
    timer_up(s, c->timer_at, last);
    timer_down(s, last->timer_at, last);
}

/* ---- connections --------------------------------------------------------------------------- */

static void watch_listeners(struct server *s, bool on)
{
    struct epoll_event e = {.events = on ? EPOLLIN : 0, .data.ptr = &s->watched_http};
    (void)epoll_ctl(s->epoll, EPOLL_CTL_MOD, s->http, &e);
    e.data.ptr = &s->watched_https;
    if (s->https >= 0)
        (void)epoll_ctl(s->epoll, EPOLL_CTL_MOD, s->https, &e);
    s->accepting = on;
}

static void conn_drop(struct server *s, struct conn *c)
{
    server_untimer(s, c);
    if (c->job.active)
        s->stats.busy--;
    job_end(&c->job);
    tls_drop(&c->tls);
    buf_release(&c->in);
    buf_release(&c->out);
    close(c->fd);
    *(c->prev ? &c->prev->next : &s->conns) = c->next;
    if (c->next)
        c->next->prev = c->prev;
    c->next = s->spare;
    s->spare = c;
    if (s->stats.open-- == s->max_open && !s->accepting)
        watch_listeners(s, true);
}

static bool timer_room(struct server *s)
{
    if (s->stats.open < s->timer_room)
        return true;
    size_t room = s->timer_room ? s->timer_room * 2 : 64;
    struct conn **p = realloc(s->timers, room * sizeof *p);
    if (!p)
        return false;
    s->timers = p;
    s->timer_room = room;
    return true;
}

static struct conn *conn_struct(struct server *s)
{
    struct conn *c = s->spare;
    if (c)
        s->spare = c->next;
    else
        c = malloc(sizeof *c);
    return c;
}

static bool conn_open(struct server *s, int fd, bool https)
{
    struct tls_conn *tls = https ? tls_accept(s->tls, fd) : NULL;
    struct conn *c = (https && !tls) || !timer_room(s) ? NULL : conn_struct(s);
    if (!c) {
        tls_drop(&tls);
        return false;
    }
    *c = (struct conn){.watched = WATCHED_CONN, .fd = fd, .tls = tls, .due = -1, .mask = EPOLLIN};
    buf_init(&c->in, IN_MAX);
    buf_init(&c->out, OUT_MAX);
    c->id = ++s->stats.connections;
    c->next = s->conns;
    if (c->next)
        c->next->prev = c;
    s->conns = c;
    if (++s->stats.open > s->stats.open_max)
        s->stats.open_max = s->stats.open;
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) != 0)
        conn_drop(s, c); /* closes fd */
    return true;
}

static void accept_all(struct server *s, int listener, bool https)
{
    while (s->stats.open < s->max_open) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        if (!conn_open(s, fd, https))
            close(fd);
    }
    watch_listeners(s, false);
}

static void after_event(struct server *s, struct conn *c, bool alive)
{
    if (!alive) {
        conn_drop(s, c);
        return;
    }
    uint32_t wants = conn_wants(c);
    if (wants == c->mask)
        return;
    struct epoll_event e = {.events = wants, .data.ptr = c};
    c->mask = wants;
    (void)epoll_ctl(s->epoll, EPOLL_CTL_MOD, c->fd, &e);
}

static void conn_event(struct server *s, struct conn *c, uint32_t events)
{
    bool alive = true;
    if (events & (EPOLLERR | EPOLLHUP) && !(events & EPOLLIN))
        alive = false;
    if (alive && events & EPOLLIN)
        alive = conn_readable(s, c);
    if (alive && events & EPOLLOUT)
        alive = conn_writable(s, c);
    after_event(s, c, alive);
}

/* ---- the loop ------------------------------------------------------------------------------ */

static void run_timers(struct server *s)
{
    int64_t now = clock_mono();
    while (s->n_timers && s->timers[0]->due <= now) {
        struct conn *c = s->timers[0];
        server_untimer(s, c);
        after_event(s, c, conn_timed(s, c));
    }
    if (s->tick && now >= s->next_tick) {
        s->next_tick = now + s->tick_ms;
        s->tick(s->ctx);
    }
}

static int wait_ms(const struct server *s)
{
    int64_t now = clock_mono(), until = now + 60000;
    if (s->n_timers && s->timers[0]->due < until)
        until = s->timers[0]->due;
    if (s->tick && s->next_tick < until)
        until = s->next_tick;
    return until > now ? (int)(until - now) : 0;
}

/* False when a signal asks to end. */
static bool handle(struct server *s, struct epoll_event *e)
{
    switch (*(enum watched *)e->data.ptr) {
    case WATCHED_HTTP: accept_all(s, s->http, false); break;
    case WATCHED_HTTPS: accept_all(s, s->https, true); break;
    case WATCHED_CONN: conn_event(s, e->data.ptr, e->events); break;
    case WATCHED_SIGNAL: return false;
    }
    return true;
}

enum rc server_run(struct server *s, struct err *err)
{
    struct epoll_event events[EVENTS];
    s->next_tick = clock_mono() + s->tick_ms;
    for (;;) {
        int n = epoll_wait(s->epoll, events, EVENTS, wait_ms(s));
        if (n < 0 && errno != EINTR)
            return err_set(err, RC_IO, "", "epoll_wait: %s", strerror(errno));
        for (int i = 0; i < n; i++) {
            if (!handle(s, &events[i]))
                return RC_OK;
        }
        run_timers(s);
    }
}

/* ---- opening and closing ------------------------------------------------------------------- */

static bool watch(struct server *s, int fd, enum watched *what)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = what};
    return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) == 0;
}

static enum rc open_listener(struct server *s, int *port, enum watched *what, int *ret,
                             struct err *err)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)*port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* Accepted sockets inherit TCP_NODELAY, which saves a call for each. */
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&a, n) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &n) != 0 || !watch(s, fd, what)) {
        enum rc rc = err_set(err, RC_IO, "port", "cannot listen on 127.0.0.1:%d: %s", *port,
                             strerror(errno));
        if (fd >= 0)
            close(fd);
        return rc;
    }
    *port = ntohs(a.sin_port);
    *ret = fd;
    return RC_OK;
}

static size_t raise_files(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0)
        return 256;
    r.rlim_cur = r.rlim_max < OPEN_MAX_CAP + FILES_SPARE ? r.rlim_max : OPEN_MAX_CAP + FILES_SPARE;
    if (setrlimit(RLIMIT_NOFILE, &r) != 0)
        (void)getrlimit(RLIMIT_NOFILE, &r);
    return r.rlim_cur > 2 * FILES_SPARE ? r.rlim_cur - FILES_SPARE : FILES_SPARE;
}

static enum rc open_signals(struct server *s, struct err *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (s->epoll < 0 || s->signals < 0 || sigprocmask(SIG_BLOCK, &set, NULL) != 0 ||
        !watch(s, s->signals, &s->watched_signal))
        return err_set(err, RC_IO, "", "epoll or signalfd: %s", strerror(errno));
    return RC_OK;
}

enum rc server_open(struct server *s, int port, int tls_port, struct err *err)
{
    *s = (struct server){.epoll = -1, .signals = -1, .http = -1, .https = -1, .accepting = true};
    s->watched_http = WATCHED_HTTP;
    s->watched_https = WATCHED_HTTPS;
    s->watched_signal = WATCHED_SIGNAL;
    s->started_ms = clock_mono();
    s->max_open = raise_files();
    wire_init(&s->wire);
    buf_init(&s->head, REPLY_HEAD_MAX);
    enum rc rc = open_signals(s, err);
    if (rc == RC_OK)
        rc = open_listener(s, &port, &s->watched_http, &s->http, err);
    if (rc == RC_OK && tls_port >= 0) {
        rc = tls_new(&s->tls, err);
        if (rc == RC_OK)
            rc = open_listener(s, &tls_port, &s->watched_https, &s->https, err);
    }
    s->port = port;
    s->tls_port = tls_port >= 0 ? tls_port : 0;
    world_init(&s->world, ".", s->port, s->tls_port);
    responder_init(&s->responder, &s->world);
    return rc;
}

void server_close(struct server *s)
{
    while (s->conns)
        conn_drop(s, s->conns);
    for (struct conn *c; (c = s->spare); free(c))
        s->spare = c->next;
    int fds[] = {s->http, s->https, s->signals, s->epoll};
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    free(s->timers);
    tls_free(&s->tls);
    wire_release(&s->wire);
    responder_release(&s->responder);
    buf_release(&s->head);
    world_release(&s->world);
}
