/* http: writing of what a client gets.
 *
 * Invariants (those of http.h, and)
 *   1. No header line is made of bytes that could end it.
 *   2. A problem is written from the struct err and the errors added, from nothing else.
 * Called by route, the fronts (fcgi, stream_http) and the routes; knows neither FastCGI nor SQL. */
#include "api/http.h"

#include <stdarg.h>
#include "api/put.h"
#include "core/clock.h"

#define ERRORS_MAX (8u << 10) /* a client that sends 32 wrong parameters learns of all of them */
#define EXTRA_MAX (64u << 10) /* a thousand deltas of what must be taken back first */
/* A larger buffer is given back, so that one page does not stay paid. */
#define BODY_KEEP (1u << 20)

/* ---- response -------------------------------------------------------------------------------- */

static void resp_reset(struct resp *w)
{
    w->status = 200;
    w->content_type = "application/json";
    w->etag[0] = 0;
    w->last_modified = -1;
    w->hand_over[0] = 0;
    w->etag_only = w->cors = false;
    w->cache_control = NULL;
    w->route = "";
}

void resp_init(struct resp *w)
{
    *w = (struct resp){0};
    buf_init(&w->body, RESP_BODY_MAX);
    buf_init(&w->headers, RESP_HEADERS_MAX);
    buf_init(&w->errors, ERRORS_MAX);
    buf_init(&w->extra, EXTRA_MAX);
    resp_reset(w);
}

void resp_clear(struct resp *w)
{
    if (w->body.room > BODY_KEEP)
        buf_release(&w->body);
    buf_clear(&w->body);
    buf_clear(&w->headers);
    buf_clear(&w->errors);
    buf_clear(&w->extra);
    resp_reset(w);
}

void resp_release(struct resp *w)
{
    buf_release(&w->body);
    buf_release(&w->headers);
    buf_release(&w->errors);
    buf_release(&w->extra);
}

void resp_header(struct resp *w, const char *name, const char *fmt, ...)
{
    char value[RESP_VALUE_MAX];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(value, sizeof value, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof value || !str_is_clean(str_of(value)))
        return;
    buf_printf(&w->headers, "%s: %s\r\n", name, value);
}

void resp_link(struct resp *w, struct str base, const char *path, const char *id, const char *rel)
{
    struct buf *b = &w->headers;
    if (!str_is_clean(base) || !str_is_clean(str_of(id)))
        return;
    buf_str(b, STR("Link: <"));
    buf_str(b, base);
    buf_puts(b, path);
    buf_puts(b, id);
    buf_str(b, STR(">; rel=\""));
    buf_puts(b, rel);
    buf_str(b, STR("\"\r\n"));
}

void resp_error(struct resp *w, struct str field, const char *message)
{
    buf_puts(&w->errors, w->errors.len ? ",{\"field\":" : "{\"field\":");
    json_put_str(&w->errors, field);
    buf_puts(&w->errors, ",\"message\":");
    json_put_str(&w->errors, str_of(message));
    buf_byte(&w->errors, '}');
}

/* What may be said of an error: causes inside are for the log, not for strangers. */
static const char *public_detail(const struct err *err)
{
    return rc_http(err->rc) == 500 || err->msg[0] == 0 ? rc_title(err->rc) : err->msg;
}

void resp_problem(struct resp *w, const struct req *r, const struct err *err)
{
    struct buf *b = &w->body;
    bool shown = rc_http(err->rc) != 500;
    if (shown && err->field[0] && w->errors.len == 0)
        resp_error(w, str_of(err->field), err->msg);
    w->status = rc_http(err->rc);
    w->content_type = "application/problem+json";
    w->etag[0] = 0;
    w->last_modified = -1;
    w->hand_over[0] = 0;
    w->cache_control = "no-store";
    buf_clear(b);
    buf_puts(b, "{\"type\":\"");
    buf_str(b, r->base);
    buf_printf(b, "/problems/#%s\",\"title\":", rc_slug(err->rc));
    json_put_str(b, str_of(rc_title(err->rc)));
    buf_printf(b, ",\"status\":%d,\"detail\":", w->status);
    json_put_str(b, str_of(public_detail(err)));
    buf_printf(b, ",\"code\":\"%s\",\"errors\":[", rc_name(err->rc));
    buf_str(b, buf_view(&w->errors));
    buf_byte(b, ']');
    buf_str(b, buf_view(&w->extra));
    buf_byte(b, '}');
}

/* ---- header block ---------------------------------------------------------------------------- */

static const char *reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } table[] = {
        {200, "OK"},
        {202, "Accepted"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {409, "Conflict"},
        {410, "Gone"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {429, "Too Many Requests"},
        {500, "Internal Server Error"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].status == status)
            return table[i].text;
    return "Unknown";
}

static void put_line(struct buf *out, const char *name, const char *value)
{
    buf_puts(out, name);
    buf_str(out, STR(": "));
    buf_puts(out, value);
    buf_str(out, STR("\r\n"));
}

static void head_content(const struct resp *w, struct buf *out)
{
    bool bodyless = w->status == 304 || w->status == 204;
    if (!bodyless)
        put_line(out, "Content-Type", w->content_type);
    if (w->hand_over[0]) {
        put_line(out, "X-Accel-Redirect", w->hand_over);
    } else if (!bodyless) {
        buf_str(out, STR("Content-Length: "));
        put_digits(out, (int64_t)w->body.len);
        buf_str(out, STR("\r\n"));
    }
}

static void head_validators(const struct resp *w, struct buf *out)
{
    char date[TIME_MAX];
    if (w->etag[0])
        put_line(out, "ETag", w->etag);
    if (w->last_modified >= 0) {
        time_http(w->last_modified, date);
        put_line(out, "Last-Modified", date);
    }
    if (w->cache_control)
        put_line(out, "Cache-Control", w->cache_control);
}

void resp_head(const struct resp *w, const struct req *r, struct buf *out)
{
    bool reads = str_is(r->method, "GET") || str_is(r->method, "HEAD");
    buf_str(out, STR("Status: "));
    put_digits(out, w->status);
    buf_byte(out, ' ');
    buf_puts(out, reason(w->status));
    buf_str(out, STR("\r\n"));
    head_content(w, out);
    head_validators(w, out);
    if (reads)
        put_line(out, "Vary", "Accept");
    if (w->cors) {
        put_line(out, "Access-Control-Allow-Origin", "*");
        put_line(out, "Access-Control-Expose-Headers",
                 "ETag, Last-Modified, Link, X-Poll-Interval, X-Last-Seq");
    }
    put_line(out, "X-Freshet-Route", w->route[0] ? w->route : "-");
    buf_str(out, buf_view(&w->headers));
    buf_str(out, STR("\r\n"));
}
