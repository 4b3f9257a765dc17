/* respond: see respond.h. The order is: which fields hold, which validators, 304 or not, which
 * body, then the head line by line. */
#include "tests/upstream/respond.h"

#include "tests/upstream/generate.h"
#include "tests/upstream/pack.h"

#define NODES 3                      /* of `etag: flap` */
#define HUGE_TAG 8192                /* of `etag: huge` */
#define TEN_YEARS_MS (3650 * DAY_MS) /* of `last_modified: future` */

/* One answer in the making. */
struct answer {
    struct responder *c;
    const struct request *q;
    struct hit hit;
    struct spec spec;
    struct buf *head;
    struct reply *reply;
    struct str tag;      /* "" when there is none */
    struct str modified; /* "" when there is none */
    char modified_text[TIME_MAX];
    char content_tag[BLOB_TAG];
    bool gzip;
};

void responder_init(struct responder *c, struct world *w)
{
    *c = (struct responder){.world = w, .date_s = -1};
    buf_init(&c->tag, REPLY_HEAD_MAX);
    buf_init(&c->text, BLOB_MAX);
}

void responder_release(struct responder *c)
{
    buf_release(&c->tag);
    buf_release(&c->text);
}

static const char *date_now(struct responder *c)
{
    int64_t now = clock_now();
    if (now / 1000 != c->date_s) {
        c->date_s = now / 1000;
        time_http(now, c->date);
    }
    return c->date;
}

/* Appends s; {date}, {date+60}, {date-60} become HTTP-dates. */
static void put_text(struct buf *out, struct str s)
{
    const char *mark;
    while (s.n && (mark = memmem(s.p, s.n, "{date", 5))) {
        size_t n = (size_t)(mark - s.p);
        const char *end = memchr(mark, '}', s.n - n);
        struct str offset = {mark + 5, end ? (size_t)(end - mark) - 5 : 0};
        int64_t seconds = 0;
        if (offset.n && *offset.p == '+')
            offset.p++, offset.n--;
        if (!end || (offset.n && str_to_i64(offset, &seconds) != RC_OK))
            break;
        char date[TIME_MAX];
        time_http(clock_now() + seconds * 1000, date);
        buf_add(out, s.p, n);
        buf_puts(out, date);
        s.n -= (size_t)(end + 1 - s.p);
        s.p = end + 1;
    }
    buf_str(out, s);
}

static void put_header(struct buf *out, const char *name, struct str value)
{
    buf_puts(out, name);
    buf_add(out, ": ", 2);
    put_text(out, value);
    buf_add(out, "\r\n", 2);
}

/* ---- the body ------------------------------------------------------------------------------ */

static uint64_t bulk_mark(const struct hit *h)
{
    return generate_mix(h->bulk->seed, h->n, h->bulk->versions[h->n]);
}

/* A new reference to the identity bytes; NULL when there are none or memory ran out. */
static struct blob *plain_body(struct answer *a)
{
    if (a->spec.body)
        return blob_ref(a->spec.body);
    if (a->spec.status >= 300) {
        buf_clear(&a->c->text);
        buf_printf(&a->c->text, "%lld %s\n", (long long)a->spec.status,
                   http_reason((int)a->spec.status));
    } else if (a->hit.bulk) {
        buf_clear(&a->c->text);
        if (generate_body(a->hit.bulk->kind, a->hit.bulk->size, bulk_mark(&a->hit), &a->c->text) !=
            RC_OK)
            return NULL;
    } else {
        return NULL;
    }
    return buf_rc(&a->c->text) == RC_OK ? blob_plain(buf_view(&a->c->text)) : NULL;
}

static struct blob *packed(const struct spec *s, struct blob *plain)
{
    CLEANUP(buf_release) struct buf out = {0};
    buf_init(&out, BLOB_MAX);
    if (s->encoding == ENCODING_BOMB)
        pack_bomb(&out, (uint64_t)s->bomb_bytes);
    else
        pack_gzip(&out, blob_view(plain));
    return buf_rc(&out) == RC_OK ? blob_plain(buf_view(&out)) : NULL;
}

/* Makes gzip of it, once per blob; the bomb has its own size and is kept with no blob. */
static struct blob *encoded_body(const struct spec *s, struct blob *plain)
{
    if (!plain || s->encoding == ENCODING_BOMB)
        return packed(s, plain);
    if (!plain->gzip)
        plain->gzip = packed(s, plain);
    return blob_ref(plain->gzip);
}

static struct blob *body_of(struct answer *a)
{
    CLEANUP(blob_drop) struct blob *plain = plain_body(a);
    return a->gzip ? encoded_body(&a->spec, plain) : blob_ref(plain);
}

