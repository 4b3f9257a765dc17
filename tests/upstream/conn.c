/* conn: the life of one connection. Behind server.h.
 *
 *   OPEN --- reply whole ---> OPEN (next request)
 *     |----- cut: hang -----> HANG ----- client goes ------------------> gone
 *     |----- cut: reset ----> RESET ---- all bytes have arrived, RST --> gone
 *     '----- close ---------> LINGER --- client's end, or a second ----> gone
 */
#include "tests/upstream/server.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define PIPELINE_MAX (256u << 10) /* replies gathered before they are written */
#define KEEP_ROOM (16u << 10)     /* a drained buffer larger than this is given back */
#define LINGER_MS 1000
#define RESET_MS 1 /* between two looks at the send queue */

enum flow { FLOW_IDLE, FLOW_BLOCKED, FLOW_GONE };

/* ---- bytes in and out ---------------------------------------------------------------------- */

static ssize_t conn_recv(struct conn *c, void *p, size_t n)
{
    if (c->tls)
        return tls_read(c->tls, p, n);
    ssize_t k = recv(c->fd, p, n, 0);
    return k >= 0 ? k : errno == EAGAIN || errno == EINTR ? TLS_AGAIN : TLS_ERROR;
}

static ssize_t conn_send(struct conn *c, const void *p, size_t n)
{
    if (c->tls)
        return tls_write(c->tls, p, n);
    ssize_t k = send(c->fd, p, n, MSG_NOSIGNAL);
    return k >= 0 ? k : errno == EAGAIN || errno == EINTR ? TLS_AGAIN : TLS_ERROR;
}

static enum flow flush(struct conn *c)
{
    c->blocked = false;
    while (c->out_at < c->out.len) {
        ssize_t n = conn_send(c, c->out.data + c->out_at, c->out.len - c->out_at);
        if (n == TLS_AGAIN) {
            c->blocked = true;
            return FLOW_BLOCKED;
        }
        if (n <= 0)
            return FLOW_GONE;
        c->out_at += (size_t)n;
    }
    c->out_at = 0;
    if (c->out.room > KEEP_ROOM)
        buf_release(&c->out);
    else
        buf_clear(&c->out);
    return FLOW_IDLE;
}

/* ---- the end ------------------------------------------------------------------------------- */

/* RST, but only when what was sent has arrived: else the kernel would throw it away. */
static enum flow reset_when_sent(struct server *s, struct conn *c)
{
    int unsent = 0;
    c->phase = PHASE_RESET;
    if (ioctl(c->fd, SIOCOUTQ, &unsent) == 0 && unsent > 0) {
        server_timer(s, c, RESET_MS);
        return FLOW_BLOCKED;
    }
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    return FLOW_GONE;
}

static enum flow linger(struct server *s, struct conn *c)
{
    if (c->tls)
        tls_bye(c->tls);
    if (c->eof || shutdown(c->fd, SHUT_WR) != 0)
        return FLOW_GONE;
    c->phase = PHASE_LINGER;
    server_timer(s, c, LINGER_MS);
    return FLOW_BLOCKED;
}

static enum flow end_job(struct server *s, struct conn *c)
{
    enum cut cut = c->job.reply.cut;
    c->closing = c->closing || c->job.reply.close || cut == CUT_CLOSE;
    job_end(&c->job);
    s->stats.busy--;
    if (cut == CUT_HANG) {
        c->phase = PHASE_HANG;
        return c->eof ? FLOW_GONE : FLOW_BLOCKED;
    }
    return cut == CUT_RESET ? reset_when_sent(s, c) : FLOW_IDLE;
}

/* Sends what there is to send. FLOW_IDLE: the next request may be taken. */
static enum flow pump(struct server *s, struct conn *c)
{
    for (;;) {
        if (c->due >= 0 || c->phase != PHASE_OPEN)
            return FLOW_BLOCKED;
        enum flow flow = flush(c);
        if (flow != FLOW_IDLE)
            return flow;
        if (!c->job.active)
            return c->closing ? linger(s, c) : FLOW_IDLE;
        if (c->job.wait_ms > 0) {
            server_timer(s, c, c->job.wait_ms);
            c->job.wait_ms = 0;
            return FLOW_BLOCKED;
        }
        if (!job_fill(&c->job, &c->out) && (flow = end_job(s, c)) != FLOW_IDLE)
            return flow;
    }
}

/* ---- requests ------------------------------------------------------------------------------ */

static void queue_reply(struct server *s, struct conn *c, struct reply *r)
{
    if (!job_is_plain(r)) {
        job_start(&c->job, r, &s->head);
        s->stats.busy++;
        if (s->stats.busy > s->stats.busy_max)
            s->stats.busy_max = s->stats.busy;
        return;
    }
    buf_str(&c->out, buf_view(&s->head));
    if (r->body)
        buf_add(&c->out, r->body->data, r->send);
    blob_drop(&r->body);
    c->closing = c->closing || r->close;
}

