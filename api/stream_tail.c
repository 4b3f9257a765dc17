/* stream_tail: sequence and generation of what is held are compared with the ledger's; when one of
 * them differs all is read again. */
#include "api/stream_tail.h"

#include <stdlib.h>
#include "api/put.h"

#define EVENT_MAX (2u << 20) /* the longest entry has some ten KiB */

/* ---- bytes ----------------------------------------------------------------------------------- */

struct stream_block *stream_block_new(struct str text, struct str base, int64_t entries)
{
    struct stream_block *b = malloc(sizeof *b + text.n + base.n);
    if (!b)
        return NULL;
    *b = (struct stream_block){.refs = 1, .n = text.n, .base_n = base.n, .entries = entries};
    memcpy(b->text, text.p, text.n);
    memcpy(b->text + text.n, base.p, base.n);
    return b;
}

void stream_block_drop(struct stream_block **b)
{
    if (*b && --(*b)->refs == 0)
        free(*b);
    *b = NULL;
}

/* A line break in the data would end the field: each line is a field of its own, and the reader
 * joins them again. */
void stream_put_event(struct buf *out, struct buf *line, int64_t seq, struct str doc,
                      struct str base)
{
    struct str rest, one;
    buf_clear(line);
    feed_put_entry(line, seq, doc, base);
    if (buf_rc(line) != RC_OK)
        out->rc = buf_rc(line);
    buf_puts(out, "id: ");
    put_digits(out, seq);
    buf_puts(out, "\nevent: change\n");
    for (rest = buf_view(line); str_next(&rest, '\n', &one);) {
        buf_puts(out, "data: ");
        buf_str(out, one);
        buf_byte(out, '\n');
    }
    buf_byte(out, '\n');
}

struct stream_block *stream_tail_block(struct stream_tail *t, struct stream_entry *e,
                                       struct str base)
{
    struct buf out;
    if (e->block && !str_eq((struct str){e->block->text + e->block->n, e->block->base_n}, base))
        stream_block_drop(&e->block);
    if (!e->block) {
        buf_init(&out, EVENT_MAX);
        stream_put_event(&out, &t->line, e->seq, e->doc, base);
        if (buf_rc(&out) == RC_OK)
            e->block = stream_block_new(buf_view(&out), base, 1);
        buf_release(&out);
    }
    if (e->block)
        e->block->refs++;
    return e->block;
}

/* ---- entries --------------------------------------------------------------------------------- */

static struct str keep(char **at, struct str s)
{
    struct str kept = {*at, s.n};
    memcpy(*at, s.p, s.n);
    *at += s.n;
    return kept;
}

static struct stream_entry *entry_new(const struct public_change *c,
                                      const struct public_change_facts *f)
{
    size_t n = c->doc.n + f->source_id.n + f->collection.n + f->type.n + f->class.n + f->detector.n;
    struct stream_entry *e = malloc(sizeof *e + n);
    if (!e)
        return NULL;
    char *at = e->text;
    *e = (struct stream_entry){.seq = c->seq, .gen = c->gen, .facts = *f};
    e->doc = keep(&at, c->doc);
    e->facts.source_id = keep(&at, f->source_id);
    e->facts.collection = keep(&at, f->collection);
    e->facts.type = keep(&at, f->type);
    e->facts.class = keep(&at, f->class);
    e->facts.detector = keep(&at, f->detector);
    return e;
}

static void entry_free(struct stream_tail *t, struct stream_entry *e)
{
    t->bytes -= e->doc.n;
    stream_block_drop(&e->block);
    free(e);
}

static void drop_oldest(struct stream_tail *t)
{
    t->from = t->list[0]->seq;
    entry_free(t, t->list[0]);
    memmove(t->list, t->list + 1, --t->n * sizeof t->list[0]);
}

static void drop_all(struct stream_tail *t)
{
    while (t->n > 0)
        entry_free(t, t->list[--t->n]);
}

