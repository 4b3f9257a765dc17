/* stream_client: who is near the end is served from the tail, who is behind reads pages of the
 * ledger, rendered for him alone. */
#include "api/stream_client.h"

#include <stdlib.h>
#include "core/clock.h"
#include "core/log.h"

#define CATCH_UP_ROWS 8 /* entries of one read: some 16 KiB, made again for each client behind */
#define CATCH_UP_MAX (8u << 20)
#define CATCH_UP_SPAN 5000 /* entries looked through at a time, where no index helps */
#define SCRATCH_MAX (1u << 20)
#define RETRY_MS 2000        /* wait before coming back, */
#define RETRY_SPREAD_MS 2000 /* and as much more, so that ten thousand do not come at once */

/* ---- the ledger ------------------------------------------------------------------------------ */

void stream_feed_init(struct stream_feed *f, const struct instance *inst)
{
    *f = (struct stream_feed){.inst = inst};
    arena_init(&f->scratch, SCRATCH_MAX);
    buf_init(&f->page, CATCH_UP_MAX);
    stream_tail_init(&f->tail);
}

void stream_feed_release(struct stream_feed *f)
{
    stream_tail_release(&f->tail);
    ledger_close(&f->ledger);
    buf_release(&f->page);
    arena_release(&f->scratch);
}

/* Whatever was wrong with the handle, the next turn starts afresh. */
static void complain(struct stream_feed *f, const struct err *err)
{
    if (!f->trouble)
        log_err(LOG_ERROR, "stream.no_ledger", err);
    f->trouble = true;
    stream_tail_forget(&f->tail);
    ledger_close(&f->ledger);
}

static enum rc look(struct stream_feed *f, struct err *err)
{
    int64_t before = f->tail.last_seq;
    if (!f->ledger)
        TRY(ledger_open(f->inst->dir, LEDGER_READ, NULL, &f->ledger, err));
    arena_reset(&f->scratch);
    TRY(stream_tail_refresh(&f->tail, f->ledger, &f->scratch, err));
    f->moved = f->moved || f->tail.last_seq != before;
    return RC_OK;
}

bool stream_feed_look(struct stream_feed *f)
{
    struct err err = {0};
    if (f->fresh)
        return f->tail.loaded;
    f->fresh = true;
    if (look(f, &err) != RC_OK) {
        complain(f, &err);
        return false;
    }
    f->trouble = false;
    return true;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool set_block(struct stream_client *c, struct stream_block *b)
{
    c->block = b;
    c->at = 0;
    return b != NULL;
}

bool stream_client_greet(struct stream_client *c)
{
    char text[96];
    int n = snprintf(text, sizeof text, "retry: %d\nid: %lld\n\n",
                     RETRY_MS + (int)rand_below(RETRY_SPREAD_MS), (long long)c->cursor);
    c->greeted = true;
    c->told = c->cursor;
    return set_block(c, stream_block_new((struct str){text, (size_t)n}, STR(""), 0));
}

bool stream_client_beat(struct stream_client *c)
{
    char text[64];
    int n = c->cursor > c->told
                ? snprintf(text, sizeof text, ":\nid: %lld\n\n", (long long)c->cursor)
                : snprintf(text, sizeof text, ":\n\n");
    c->told = c->cursor;
    return set_block(c, stream_block_new((struct str){text, (size_t)n}, STR(""), 0));
}

size_t stream_client_take(struct stream_feed *f, struct stream_client *c, char *out, size_t n)
{
    size_t left = c->block->n - c->at, given = left < n ? left : n;
    memcpy(out, c->block->text + c->at, given);
    c->at += given;
    if (c->at == c->block->n) {
        f->sent += c->block->entries;
        stream_block_drop(&c->block);
    }
    return given;
}

void stream_client_drop(struct stream_feed *f, struct stream_client *c)
{
    stream_block_drop(&c->block);
    stream_view_drop(&f->views, &c->view);
    free(c->uri);
    c->uri = NULL;
}

/* ---- what is next ---------------------------------------------------------------------------- */

static enum stream_news hand_over(struct stream_feed *f, struct stream_client *c,
                                  struct stream_entry *e)
{
    if (c->polls)
        return STREAM_NEWS;
    if (!set_block(c, stream_tail_block(&f->tail, e, c->view->base)))
        return STREAM_NOTHING; /* no memory now; the next look tries again */
    c->cursor = c->told = e->seq;
    return STREAM_NEWS;
}

static enum stream_news look_in_tail(struct stream_feed *f, struct stream_client *c)
{
    struct stream_entry **e = stream_tail_after(&f->tail, c->cursor),
                        **end = f->tail.list + f->tail.n;
    for (; e && e < end; e++)
        if (stream_view_passes(c->view, *e))
            return hand_over(f, c, *e);
    c->cursor = f->tail.last_seq;
    return STREAM_NOTHING;
}

struct catch_up {
    struct stream_feed *f;
    struct str base;
    int64_t n, last;
};

static enum rc put_row(void *ctx, const struct public_change *row, struct err *err)
{
    struct catch_up *x = ctx;
    (void)err;
    stream_put_event(&x->f->page, &x->f->tail.line, row->seq, row->doc, x->base);
    x->n++;
    x->last = row->seq;
    return RC_OK;
}

/* Entries that no index leads to are looked through in spans. */
static enum rc read_on(struct stream_feed *f, const struct stream_client *c, struct catch_up *x,
                       int64_t *ret_until, struct err *err)
{
    const struct feed_query *q = &c->view->q;
    bool spans = q->filtered && !q->n_sources && !q->n_collections;
    bool near = f->tail.last_seq - c->cursor <= CATCH_UP_SPAN;
    struct public_change_query pq = {.after = c->cursor,
                                     .limit = c->polls ? 1 : CATCH_UP_ROWS,
                                     .sources = q->sources,
                                     .n_sources = q->n_sources,
                                     .collections = q->collections,
                                     .n_collections = q->n_collections,
                                     .filter = q->filtered ? &q->filter : NULL};
    *ret_until = spans && !near ? c->cursor + CATCH_UP_SPAN : f->tail.last_seq;
    pq.until = spans && !near ? *ret_until : 0;
    buf_clear(&f->page);
    TRY(public_changes(f->ledger, &pq, put_row, x, NULL, err));
    if (x->n == pq.limit)
        *ret_until = x->last; /* there may be more behind it */
    return buf_rc(&f->page) == RC_OK ? RC_OK
                                     : err_set(err, buf_rc(&f->page), "", "entries are too large");
}

static enum stream_news look_in_ledger(struct stream_feed *f, struct stream_client *c)
{
    struct catch_up x = {.f = f, .base = c->view->base};
    struct err err = {0};
    int64_t until;
    if (read_on(f, c, &x, &until, &err) != RC_OK) {
        complain(f, &err);
        return STREAM_NOTHING;
    }
    if (x.n > 0 && c->polls)
        return STREAM_NEWS;
    if (x.n > 0 && !set_block(c, stream_block_new(buf_view(&f->page), STR(""), x.n)))
        return STREAM_NOTHING;
    c->cursor = x.last > until ? x.last : until;
    if (x.n > 0)
        c->told = x.last;
    return x.n > 0 ? STREAM_NEWS : c->cursor < f->tail.last_seq ? STREAM_LATER : STREAM_NOTHING;
}

enum stream_news stream_client_look(struct stream_feed *f, struct stream_client *c)
{
    if (!stream_feed_look(f) || c->cursor >= f->tail.last_seq)
        return STREAM_NOTHING;
    return stream_tail_covers(&f->tail, c->cursor) ? look_in_tail(f, c) : look_in_ledger(f, c);
}
