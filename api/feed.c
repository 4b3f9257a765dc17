/* feed: /changes and /changes/{id}.
 *
 * Invariants (those of feed.h, and)
 *   1. Rows go from the ledger into the one output buffer, without a copy between.
 *   2. `before` is our own parameter: where going back continues. `since` bounds the old end in
 *      both orders.
 * Called by the route table and by the command line. */
#include "api/feed.h"

#include "core/clock.h"

#define EVENT_ID_MAX 64
#define POLL_INTERVAL_S 10 /* what we ask polite followers to wait between two looks */

void feed_query_init(struct feed_query *q)
{
    *q = (struct feed_query){.limit = FEED_LIMIT_DEFAULT};
}

/* ---- parameters ------------------------------------------------------------------------------- */

/* A place in the sequence: digits only, no sign, no zero in front. */
static enum rc set_cursor(const char *name, struct str v, int64_t *ret, struct err *err)
{
    bool odd = v.n == 0 || v.p[0] == '-' || (v.n > 1 && v.p[0] == '0');
    if (odd || str_to_i64(v, ret) != RC_OK)
        return err_set(err, RC_INVALID, name, "is not a sequence number of this feed");
    return RC_OK;
}

static enum rc set_since(struct feed_query *q, struct str v, struct err *err)
{
    q->since_now = str_is(v, "now");
    if (!q->since_now)
        TRY(set_cursor("since", v, &q->since, err));
    q->has_since = true;
    return RC_OK;
}

static enum rc set_order(struct feed_query *q, struct str v, struct err *err)
{
    if (!str_is(v, "asc") && !str_is(v, "desc"))
        return err_set(err, RC_INVALID, "order", "must be asc or desc");
    q->order = str_is(v, "asc") ? FEED_ORDER_ASC : FEED_ORDER_DESC;
    return RC_OK;
}

static enum rc set_sources(struct feed_query *q, struct str v, struct err *err)
{
    struct str item;
    q->n_sources = 0;
    if (v.n == 0 || v.p[v.n - 1] == ',')
        return err_set(err, RC_INVALID, "source", "must be ids of sources, with commas between");
    while (str_next(&v, ',', &item)) {
        if (!str_is_slug(item, SIZE_MAX))
            return err_set(err, RC_INVALID, "source", "ids are made of a-z, 0-9, _ and -");
        if (q->n_sources == FEED_SOURCES_MAX)
            return err_set(err, RC_INVALID, "source", "at most %d ids are taken", FEED_SOURCES_MAX);
        q->sources[q->n_sources++] = item;
    }
    return RC_OK;
}

static enum rc set_before(struct feed_query *q, struct str v, struct err *err)
{
    TRY(set_cursor("before", v, &q->before, err));
    if (q->before == 0)
        return err_set(err, RC_INVALID, "before", "is not a sequence number of this feed");
    return RC_OK;
}

enum rc feed_query_set(struct feed_query *q, const char *name, struct str value, struct err *err)
{
    struct str n = str_of(name);
    if (str_is(n, "since"))
        return set_since(q, value, err);
    if (str_is(n, "before"))
        return set_before(q, value, err);
    if (str_is(n, "order"))
        return set_order(q, value, err);
    if (str_is(n, "source"))
        return set_sources(q, value, err);
    if (str_is(n, "limit"))
        return param_limit(value, FEED_LIMIT_DEFAULT, FEED_LIMIT_MAX, &q->limit, err);
    return err_set(err, RC_INVALID, name, "is not a parameter of the feed");
}

/* ---- rendering -------------------------------------------------------------------------------- */

struct render {
    struct buf *out;
    struct str base;
    int64_t floor; /* newest first: rows down to this one are wanted */
    int64_t n, first, last, newest;
    bool coarse;
    struct etag etag;
};

void feed_put_entry(struct buf *out, int64_t seq, struct str doc, struct str base)
{
    buf_str(out, STR("{\"seq\":\""));
    put_digits(out, seq);
    buf_str(out, STR("\","));
    json_put_based(out, (struct str){doc.p + 1, doc.n - 1}, base);
}

static enum rc put_row(void *ctx, const struct public_change *c, struct err *err)
{
    struct render *x = ctx;
    (void)err;
    if (c->seq <= x->floor)
        return RC_OK;
    if (x->n++ == 0)
        x->first = c->seq;
    else
        buf_byte(x->out, ',');
    x->last = c->seq;
    x->newest = c->finalized_at > x->newest ? c->finalized_at : x->newest;
    x->coarse = x->coarse || c->finalized_at % DAY_MS == 0;
    etag_int(&x->etag, c->seq);
    etag_int(&x->etag, c->gen);
    feed_put_entry(x->out, c->seq, c->doc, x->base);
    return RC_OK;
}

static bool is_descending(const struct feed_query *q)
{
    return q->order == FEED_ORDER_DESC || (q->order == FEED_ORDER_DEFAULT && !q->has_since);
}

static enum rc check_cursor(const struct feed_query *q, const struct public_meta *m,
                            int64_t *ret_first_seq, struct err *err)
{
    if (q->has_since && !q->since_now && q->since > m->last_seq)
        return err_set(err, RC_INVALID, "since", "lies in the future of this feed");
    if (q->before > m->last_seq + 1)
        return err_set(err, RC_INVALID, "before", "lies in the future of this feed");
    if (q->before && !is_descending(q))
        return err_set(err, RC_INVALID, "before", "goes with order=desc only");
    if (!q->has_since || q->since_now || q->since == 0 || q->since >= m->first_seq - 1)
        return RC_OK;
    if (ret_first_seq)
        *ret_first_seq = m->first_seq;
    return err_set(err, RC_GONE, "since", "is older than the feed keeps; start again at since=0");
}