static bool accepts_gzip(const struct request *q)
{
    struct str s = q->accept_encoding;
    return s.n && memmem(s.p, s.n, "gzip", 4) && !memmem(s.p, s.n, "gzip;q=0", 8);
}

/* ---- validators ---------------------------------------------------------------------------- */

static const char *content_tag(struct answer *a)
{
    if (a->spec.body)
        return a->spec.body->tag;
    uint64_t v = a->hit.bulk ? bulk_mark(&a->hit) : 0;
    snprintf(a->content_tag, sizeof a->content_tag, "%016llx", (unsigned long long)v);
    return a->content_tag;
}

static uint64_t hits(const struct hit *h)
{
    return h->resource ? h->resource->hits : h->bulk->hits;
}

static void put_tag(struct answer *a, struct buf *out)
{
    const char *of = content_tag(a);
    switch ((enum etag_mode)a->spec.etag) {
    case ETAG_NONE: break;
    case ETAG_STRONG:
    case ETAG_DOUBLE: buf_printf(out, "\"%s\"", of); break;
    case ETAG_WEAK: buf_printf(out, "W/\"%s\"", of); break;
    case ETAG_VERSION: buf_printf(out, "\"v%zu\"", world_version(&a->hit) + 1); break;
    case ETAG_CONSTANT: buf_puts(out, "\"constant\""); break;
    case ETAG_FLAP: buf_printf(out, "\"%s-n%d\"", of, (int)(hits(&a->hit) % NODES)); break;
    case ETAG_GZIP: buf_printf(out, "\"%s%s\"", of, a->gzip ? "-gzip" : ""); break;
    case ETAG_UNQUOTED: buf_puts(out, of); break;
    case ETAG_CONTROL: buf_printf(out, "\"%s\x01\x7f\"", of); break;
    case ETAG_HUGE:
        buf_printf(out, "\"%s", of);
        while (out->len < HUGE_TAG - 1 && buf_rc(out) == RC_OK)
            buf_byte(out, 'x');
        buf_byte(out, '"');
        break;
    }
}

/* Errors and redirects carry validators only when their own layer gave them. */
static void make_validators(struct answer *a)
{
    const struct spec *s = &a->spec;
    struct buf *tag = &a->c->tag;
    bool whole = s->status < 300;
    buf_clear(tag);
    if (s->etag_text.n)
        put_text(tag, s->etag_text);
    else if (whole || SPEC_HAS(s, etag))
        put_tag(a, tag);
    a->tag = buf_view(tag);
    a->modified = STR("");
    if (str_is(s->last_modified, "none") || (!whole && !SPEC_HAS(s, last_modified)))
        return;
    int64_t at = clock_now();
    if (str_is(s->last_modified, "auto"))
        at = time_civil(2024, 1, 1) + (int64_t)world_version(&a->hit) * DAY_MS;
    else if (str_is(s->last_modified, "future"))
        at += TEN_YEARS_MS;
    else if (!str_is(s->last_modified, "now")) {
        a->modified = s->last_modified;
        return;
    }
    time_http(at, a->modified_text);
    a->modified = str_of(a->modified_text);
}

static struct str opaque(struct str tag)
{
    return str_starts(tag, STR("W/")) ? (struct str){tag.p + 2, tag.n - 2} : tag;
}

/* Weak comparison with each tag of the list, as RFC 9110 says for If-None-Match. */
static bool tag_listed(struct str list, struct str tag)
{
    struct str one;
    if (!tag.n || str_eq(list, tag) || str_eq(list, STR("*")))
        return tag.n > 0;
    while (str_next(&list, ',', &one)) {
        if (str_eq(opaque(str_trim(one)), opaque(tag)))
            return true;
    }
    return false;
}

static bool not_since(struct str asked, struct str modified)
{
    int64_t a, m;
    return time_parse_http(asked, &a) == RC_OK && time_parse_http(modified, &m) == RC_OK && m <= a;
}

static bool is_not_modified(const struct answer *a)
{
    const struct request *q = a->q;
    bool has_tag = q->if_none_match.p, has_date = q->if_modified_since.p;
    bool tag = has_tag && tag_listed(q->if_none_match, a->tag);
    bool date = has_date && a->modified.n && str_eq(q->if_modified_since, a->modified);
    if (a->spec.status != 200 || (q->method != METHOD_GET && q->method != METHOD_HEAD))
        return false;
    switch ((enum honours)a->spec.honours) {
    case HONOURS_NGINX: return (has_tag || has_date) && (tag || !has_tag) && (date || !has_date);
    case HONOURS_RFC:
        return has_tag ? tag : has_date && not_since(q->if_modified_since, a->modified);
    case HONOURS_BOTH: return tag && date;
    case HONOURS_ETAG: return tag;
    case HONOURS_IMS: return has_date && not_since(q->if_modified_since, a->modified);
    case HONOURS_OR: return tag || (has_date && not_since(q->if_modified_since, a->modified));
    case HONOURS_NEVER: return false;
    case HONOURS_ALWAYS: return true;
    }
    return false;
}

