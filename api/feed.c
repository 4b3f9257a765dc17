/* feed: /changes and /changes/{id}.
 *
 * Invariants (those of feed.h, and)
 *   1. Rows go from the ledger into the one output buffer, without a copy between.
 *   2. `before` is our own parameter: where going back continues. `since` bounds the old end in
 *      both orders.
 * Called by the route table and by the command line. */
#include "api/feed.h"

#include "api/conditional.h"
#include "api/negotiate.h"
#include "api/prov.h"
#include "core/clock.h"

#define EVENT_ID_MAX 64
#define POLL_INTERVAL_S 10          /* what we ask polite followers to wait between two looks */
#define ENTRY_MEMORY_MAX (1u << 20) /* to read one entry; the longest has some ten KiB */
#define HREF_MAX 16384              /* an address with all filters, each byte escaped */

/* ---- rendering ------------------------------------------------------------------------------- */

static enum rc put_row(void *ctx, const struct public_change *c, struct err *err)
{
    struct feed_page_out *x = ctx;
    if (c->seq <= x->floor)
        return RC_OK;
    if (x->n++ == 0)
        x->first = c->seq;
    x->last = c->seq;
    x->newest = c->finalized_at > x->newest ? c->finalized_at : x->newest;
    x->coarse = x->coarse || c->finalized_at % DAY_MS == 0;
    etag_int(&x->etag, c->seq);
    etag_int(&x->etag, c->gen);
    return x->format->entry(x, c, err);
}

enum rc feed_check_cursor(const struct feed_query *q, const struct public_meta *m,
                          int64_t *ret_first_seq, struct err *err)
{
    if (q->has_since && !q->since_now && q->since > m->last_seq)
        return err_set(err, RC_INVALID, "since", "lies in the future of this feed");
    if (q->before > m->last_seq + 1)
        return err_set(err, RC_INVALID, "before", "lies in the future of this feed");
    if (q->before && !feed_is_descending(q))
        return err_set(err, RC_INVALID, "before", "goes with order=desc only");
    if (!q->has_since || q->since_now || q->since == 0 || q->since >= m->first_seq - 1)
        return RC_OK;
    if (ret_first_seq)
        *ret_first_seq = m->first_seq;
    return err_set(err, RC_GONE, "since", "is older than the feed keeps; start again at since=0");
}

static enum rc ignore_row(void *ctx, const struct public_change *c, struct err *err)
{
    (void)ctx;
    (void)c;
    (void)err;
    return RC_OK;
}

/* Newest first, `since` cuts the old end off: what lies below it is not pending. */
static enum rc subtract_below(struct ledger *l, struct public_change_query pq, int64_t floor,
                              int64_t *pending, struct err *err)
{
    int64_t below = 0;
    if (floor <= 0 || *pending == 0)
        return RC_OK;
    pq.after = floor + 1;
    pq.limit = 0;
    TRY(public_changes(l, &pq, ignore_row, NULL, &below, err));
    *pending = *pending > below ? *pending - below : 0;
    return RC_OK;
}

static enum rc put_rows(struct ledger *l, const struct feed_query *q, int64_t since,
                        struct feed_page_out *x, int64_t *ret_pending, struct err *err)
{
    bool desc = feed_is_descending(q);
    struct public_change_query pq = {.after = since,
                                     .descending = desc,
                                     .limit = q->limit,
                                     .sources = q->sources,
                                     .n_sources = q->n_sources,
                                     .collections = q->collections,
                                     .n_collections = q->n_collections,
                                     .filter = q->filtered ? &q->filter : NULL};
    if (desc) {
        pq.after = q->before ? q->before : INT64_MAX;
        x->floor = since;
    }
    TRY(public_changes(l, &pq, put_row, x, ret_pending, err));
    if (x->n < q->limit) /* a page with room left is the last one, also where rows were withdrawn */
        *ret_pending = 0;
    return desc ? subtract_below(l, pq, since, ret_pending, err) : RC_OK;
}

