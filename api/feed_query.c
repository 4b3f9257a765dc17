/* feed_query: the parameters of the feed, and its addresses.
 *
 * Invariants
 *   1. A filter that cannot match (an unknown type, a box that is none) is an error that names it,
 *      not an empty page.
 *   2. Links repeat all filters: following them never widens what was asked.
 * Called by feed and by the command line. */
#include "api/feed.h"

#include <math.h>
#include <stdlib.h>
#include "core/clock.h"

void feed_query_init(struct feed_query *q)
{
    *q = (struct feed_query){
        .limit = FEED_LIMIT_DEFAULT,
        .wait_ms = -1,
        .filter = {.from = PUBLIC_OPEN, .until = PUBLIC_OPEN, .unexpected = -1}};
}

bool feed_is_descending(const struct feed_query *q)
{
    return q->order == FEED_ORDER_DESC || (q->order == FEED_ORDER_DEFAULT && !q->has_since);
}

/* ---- places ---------------------------------------------------------------------------------- */

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

static enum rc set_before(struct feed_query *q, struct str v, struct err *err)
{
    TRY(set_cursor("before", v, &q->before, err));
    if (q->before == 0)
        return err_set(err, RC_INVALID, "before", "is not a sequence number of this feed");
    return RC_OK;
}

static enum rc set_order(struct feed_query *q, struct str v, struct err *err)
{
    if (!str_is(v, "asc") && !str_is(v, "desc"))
        return err_set(err, RC_INVALID, "order", "must be asc or desc");
    q->order = str_is(v, "asc") ? FEED_ORDER_ASC : FEED_ORDER_DESC;
    return RC_OK;
}

