/* fcgi: connections, parameters, bodies.
 *
 * libfcgi reads one request at a time from one connection. We accept and wait ourselves and lend it
 * a connection that has something to say (struct FCGX_Request has ipcFd and keepConnection open for
 * that); when the request is finished and the web server keeps the connection, we take it back.
 *
 * Invariants (those of fcgi.h, and)
 *   1. libfcgi never accepts: its listening socket is -1, so a broken connection returns to us.
 *   2. Standard input of a request is read to the record that ends it, before the answer goes out:
 *      the web server may send that record by itself, later, and it would meet the next request.
 *   3. libfcgi is lent a connection only when a request begins on it, for it would wait for one.
 * Called by service. */
#include "api/fcgi.h"

#include <errno.h>
#include <fcntl.h>
#include <fastcgi.h>
#include <fcgiapp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>
#include "api/route.h"
#include "core/clock.h"
#include "core/fd.h"

#define KEPT_MAX 64       /* connections of one process; others stay in the accept queue */
#define ASK_EVERY_MS 5    /* how long a busy process may not notice SIGTERM */
#define GRACE_MS 100      /* at the end: time for what is on its way to arrive */
#define PEER_TIMEOUT_S 30 /* a web server that stops in mid-sentence */
#define EVENTS 32         /* connections served between two waits */
#define CHUNK 16384
#define RECORD_MAX 65528 /* the most that a record holds, in multiples of 8 */
#define IOV_BATCH 64     /* pieces of one writev: two megabytes */

/* ---- from parameters to struct req ----------------------------------------------------------- */

/* X(parameter, field) */
#define PARAMS(X)                                                                                  \
    X("REQUEST_METHOD", METHOD)                                                                    \
    X("PATH_INFO", PATH)                                                                           \
    X("QUERY_STRING", QUERY)                                                                       \
    X("CONTENT_TYPE", CONTENT_TYPE)                                                                \
    X("CONTENT_LENGTH", CONTENT_LENGTH)                                                            \
    X("REMOTE_ADDR", REMOTE_ADDR)                                                                  \
    X("REQUEST_SCHEME", SCHEME)                                                                    \
    X("HTTP_HOST", HOST)                                                                           \
    X("HTTP_X_FORWARDED_PROTO", FORWARDED_PROTO)                                                   \
    X("HTTP_X_FORWARDED_HOST", FORWARDED_HOST)                                                     \
    X("HTTP_AUTHORIZATION", AUTHORIZATION)                                                         \
    X("HTTP_IDEMPOTENCY_KEY", IDEMPOTENCY_KEY)                                                     \
    X("HTTP_IF_NONE_MATCH", IF_NONE_MATCH)                                                         \
    X("HTTP_IF_MODIFIED_SINCE", IF_MODIFIED_SINCE)                                                 \
    X("HTTP_ACCEPT", ACCEPT)

static const struct {
    struct str name;
    enum req_field field;
} table[] = {
#define X(param, field) {{"" param, sizeof(param) - 1}, FIELD_##field},
    PARAMS(X)
#undef X
};

static void take_env(struct req *r, char **env)
{
    r->params_raw = env;
    for (; *env; env++) {
        const char *eq = strchr(*env, '=');
        if (!eq)
            continue;
        struct str name = {*env, (size_t)(eq - *env)};
        for (size_t i = 0; i < ARRAY_LEN(table); i++)
            if (str_eq(name, table[i].name))
                req_take_field(r, table[i].field, str_of(eq + 1));
    }
}

/* ---- body ------------------------------------------------------------------------------------ */

typedef int read_fn(void *from, char *p, int n);

static int read_fcgx(void *from, char *p, int n)
{
    return FCGX_GetStr(p, n, from);
}

static int read_stdin(void *from, char *p, int n)
{
    (void)from;
    ssize_t got = read(STDIN_FILENO, p, (size_t)n);
    return got < 0 ? 0 : (int)got;
}

/* Reads up to the length that was announced, keeps it when it is not too large. */
static void take_body(const struct fcgi *f, struct req *r, read_fn *get, void *from)
{
    static char chunk[CHUNK];
    int64_t length = 0;
    if (r->content_length.n > 0 && (str_to_i64(r->content_length, &length) != RC_OK || length < 0))
        r->refused = "The Content-Length is not a number.";
    r->body_too_large = length > (int64_t)f->body_max;
    char *keep = length > 0 && !r->body_too_large ? arena_alloc(r->arena, (size_t)length) : NULL;
    size_t n = 0;
    for (int64_t left = length; left > 0;) {
        int got = get(from, chunk, left < CHUNK ? (int)left : CHUNK);
        if (got <= 0)
            break;
        if (keep)
            memcpy(keep + n, chunk, (size_t)got);
        n += (size_t)got;
        left -= got;
    }
    if (length > 0 && n < (size_t)length)
        r->refused = "The body is shorter than announced.";
    if (keep)
        r->body = (struct str){keep, n};
    else if (length > 0)
        r->body_too_large = true;
}

