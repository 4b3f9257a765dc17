/* http: parsing of what a client sent, writing of what it gets.
 *
 * Invariants (those of http.h, and)
 *   1. No header line is made of bytes that could end it.
 *   2. A problem is written from the struct err and the errors added, from nothing else.
 * Called by route, fcgi and the routes; knows neither FastCGI nor SQL. */
#include "api/http.h"

#include <stdarg.h>
#include "core/clock.h"
#include "core/version.h"

#define ERRORS_MAX (8u << 10) /* a client that sends 32 wrong parameters learns of all of them */
#define EXTRA_MAX (4u << 10)
#define BODY_KEEP                                                                                  \
    (1u << 20) /* a larger buffer is given back, so that one page does not stay paid */

/* ---- reading ---------------------------------------------------------------------------------- */

struct str req_param(const struct req *r, const char *name)
{
    for (size_t i = 0; i < r->n_params; i++)
        if (str_is(r->params[i].name, name))
            return r->params[i].value;
    return (struct str){NULL, 0};
}

/* ---- headers as they came: HTTP_NAME=value ------------------------------------------------------- */

/* The name after HTTP_ as the web server writes it, up to '='; .p NULL when this is no header. */
static struct str header_name(const char *param)
{
    const char *eq = strchr(param, '=');
    if (!eq || strncmp(param, "HTTP_", 5) != 0)
        return (struct str){NULL, 0};
    return (struct str){param + 5, (size_t)(eq - param) - 5};
}

/* X_HUB_SIGNATURE is X-Hub-Signature. */
static bool is_header(struct str cgi, struct str name)
{
    if (!cgi.p || cgi.n != name.n)
        return false;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        c = (char)(c == '-' ? '_' : c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
        if (c != cgi.p[i])
            return false;
    }
    return true;
}

struct str req_header(const struct req *r, const char *name)
{
    struct str wanted = str_of(name);
    if (str_ieq(wanted, STR("Content-Type")))
        return r->content_type.n ? r->content_type : (struct str){NULL, 0};
    for (char *const *p = r->params_raw; p && *p; p++)
        if (is_header(header_name(*p), wanted))
            return str_of(strchr(*p, '=') + 1);
    return (struct str){NULL, 0};
}

static bool may_repeat(struct str cgi)
{
    static const char *const prefixes[] = {"X_FORWARDED_", "FORWARDED", "VIA", "ACCEPT"};
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
        if (str_starts(cgi, str_of(prefixes[i])))
            return true;
    return false;
}

size_t req_headers(const struct req *r, bool *ret_doubled)
{
    size_t n = 0;
    *ret_doubled = false;
    for (char *const *p = r->params_raw; p && *p; p++) {
        struct str name = header_name(*p);
        if (!name.p)
            continue;
        n++;
        for (char *const *q = r->params_raw; q < p && !may_repeat(name); q++) {
            struct str other = header_name(*q);
            *ret_doubled = *ret_doubled || (other.p && str_eq(name, other));
        }
    }
    return n;
}

enum rc http_decode(struct arena *a, struct str s, bool plus, struct str *ret)
{
    char *out = arena_alloc(a, s.n + 1);
    size_t n = 0;
    if (!out)
        return RC_NOMEM;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '%') {
            if (s.n - i < 3 || hex_decode((struct str){s.p + i + 1, 2}, &c, 1) != RC_OK)
                return RC_INVALID;
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        out[n++] = c;
    }
    out[n] = 0;
    struct str got = {out, n};
    if (!str_is_clean(got) || !str_is_utf8(got))
        return RC_INVALID;
    *ret = got;
    return RC_OK;
}

void http_encode(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '.' || c == '_' || c == '~';
        if (plain)
            buf_byte(out, (char)c);
        else
            buf_printf(out, "%%%02X", c);
    }
}

