/* tiny_server: an HTTP server in a thread, for tests of the client. It knows paths and raw bytes,
 * so that it can misbehave in every way: what a route says goes out as it stands.
 *
 *   server_start(&s);                                  port in s.port
 *   server_route(&s, "/a", KEEP, "HTTP/1.1 204 No Content\r\n\r\n");
 *   server_stop(&s);
 *
 * Several routes of one path with `uses` are taken in order. All fields below `lock` are shared:
 * use the functions, or read them after server_stop. */
#ifndef FRESHET_TESTS_TINY_SERVER_H
#define FRESHET_TESTS_TINY_SERVER_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include "core/clock.h"
#include "tests/10-unit/unit.h"

enum manner {
    KEEP,  /* the connection stays open for the next request */
    CUT,   /* closed after the reply */
    RESET, /* closed with RST after the reply */
    HANG,  /* open, and nothing more comes */
    FLOOD, /* the second part follows, again and again */
    DRIP,  /* one byte of the second part every few milliseconds */
};

struct route {
    char path[64];
    enum manner manner;
    int uses;     /* left; -1 for ever */
    int delay_ms; /* before the reply */
    char reply[2048], more[1024];
};

struct client {
    int fd;
    struct route *route; /* being answered */
    size_t sent, more_at;
    int64_t ready_at; /* not before, clock_mono */
    size_t n;
    char in[8192];
};

#define SERVER_CLIENTS 512
#define SERVER_TICK_MS 2

struct server {
    int port, listener, stop_pipe[2];
    pthread_t thread;
    pthread_mutex_t lock;
    struct route routes[64];
    size_t n_routes;
    int requests, connections, in_flight, max_in_flight;
    char last[8192]; /* the newest request, as it came */
    struct client clients[SERVER_CLIENTS];
    size_t n_clients;
};

/* ---- the thread ----------------------------------------------------------------------------- */

static inline struct route *server_find(struct server *s, const char *request)
{
    const char *path = strchr(request, ' ');
    size_t n = path ? strcspn(path + 1, " ?") : 0;
    for (size_t i = 0; i < s->n_routes; i++) {
        struct route *r = &s->routes[i];
        if (path && strlen(r->path) == n && !memcmp(r->path, path + 1, n) && r->uses) {
            r->uses -= r->uses > 0;
            return r;
        }
    }
    static struct route none = {.manner = CUT, .reply = "HTTP/1.1 404 Not Found\r\n\r\n"};
    return &none;
}

static inline void server_accept(struct server *s)
{
    int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    if (s->n_clients == SERVER_CLIENTS) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    s->connections++;
    struct client *c = &s->clients[s->n_clients++];
    memset(c, 0, offsetof(struct client, in));
    c->fd = fd;
}

/* True when the client is to be closed. */
static inline bool server_read(struct server *s, struct client *c)
{
    ssize_t n = recv(c->fd, c->in + c->n, sizeof c->in - 1 - c->n, 0);
    if (n < 0)
        return errno != EAGAIN;
    if (n == 0)
        return true;
    c->n += (size_t)n;
    c->in[c->n] = '\0';
    if (c->route || !strstr(c->in, "\r\n\r\n"))
        return false;
    c->route = server_find(s, c->in);
    c->sent = c->more_at = 0;
    c->ready_at = clock_mono() + c->route->delay_ms;
    s->requests++;
    if (++s->in_flight > s->max_in_flight)
        s->max_in_flight = s->in_flight;
    memcpy(s->last, c->in, c->n + 1);
    return false;
}

static inline bool server_more(struct client *c)
{
    size_t n = strlen(c->route->more);
    size_t want = c->route->manner == DRIP ? 1 : n - c->more_at;
    ssize_t sent = send(c->fd, c->route->more + c->more_at, want, MSG_NOSIGNAL);
    if (sent < 0)
        return errno != EAGAIN;
    c->more_at = (c->more_at + (size_t)sent) % n;
    if (c->route->manner == DRIP)
        c->ready_at = clock_mono() + 2 * SERVER_TICK_MS;
    return false;
}