static void answer(struct server *s, struct conn *c, const struct request *q)
{
    struct reply r;
    if (str_starts(q->path, STR("/control/"))) {
        control_answer(s, q, &s->head, &r);
    } else {
        respond(&s->responder, q, &s->head, &r);
        s->stats.requests++;
        struct wire_about about = {r.status, c->tls != NULL, c->id, clock_mono() - s->started_ms};
        wire_add(&s->wire, q, &about);
    }
    queue_reply(s, c, &r);
}

static void refuse(struct server *s, struct conn *c, int status)
{
    struct reply r;
    struct blob *why = blob_plain(STR("the request was not understood, or is too large\n"));
    respond_with(&s->responder, NULL, status, "text/plain", why, &s->head, &r);
    queue_reply(s, c, &r);
}

/* Answers the first request in *input and takes it off. False when it is not complete. */
static bool take_request(struct server *s, struct conn *c, struct str *input)
{
    struct request q;
    int status;
    if (!input->n)
        return false;
    switch (http_parse(*input, &q, &status)) {
    case PARSED_MORE: return false;
    case PARSED_BAD:
        refuse(s, c, status);
        input->n = 0;
        return true;
    case PARSED_OK: break;
    }
    if (input->n - q.head_n < q.body_n) {
        if (q.expects_continue && !c->continued)
            buf_puts(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
        c->continued = true;
        return false;
    }
    q.body = (struct str){input->p + q.head_n, q.body_n};
    c->continued = false;
    answer(s, c, &q);
    input->p += q.head_n + q.body_n;
    input->n -= q.head_n + q.body_n;
    return true;
}

/* Keeps what is left of the input for later. */
static void keep_rest(struct conn *c, struct str rest)
{
    if (!rest.n || c->closing) {
        buf_release(&c->in);
        return;
    }
    if (c->in.len) {
        memmove(c->in.data, rest.p, rest.n);
        c->in.len = rest.n;
        c->in.data[rest.n] = '\0';
    } else {
        buf_str(&c->in, rest);
    }
}

/* Answers and sends as far as it goes. fresh has just been read and is not in c->in yet. */
static bool drive(struct server *s, struct conn *c, struct str fresh)
{
    if (c->in.len)
        buf_str(&c->in, fresh);
    struct str input = c->in.len ? buf_view(&c->in) : fresh;
    enum flow flow;
    bool more; /* a reply is done or was begun: there may be another request behind it */
    do {
        more = c->job.active;
        while (!c->job.active && !c->closing && c->out.len < PIPELINE_MAX &&
               take_request(s, c, &input))
            more = true;
        flow = pump(s, c);
    } while (flow == FLOW_IDLE && more);
    keep_rest(c, input);
    if (flow == FLOW_GONE || (c->eof && flow == FLOW_IDLE))
        return false;
    return buf_rc(&c->in) == RC_OK && buf_rc(&c->out) == RC_OK;
}

/* ---- events -------------------------------------------------------------------------------- */

bool conn_readable(struct server *s, struct conn *c)
{
    do {
        ssize_t n = conn_recv(c, s->scratch, sizeof s->scratch);
        if (n == TLS_AGAIN)
            return true;
        if (n == TLS_ERROR)
            return false;
        if (n == 0)
            c->eof = true;
        /* Who has gone while we were waiting or silent gets nothing more. */
        if (c->eof && (c->phase != PHASE_OPEN || c->due >= 0))
            return false;
        struct str fresh = {s->scratch, (size_t)n};
        if (c->phase == PHASE_OPEN && !drive(s, c, fresh))
            return false;
    } while (c->tls && tls_pending(c->tls) && !c->eof);
    return true;
}

bool conn_writable(struct server *s, struct conn *c)
{
    if (c->tls && tls_wants_write(c->tls) && !c->out.len)
        return conn_readable(s, c); /* the handshake was waiting to write */
    return drive(s, c, STR(""));
}

bool conn_timed(struct server *s, struct conn *c)
{
    switch (c->phase) {
    case PHASE_LINGER:
    case PHASE_HANG: return false;
    case PHASE_RESET: return reset_when_sent(s, c) != FLOW_GONE;
    case PHASE_OPEN: break;
    }
    return drive(s, c, STR(""));
}

uint32_t conn_wants(const struct conn *c)
{
    uint32_t mask = 0;
    size_t most = c->job.active ? HTTP_HEAD_MAX : HTTP_HEAD_MAX + HTTP_BODY_MAX;
    if (!c->eof && c->in.len < most)
        mask |= EPOLLIN;
    if (c->blocked || (c->tls && tls_wants_write(c->tls)))
        mask |= EPOLLOUT;
    return mask;
}
