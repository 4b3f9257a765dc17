/* stream_http: the only file that knows libmicrohttpd. It makes a struct req of what nginx sends,
 * answers pages and problems by the route table, and keeps those who wait suspended.
 *
 * Invariants (those of stream.h, and)
 *   1. A client that waits is suspended: it stands in no ready list and has no buffer of its own
 *      but the pool that libmicrohttpd gave its connection.
 *   2. A client that hangs up while it waits is noticed at once (EPOLLRDHUP), not with the
 *      next heartbeat.
 *   3. Headers that say where a request came from are nginx's: the socket is open to nobody else.
 * Called by stream. */
#include "api/stream.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/fd.h"

#define POOL 12288            /* of a connection: headers of the request, and what is being sent */
#define SPARE_CONNECTIONS 256 /* beyond clients_max: to say that it is full */
#define RESPONSE_BLOCK 1024   /* for clients of HTTP/1.0, which get no chunks */
#define SEND_BUFFER 65536     /* in the kernel, for one client */
#define BEAT_GRAIN_MS 1000    /* heartbeats of one second go out together */
#define EVENTS 256
#define RETRY_FULL "30"

struct stream_http {
    struct stream_http_options o;
    struct MHD_Daemon *daemon;
    int watch; /* epoll: libmicrohttpd's own epoll, and whoever hangs up while waiting */
    struct stream_client *clients;
    size_t n_streams, n_polls;
    struct dues dues;
    struct arena arena; /* of one request */
    struct resp w;
    struct buf head;
    int64_t dropped;
    bool stopping;
};

/* ---- clients --------------------------------------------------------------------------------- */

static void *client_new(void *ctx, const char *uri, struct MHD_Connection *conn)
{
    struct stream_http *h = ctx;
    struct stream_client *c = calloc(1, sizeof *c);
    char *copy = c ? strdup(uri) : NULL;
    if (!copy) {
        free(c);
        return NULL; /* `handle` ends the connection */
    }
    *c = (struct stream_client){.conn = conn, .uri = copy, .fd = -1, .next = h->clients};
    if (h->clients)
        h->clients->prev = c;
    h->clients = c;
    return c;
}

static void client_over(void *ctx, struct MHD_Connection *conn, void **con_cls,
                        enum MHD_RequestTerminationCode why)
{
    struct stream_http *h = ctx;
    struct stream_client *c = *con_cls;
    (void)conn;
    *con_cls = NULL;
    if (!c)
        return;
    if (c->fd >= 0)
        epoll_ctl(h->watch, EPOLL_CTL_DEL, c->fd, NULL);
    due_drop(&h->dues, &c->due);
    *(c->prev ? &c->prev->next : &h->clients) = c->next;
    if (c->next)
        c->next->prev = c->prev;
    h->n_streams -= c->streams;
    h->n_polls -= c->polls;
    h->dropped += c->streams && why == MHD_REQUEST_TERMINATED_TIMEOUT_REACHED;
    stream_client_drop(h->o.feed, c);
    free(c);
}