/* What comes after the length that was announced, up to the end of the input: mostly its
 * empty record. */
static void read_to_end(struct req *r, FCGX_Stream *in)
{
    char rest[512];
    while (FCGX_GetStr(rest, sizeof rest, in) > 0)
        r->refused = "The body is longer than announced.";
    if (FCGX_GetError(in) != 0)
        r->refused = "The request was broken off.";
}

/* ---- one request ----------------------------------------------------------------------------- */

static void answer(const struct fcgi *f, struct req *r, struct resp *w)
{
    resp_clear(w);
    req_set_base(r, f->conf);
    if (r->query.n > 0 && r->query.p[0] == '?')
        r->query = (struct str){r->query.p + 1, r->query.n - 1};
    f->answer(f->ctx, r, w);
}

static bool sends_body(const struct req *r, const struct resp *w)
{
    return !str_is(r->method, "HEAD") && w->status != 304 && w->status != 204 && !w->hand_over[0];
}

/* One request. Those whose answers wait for a commit are held, at most as many as one
 * wait gives. */
struct slot {
    int fd;
    FCGX_Request q;
    struct req r;
    struct resp w;
    struct arena arena;
};

struct server {
    const struct fcgi *f;
    int listen_fd;
    int watched; /* epoll: the connections, and the listening socket while there is room */
    int kept[KEPT_MAX];
    size_t n_kept;
    int64_t asked_at; /* for the signal */
    struct buf head;
    struct slot slots[EVENTS]; /* the first n_held are */
    size_t n_held;
};

/* ---- sending --------------------------------------------------------------------------------- */

/* libfcgi's own stream copies everything through 8 KiB and makes a system call of each piece. An
 * answer is whole when we send it, so its records go out as they lie in memory. */

struct sending {
    struct iovec iov[IOV_BATCH];
    FCGI_Header heads[IOV_BATCH];
    int n, fd, id;
    bool broken; /* the web server went away */
};

static void flush_records(struct sending *o)
{
    for (int i = 0; i < o->n && !o->broken;) {
        ssize_t done = writev(o->fd, o->iov + i, o->n - i);
        o->broken = done < 0 && errno != EINTR;
        for (; i < o->n && done >= (ssize_t)o->iov[i].iov_len; i++)
            done -= (ssize_t)o->iov[i].iov_len;
        if (i < o->n && done > 0) {
            o->iov[i].iov_base = (char *)o->iov[i].iov_base + done;
            o->iov[i].iov_len -= (size_t)done;
        }
    }
    o->n = 0;
}

static void add_record(struct sending *o, unsigned char type, const void *p, size_t n)
{
    if (o->n + 2 > IOV_BATCH)
        flush_records(o);
    FCGI_Header *h = &o->heads[o->n];
    *h = (FCGI_Header){.version = FCGI_VERSION_1,
                       .type = type,
                       .requestIdB1 = (unsigned char)(o->id >> 8),
                       .requestIdB0 = (unsigned char)o->id,
                       .contentLengthB1 = (unsigned char)(n >> 8),
                       .contentLengthB0 = (unsigned char)n};
    o->iov[o->n++] = (struct iovec){h, sizeof *h};
    if (n > 0)
        o->iov[o->n++] = (struct iovec){(void *)(uintptr_t)p, n};
}

static void add_output(struct sending *o, struct str s)
{
    while (s.n > 0) {
        size_t n = s.n < RECORD_MAX ? s.n : RECORD_MAX;
        add_record(o, FCGI_STDOUT, s.p, n);
        s = (struct str){s.p + n, s.n - n};
    }
}

/* Headers, body, end of output, end of request. False when the connection is over. */
static bool send_answer(const struct server *s, const struct slot *t, bool with_body)
{
    static const FCGI_EndRequestBody end = {.protocolStatus = FCGI_REQUEST_COMPLETE};
    struct sending o;
    o.n = 0;
    o.fd = t->q.ipcFd;
    o.id = t->q.requestId;
    o.broken = false;
    add_output(&o, buf_view(&s->head));
    if (with_body)
        add_output(&o, buf_view(&t->w.body));
    add_record(&o, FCGI_STDOUT, NULL, 0);
    add_record(&o, FCGI_END_REQUEST, &end, sizeof end);
    flush_records(&o);
    return !o.broken;
}

static void read_request(const struct server *s, struct slot *t)
{
    arena_reset(&t->arena);
    t->r = (struct req){.arena = &t->arena};
    take_env(&t->r, t->q.envp);
    take_body(s->f, &t->r, read_fcgx, t->q.in);
    read_to_end(&t->r, t->q.in);
    answer(s->f, &t->r, &t->w);
}