static enum rc parse_param(struct req *r, struct str pair, struct err *err)
{
    struct str name = {"", 0};
    if (r->n_params == REQ_PARAMS_MAX)
        return err_set(err, RC_INVALID, "", "at most %d query parameters are taken",
                       REQ_PARAMS_MAX);
    struct param *p = &r->params[r->n_params];
    (void)str_next(&pair, '=', &name);
    enum rc rc = http_decode(r->arena, name, true, &p->name);
    if (rc == RC_OK)
        rc = http_decode(r->arena, pair, true, &p->value);
    if (rc == RC_INVALID)
        return err_set(err, rc, "",
                       "the query string is not valid: %%XX escapes of UTF-8 text without control "
                       "characters are expected");
    if (rc != RC_OK)
        return err_set(err, rc, "", "no memory for the query string");
    r->n_params++;
    return RC_OK;
}

enum rc req_parse_query(struct req *r, struct err *err)
{
    struct str rest = r->query, pair;
    r->n_params = 0;
    if (rest.n > REQ_QUERY_MAX)
        return err_set(err, RC_INVALID, "", "the query string is longer than %d bytes",
                       REQ_QUERY_MAX);
    while (str_next(&rest, '&', &pair))
        if (pair.n > 0)
            TRY(parse_param(r, pair, err));
    return RC_OK;
}

/* ---- base URL --------------------------------------------------------------------------------- */

static bool is_host(struct str s)
{
    if (s.n == 0 || s.n > REQ_HOST_MAX)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '.' || c == '-' || c == '_' || c == ':' || c == '[' || c == ']';
        if (!good)
            return false;
    }
    return true;
}

static bool is_trusted(const struct conf *c, struct str addr)
{
    for (size_t i = 0; i < c->trusted_proxies.n; i++)
        if (str_is(addr, c->trusted_proxies.items[i]))
            return true;
    return false;
}

/* The last item of a list: what the proxy next to us added itself; the ones before it came from
 * further away. */
static struct str last_item(struct str list)
{
    struct str item = {"", 0}, last = {"", 0};
    while (str_next(&list, ',', &item))
        last = str_trim(item);
    return last;
}

static enum rc base_from(struct arena *a, struct str scheme, struct str host, struct str *ret,
                         struct err *err)
{
    if (!is_host(host))
        return err_set(err, RC_INVALID, "Host", "the Host header is not a host name");
    char *base =
        arena_printf(a, "%s://%.*s", str_is(scheme, "https") ? "https" : "http", STR_FMT(host));
    if (!base)
        return err_set(err, RC_NOMEM, "", "no memory for the base URL");
    *ret = str_of(base);
    return RC_OK;
}

enum rc http_base(struct arena *a, const struct conf *c, const struct origin *o, struct str *ret,
                  struct err *err)
{
    struct str set = str_of(c->public_base_url), scheme = o->scheme, host = o->host;
    char local[40];
    while (set.n > 0 && set.p[set.n - 1] == '/')
        set.n--;
    if (set.n > 0) {
        *ret = set;
        return RC_OK;
    }
    if (is_trusted(c, o->remote_addr)) {
        struct str proto = last_item(o->forwarded_proto), name = last_item(o->forwarded_host);
        scheme = proto.n > 0 ? proto : scheme;
        host = name.n > 0 ? name : host;
    }
    if (host.n == 0) { /* HTTP/1.0 */
        snprintf(local, sizeof local, "127.0.0.1:%d", (int)c->port);
        host = str_of(local);
    }
    return base_from(a, scheme, host, ret, err);
}

/* ---- response --------------------------------------------------------------------------------- */

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
    char value[2048];
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

/* ---- conditional requests --------------------------------------------------------------------- */

/* Takes one entity tag off the front of list; its opaque part with quotes goes to *tag. */
static bool next_tag(struct str *list, struct str *tag)
{
    struct str s = str_trim(*list);
    while (s.n > 0 && (s.p[0] == ',' || s.p[0] == ' ' || s.p[0] == '\t')) {
        s.p++;
        s.n--;
    }
    if (str_starts(s, STR("W/"))) {
        s.p += 2;
        s.n -= 2;
    }
    if (s.n < 2 || s.p[0] != '"')
        return false;
    const char *end = memchr(s.p + 1, '"', s.n - 1);
    if (!end)
        return false;
    tag->p = s.p;
    tag->n = (size_t)(end - s.p) + 1;
    *list = (struct str){s.p + tag->n, s.n - tag->n};
    return list->n == 0 || list->p[0] == ',' || list->p[0] == ' ' || list->p[0] == '\t';
}

