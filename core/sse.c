/* sse: lines are put together from pieces; a line moves a field, an empty line tells the event.
 * Pure. */
#include "core/sse.h"

#include <stdio.h>

#define RETRY_MAX_MS 86400000 /* who wants to be left alone for longer is asked once a day */

void sse_init(struct sse *s, const char *last_id)
{
    *s = (struct sse){.retry_ms = -1};
    buf_init(&s->line, SSE_LINE_MAX);
    buf_init(&s->data, SSE_DATA_MAX);
    snprintf(s->last_id, sizeof s->last_id, "%s", last_id);
    sse_restart(s);
}

void sse_release(struct sse *s)
{
    buf_release(&s->line);
    buf_release(&s->data);
}

static void begin_block(struct sse *s)
{
    buf_clear(&s->data);
    s->type[0] = '\0';
    s->has_data = s->skips_type = false;
}

void sse_restart(struct sse *s)
{
    begin_block(s);
    buf_clear(&s->line);
    memcpy(s->id, s->last_id, sizeof s->id);
    s->after_cr = false;
    s->bom = 0;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static bool fits(struct str value, size_t room)
{
    return value.n < room && str_is_clean(value);
}

static void copy(char *to, struct str value)
{
    memcpy(to, value.p, value.n);
    to[value.n] = '\0';
}

static void on_data(struct sse *s, struct str value)
{
    buf_str(&s->data, value);
    buf_byte(&s->data, '\n'); /* the last one is taken off again */
    s->has_data = true;
}

/* A type nobody can name is none of those that somebody waits for. */
static void on_type(struct sse *s, struct str value)
{
    s->skips_type = !fits(value, sizeof s->type);
    if (!s->skips_type)
        copy(s->type, value);
}

static void on_id(struct sse *s, struct str value)
{
    if (fits(value, sizeof s->id))
        copy(s->id, value);
}

static void on_retry(struct sse *s, struct str value)
{
    int64_t ms = 0;
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9')
            return;
        ms = ms * 10 + (value.p[i] - '0');
        if (ms > RETRY_MAX_MS)
            ms = RETRY_MAX_MS;
    }
    if (value.n > 0)
        s->retry_ms = ms;
}

static const struct {
    const char *name;
    void (*take)(struct sse *s, struct str value);
} fields[] = {{"data", on_data}, {"event", on_type}, {"id", on_id}, {"retry", on_retry}};

/* ---- lines ----------------------------------------------------------------------------------- */

static enum rc end_block(struct sse *s, sse_fn *fn, void *ctx)
{
    enum rc rc = RC_OK;
    memcpy(s->last_id, s->id, sizeof s->last_id);
    if (s->has_data && !s->skips_type) {
        struct str data = buf_view(&s->data);
        data.n--;
        rc = fn(ctx, &(struct sse_event){str_of(s->type[0] ? s->type : "message"), data});
    }
    begin_block(s);
    return rc;
}

static enum rc end_line(struct sse *s, sse_fn *fn, void *ctx)
{
    struct str value = buf_view(&s->line), name;
    if (value.n == 0)
        return end_block(s, fn, ctx);
    (void)str_next(&value, ':', &name); /* a line that begins with ':' is a comment: no name */
    if (value.n > 0 && value.p[0] == ' ')
        value = (struct str){value.p + 1, value.n - 1};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (str_is(name, fields[i].name))
            fields[i].take(s, value);
    buf_clear(&s->line);
    return buf_rc(&s->data);
}

/* One byte order mark, also in pieces, may stand before everything else. What only began like one
 * belongs to the first line. */
static bool takes_bom(struct sse *s, char c)
{
    static const char mark[3] = {'\xef', '\xbb', '\xbf'};
    if (s->bom > 2)
        return false;
    if (c == mark[s->bom]) {
        s->bom++;
        return true;
    }
    buf_add(&s->line, mark, (size_t)s->bom);
    s->bom = 3;
    return false;
}

static enum rc add_byte(struct sse *s, char c, sse_fn *fn, void *ctx)
{
    bool second = s->after_cr && c == '\n'; /* of CRLF */
    s->after_cr = c == '\r';
    if (second)
        return RC_OK;
    if (c == '\r' || c == '\n')
        return end_line(s, fn, ctx);
    buf_byte(&s->line, c);
    return buf_rc(&s->line);
}

/* Bytes up to the next line end go in together. */
static size_t plain_bytes(struct str piece)
{
    size_t n = 0;
    while (n < piece.n && piece.p[n] != '\r' && piece.p[n] != '\n')
        n++;
    return n;
}

enum rc sse_add(struct sse *s, struct str piece, sse_fn *fn, void *ctx)
{
    while (piece.n > 0) {
        size_t n = s->bom > 2 && !s->after_cr ? plain_bytes(piece) : 0;
        if (n > 0) {
            buf_add(&s->line, piece.p, n);
            TRY(buf_rc(&s->line));
        } else {
            n = 1;
            if (!takes_bom(s, *piece.p))
                TRY(add_byte(s, *piece.p, fn, ctx));
        }
        piece = (struct str){piece.p + n, piece.n - n};
    }
    return RC_OK;
}