static inline bool server_write(struct server *s, struct client *c)
{
    size_t n = strlen(c->route->reply);
    if (c->sent < n) {
        ssize_t sent = send(c->fd, c->route->reply + c->sent, n - c->sent, MSG_NOSIGNAL);
        if (sent < 0)
            return errno != EAGAIN;
        c->sent += (size_t)sent;
        if (c->sent < n)
            return false;
    }
    if (c->route->manner == FLOOD || c->route->manner == DRIP)
        return server_more(c);
    if (c->route->manner == HANG)
        return false;
    enum manner manner = c->route->manner;
    s->in_flight--;
    c->route = NULL;
    c->n = 0;
    if (manner == RESET)
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    return manner != KEEP;
}

static inline void server_drop(struct server *s, size_t i)
{
    struct client *c = &s->clients[i];
    s->in_flight -= c->route != NULL;
    close(c->fd);
    memmove(c, &s->clients[--s->n_clients], sizeof *c);
}

static inline short server_wants(const struct client *c)
{
    if (!c->route || c->ready_at > clock_mono())
        return POLLIN;
    bool idle = c->route->manner == HANG && c->sent == strlen(c->route->reply);
    return idle ? POLLIN : POLLIN | POLLOUT;
}

static inline void server_serve(struct server *s, struct pollfd *fds, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        struct client *c = &s->clients[i];
        bool gone = fds[i].revents & (POLLERR | POLLHUP);
        if (!gone && fds[i].revents & POLLIN)
            gone = server_read(s, c);
        if (!gone && fds[i].revents & POLLOUT && c->route)
            gone = server_write(s, c);
        if (gone)
            server_drop(s, i);
    }
}

static inline void *server_main(void *ctx)
{
    struct server *s = ctx;
    struct pollfd fds[SERVER_CLIENTS + 2];
    for (;;) {
        pthread_mutex_lock(&s->lock);
        size_t n = s->n_clients;
        for (size_t i = 0; i < n; i++)
            fds[i] = (struct pollfd){s->clients[i].fd, server_wants(&s->clients[i]), 0};
        pthread_mutex_unlock(&s->lock);
        fds[n] = (struct pollfd){s->listener, POLLIN, 0};
        fds[n + 1] = (struct pollfd){s->stop_pipe[0], POLLIN, 0};
        poll(fds, n + 2, SERVER_TICK_MS);
        if (fds[n + 1].revents)
            return NULL;
        pthread_mutex_lock(&s->lock);
        server_serve(s, fds, n);
        if (fds[n].revents)
            server_accept(s);
        pthread_mutex_unlock(&s->lock);
    }
}

/* ---- for the test --------------------------------------------------------------------------- */

static inline void server_start(struct server *s)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    memset(s, 0, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(s->listener >= 0);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(s->listener, 512), 0);
    assert_int_equal(getsockname(s->listener, (struct sockaddr *)&at, &n), 0);
    s->port = ntohs(at.sin_port);
    assert_int_equal(pipe2(s->stop_pipe, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&s->thread, NULL, server_main, s), 0);
}

static inline void server_stop(struct server *s)
{
    assert_int_equal(write(s->stop_pipe[1], "", 1), 1);
    pthread_join(s->thread, NULL);
    while (s->n_clients)
        server_drop(s, s->n_clients - 1);
    close(s->listener);
    close(s->stop_pipe[0]);
    close(s->stop_pipe[1]);
    pthread_mutex_destroy(&s->lock);
}

static inline void server_add(struct server *s, struct route r)
{
    pthread_mutex_lock(&s->lock);
    assert_true(s->n_routes < ARRAY_LEN(s->routes));
    s->routes[s->n_routes++] = r;
    pthread_mutex_unlock(&s->lock);
}

static inline void PRINTF_LIKE(4, 5)
    server_route(struct server *s, const char *path, enum manner manner, const char *fmt, ...)
{
    struct route r = {.manner = manner, .uses = -1};
    va_list args;
    va_start(args, fmt);
    snprintf(r.path, sizeof r.path, "%s", path);
    vsnprintf(r.reply, sizeof r.reply, fmt, args);
    va_end(args);
    server_add(s, r);
}

/* Did the newest request hold this text? */
static inline bool server_saw(struct server *s, const char *text)
{
    pthread_mutex_lock(&s->lock);
    bool yes = strstr(s->last, text) != NULL;
    pthread_mutex_unlock(&s->lock);
    return yes;
}

static inline int server_count(struct server *s, const int *what)
{
    pthread_mutex_lock(&s->lock);
    int n = *what;
    pthread_mutex_unlock(&s->lock);
    return n;
}

#endif
