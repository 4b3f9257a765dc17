/* fetch_head: reads the header lines of a response into a fetch_res. Pure: bytes in, fields out.
 *
 * Invariants
 *   1. A field that came twice, was folded over lines, is too long, is not UTF-8 or holds control
 *      characters is as good as absent. Nobody honest sends such, and a guess would be stored.
 *   2. Fields belong to the last response only: interim (1xx) ones are forgotten, trailers ignored.
 *   3. Validators are kept byte for byte, so that they can be echoed.
 */
#include <stddef.h>
#include "core/clock.h"
#include "core/fetch_internal.h"

enum kind { TEXT, ETAG, LENGTH, RETRY, DATE };

#define FIELD(name, kind, member)                                                                  \
    {                                                                                              \
        name, sizeof(name) - 1, kind, offsetof(struct fetch_res, member),                          \
            sizeof(((struct fetch_res *)0)->member)                                                \
    }

static const struct field {
    const char *name;
    size_t len;
    enum kind kind;
    size_t at, room;
} fields[] = {
    FIELD("ETag", ETAG, etag),
    FIELD("Last-Modified", TEXT, last_modified),
    FIELD("Content-Type", TEXT, content_type),
    FIELD("Content-Encoding", TEXT, content_encoding),
    FIELD("Transfer-Encoding", TEXT, transfer_encoding),
    FIELD("Location", TEXT, location),
    FIELD("Content-Length", LENGTH, content_length),
    FIELD("Retry-After", RETRY, retry_after_ms),
    FIELD("Date", DATE, date_ms),
};
_Static_assert(ARRAY_LEN(fields) <= 8 * sizeof(unsigned), "a bit of fetch_head.seen per field");

static bool is_text(const struct field *f)
{
    return f->kind == TEXT || f->kind == ETAG;
}

static void clear(const struct field *f, struct fetch_res *res)
{
    char *at = (char *)res + f->at;
    if (is_text(f))
        *at = '\0';
    else
        memcpy(at, &(int64_t){-1}, sizeof(int64_t));
}

/* [W/]"opaque": no quote inside. */
static bool etag_ok(struct str v)
{
    if (str_starts(v, STR("W/")))
        v = (struct str){v.p + 2, v.n - 2};
    return v.n >= 2 && v.p[0] == '"' && memchr(v.p + 1, '"', v.n - 1) == v.p + v.n - 1;
}

/* Printable ASCII, as nearly all values are: clean, and UTF-8. */
static bool is_plain(struct str v)
{
    unsigned char odd = 0;
    for (size_t i = 0; i < v.n; i++)
        odd |= (unsigned char)(v.p[i] - 0x20) > 0x7e - 0x20;
    return !odd;
}

static void set_text(const struct field *f, struct fetch_res *res, struct str v)
{
    if (v.n >= f->room || (!is_plain(v) && (!str_is_clean(v) || !str_is_utf8(v))))
        return;
    if (f->kind == ETAG && !etag_ok(v))
        return;
    char *at = (char *)res + f->at;
    memcpy(at, v.p, v.n);
    at[v.n] = '\0';
}

static enum rc read_date(struct fetch_head *h, struct str v, int64_t *ret)
{
    if (v.n >= sizeof h->date)
        return RC_INVALID;
    if (!str_is(v, h->date)) {
        TRY(time_parse_http(v, &h->date_ms));
        snprintf(h->date, sizeof h->date, "%.*s", STR_FMT(v));
    }
    *ret = h->date_ms;
    return RC_OK;
}

static void set_number(struct fetch_head *h, const struct field *f, struct fetch_res *res,
                       struct str v)
{
    int64_t n = -1;
    if (f->kind == LENGTH && (str_to_i64(v, &n) != RC_OK || n < 0))
        return;
    if (f->kind == DATE && read_date(h, v, &n) != RC_OK)
        return;
    if (f->kind == RETRY)
        n = fetch_retry_after(v, clock_now());
    memcpy((char *)res + f->at, &n, sizeof n);
}

void fetch_head_begin(struct fetch_head *h, struct fetch_res *res)
{
    h->seen = 0;
    h->last = -1;
    h->done = false;
    res->http = 0;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        clear(&fields[i], res);
}

/* "HTTP/1.1 304 Not Modified": the three digits after the first space, 0 when there are none. */
static int status_of(struct str line)
{
    int64_t n = 0;
    const char *space = memchr(line.p, ' ', line.n);
    if (!space || line.n - (size_t)(space - line.p) < 4)
        return 0;
    return str_to_i64((struct str){space + 1, 3}, &n) == RC_OK && n > 0 ? (int)n : 0;
}

static void take_field(struct fetch_head *h, struct fetch_res *res, struct str name, struct str v)
{
    h->last = -1;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const struct field *f = &fields[i];
        if (name.n != f->len || !str_ieq(name, (struct str){f->name, f->len}))
            continue;
        h->last = (int)i;
        if (h->seen & 1u << i)
            clear(f, res);
        else if (is_text(f))
            set_text(f, res, v);
        else
            set_number(h, f, res, v);
        h->seen |= 1u << i;
        return;
    }
}

/* Spaces and tabs only: a stray CR stays in, and makes the value unclean. */
static struct str trim_blanks(struct str s)
{
    while (s.n && (*s.p == ' ' || *s.p == '\t'))
        s = (struct str){s.p + 1, s.n - 1};
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

static struct str without_crlf(struct str line)
{
    if (line.n && line.p[line.n - 1] == '\n')
        line.n--;
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    return line;
}

void fetch_head_line(struct fetch_head *h, struct fetch_res *res, struct str line)
{
    struct str name;
    if (h->done)
        return;
    line = without_crlf(line);
    if (!line.n) {
        h->done = res->http >= 200;
    } else if (*line.p == 'H' && str_starts(line, STR("HTTP/"))) {
        fetch_head_begin(h, res);
        res->http = status_of(line);
        res->streams = !str_starts(line, STR("HTTP/1"));
    } else if (*line.p == ' ' || *line.p == '\t') {
        if (h->last >= 0)
            clear(&fields[h->last], res);
    } else if (str_next(&line, ':', &name)) {
        take_field(h, res, name, trim_blanks(line));
    }
}