static enum rc set_limit(struct feed_query *q, struct str v, struct err *err)
{
    return param_limit(v, FEED_LIMIT_DEFAULT, FEED_LIMIT_MAX, &q->limit, err);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static enum rc set_feed(struct feed_query *q, struct str v, struct err *err)
{
    q->waits = str_is(v, "longpoll");
    return q->waits ? RC_OK : err_set(err, RC_INVALID, "feed", "must be longpoll");
}

static enum rc set_timeout(struct feed_query *q, struct str v, struct err *err)
{
    int64_t ms = FEED_WAIT_MAX_MS;
    bool digits = v.n > 0 && strspn(v.p, "0123456789") >= v.n;
    if (!digits)
        return err_set(err, RC_INVALID, "timeout", "must be milliseconds, from 0 to %d",
                       FEED_WAIT_MAX_MS);
    if (str_to_i64(v, &ms) != RC_OK || ms > FEED_WAIT_MAX_MS)
        ms = FEED_WAIT_MAX_MS;
    q->wait_ms = ms;
    return RC_OK;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Splits a comma list of ids; text also becomes ",one,two,". */
static enum rc read_list(const char *name, struct str v, struct str items[FEED_LIST_MAX],
                         size_t *ret_n, char text[FEED_LIST_BYTES], struct err *err)
{
    struct str item;
    size_t n = 0, used = 0;
    if (v.n == 0 || v.p[v.n - 1] == ',')
        return err_set(err, RC_INVALID, name, "must be names with commas between");
    while (str_next(&v, ',', &item)) {
        if (!str_is_slug(item, 64))
            return err_set(err, RC_INVALID, name,
                           "names are made of a-z, 0-9, _ and -, at most 64 of them");
        if (n == FEED_LIST_MAX)
            return err_set(err, RC_INVALID, name, "at most %d names are taken", FEED_LIST_MAX);
        items[n++] = item;
        used += (size_t)snprintf(text + used, FEED_LIST_BYTES - used, ",%.*s", STR_FMT(item));
    }
    snprintf(text + used, FEED_LIST_BYTES - used, ",");
    *ret_n = n;
    return RC_OK;
}

static enum rc set_sources(struct feed_query *q, struct str v, struct err *err)
{
    char unused[FEED_LIST_BYTES];
    return read_list("source", v, q->sources, &q->n_sources, unused, err);
}

static enum rc set_collections(struct feed_query *q, struct str v, struct err *err)
{
    TRY(read_list("collection", v, q->collections, &q->n_collections, q->lists[0], err));
    q->filter.collections = q->lists[0];
    q->filtered = true;
    return RC_OK;
}

static bool is_word_of(struct str item, const char *words)
{
    struct str rest = str_of(words), word;
    while (str_next(&rest, ' ', &word))
        if (str_eq(item, word))
            return true;
    return false;
}

/* words: those that there are, NULL where anything may come. */
static enum rc set_words(struct feed_query *q, const char *name, struct str v, const char *words,
                         char list[FEED_LIST_BYTES], const char **ret, struct err *err)
{
    struct str items[FEED_LIST_MAX];
    size_t n = 0;
    TRY(read_list(name, v, items, &n, list, err));
    for (size_t i = 0; words && i < n; i++)
        if (!is_word_of(items[i], words))
            return err_set(err, RC_INVALID, name, "must be among: %s", words);
    *ret = list;
    q->filtered = true;
    return RC_OK;
}

static enum rc set_type(struct feed_query *q, struct str v, struct err *err)
{
    return set_words(q, "type", v, "new modified deleted reinstated rollback", q->lists[1],
                     &q->filter.types, err);
}

static enum rc set_class(struct feed_query *q, struct str v, struct err *err)
{
    return set_words(q, "class", v, "content schema byte_only new deleted reinstated rollback",
                     q->lists[2], &q->filter.classes, err);
}

static enum rc set_detector(struct feed_query *q, struct str v, struct err *err)
{
    return set_words(q, "detector", v, NULL, q->lists[3], &q->filter.detectors, err);
}

/* ---- place, time, surprise ------------------------------------------------------------------- */

static bool read_number(struct str s, double *ret)
{
    char text[32], *end;
    s = str_trim(s);
    if (s.n == 0 || s.n >= sizeof text || strspn(s.p, "+-.0123456789eE") < s.n)
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = 0;
    *ret = strtod(text, &end);
    return *end == 0 && isfinite(*ret);
}

static enum rc set_bbox(struct feed_query *q, struct str v, struct err *err)
{
    double b[6];
    struct str item;
    size_t n = 0;
    while (n <= 6 && str_next(&v, ',', &item))
        if (n == 6 || !read_number(item, &b[n++]))
            return err_set(err, RC_INVALID, "bbox", "must be 4 or 6 numbers with commas between");
    if (n != 4 && n != 6)
        return err_set(err, RC_INVALID, "bbox", "must be 4 or 6 numbers with commas between");
    const double box[4] = {b[0], b[1], b[n / 2], b[n / 2 + 1]};
    bool off = fabs(box[0]) > 180 || fabs(box[2]) > 180 || fabs(box[1]) > 90 || fabs(box[3]) > 90;
    if (off || box[1] > box[3])
        return err_set(err, RC_INVALID, "bbox",
                       "is west,south,east,north in degrees, south not above north");
    memcpy(q->filter.bbox, box, sizeof box);
    q->filter.has_bbox = q->filtered = true;
    return RC_OK;
}

static bool read_end(struct str s, int64_t *ret)
{
    *ret = PUBLIC_OPEN;
    return s.n == 0 || str_is(s, "..") || time_parse(s, ret) == RC_OK;
}

static enum rc set_datetime(struct feed_query *q, struct str v, struct err *err)
{
    const char *slash = v.n ? memchr(v.p, '/', v.n) : NULL;
    struct str from = {v.p, slash ? (size_t)(slash - v.p) : v.n}, until = from;
    if (slash)
        until = (struct str){slash + 1, v.n - from.n - 1};
    struct public_change_filter *f = &q->filter;
    if (!read_end(from, &f->from) || !read_end(until, &f->until) ||
        (f->from == PUBLIC_OPEN && f->until == PUBLIC_OPEN))
        return err_set(
            err, RC_INVALID, "datetime",
            "must be a time like 2026-07-02T10:00:00Z, or two with / between, of which one "
            "may be ..");
    if (f->until != PUBLIC_OPEN && f->from > f->until)
        return err_set(err, RC_INVALID, "datetime", "begins after its end");
    q->filtered = true;
    return RC_OK;
}

static enum rc set_unexpected(struct feed_query *q, struct str v, struct err *err)
{
    if (!str_is(v, "true") && !str_is(v, "false"))
        return err_set(err, RC_INVALID, "unexpected", "must be true or false");
    q->filter.unexpected = str_is(v, "true");
    q->filtered = true;
    return RC_OK;
}

static const struct {
    const char *name;
    enum rc (*set)(struct feed_query *q, struct str v, struct err *err);
    bool filter; /* links repeat it */
} params[] = {{"since", set_since, false},      {"before", set_before, false},
              {"order", set_order, false},      {"limit", set_limit, false},
              {"feed", set_feed, false},        {"timeout", set_timeout, false},
              {"source", set_sources, true},    {"collection", set_collections, true},
              {"type", set_type, true},         {"class", set_class, true},
              {"detector", set_detector, true}, {"bbox", set_bbox, true},
              {"datetime", set_datetime, true}, {"unexpected", set_unexpected, true}};

enum rc feed_query_set(struct feed_query *q, const char *name, struct str value, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(params); i++) {
        if (strcmp(params[i].name, name) != 0)
            continue;
        TRY(params[i].set(q, value, err));
        if (params[i].filter && q->n_given < FEED_FILTERS_MAX)
            q->given[q->n_given++] = (struct param){str_of(params[i].name), value};
        return RC_OK;
    }
    return err_set(err, RC_INVALID, name, "is not a parameter of the feed");
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* Commas, colons and slashes may stand in a query as they are. */
static void put_value(struct buf *out, struct str v)
{
    for (size_t i = 0; i < v.n; i++) {
        if (v.p[i] == ',' || v.p[i] == ':' || v.p[i] == '/')
            buf_byte(out, v.p[i]);
        else
            http_encode(out, (struct str){v.p + i, 1});
    }
}

static void put_filters(struct buf *out, const struct feed_query *q, char before)
{
    for (size_t i = 0; i < q->n_given; i++) {
        buf_byte(out, i ? '&' : before);
        buf_str(out, q->given[i].name);
        buf_byte(out, '=');
        put_value(out, q->given[i].value);
    }
}

void feed_put_id(struct buf *out, const struct feed_query *q, struct str base)
{
    buf_str(out, base);
    buf_puts(out, "/changes");
    put_filters(out, q, '?');
}

void feed_put_href(struct buf *out, const struct feed_query *q, struct str base, const char *cursor,
                   int64_t at)
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
    put_filters(out, q, '&');
    if (q->format)
        buf_printf(out, "&f=%s", q->format);
}