/* Where a follower goes on: behind the last row while more are waiting, else at the tip. */
static int64_t last_seq(const struct feed_query *q, const struct feed_page_out *x, int64_t tip,
                        int64_t pending)
{
    int64_t newest = x->last > x->first ? x->last : x->first;
    if (!feed_is_descending(q) && pending > 0)
        return x->last;
    return newest > tip ? newest : tip;
}

/* NOLINTBEGIN(clang-analyzer-core.StackAddressEscape): the caller does not look at x->row */
enum rc feed_render_as(struct ledger *l, struct arena *a, struct feed_page_out *x,
                       struct feed_page *ret_page, int64_t *ret_first_seq, struct err *err)
{
    CLEANUP(arena_release) struct arena row = {0};
    struct public_meta m = {0};
    const struct feed_query *q = x->q;
    arena_init(&row, ENTRY_MEMORY_MAX);
    x->row = &row;
    x->newest = -1;
    TRY(public_meta_get(l, a, &m, err));
    TRY(feed_check_cursor(q, &m, ret_first_seq, err));
    x->etag = etag_start(m.policy_version, x->base);
    x->first_seq = m.first_seq;
    x->day = m.changed_at > 0 ? m.changed_at : clock_now();
    x->day -= x->day % DAY_MS; /* the moment itself may be that of a withdrawal */
    x->format->head(x);
    TRY(put_rows(l, q, q->since_now ? m.last_seq : q->since, x, &x->pending, err));
    x->last_seq = last_seq(q, x, m.last_seq, x->pending);
    x->format->tail(x);
    x->row = NULL;
    if (buf_rc(x->out) != RC_OK)
        return err_set(err, buf_rc(x->out), "limit",
                       "the page is too large; ask for fewer entries");
    etag_int(&x->etag, x->last_seq);
    etag_int(&x->etag, m.first_seq);
    etag_int(&x->etag, x->pending);
    if (ret_page)
        *ret_page = (struct feed_page){x->etag, x->newest, x->coarse || q->has_since || q->before};
    return RC_OK;
}
/* NOLINTEND(clang-analyzer-core.StackAddressEscape) */

enum rc feed_render_page(struct ledger *l, struct arena *a, const struct feed_query *q,
                         struct str base, struct buf *out, struct feed_page *ret_page,
                         int64_t *ret_first_seq, struct err *err)
{
    struct feed_page_out x = {.out = out, .base = base, .q = q, .format = &feed_formats[0]};
    return feed_render_as(l, a, &x, ret_page, ret_first_seq, err);
}

enum rc feed_render(struct ledger *l, struct arena *a, const struct feed_query *q, struct str base,
                    struct buf *out, struct err *err)
{
    return feed_render_page(l, a, q, base, out, NULL, NULL, err);
}

/* ---- routes ---------------------------------------------------------------------------------- */

/* alone: only formats of one entry. */
static enum rc choose(const struct req *r, struct resp *w, bool alone,
                      const struct feed_format **ret, struct err *err)
{
    struct media table[16];
    const struct feed_format *formats[16];
    size_t n = 0, chosen;
    for (size_t i = 0; i < feed_formats_n && n < ARRAY_LEN(table); i++) {
        const struct feed_format *f = &feed_formats[i];
        if (alone && !f->alone)
            continue;
        formats[n] = f;
        table[n++] = (struct media){f->name, f->type, f->content_type};
    }
    TRY(negotiate(r, w, table, n, &chosen, err));
    *ret = formats[chosen];
    return RC_OK;
}

enum rc feed_query_read(const struct req *r, struct feed_query *q, struct err *err)
{
    feed_query_init(q);
    for (size_t i = 0; i < r->n_params; i++) {
        const char *name = arena_str(r->arena, r->params[i].name);
        if (!name)
            return err_set(err, RC_NOMEM, "", "no memory for a parameter");
        if (strcmp(name, "f") != 0)
            TRY(feed_query_set(q, name, r->params[i].value, err));
    }
    if (q->wait_ms >= 0 && !q->waits)
        return err_set(err, RC_INVALID, "timeout", "goes with feed=longpoll only");
    if (q->waits && !q->has_since && q->order == FEED_ORDER_DEFAULT)
        q->has_since = q->since_now = true;
    if (q->since_now && r->waited) {
        q->since_now = false;
        q->since = r->tip;
    }
    return RC_OK;
}