static bool has_tag(struct str list, const char *etag)
{
    struct str tag;
    if (str_is(str_trim(list), "*"))
        return etag[0] != 0; /* what has no version cannot be had already */
    while (etag[0] && next_tag(&list, &tag))
        if (str_is(tag, etag))
            return true;
    return false;
}

bool resp_not_modified(const struct resp *w, const struct req *r)
{
    int64_t since;
    if (w->status != 200)
        return false;
    if (r->if_none_match.p)
        return has_tag(r->if_none_match, w->etag);
    if (!r->if_modified_since.p || w->last_modified < 0 || w->etag_only)
        return false;
    return time_parse_http(str_trim(r->if_modified_since), &since) == RC_OK &&
           w->last_modified / 1000 <= since / 1000;
}

/* ---- header block ----------------------------------------------------------------------------- */

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

/* ---- ETags ------------------------------------------------------------------------------------ */

/* FNV-1a by words instead of bytes: lists hash some hundred numbers and names for each answer. The shift
 * brings down what a multiplication only carries up. */
static void etag_word(struct etag *e, uint64_t word)
{
    e->h = (e->h ^ word) * 0x100000001b3u;
    e->h ^= e->h >> 29;
}

static void etag_mix(struct etag *e, const char *p, size_t n)
{
    uint64_t word;
    for (; n >= sizeof word; p += sizeof word, n -= sizeof word) {
        memcpy(&word, p, sizeof word);
        etag_word(e, word);
    }
    word = 0;
    memcpy(&word, p, n);
    if (n)
        etag_word(e, word);
}

/* The length goes first, so that "ab","c" and "a","bc" differ. */
void etag_str(struct etag *e, struct str s)
{
    etag_int(e, (int64_t)s.n);
    etag_mix(e, s.p, s.n);
}

void etag_int(struct etag *e, int64_t v)
{
    etag_word(e, (uint64_t)v);
}

struct etag etag_start(const char *policy_version, struct str base)
{
    struct etag e = {0xcbf29ce484222325u};
    etag_str(&e, str_of(freshet_version));
    etag_str(&e, str_of(freshet_commit));
    etag_str(&e, str_of(policy_version));
    etag_str(&e, base);
    return e;
}

void etag_set(const struct etag *e, struct resp *w)
{
    snprintf(w->etag, sizeof w->etag, "\"%016llx\"", (unsigned long long)e->h);
}

/* ---- JSON members ----------------------------------------------------------------------------- */

static void comma(struct buf *b)
{
    char last = b->len ? b->data[b->len - 1] : '{';
    if (last != '{' && last != '[')
        buf_byte(b, ',');
}

void put_key(struct buf *b, const char *key)
{
    comma(b);
    buf_byte(b, '"');
    buf_puts(b, key);
    buf_puts(b, "\":");
}

void put_text(struct buf *b, const char *key, const char *value)
{
    put_key(b, key);
    if (value && value[0])
        json_put_str(b, str_of(value));
    else
        buf_puts(b, "null");
}

void put_time(struct buf *b, const char *key, int64_t at)
{
    char text[TIME_MAX] = "";
    if (at >= 0)
        time_format(at, text);
    put_text(b, key, text);
}

void put_number(struct buf *b, const char *key, int64_t v)
{
    put_key(b, key);
    put_digits(b, v);
}

void put_digits(struct buf *b, int64_t v)
{
    char text[24];
    size_t at = sizeof text;
    uint64_t rest = v < 0 ? -(uint64_t)v : (uint64_t)v;
    do
        text[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (v < 0)
        text[--at] = '-';
    buf_add(b, text + at, sizeof text - at);
}

void put_link(struct buf *b, const char *rel, struct str base, const char *path)
{
    comma(b);
    buf_printf(b, "{\"rel\":\"%s\",\"href\":\"", rel);
    buf_str(b, base);
    buf_puts(b, path);
    buf_puts(b, "\",\"type\":\"application/json\"}");
}