/* ---- the head ------------------------------------------------------------------------------ */

static struct str type_of(struct str path)
{
    static const struct {
        struct str end, type;
    } types[] = {
        {STR(".geojson"), STR("application/geo+json")},
        {STR(".json"), STR("application/json")},
        {STR(".csv"), STR("text/csv")},
        {STR(".zip"), STR("application/zip")},
        {STR(".html"), STR("text/html")},
        {STR(".xml"), STR("application/xml")},
        {STR(".txt"), STR("text/plain")},
        {STR("/"), STR("text/html")},
    };
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (str_ends(path, types[i].end))
            return types[i].type;
    }
    return STR("application/octet-stream");
}

static void put_status(struct answer *a, int status)
{
    const char *reason = http_reason(status);
    if (a->spec.reason.n)
        buf_printf(a->head, "HTTP/1.1 %d %.*s\r\n", status, STR_FMT(a->spec.reason));
    else if (status == 304)
        buf_str(a->head, STR("HTTP/1.1 304 Not Modified\r\n"));
    else
        buf_printf(a->head, "HTTP/1.1 %d %s\r\n", status, reason);
    buf_str(a->head, STR("Server: freshet-upstream\r\n"));
    a->reply->status = status;
}

static void put_date(struct answer *a)
{
    if (str_is(a->spec.date, "auto"))
        put_header(a->head, "Date", str_of(date_now(a->c)));
    else if (!str_is(a->spec.date, "none"))
        put_header(a->head, "Date", a->spec.date);
}

static void put_validators(struct answer *a, int status)
{
    struct buf *out = a->head;
    if (a->modified.n)
        put_header(out, "Last-Modified", a->modified);
    if (status == 304 && a->spec.etag_304 == ETAG304_NONE)
        return;
    if (status == 304 && a->spec.etag_304 == ETAG304_NEW)
        buf_printf(out, "ETag: \"renewed-%llu\"\r\n", (unsigned long long)hits(&a->hit) + 1);
    else if (a->tag.n)
        put_header(out, "ETag", a->tag);
    if (a->spec.etag == ETAG_DOUBLE && a->tag.n)
        buf_printf(out, "ETag: \"%s-2\"\r\n", content_tag(a));
}

/* `hops` redirects to the own path come first; which one this is stands in the query. */
static void put_location(struct answer *a)
{
    char text[16] = "0";
    int64_t hop = 0;
    if (!a->spec.location.n && !a->spec.hops)
        return;
    if (http_param(a->q->query, "hop", text, sizeof text) &&
        str_to_i64(str_of(text), &hop) != RC_OK)
        hop = 0;
    if (hop >= a->spec.hops)
        put_header(a->head, "Location", a->spec.location);
    else
        buf_printf(a->head, "Location: %.*s?hop=%lld\r\n", STR_FMT(a->q->path), (long long)hop + 1);
}

static void put_scripted(struct answer *a)
{
    if (a->spec.retry_after.n)
        put_header(a->head, "Retry-After", a->spec.retry_after);
    put_location(a);
    for (size_t i = 0; i < a->spec.headers.n; i++) {
        put_text(a->head, a->spec.headers.lines[i]);
        buf_add(a->head, "\r\n", 2);
    }
}

static void put_type(struct answer *a)
{
    struct str type = a->spec.type;
    if (a->spec.status >= 300 && !SPEC_HAS(&a->spec, type))
        type = STR("text/plain");
    else if (str_is(type, "auto"))
        type = type_of(a->q->path);
    if (type.n)
        put_header(a->head, "Content-Type", type);
    if (a->gzip)
        buf_str(a->head, STR("Content-Encoding: gzip\r\n"));
}

static void put_framing(struct answer *a, size_t length)
{
    if (a->spec.framing == FRAMING_CHUNKED)
        buf_str(a->head, STR("Transfer-Encoding: chunked\r\n"));
    else if (a->spec.framing == FRAMING_LENGTH && a->spec.content_length >= 0)
        buf_printf(a->head, "Content-Length: %lld\r\n", (long long)a->spec.content_length);
    else if (a->spec.framing == FRAMING_LENGTH && a->spec.endless == ENDLESS_BODY)
        buf_str(a->head, STR("Content-Length: 1099511627776\r\n"));
    else if (a->spec.framing == FRAMING_LENGTH)
        buf_printf(a->head, "Content-Length: %zu\r\n", length);
}

static void finish_head(struct answer *a)
{
    if (a->reply->close)
        buf_str(a->head, STR("Connection: close\r\n"));
    if (a->spec.endless != ENDLESS_HEADERS)
        buf_add(a->head, "\r\n", 2);
}