static void watch_hang_up(struct stream_http *h, struct stream_client *c)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(c->conn, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct epoll_event e = {.events = EPOLLRDHUP | EPOLLET, .data.ptr = c};
    int room = SEND_BUFFER;
    if (!i || epoll_ctl(h->watch, EPOLL_CTL_ADD, i->connect_fd, &e) != 0)
        return;
    c->fd = i->connect_fd;
    setsockopt(c->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
}

/* Suspended until `at`, unless something comes before. */
static bool rest(struct stream_http *h, struct stream_client *c, int64_t at)
{
    if (due_set(&h->dues, &c->due, at) != RC_OK)
        return false;
    c->waits = true;
    MHD_suspend_connection(c->conn);
    return true;
}

static void wake(struct stream_http *h, struct stream_client *c)
{
    if (!c->waits)
        return;
    c->waits = false;
    due_drop(&h->dues, &c->due);
    MHD_resume_connection(c->conn);
}

/* ---- from a connection to struct req --------------------------------------------------------- */

static const struct {
    const char *name;
    enum req_field field;
} headers[] = {
    {"Host", FIELD_HOST},
    {"X-Freshet-Scheme", FIELD_SCHEME},
    {"X-Freshet-Remote-Addr", FIELD_REMOTE_ADDR},
    {"X-Forwarded-Proto", FIELD_FORWARDED_PROTO},
    {"X-Forwarded-Host", FIELD_FORWARDED_HOST},
    {"Last-Event-ID", FIELD_LAST_EVENT_ID},
    {"Accept", FIELD_ACCEPT},
    {"If-None-Match", FIELD_IF_NONE_MATCH},
    {"If-Modified-Since", FIELD_IF_MODIFIED_SINCE},
};

static enum MHD_Result take_header(void *ctx, enum MHD_ValueKind kind, const char *key,
                                   const char *value)
{
    (void)kind;
    for (size_t i = 0; i < ARRAY_LEN(headers); i++)
        if (str_ieq(str_of(key), str_of(headers[i].name)))
            req_take_field(ctx, headers[i].field, str_of(value));
    return MHD_YES;
}

static void read_request(struct stream_http *h, const struct stream_client *c, const char *method,
                         struct req *r)
{
    struct stream_feed *f = h->o.feed;
    struct str uri = str_of(c->uri);
    arena_reset(&h->arena);
    *r = (struct req){.arena = &h->arena, .inst = f->inst, .ledger = f->ledger};
    MHD_get_connection_values(c->conn, MHD_HEADER_KIND, take_header, r);
    (void)str_next(&uri, '?', &r->path);
    r->query = uri;
    r->method = str_of(method);
    r->now = clock_now();
    req_set_base(r, &f->inst->conf);
    r->waited = c->asked && c->polls;
    r->tip = c->tip;
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool add_headers(struct MHD_Response *to, struct str lines)
{
    struct str line, name;
    char text[128], value[RESP_HEADERS_MAX];
    while (str_next(&lines, '\n', &line)) {
        if (!str_next(&line, ':', &name) || str_is(name, "Status") ||
            str_is(name, "Content-Length") || str_trim(name).n == 0)
            continue;
        snprintf(text, sizeof text, "%.*s", STR_FMT(name));
        snprintf(value, sizeof value, "%.*s", STR_FMT(str_trim(line)));
        if (MHD_add_response_header(to, text, value) != MHD_YES)
            return false;
    }
    return true;
}

/* Takes `to`, which may be NULL. */
static enum MHD_Result send_as(struct stream_http *h, const struct stream_client *c,
                               const struct req *r, struct MHD_Response *to)
{
    buf_clear(&h->head);
    resp_head(&h->w, r, &h->head);
    bool good = to && buf_rc(&h->head) == RC_OK && add_headers(to, buf_view(&h->head));
    enum MHD_Result sent = good ? MHD_queue_response(c->conn, (unsigned)h->w.status, to) : MHD_NO;
    if (to)
        MHD_destroy_response(to);
    return sent;
}

static enum MHD_Result send_page(struct stream_http *h, const struct stream_client *c,
                                 const struct req *r)
{
    bool bodyless = h->w.status == 304 || h->w.status == 204;
    struct str body = bodyless ? STR("") : buf_view(&h->w.body);
    return send_as(
        h, c, r,
        MHD_create_response_from_buffer(body.n, (void *)(uintptr_t)body.p, MHD_RESPMEM_MUST_COPY));
}

static void say_full(struct stream_http *h, const struct req *r)
{
    struct err err = {0};
    err_set(&err, RC_BUSY, "", "No more clients can wait at the moment.");
    h->w.cors = true;
    resp_header(&h->w, "Retry-After", RETRY_FULL);
    resp_problem(&h->w, r, &err);
}

/* ---- streams --------------------------------------------------------------------------------- */

static int64_t next_beat(const struct stream_http *h)
{
    int64_t at = clock_mono() + h->o.beat_ms;
    return (at + BEAT_GRAIN_MS - 1) / BEAT_GRAIN_MS * BEAT_GRAIN_MS;
}

/* Fills a chunk with what there is. Between two blocks the others may come first: *ret_later. */
static size_t fill(struct stream_http *h, struct stream_client *c, char *out, size_t max,
                   bool *ret_later)
{
    size_t n = 0;
    *ret_later = false;
    while (n < max) {
        if (!c->block && !c->greeted && !stream_client_greet(c))
            break;
        if (!c->block) {
            enum stream_news news = h->stopping ? STREAM_NOTHING : stream_client_look(h->o.feed, c);
            *ret_later = news == STREAM_LATER;
            if (news != STREAM_NEWS)
                break;
        }
        n += stream_client_take(h->o.feed, c, out + n, max - n);
    }
    return n;
}

struct reading {
    struct stream_http *h;
    struct stream_client *c;
};

static ssize_t read_more(void *cls, uint64_t pos, char *out, size_t max)
{
    struct reading *x = cls;
    struct stream_client *c = x->c;
    bool later = false;
    (void)pos;
    if (c->gone)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    size_t n = fill(x->h, c, out, max, &later);
    c->quiet_until = n > 0 ? next_beat(x->h) : c->quiet_until;
    if (n > 0)
        return (ssize_t)n;
    if (x->h->stopping)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (!rest(x->h, c, later ? clock_mono() : c->quiet_until))
        return MHD_CONTENT_READER_END_WITH_ERROR;
    return 0;
}

static enum rc take_view(struct stream_http *h, struct stream_client *c, const struct req *r,
                         const struct feed_query *q, struct err *err)
{
    TRY(stream_view_get(&h->o.feed->views, q, r->base, &c->view, err));
    c->cursor = q->since_now ? h->o.feed->tail.last_seq : q->since;
    return RC_OK;
}

static enum MHD_Result start_stream(struct stream_http *h, struct stream_client *c,
                                    const struct req *r)
{
    struct feed_query q;
    struct err err = {0};
    struct reading *x = malloc(sizeof *x);
    if (!x || stream_query(r, &q, &err) != RC_OK || take_view(h, c, r, &q, &err) != RC_OK) {
        free(x);
        return MHD_NO;
    }
    *x = (struct reading){h, c};
    c->streams = true;
    h->n_streams++;
    free(c->uri);
    c->uri = NULL;
    c->quiet_until = next_beat(h);
    watch_hang_up(h, c);
    return send_as(
        h, c, r,
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, RESPONSE_BLOCK, read_more, x, free));
}

/* ---- long polls ------------------------------------------------------------------------------ */

/* True: it waits. What is wrong with the question is said at once, by the page that was
 * just made. */
static bool start_poll(struct stream_http *h, struct stream_client *c, const struct req *r)
{
    struct feed_query q;
    struct err err = {0};
    bool good = h->w.status == 200 || h->w.status == 304;
    if (!good || h->stopping || !str_is(r->method, "GET") ||
        feed_query_read(r, &q, &err) != RC_OK || !q.waits || take_view(h, c, r, &q, &err) != RC_OK)
        return false;
    int64_t ms = q.wait_ms < 0 ? FEED_WAIT_DEFAULT_MS : q.wait_ms;
    c->polls = true;
    h->n_polls++;
    c->tip = h->o.feed->tail.last_seq;
    enum stream_news news = stream_client_look(h->o.feed, c);
    if (ms == 0 || news == STREAM_NEWS)
        return false;
    c->quiet_until = clock_mono() + ms;
    watch_hang_up(h, c);
    return rest(h, c, news == STREAM_LATER ? clock_mono() : c->quiet_until);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void make_page(struct stream_http *h, struct req *r, bool streams)
{
    resp_clear(&h->w);
    route_serve(streams ? &router_streams : &router_waits, r, &h->w);
}

static enum MHD_Result begin(struct stream_http *h, struct stream_client *c, const char *method)
{
    struct req r;
    struct err ignored;
    (void)stream_feed_look(h->o.feed); /* opens the ledger; without one the route says 503 */
    read_request(h, c, method, &r);
    bool readable = req_parse_query(&r, &ignored) == RC_OK;
    bool streams = !readable || stream_is_wanted(&r);
    c->asked = true;
    make_page(h, &r, streams);
    bool good = h->w.status == 200 || h->w.status == 304;
    if (good && h->n_streams + h->n_polls >= h->o.clients_max)
        say_full(h, &r);
    else if (h->w.status == 200 && streams && str_is(r.method, "GET"))
        return start_stream(h, c, &r);
    else if (!streams && start_poll(h, c, &r))
        return MHD_YES;
    return send_page(h, c, &r);
}

/* The wait is over: something came, or the time has passed. */
static enum MHD_Result end_poll(struct stream_http *h, struct stream_client *c, const char *method)
{
    struct req r;
    if (c->gone)
        return MHD_NO;
    (void)stream_feed_look(h->o.feed);
    read_request(h, c, method, &r);
    make_page(h, &r, false);
    return send_page(h, c, &r);
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *conn, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_n, void **con_cls)
{
    struct stream_http *h = ctx;
    struct stream_client *c = *con_cls;
    (void)conn, (void)url, (void)version, (void)upload;
    if (!c)
        return MHD_NO;
    if (*upload_n > 0) {
        *upload_n = 0;
        return MHD_YES;
    }
    return c->asked ? end_poll(h, c, method) : begin(h, c, method);
}

/* ---- turns ----------------------------------------------------------------------------------- */

int stream_http_fd(const struct stream_http *h)
{
    return h->watch;
}

int64_t stream_http_wait(const struct stream_http *h, int64_t ms)
{
    unsigned long long own = 0;
    const struct due *first = due_first(&h->dues);
    if (MHD_get_timeout(h->daemon, &own) == MHD_YES && own < (unsigned long long)ms)
        ms = (int64_t)own;
    int64_t due = first ? first->at - clock_mono() : ms;
    return due < 0 ? 0 : due < ms ? due : ms;
}

static void take_hang_ups(struct stream_http *h)
{
    struct epoll_event e[EVENTS];
    int n = epoll_wait(h->watch, e, EVENTS, 0);
    for (int i = 0; i < n; i++) {
        struct stream_client *c = e[i].data.ptr;
        if (!c || !(e[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
            continue;
        c->gone = true;
        wake(h, c);
    }
}

/* What waits is looked at again. now: its time has come. */
static void look_again(struct stream_http *h, struct stream_client *c, int64_t now)
{
    enum stream_news news = stream_client_look(h->o.feed, c);
    bool over = now >= c->quiet_until;
    if (news == STREAM_NEWS || (over && (c->polls || stream_client_beat(c))))
        wake(h, c);
    else if (due_set(&h->dues, &c->due, news == STREAM_LATER ? now : c->quiet_until) != RC_OK)
        wake(h, c);
}

/* Those that are due now; who asks for another turn gets it after the others. */
static void take_due(struct stream_http *h)
{
    int64_t now = clock_mono();
    for (size_t n = h->dues.n; n > 0; n--) {
        struct due *first = due_first(&h->dues);
        if (!first || first->at > now)
            return;
        look_again(h, (struct stream_client *)(void *)first, now);
    }
}

void stream_http_tell(struct stream_http *h)
{
    int64_t now = clock_mono();
    for (struct stream_client *c = h->clients; c; c = c->next)
        if (c->waits && !c->gone)
            look_again(h, c, now);
    h->o.feed->moved = false;
}

void stream_http_turn(struct stream_http *h)
{
    take_hang_ups(h);
    take_due(h);
    MHD_run(h->daemon);
}

void stream_http_stop(struct stream_http *h)
{
    h->stopping = true;
    shutdown(h->o.listen_fd, SHUT_RDWR); /* what waits in the queue is still taken */
    for (struct stream_client *c = h->clients; c; c = c->next)
        wake(h, c);
}

bool stream_http_is_busy(const struct stream_http *h)
{
    return h->clients != NULL;
}

void stream_http_count(const struct stream_http *h, struct stream_stat *ret)
{
    *ret = (struct stream_stat){.streams = (int64_t)h->n_streams,
                                .polls = (int64_t)h->n_polls,
                                .sent = h->o.feed->sent,
                                .dropped = h->dropped,
                                .at = clock_now()};
}

/* ---- life ------------------------------------------------------------------------------------ */

static enum rc start_daemon(struct stream_http *h, struct err *err)
{
    unsigned most = (unsigned)(h->o.clients_max + SPARE_CONNECTIONS);
    h->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, h,
        MHD_OPTION_LISTEN_SOCKET, h->o.listen_fd, MHD_OPTION_CONNECTION_LIMIT, most,
        MHD_OPTION_CONNECTION_TIMEOUT, h->o.stall_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)POOL, MHD_OPTION_URI_LOG_CALLBACK, client_new, h, MHD_OPTION_NOTIFY_COMPLETED,
        client_over, h, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
    if (!h->daemon)
        return err_set(err, RC_IO, "", "libmicrohttpd does not start");
    const union MHD_DaemonInfo *i = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL};
    if (!i || h->watch < 0 || epoll_ctl(h->watch, EPOLL_CTL_ADD, i->epoll_fd, &e) != 0)
        return err_set(err, RC_IO, "", "cannot wait for connections: %s", strerror(errno));
    return RC_OK;
}

enum rc stream_http_new(const struct stream_http_options *o, struct stream_http **ret,
                        struct err *err)
{
    struct stream_http *h = calloc(1, sizeof *h);
    if (!h)
        return err_set(err, RC_NOMEM, "", "no memory for the stream");
    h->o = *o;
    h->watch = epoll_create1(EPOLL_CLOEXEC);
    arena_init(&h->arena, REQ_ARENA_MAX);
    resp_init(&h->w);
    buf_init(&h->head, RESP_HEADERS_MAX + 4096);
    *ret = h;
    return start_daemon(h, err);
}

void stream_http_free(struct stream_http **ph)
{
    struct stream_http *h = *ph;
    if (!h)
        return;
    if (h->daemon) {
        stream_http_stop(h);
        MHD_run(h->daemon); /* it refuses to end while connections are suspended */
        MHD_stop_daemon(h->daemon);
    }
    fd_close(&h->watch);
    dues_release(&h->dues);
    resp_release(&h->w);
    buf_release(&h->head);
    arena_release(&h->arena);
    free(h);
    *ph = NULL;
}
