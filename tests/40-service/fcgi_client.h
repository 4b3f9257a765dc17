/* fcgi_client: speaks FastCGI over a unix socket, so that our programs are driven without nginx.
 *
 *   struct client c = client_open(path);
 *   struct answer a = client_ask(&c, &(struct ask){.method = "GET", .path = "/changes"});
 *   answer_free(&a); client_close(&c);
 *
 * An answer is `complete` when the end of the request came; `sent` tells that all of the request
 * was written. Nothing here asserts: what is missing is the test's to judge.
 *
 * With RECORD set to a folder, every answer is kept there once for tests/contract.sh, in a file per
 * process: a line "method path length", then the answer as it came. */
#ifndef FRESHET_TESTS_FCGI_CLIENT_H
#define FRESHET_TESTS_FCGI_CLIENT_H

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENT_TIMEOUT_MS 20000 /* an answer that takes longer is none */
#define ASK_HEADERS 8

struct ask {
    const char *method, *path, *query, *body, *type;
    const char *headers[ASK_HEADERS]; /* "HTTP_IF_NONE_MATCH=\"x\"" */
    bool keep;                        /* the connection is used again */
};

struct answer {
    bool sent, complete;
    int status;
    char *raw; /* header block and body as they came, NUL-terminated */
    size_t n;
    const char *body; /* inside raw */
};

struct client {
    int fd; /* -1: could not connect */
};

static inline struct client client_open(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) != 0) {
        close(fd);
        fd = -1;
    }
    return (struct client){fd};
}