static void put_href(struct buf *out, const struct feed_query *q, struct str base,
                     const char *cursor, int64_t at)
{
    buf_str(out, base);
    buf_printf(out, "/changes?limit=%lld", (long long)q->limit);
    bool since = cursor && strcmp(cursor, "since") == 0;
    if (q->has_since && !since && q->since_now)
        buf_puts(out, "&since=now");
    else if (q->has_since && !since)
        buf_printf(out, "&since=%lld", (long long)q->since);
    if (cursor)
        buf_printf(out, "&%s=%lld", cursor, (long long)at);
    else if (q->before)
        buf_printf(out, "&before=%lld", (long long)q->before);
    if (q->order != FEED_ORDER_DEFAULT)
        buf_printf(out, "&order=%s", q->order == FEED_ORDER_ASC ? "asc" : "desc");
    for (size_t i = 0; i < q->n_sources; i++) {
        buf_puts(out, i ? "," : "&source=");
        buf_str(out, q->sources[i]);
    }
}

static void put_links(const struct render *x, const struct feed_query *q, int64_t pending)
{
    buf_puts(x->out, ",\"links\":[{\"rel\":\"self\",\"href\":\"");
    put_href(x->out, q, x->base, NULL, 0);
    buf_puts(x->out, "\",\"type\":\"application/json\"}");
    if (pending > 0) {
        buf_puts(x->out, ",{\"rel\":\"next\",\"href\":\"");
        put_href(x->out, q, x->base, is_descending(q) ? "before" : "since", x->last);
        buf_puts(x->out, "\",\"type\":\"application/json\"}");
    }
    buf_byte(x->out, ']');
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
                        struct render *x, int64_t *ret_pending, struct err *err)
{
    bool desc = is_descending(q);
    struct public_change_query pq = {.after = since,
                                     .descending = desc,
                                     .limit = q->limit,
                                     .sources = q->sources,
                                     .n_sources = q->n_sources};
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
static int64_t last_seq(const struct feed_query *q, const struct render *x, int64_t tip,
                        int64_t pending)
{
    int64_t newest = x->last > x->first ? x->last : x->first;
    if (!is_descending(q) && pending > 0)
        return x->last;
    return newest > tip ? newest : tip;
}

enum rc feed_render_page(struct ledger *l, struct arena *a, const struct feed_query *q,
                         struct str base, struct buf *out, struct feed_page *ret_page,
                         int64_t *ret_first_seq, struct err *err)
{
    struct public_meta m = {0};
    int64_t pending = 0;
    TRY(public_meta_get(l, a, &m, err));
    TRY(check_cursor(q, &m, ret_first_seq, err));
    struct render x = {.out = out, .base = base, .newest = -1};
    x.etag = etag_start(m.policy_version, base);
    buf_puts(out, "{\"results\":[");
    TRY(put_rows(l, q, q->since_now ? m.last_seq : q->since, &x, &pending, err));
    int64_t last = last_seq(q, &x, m.last_seq, pending);
    buf_printf(out, "],\"last_seq\":\"%lld\",\"first_seq\":\"%lld\",\"pending\":%lld",
               (long long)last, (long long)m.first_seq, (long long)pending);
    put_links(&x, q, pending);
    buf_byte(out, '}');
    if (buf_rc(out) != RC_OK)
        return err_set(err, buf_rc(out), "limit", "the page is too large; ask for fewer entries");
    etag_int(&x.etag, last);
    etag_int(&x.etag, m.first_seq);
    etag_int(&x.etag, pending);
    if (ret_page)
        *ret_page = (struct feed_page){x.etag, x.newest, x.coarse || q->has_since || q->before};
    return RC_OK;
}

enum rc feed_render(struct ledger *l, struct arena *a, const struct feed_query *q, struct str base,
                    struct buf *out, struct err *err)
{
    return feed_render_page(l, a, q, base, out, NULL, NULL, err);
}

/* ---- routes ----------------------------------------------------------------------------------- */

enum rc feed_list(struct req *r, struct resp *w, struct err *err)
{
    struct feed_query q;
    struct feed_page page = {0};
    int64_t first_seq = -1;
    feed_query_init(&q);
    for (size_t i = 0; i < r->n_params; i++) {
        const char *name = arena_str(r->arena, r->params[i].name);
        if (!name)
            return err_set(err, RC_NOMEM, "", "no memory for a parameter");
        TRY(feed_query_set(&q, name, r->params[i].value, err));
    }
    enum rc rc =
        feed_render_page(r->ledger, r->arena, &q, r->base, &w->body, &page, &first_seq, err);
    if (rc == RC_GONE)
        buf_printf(&w->extra, ",\"first_seq\":\"%lld\"", (long long)first_seq);
    TRY(rc);
    etag_set(&page.etag, w);
    w->last_modified = page.newest;
    w->etag_only = page.coarse;
    resp_header(w, "X-Poll-Interval", "%d", POLL_INTERVAL_S);
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

enum rc feed_entry(struct req *r, struct resp *w, struct err *err)
{
    struct public_meta m = {0};
    struct public_change c = {0};
    if (!is_event_id(r->path_vars[0]))
        return route_not_found(err);
    TRY(public_meta_get(r->ledger, r->arena, &m, err));
    TRY(route_lookup(public_change_get(r->ledger, r->arena, r->path_vars[0], &c, err), err));
    feed_put_entry(&w->body, c.seq, c.doc, r->base);
    struct etag e = etag_start(m.policy_version, r->base);
    etag_int(&e, c.seq);
    etag_int(&e, c.gen);
    etag_set(&e, w);
    w->last_modified = c.finalized_at;
    return RC_OK;
}