/* False when the connection is over. */
static bool end_request(struct server *s, struct slot *t)
{
    buf_clear(&s->head);
    resp_head(&t->w, &t->r, &s->head);
    bool kept = send_answer(s, t, sends_body(&t->r, &t->w)) && FCGX_GetError(t->q.in) == 0 &&
                t->q.keepConnection;
    FCGX_Free(&t->q, !kept); /* the end of the request is sent already */
    return kept;
}

/* The request that begins on fd is answered or held. False when the connection is over. */
static bool serve_request(struct server *s, int fd)
{
    struct slot *t = &s->slots[s->n_held];
    if (FCGX_InitRequest(&t->q, -1, 0) != 0) {
        close(fd);
        return false;
    }
    t->fd = fd;
    t->q.ipcFd = fd;
    t->q.keepConnection = 1; /* else libfcgi would close what it was just lent */
    if (FCGX_Accept_r(&t->q) != 0)
        return false; /* it has closed fd */
    read_request(s, t);
    if (!t->w.later)
        return end_request(s, t);
    s->n_held++;
    return true;
}

enum waiting { REQUEST, NOTHING, THE_END };

static bool throw_away(int fd, size_t n)
{
    char away[4096];
    for (ssize_t got; n > 0; n -= (size_t)got)
        if ((got = recv(fd, away, n < sizeof away ? n : sizeof away, 0)) <= 0)
            return false;
    return true;
}

/* What stands first on fd, after records that belong to no request any more. What begins as a
 * request is one: a web server that stops in mid-sentence has PEER_TIMEOUT_S. */
static enum waiting what_waits(int fd)
{
    for (;;) {
        FCGI_Header h = {.version = FCGI_VERSION_1, .type = FCGI_BEGIN_REQUEST};
        ssize_t n = recv(fd, &h, sizeof h, MSG_PEEK | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return NOTHING;
        if (n <= 0)
            return THE_END;
        if (h.type != FCGI_STDIN && h.type != FCGI_DATA && h.type != FCGI_ABORT_REQUEST)
            return REQUEST;
        if (recv(fd, &h, sizeof h, MSG_WAITALL) != sizeof h ||
            !throw_away(fd, ((size_t)h.contentLengthB1 << 8 | h.contentLengthB0) + h.paddingLength))
            return THE_END;
    }
}

/* Serves the request that waits on fd, or holds it. False when the connection is over. */
static bool serve_connection(struct server *s, int fd)
{
    enum waiting what = what_waits(fd);
    if (what == REQUEST)
        return serve_request(s, fd);
    if (what == THE_END)
        close(fd);
    return what == NOTHING;
}

/* ---- connections ----------------------------------------------------------------------------- */

static void limit_times(int fd)
{
    struct timeval wait = {.tv_sec = PEER_TIMEOUT_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
}

/* Whether this process wants to be told of new connections. The kernel tells one process that
 * waits, in the order in which they asked; so whoever got one asks anew and goes to the end, and
 * connections spread over the processes. */
static bool listening(struct server *s, bool wanted)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.fd = s->listen_fd};
    epoll_ctl(s->watched, EPOLL_CTL_DEL, s->listen_fd, NULL);
    return !wanted || epoll_ctl(s->watched, EPOLL_CTL_ADD, s->listen_fd, &e) == 0;
}

/* Takes one new connection, when there is one; it is served when it speaks. */
static bool accept_one(struct server *s)
{
    if (s->n_kept == KEPT_MAX)
        return false;
    int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return false;
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(s->watched, EPOLL_CTL_ADD, fd, &e) != 0) {
        close(fd);
        return false;
    }
    limit_times(fd);
    s->kept[s->n_kept++] = fd;
    return true;
}

/* A connection that is over was closed, and with that left the epoll. */
static void forget(struct server *s, int fd)
{
    for (size_t i = 0; i < s->n_kept; i++)
        if (s->kept[i] == fd) {
            s->kept[i] = s->kept[--s->n_kept];
            break;
        }
    if (s->n_kept == KEPT_MAX - 1)
        listening(s, true);
}

static void settle_held(struct server *s)
{
    struct unsettled list[EVENTS];
    size_t n = s->n_held;
    for (size_t i = 0; i < n; i++)
        list[i] = (struct unsettled){&s->slots[i].r, &s->slots[i].w};
    if (n > 0)
        s->f->settle(s->f->ctx, list, n);
    s->n_held = 0;
    for (size_t i = 0; i < n; i++)
        if (!end_request(s, &s->slots[i]))
            forget(s, s->slots[i].fd);
}

static volatile sig_atomic_t stop_asked;