static inline void client_close(struct client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct wire {
    unsigned char data[1u << 21];
    size_t n;
    size_t body, end; /* where the records of the body begin, and the empty one that ends it */
};

static inline void wire_record(struct wire *w, unsigned char type, const void *p, size_t n)
{
    unsigned char *at = w->data + w->n;
    if (w->n + n + 8 > sizeof w->data)
        return;
    at[0] = at[3] = 1; /* version, request id */
    at[1] = type;
    at[2] = at[6] = at[7] = 0;
    at[4] = (unsigned char)(n >> 8);
    at[5] = (unsigned char)n;
    if (n)
        memcpy(at + 8, p, n);
    w->n += n + 8;
}

static inline void wire_bytes(char *out, size_t *n, const void *p, size_t len)
{
    memcpy(out + *n, p, len);
    *n += len;
}

static inline void wire_param(char *out, size_t room, size_t *n, const char *name,
                              const char *value)
{
    size_t a = strlen(name), b = strlen(value);
    unsigned char len[8] = {(unsigned char)(0x80 | a >> 24), (unsigned char)(a >> 16),
                            (unsigned char)(a >> 8),         (unsigned char)a,
                            (unsigned char)(0x80 | b >> 24), (unsigned char)(b >> 16),
                            (unsigned char)(b >> 8),         (unsigned char)b};
    if (*n + a + b + 8 > room)
        return;
    wire_bytes(out, n, len, sizeof len);
    wire_bytes(out, n, name, a);
    wire_bytes(out, n, value, b);
}

static inline void wire_ask(struct wire *w, const struct ask *q)
{
    char params[32768], length[32], name[64];
    unsigned char begin[8] = {0, 1, q->keep ? 1 : 0, 0, 0, 0, 0, 0};
    size_t n = 0, body = q->body ? strlen(q->body) : 0;
    w->n = 0;
    snprintf(length, sizeof length, "%zu", body);
    wire_param(params, sizeof params, &n, "REQUEST_METHOD", q->method ? q->method : "GET");
    wire_param(params, sizeof params, &n, "PATH_INFO", q->path);
    wire_param(params, sizeof params, &n, "QUERY_STRING", q->query ? q->query : "");
    wire_param(params, sizeof params, &n, "REQUEST_SCHEME", "http");
    wire_param(params, sizeof params, &n, "REMOTE_ADDR", "127.0.0.1");
    wire_param(params, sizeof params, &n, "HTTP_HOST", "test.example");
    wire_param(params, sizeof params, &n, "CONTENT_TYPE", q->type ? q->type : "");
    wire_param(params, sizeof params, &n, "CONTENT_LENGTH", q->body ? length : "");
    for (int i = 0; i < ASK_HEADERS && q->headers[i]; i++) {
        size_t at = strcspn(q->headers[i], "=");
        snprintf(name, sizeof name, "%.*s", (int)at, q->headers[i]);
        wire_param(params, sizeof params, &n, name, q->headers[i] + at + 1);
    }
    wire_record(w, 1, begin, sizeof begin);
    wire_record(w, 4, params, n);
    wire_record(w, 4, NULL, 0);
    w->body = w->n;
    for (size_t at = 0; at < body; at += 32768)
        wire_record(w, 5, q->body + at, body - at < 32768 ? body - at : 32768);
    w->end = w->n;
    wire_record(w, 5, NULL, 0);
}

/* Writes a piece. A peer that closed makes it fail, never a signal. */
static inline bool wire_send_part(int fd, const struct wire *w, size_t at, size_t end)
{
    while (at < end) {
        ssize_t n = send(fd, w->data + at, end - at, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

static inline bool wire_send(int fd, const struct wire *w)
{
    return wire_send_part(fd, w, 0, w->n);
}

/* ---- reading --------------------------------------------------------------------------------- */

static inline bool wire_read(int fd, void *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (poll(&wait, 1, CLIENT_TIMEOUT_MS) <= 0)
            return false;
        ssize_t got = read(fd, (char *)p + at, n - at);
        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

static inline bool answer_add(struct answer *a, int fd, size_t n)
{
    char *raw = realloc(a->raw, a->n + n + 1);
    if (!raw)
        return false;
    a->raw = raw;
    if (!wire_read(fd, raw + a->n, n))
        return false;
    a->n += n;
    raw[a->n] = 0;
    return true;
}

/* Reads records until the end of the request. */
static inline bool answer_read(struct answer *a, int fd)
{
    unsigned char head[8], rest[65536 + 256];
    while (wire_read(fd, head, sizeof head)) {
        size_t n = (size_t)head[4] << 8 | head[5], pad = head[6];
        if (head[1] == 6) {
            if (!answer_add(a, fd, n) || !wire_read(fd, rest, pad))
                return false;
        } else if (!wire_read(fd, rest, n + pad)) {
            return false;
        }
        if (head[1] == 3)
            return true;
    }
    return false;
}

static inline void answer_take_apart(struct answer *a)
{
    char *split = a->raw ? strstr(a->raw, "\r\n\r\n") : NULL;
    a->body = split ? split + 4 : "";
    if (a->raw && strncmp(a->raw, "Status: ", 8) == 0)
        a->status = (int)strtol(a->raw + 8, NULL, 10);
}

/* Has this process recorded the same before? A full table forgets nothing and learns nothing. */
static inline bool answer_repeated(const struct ask *q, const struct answer *a)
{
    static uint64_t seen[8192];
    uint64_t h = 0xcbf29ce484222325u;
    for (const char *p = q->method ? q->method : "GET"; *p; p++)
        h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    for (size_t i = 0; i < a->n; i++)
        h = (h ^ (unsigned char)a->raw[i]) * 0x100000001b3u;
    for (size_t i = 0; i < 64; i++) {
        uint64_t *slot = &seen[(h + i) % 8192];
        if (*slot == h)
            return true;
        if (*slot == 0) {
            *slot = h;
            return false;
        }
    }
    return false;
}

static inline void answer_record(const struct ask *q, const struct answer *a)
{
    const char *dir = getenv("RECORD");
    char path[512];
    if (!dir || !*dir || !a->complete || answer_repeated(q, a))
        return;
    snprintf(path, sizeof path, "%s/%ld.answers", dir, (long)getpid());
    FILE *f = fopen(path, "a");
    if (!f)
        return;
    fprintf(f, "%s %s %zu\n", q->method ? q->method : "GET", q->path, a->n);
    fwrite(a->raw, 1, a->n, f);
    fclose(f);
}

static inline struct answer client_ask(struct client *c, const struct ask *q)
{
    static struct wire w;
    struct answer a = {0};
    wire_ask(&w, q);
    a.sent = c->fd >= 0 && wire_send(c->fd, &w);
    a.complete = a.sent && answer_read(&a, c->fd);
    answer_take_apart(&a);
    answer_record(q, &a);
    return a;
}

static inline void answer_free(struct answer *a)
{
    free(a->raw);
    *a = (struct answer){0};
}

/* The value of a header, "" when it is not there. Valid until the next call. */
static inline const char *answer_header(const struct answer *a, const char *name)
{
    static char value[2048];
    char line[128];
    snprintf(line, sizeof line, "\r\n%s: ", name);
    const char *at = a->raw ? strstr(a->raw, line) : NULL;
    value[0] = 0;
    if (at && at < a->body)
        snprintf(value, sizeof value, "%.*s", (int)strcspn(at + strlen(line), "\r\n"),
                 at + strlen(line));
    return value;
}

#endif