static enum rc add(void *ctx, const struct public_change *c, const struct public_change_facts *f,
                   struct err *err)
{
    struct stream_tail *t = ctx;
    struct stream_entry *e = entry_new(c, f);
    if (!e)
        return err_set(err, RC_NOMEM, "", "no memory for an entry of the feed");
    while (t->n == TAIL_ENTRIES || (t->n > 0 && t->bytes + c->doc.n > TAIL_BYTES))
        drop_oldest(t);
    t->bytes += c->doc.n;
    t->list[t->n++] = e;
    return RC_OK;
}

/* ---- what the ledger says -------------------------------------------------------------------- */

struct comparison {
    const struct stream_tail *t;
    size_t at;
    bool same;
};

static enum rc compare(void *ctx, int64_t seq, int64_t gen, struct err *err)
{
    struct comparison *x = ctx;
    (void)err;
    bool here = x->at < x->t->n;
    const struct stream_entry *e = here ? x->t->list[x->at++] : NULL;
    x->same = x->same && here && e->seq == seq && e->gen == gen;
    return RC_OK;
}

/* Are the entries still as they were read? */
static enum rc check(struct stream_tail *t, struct ledger *l, bool *ret_same, struct err *err)
{
    struct comparison x = {.t = t, .same = true};
    if (t->n > 0)
        TRY(public_tail_gens(l, t->from, t->list[t->n - 1]->seq, compare, &x, err));
    *ret_same = x.same && x.at == t->n;
    return RC_OK;
}

static enum rc read_on(struct stream_tail *t, struct ledger *l, const struct public_meta *m,
                       struct err *err)
{
    bool same = false;
    if (t->loaded && m->last_seq >= t->last_seq)
        TRY(check(t, l, &same, err));
    if (!same)
        drop_all(t);
    if (!t->loaded || m->last_seq < t->last_seq)
        t->from = m->last_seq > TAIL_ENTRIES ? m->last_seq - TAIL_ENTRIES : 0;
    for (;;) { /* a hundred thousand new ones pass through, the last stay */
        int64_t last = t->n ? t->list[t->n - 1]->seq : t->from;
        TRY(public_tail(l, last, TAIL_ENTRIES, add, t, err));
        if (t->n == 0 || t->list[t->n - 1]->seq == last || t->list[t->n - 1]->seq >= m->last_seq)
            return RC_OK;
    }
}

static enum rc refresh(struct stream_tail *t, struct ledger *l, struct arena *a, struct err *err)
{
    struct public_meta m = {0};
    TRY(public_meta_get(l, a, &m, err));
    if (t->loaded && m.generation == t->generation && m.last_seq == t->last_seq)
        return RC_OK;
    TRY(read_on(t, l, &m, err));
    t->generation = m.generation;
    t->last_seq = m.last_seq;
    t->first_seq = m.first_seq;
    t->loaded = true;
    return RC_OK;
}

enum rc stream_tail_refresh(struct stream_tail *t, struct ledger *l, struct arena *a,
                            struct err *err)
{
    TRY(ledger_read_begin(l, err));
    enum rc rc = refresh(t, l, a, err);
    ledger_read_end(l);
    if (rc != RC_OK)
        stream_tail_forget(t);
    return rc;
}

bool stream_tail_covers(const struct stream_tail *t, int64_t seq)
{
    return t->loaded && seq >= t->from;
}

struct stream_entry **stream_tail_after(struct stream_tail *t, int64_t seq)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (t->list[mid]->seq > seq)
            high = mid;
        else
            low = mid + 1;
    }
    return low < t->n ? &t->list[low] : NULL;
}

void stream_tail_init(struct stream_tail *t)
{
    *t = (struct stream_tail){0};
    buf_init(&t->line, EVENT_MAX);
}

void stream_tail_forget(struct stream_tail *t)
{
    drop_all(t);
    t->loaded = false;
}

void stream_tail_release(struct stream_tail *t)
{
    drop_all(t);
    buf_release(&t->line);
}