static void on_term(int sig)
{
    (void)sig;
    stop_asked = 1;
}

static void take_news(struct server *s, uint32_t events)
{
    if (events & (EPOLLHUP | EPOLLERR)) /* the parent shut the socket: the end is near */
        stop_asked = 1;
    else if (accept_one(s))
        listening(s, s->n_kept < KEPT_MAX);
}

/* Waits up to ms milliseconds (-1: for ever), serves what came. False when nothing did. */
static bool turn(struct server *s, int ms, const sigset_t *mask)
{
    struct epoll_event e[EVENTS];
    int n = epoll_pwait(s->watched, e, EVENTS, ms, mask);
    for (int i = 0; i < n; i++)
        if (e[i].data.fd == s->listen_fd)
            take_news(s, e[i].events);
        else if (!serve_connection(s, e[i].data.fd))
            forget(s, e[i].data.fd);
    settle_held(s);
    return n > 0;
}

/* A wait lets the signal in only when it really waits; a busy process has to ask now and then. */
static void ask_signal(struct server *s)
{
    sigset_t pending;
    int64_t now = clock_mono();
    if (now - s->asked_at < ASK_EVERY_MS)
        return;
    s->asked_at = now;
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1)
        stop_asked = 1;
}

/* What was sent before the signal is answered: connections that wait to be accepted, and those that
 * just were, get a moment to say what they came for. */
static void drain(struct server *s)
{
    int64_t end = clock_mono() + GRACE_MS, left = GRACE_MS;
    listening(s, false);
    for (; left > 0; left = end - clock_mono()) {
        while (accept_one(s))
            ;
        if (s->n_kept == 0 || !turn(s, (int)left, NULL))
            break;
    }
    for (size_t i = 0; i < s->n_kept; i++)
        shutdown(s->kept[i], SHUT_RD); /* from here on the client's write fails */
    while (s->n_kept > 0 && turn(s, 0, NULL))
        ; /* ends: at the end of its input each connection is over */
    for (size_t i = 0; i < s->n_kept; i++)
        close(s->kept[i]);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void take_signals(sigset_t *ret_mask)
{
    struct sigaction act = {.sa_handler = on_term};
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, ret_mask);
    sigdelset(ret_mask, SIGTERM);
    sigaction(SIGTERM, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int fcgi_serve(const struct fcgi *f, int listen_fd)
{
    static struct server s; /* large, and there is one per process */
    sigset_t mask;
    s.f = f;
    s.listen_fd = listen_fd;
    s.watched = epoll_create1(EPOLL_CLOEXEC);
    take_signals(&mask);
    fcntl(listen_fd, F_SETFL, fcntl(listen_fd, F_GETFL) | O_NONBLOCK);
    if (FCGX_Init() != 0 || s.watched < 0 || !listening(&s, true))
        return 1;
    buf_init(&s.head, RESP_HEADERS_MAX + 4096);
    for (size_t i = 0; i < EVENTS; i++) {
        resp_init(&s.slots[i].w);
        arena_init(&s.slots[i].arena, REQ_ARENA_MAX);
    }
    while (!stop_asked) {
        turn(&s, -1, &mask);
        ask_signal(&s);
    }
    drain(&s);
    close(s.watched);
    for (size_t i = 0; i < EVENTS; i++) {
        resp_release(&s.slots[i].w);
        arena_release(&s.slots[i].arena);
    }
    buf_release(&s.head);
    return 0;
}

/* ---- CGI ------------------------------------------------------------------------------------- */

bool fcgi_is_socket_given(void)
{
    int listening = 0;
    socklen_t n = sizeof listening;
    return !FCGX_IsCGI() &&
           getsockopt(STDIN_FILENO, SOL_SOCKET, SO_ACCEPTCONN, &listening, &n) == 0 && listening;
}

bool fcgi_is_cgi(void)
{
    return env_get("GATEWAY_INTERFACE") != NULL && FCGX_IsCGI();
}

int fcgi_cgi(const struct fcgi *f)
{
    struct req r = {.arena = f->arena};
    struct resp w;
    struct buf head;
    resp_init(&w);
    buf_init(&head, RESP_HEADERS_MAX + 4096);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const char *value = env_get(table[i].name.p);
        if (value)
            req_take_field(&r, table[i].field, str_of(value));
    }
    take_body(f, &r, read_stdin, NULL);
    answer(f, &r, &w);
    if (w.later)
        f->settle(f->ctx, &(struct unsettled){&r, &w}, 1);
    resp_head(&w, &r, &head);
    if (fd_write_all(STDOUT_FILENO, buf_view(&head)) && sends_body(&r, &w))
        (void)!fd_write_all(STDOUT_FILENO, buf_view(&w.body)); /* nobody is left to be told */
    resp_release(&w);
    buf_release(&head);
    return 0;
}
