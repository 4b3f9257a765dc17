/* http_client: speaks HTTP/1.1 over a unix socket, for the tests of freshet-stream, whose answers
 * do not end.
 *
 *   struct live c = live_open(sock, "/changes/stream", "since=0", "Last-Event-ID: 3\r\n");
 *   live_await(&c, "id: 4\n"); live_close(&c);
 *
 * Chunks are taken apart: c.text is the body so far. Nothing here asserts. */
#ifndef FRESHET_TESTS_HTTP_CLIENT_H
#define FRESHET_TESTS_HTTP_CLIENT_H

#include <stdlib.h>
#include "core/clock.h"
#include "tests/40-service/fcgi_client.h"

struct live {
    struct client at;
    char *raw, *text; /* as it came, and without chunk marks; NUL-terminated */
    size_t n_raw, n_head, n_text;
    size_t parsed; /* of raw */
    size_t chunk;  /* left of the chunk that is being read */
    int status;
    bool chunked, whole, over; /* whole: it ended as it should; over: nothing more will come */
    const char *method, *path;
};

static inline struct live live_ask(const char *sock, const char *method, const char *path,
                                   const char *query, const char *headers)
{
    struct live c = {.at = client_open(sock), .method = method, .path = path};
    static char text[20000];
    int n =
        snprintf(text, sizeof text, "%s %s%s%s HTTP/1.1\r\nHost: test.example\r\n%s\r\n", method,
                 path, query && *query ? "?" : "", query ? query : "", headers ? headers : "");
    c.raw = calloc(1, 1);
    c.text = calloc(1, 1);
    c.over = c.at.fd < 0 || send(c.at.fd, text, (size_t)n, MSG_NOSIGNAL) != n;
    return c;
}

static inline struct live live_open(const char *sock, const char *path, const char *query,
                                    const char *headers)
{
    return live_ask(sock, "GET", path, query, headers);
}

static inline void live_take_head(struct live *c)
{
    char *end = strstr(c->raw, "\r\n\r\n");
    if (c->n_head || !end)
        return;
    c->n_head = c->parsed = (size_t)(end - c->raw) + 4;
    c->status = (int)strtol(c->raw + strlen("HTTP/1.1 "), NULL, 10);
    char *mark = strstr(c->raw, "\r\nTransfer-Encoding: chunked\r\n");
    c->chunked = mark && mark < end;
}

static inline void live_add(struct live *c, size_t n)
{
    c->text = realloc(c->text, c->n_text + n + 1);
    memcpy(c->text + c->n_text, c->raw + c->parsed, n);
    c->n_text += n;
    c->text[c->n_text] = 0;
    c->parsed += n;
}

/* "5\r\nhello\r\n" → "hello". The line break after a chunk is skipped with the next size. */
static inline void live_take_chunks(struct live *c)
{
    while (!c->whole && c->parsed < c->n_raw) {
        size_t left = c->n_raw - c->parsed;
        if (c->chunk > 0) {
            size_t n = left < c->chunk ? left : c->chunk;
            live_add(c, n);
            c->chunk -= n;
            continue;
        }
        const char *at = c->raw + c->parsed;
        size_t skip = strncmp(at, "\r\n", 2) == 0 ? 2 : 0;
        const char *end = strstr(at + skip, "\r\n");
        if (!end)
            return;
        c->chunk = strtoul(at + skip, NULL, 16);
        c->parsed = (size_t)(end - c->raw) + 2;
        c->whole = c->chunk == 0;
    }
}

static inline void live_take_apart(struct live *c)
{
    live_take_head(c);
    if (!c->n_head)
        return;
    if (c->chunked)
        live_take_chunks(c);
    else
        live_add(c, c->n_raw - c->parsed);
}

/* Takes what is there, waits at most ms for it. False: nothing came. */
static inline bool live_read(struct live *c, int ms)
{
    struct pollfd p = {.fd = c->at.fd, .events = POLLIN};
    if (c->over || poll(&p, 1, ms) <= 0)
        return false;
    c->raw = realloc(c->raw, c->n_raw + 65536 + 1);
    ssize_t n = recv(c->at.fd, c->raw + c->n_raw, 65536, 0);
    if (n <= 0) {
        c->over = true;
        return false;
    }
    c->n_raw += (size_t)n;
    c->raw[c->n_raw] = 0;
    live_take_apart(c);
    return true;
}

/* Until the body holds the text. */
static inline bool live_await(struct live *c, const char *text)
{
    int64_t end = clock_mono() + CLIENT_TIMEOUT_MS;
    while (!strstr(c->text, text) && !c->over && clock_mono() < end)
        live_read(c, 100);
    return strstr(c->text, text) != NULL;
}

/* Until the answer ends, by its own length or with the connection. */
static inline bool live_finish(struct live *c)
{
    int64_t end = clock_mono() + CLIENT_TIMEOUT_MS;
    while (!c->over && !c->whole && clock_mono() < end) {
        live_read(c, 100);
        const char *length = c->n_head ? strstr(c->raw, "\r\nContent-Length: ") : NULL;
        if (length && length < c->raw + c->n_head)
            c->whole =
                c->n_text >= strtoul(length + 18, NULL, 10) || strcmp(c->method, "HEAD") == 0;
        if (c->status == 304 || c->status == 204)
            c->whole = true;
    }
    return c->whole;
}

/* As FastCGI would have told it: for the recorder, which knows no other form. */
static inline struct answer live_answer(const struct live *c)
{
    struct answer a = {.sent = true, .complete = c->n_head > 0, .status = c->status};
    const char *rest = c->n_head ? strstr(c->raw, "\r\n") : NULL;
    size_t line = rest ? (size_t)(rest - c->raw) : 0, head = c->n_head - line;
    a.raw = malloc(c->n_raw + c->n_text + 64);
    a.n = (size_t)snprintf(a.raw, 64, "Status: %d", c->status);
    if (rest)
        memcpy(a.raw + a.n, rest, head);
    memcpy(a.raw + a.n + head, c->text, c->n_text + 1);
    a.body = a.raw + a.n + head;
    a.n += head + c->n_text;
    return a;
}

static inline void live_close(struct live *c)
{
    struct answer a = live_answer(c);
    answer_record(&(struct ask){.method = c->method, .path = c->path}, &a);
    answer_free(&a);
    if (c->at.fd >= 0)
        close(c->at.fd);
    free(c->raw);
    free(c->text);
    *c = (struct live){.at = {-1}};
}

#endif
