/* server: one thread, one epoll, HTTP/1.1 with keep-alive and pipelining.
 *
 * Invariants
 *   1. It listens on 127.0.0.1 only.
 *   2. Replies leave in the order of their requests.
 *   3. An idle connection holds no input and at most 16 KB of room for output; at most max_open
 *      connections are open, further ones wait in the kernel's queue.
 *
 * server.c has the loop, timers and listeners; conn.c the life of a connection; control.c the
 * commands. Called by main.
 */
#ifndef FRESHET_UPSTREAM_SERVER_H
#define FRESHET_UPSTREAM_SERVER_H

#include "tests/upstream/job.h"
#include "tests/upstream/tls.h"
#include "tests/upstream/wire.h"

#define SERVER_READ (64u << 10)

/* What epoll's data pointer points to, as the first member of each. */
enum watched { WATCHED_HTTP, WATCHED_HTTPS, WATCHED_SIGNAL, WATCHED_CONN };

enum phase {
    PHASE_OPEN,
    PHASE_HANG,   /* silent until the client goes */
    PHASE_RESET,  /* RST as soon as all sent bytes have arrived */
    PHASE_LINGER, /* all sent; waiting for the client's end, so that nothing is lost */
};

struct conn {
    enum watched watched;
    enum phase phase;
    int fd;
    struct tls_conn *tls; /* NULL for plain HTTP */
    uint64_t id;
    struct buf in, out;
    size_t out_at;
    struct job job;
    bool closing, eof, continued, blocked;
    uint32_t mask;   /* what epoll watches now */
    int64_t due;     /* timer, -1 for none */
    size_t timer_at; /* place in the heap */
    struct conn *next, *prev;
};

struct server_stats {
    uint64_t connections, requests;
    size_t open, open_max; /* connections */
    size_t busy, busy_max; /* replies under way that are delayed, slow or long */
};

struct server {
    struct world world;
    struct responder responder;
    struct wire wire;
    struct tls *tls; /* NULL without HTTPS */
    struct server_stats stats;
    int port, tls_port; /* tls_port 0 without HTTPS */
    int64_t started_ms;
    /* The demo: called every tick_ms when set; reset after POST /control/reset. */
    int64_t tick_ms, next_tick;
    void (*tick)(void *ctx);
    void (*reset)(void *ctx);
    void *ctx;

    int epoll, signals, http, https;
    enum watched watched_http, watched_https, watched_signal;
    size_t max_open;
    bool accepting;
    struct conn *conns, *spare;
    struct conn **timers; /* a binary heap, the soonest first */
    size_t n_timers, timer_room;
    struct buf head;
    char scratch[SERVER_READ];
};

/* Binds the ports (0: any; tls_port -1: no HTTPS) and fills in what it got. */
MUST_CHECK enum rc server_open(struct server *s, int port, int tls_port, struct err *err);
/* Serves until SIGTERM or SIGINT. */
MUST_CHECK enum rc server_run(struct server *s, struct err *err);
void server_close(struct server *s);

/* ---- between server.c and conn.c ---- */
void server_timer(struct server *s, struct conn *c, int64_t after_ms);
void server_untimer(struct server *s, struct conn *c);
/* Each returns false when the connection is over and has to be dropped. */
bool conn_readable(struct server *s, struct conn *c);
bool conn_writable(struct server *s, struct conn *c);
bool conn_timed(struct server *s, struct conn *c);
uint32_t conn_wants(const struct conn *c);

/* ---- control.c ---- */
/* Answers a request to /control/. */
void control_answer(struct server *s, const struct request *q, struct buf *head, struct reply *ret);

#endif
