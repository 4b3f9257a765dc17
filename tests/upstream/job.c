/* job: see job.h. */
#include "tests/upstream/job.h"

#define PLAIN_MAX (32u << 10) /* larger bodies go out in pieces, so that buffers stay small */

bool job_is_plain(const struct reply *r)
{
    return !r->delay_ms && !r->drip_bytes && r->cut == CUT_NONE && r->endless == ENDLESS_NONE &&
           r->framing != FRAMING_CHUNKED && r->send <= PLAIN_MAX;
}

void job_start(struct job *j, const struct reply *r, const struct buf *head)
{
    *j = (struct job){.active = true, .reply = *r, .wait_ms = r->delay_ms};
    buf_init(&j->head, REPLY_HEAD_MAX);
    buf_str(&j->head, buf_view(head));
}

void job_end(struct job *j)
{
    buf_release(&j->head);
    blob_drop(&j->reply.body);
    *j = (struct job){0};
}

static size_t piece(const struct job *j, size_t left, bool drips)
{
    size_t most = drips && j->reply.drip_bytes ? (size_t)j->reply.drip_bytes : JOB_PIECE;
    most = most < JOB_PIECE ? most : JOB_PIECE;
    return left < most ? left : most;
}

static void fill_head(struct job *j, struct buf *out)
{
    size_t n = piece(j, j->head.len - j->head_at, j->reply.drip_head);
    buf_add(out, j->head.data + j->head_at, n);
    j->head_at += n;
    if (j->reply.drip_head)
        j->wait_ms = j->reply.drip_ms;
}

static void fill_endless_headers(struct job *j, struct buf *out)
{
    size_t end = out->len + piece(j, JOB_PIECE, true);
    do {
        buf_printf(out, "X-Filler-%llu: %048d\r\n", (unsigned long long)j->filler++, 0);
    } while (out->len < end && buf_rc(out) == RC_OK);
    if (j->reply.drip_bytes)
        j->wait_ms = j->reply.drip_ms;
}

static void put_bytes(const struct job *j, struct buf *out, size_t n)
{
    static const char filler[4096];
    if (j->reply.endless == ENDLESS_BODY) {
        for (size_t part; n; n -= part) {
            part = n < sizeof filler ? n : sizeof filler;
            buf_add(out, filler, part);
        }
    } else {
        buf_add(out, j->reply.body->data + j->at, n);
    }
}

static void fill_body(struct job *j, struct buf *out)
{
    size_t n = piece(j, j->reply.send - j->at, true);
    bool chunked = j->reply.framing == FRAMING_CHUNKED;
    if (chunked)
        buf_printf(out, "%zx\r\n", n);
    put_bytes(j, out, n);
    if (chunked)
        buf_add(out, "\r\n", 2);
    j->at += n;
    if (j->reply.drip_bytes)
        j->wait_ms = j->reply.drip_ms;
}

bool job_fill(struct job *j, struct buf *out)
{
    const struct reply *r = &j->reply;
    if (j->head_at < j->head.len) {
        fill_head(j, out);
    } else if (r->endless == ENDLESS_HEADERS) {
        fill_endless_headers(j, out);
    } else if ((r->body || r->endless == ENDLESS_BODY) && j->at < r->send) {
        fill_body(j, out);
    } else if (r->framing == FRAMING_CHUNKED && r->cut == CUT_NONE && !j->tail) {
        buf_str(out, STR("0\r\n\r\n"));
        j->tail = true;
    } else {
        return false;
    }
    return true;
}