/* ---- the plan ------------------------------------------------------------------------------ */

static bool has_body(const struct answer *a)
{
    return a->q->method != METHOD_HEAD && a->reply->status != 204 && a->reply->status != 304 &&
           a->spec.endless == ENDLESS_NONE;
}

static void plan(struct answer *a, struct blob *body)
{
    const struct spec *s = &a->spec;
    struct reply *r = a->reply;
    size_t length = body ? body->n : 0;
    size_t at = s->cut_at < 0 ? length / 2 : (size_t)s->cut_at;
    bool sends = has_body(a);
    r->framing = (enum framing)s->framing;
    r->endless = (enum endless)s->endless;
    if (a->q->method == METHOD_HEAD && r->endless == ENDLESS_BODY)
        r->endless = ENDLESS_NONE;
    r->cut = sends || r->endless == ENDLESS_BODY ? (enum cut)s->cut : CUT_NONE;
    r->send = r->cut != CUT_NONE && at < length ? at : length;
    if (r->endless == ENDLESS_BODY)
        r->send = r->cut != CUT_NONE && s->cut_at >= 0 ? (size_t)s->cut_at : SIZE_MAX;
    r->body = sends ? blob_ref(body) : NULL;
    r->drip_bytes = s->drip_bytes;
    r->drip_ms = s->drip_ms;
    r->drip_head = s->drip_head;
    if (!sends && r->endless != ENDLESS_BODY)
        r->framing = FRAMING_LENGTH;
}

static void render(struct answer *a)
{
    int status = is_not_modified(a) ? 304 : (int)a->spec.status;
    put_status(a, status);
    put_date(a);
    put_validators(a, status);
    CLEANUP(blob_drop) struct blob *body = NULL;
    if (status != 304 && status != 204) {
        body = body_of(a);
        put_type(a);
        put_framing(a, body ? body->n : 0);
    }
    bool ends_by_close = a->spec.framing == FRAMING_CLOSE && a->q->method != METHOD_HEAD &&
                         status != 304 && status != 204;
    a->reply->close = !a->q->keep_alive || a->spec.close || ends_by_close;
    put_scripted(a);
    plan(a, body);
    finish_head(a);
}

/* Nothing of HTTP: the scenario's bytes, and the end. */
static void render_raw(struct answer *a)
{
    buf_str(a->head, a->spec.raw);
    a->reply->close = true;
}

static void respond_error(struct responder *c, const struct request *q, int status, const char *msg,
                          struct buf *head, struct reply *ret)
{
    respond_with(c, q, status, "text/plain", blob_plain(str_of(msg)), head, ret);
}

void respond(struct responder *c, const struct request *q, struct buf *head, struct reply *ret)
{
    struct answer a = {.c = c, .q = q, .head = head, .reply = ret};
    a.hit = world_find(c->world, q->target);
    if (!a.hit.resource && !a.hit.bulk) {
        respond_error(c, q, 404, "no such resource in the loaded scenarios\n", head, ret);
        return;
    }
    if (q->method == METHOD_OTHER) {
        respond_error(c, q, 405, "GET, HEAD and POST only\n", head, ret);
        return;
    }
    buf_clear(head);
    *ret = (struct reply){0};
    world_effective(&a.hit, q->method, &a.spec);
    if ((a.spec.location.n || a.spec.hops) && !SPEC_HAS(&a.spec, status))
        a.spec.status = 302;
    a.gzip = a.spec.encoding == ENCODING_GZIP || a.spec.encoding == ENCODING_BOMB ||
             (a.spec.encoding == ENCODING_NEGOTIATE && accepts_gzip(q));
    ret->delay_ms = a.spec.delay_ms + c->world->latency_ms;
    if (SPEC_HAS(&a.spec, raw)) {
        render_raw(&a);
    } else {
        make_validators(&a);
        render(&a);
    }
    world_answered(&a.hit, q->method, &a.spec);
}

void respond_with(struct responder *c, const struct request *q, int status, const char *type,
                  struct blob *body, struct buf *head, struct reply *ret)
{
    bool head_only = q && q->method == METHOD_HEAD;
    buf_clear(head);
    buf_printf(head, "HTTP/1.1 %d %s\r\nServer: freshet-upstream\r\nDate: %s\r\n", status,
               http_reason(status), date_now(c));
    buf_printf(head, "Content-Type: %s\r\nContent-Length: %zu\r\n", type, body ? body->n : 0);
    *ret = (struct reply){.status = status, .close = !q || !q->keep_alive};
    buf_puts(head, ret->close ? "Connection: close\r\n\r\n" : "\r\n");
    if (head_only)
        blob_drop(&body);
    ret->body = body;
    ret->send = body ? body->n : 0;
}