/* Where the next page is, for formats whose body cannot say it. */
static void head_next(struct resp *w, const struct feed_page_out *x)
{
    struct buf href;
    resp_header(w, "X-Last-Seq", "%lld", (long long)x->last_seq);
    if (x->pending == 0)
        return;
    buf_init(&href, HREF_MAX);
    feed_put_href(&href, x->q, x->base, feed_is_descending(x->q) ? "before" : "since", x->last);
    if (buf_rc(&href) == RC_OK)
        resp_header(w, "Link", "<%s>; rel=\"next\"", href.data);
    buf_release(&href);
}

void feed_tell_first(struct resp *w, int64_t first_seq)
{
    buf_printf(&w->extra, ",\"first_seq\":\"%lld\"", (long long)first_seq);
}

enum rc feed_list(struct req *r, struct resp *w, struct err *err)
{
    struct feed_query q;
    struct feed_page page = {0};
    int64_t first_seq = -1;
    struct feed_page_out x = {
        .out = &w->body, .base = r->base, .q = &q, .conf = r->inst ? &r->inst->conf : NULL};
    TRY(feed_query_read(r, &q, err));
    TRY(choose(r, w, false, &x.format, err));
    q.format = req_param(r, "f").p || x.format != &feed_formats[0] ? x.format->name : NULL;
    enum rc rc = feed_render_as(r->ledger, r->arena, &x, &page, &first_seq, err);
    if (rc == RC_GONE)
        feed_tell_first(w, first_seq);
    TRY(rc);
    etag_str(&page.etag, str_of(x.format->name));
    etag_set(&page.etag, w);
    w->last_modified = page.newest;
    w->etag_only = page.coarse;
    resp_header(w, "X-Poll-Interval", "%d", POLL_INTERVAL_S);
    head_next(w, &x);
    return RC_OK;
}

static bool is_event_id(struct str s)
{
    if (s.n > EVENT_ID_MAX || !str_starts(s, STR("evt_")))
        return false;
    for (size_t i = 4; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_'))
            return false;
    }
    return true;
}

/* An entry alone in its format: JSON and NDJSON are the entry itself, a batch or a table has
 * one row. */
static enum rc put_alone(struct feed_page_out *x, const struct public_change *c, struct err *err)
{
    if (x->format == &feed_formats[0]) {
        feed_put_entry(x->out, c->seq, c->doc, x->base);
        return RC_OK;
    }
    x->n = 1;
    x->format->head(x);
    TRY(x->format->entry(x, c, err));
    x->format->tail(x);
    return RC_OK;
}

enum rc feed_entry(struct req *r, struct resp *w, struct err *err)
{
    CLEANUP(arena_release) struct arena row = {0};
    struct public_meta m = {0};
    struct public_change c = {0};
    struct feed_query q;
    struct feed_page_out x = {.out = &w->body, .base = r->base, .q = &q, .row = &row};
    arena_init(&row, ENTRY_MEMORY_MAX);
    feed_query_init(&q);
    if (!is_event_id(r->path_vars[0]))
        return route_not_found(err);
    TRY(public_meta_get(r->ledger, r->arena, &m, err));
    TRY(route_lookup(public_change_get(r->ledger, r->arena, r->path_vars[0], &c, err), err));
    TRY(choose(r, w, true, &x.format, err));
    TRY(put_alone(&x, &c, err));
    prov_link(w, r->base, c.doc);
    struct etag e = etag_start(m.policy_version, r->base);
    etag_int(&e, c.seq);
    etag_int(&e, c.gen);
    etag_str(&e, str_of(x.format->name));
    etag_set(&e, w);
    w->last_modified = c.finalized_at;
    return RC_OK;
}
