/* wire: see wire.h. Entries lie one after the other in one block: a fixed part, the request head
 * as received, the kept part of the body. */
#include "tests/upstream/wire.h"

struct entry {
    size_t size; /* of fixed part, head and body, rounded up */
    uint64_t seq;
    struct wire_about about;
    size_t head_n, body_n, body_kept;
};

void wire_init(struct wire *w)
{
    *w = (struct wire){0};
}

void wire_release(struct wire *w)
{
    free(w->data);
    *w = (struct wire){0};
}

void wire_clear(struct wire *w)
{
    w->len = 0;
    w->seq = w->forgotten = 0;
}

static const struct entry *entry_at(const struct wire *w, size_t at)
{
    return (const struct entry *)(const void *)(w->data + at);
}

static void forget_half(struct wire *w)
{
    size_t at = 0;
    while (at < w->len / 2) {
        at += entry_at(w, at)->size;
        w->forgotten++;
    }
    memmove(w->data, w->data + at, w->len - at);
    w->len -= at;
}

static bool make_room(struct wire *w, size_t n)
{
    if (w->len + n > WIRE_MAX)
        forget_half(w);
    if (w->len + n <= w->room)
        return true;
    size_t room = w->room ? w->room * 2 : 64u << 10;
    while (room < w->len + n)
        room *= 2;
    char *data = realloc(w->data, room);
    if (!data)
        return false;
    w->data = data;
    w->room = room;
    return true;
}

void wire_add(struct wire *w, const struct request *q, const struct wire_about *about)
{
    struct entry e = {.seq = ++w->seq, .about = *about, .head_n = q->head_n, .body_n = q->body_n};
    e.body_kept = q->body_n < WIRE_BODY_MAX ? q->body_n : WIRE_BODY_MAX;
    e.size = (sizeof e + e.head_n + e.body_kept + 15) & ~(size_t)15;
    if (!make_room(w, e.size)) {
        w->forgotten++;
        return;
    }
    char *to = w->data + w->len;
    memcpy(to, &e, sizeof e);
    memcpy(to + sizeof e, q->method_text.p, e.head_n);
    if (e.body_kept)
        memcpy(to + sizeof e + e.head_n, q->body.p, e.body_kept);
    w->len += e.size;
}

/* Bytes that are no UTF-8 are shown as if they were Latin-1. */
static yyjson_mut_val *text_val(yyjson_mut_doc *d, struct str s)
{
    if (str_is_utf8(s))
        return yyjson_mut_strncpy(d, s.p, s.n);
    CLEANUP(buf_release) struct buf out = {0};
    buf_init(&out, 2 * WIRE_BODY_MAX + 2 * HTTP_HEAD_MAX);
    for (size_t i = 0; i < s.n; i++) {
        uint8_t c = (uint8_t)s.p[i];
        if (c >= 0x80)
            buf_byte(&out, (char)(0xc0 | c >> 6));
        buf_byte(&out, (char)(c >= 0x80 ? 0x80 | (c & 0x3f) : c));
    }
    return yyjson_mut_strncpy(d, buf_view(&out).p, out.len);
}

static void add_text(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, struct str s)
{
    yyjson_mut_obj_add_val(d, obj, key, text_val(d, s));
}

static yyjson_mut_val *entry_val(yyjson_mut_doc *d, const struct entry *e, const struct request *q,
                                 struct str body)
{
    yyjson_mut_val *obj = yyjson_mut_obj(d), *lines = yyjson_mut_arr(d);
    struct str rest = q->headers, line;
    yyjson_mut_obj_add_uint(d, obj, "seq", e->seq);
    yyjson_mut_obj_add_sint(d, obj, "at_ms", e->about.at_ms);
    yyjson_mut_obj_add_uint(d, obj, "conn", e->about.conn);
    yyjson_mut_obj_add_bool(d, obj, "tls", e->about.tls);
    add_text(d, obj, "method", q->method_text);
    add_text(d, obj, "path", q->path);
    add_text(d, obj, "query", q->query);
    while (http_line(&rest, &line))
        yyjson_mut_arr_append(lines, text_val(d, line));
    yyjson_mut_obj_add_val(d, obj, "headers", lines);
    if (e->body_n) {
        yyjson_mut_obj_add_uint(d, obj, "body_bytes", e->body_n);
        add_text(d, obj, "body", body);
    }
    yyjson_mut_obj_add_int(d, obj, "status", e->about.status);
    return obj;
}

bool wire_list(const struct wire *w, uint64_t since, const char *path, yyjson_mut_doc *d,
               yyjson_mut_val *arr)
{
    const struct entry *e;
    bool ok = arr != NULL;
    for (size_t at = 0; ok && at < w->len; at += e->size) {
        e = entry_at(w, at);
        struct str head = {w->data + at + sizeof *e, e->head_n};
        struct request q;
        int status;
        if (e->seq <= since || http_parse(head, &q, &status) != PARSED_OK)
            continue;
        if (path && !str_is(q.path, path) && !str_is(q.target, path))
            continue;
        struct str body = {head.p + head.n, e->body_kept};
        ok = yyjson_mut_arr_append(arr, entry_val(d, e, &q, body));
    }
    return ok;
}
