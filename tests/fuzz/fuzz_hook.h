/* fuzz_hook: any bytes as a delivery: lines NAME=value as the web server gives them
 * (REQUEST_METHOD, CONTENT_TYPE, HTTP_…) up to an empty line, then the body. Shared
 * by fuzz_hook_*.c.
 *
 * Properties
 *   1. A reading that was refused is untouched; the same delivery is read the same way twice.
 *   2. What was read is bounded, clean UTF-8; header lines of an answer are whole lines.
 *   3. Errors are clean words. */
#ifndef FRESHET_TESTS_FUZZ_HOOK_H
#define FRESHET_TESTS_FUZZ_HOOK_H

#include "api/hook.h"
#include "tests/fuzz/fuzz_main.h"

#define FUZZ_NOW 1780000000000LL
#define FUZZ_HEADERS 32

struct fuzz_hook {
    struct arena a;
    struct req req;
    char *params[FUZZ_HEADERS + 1];
    struct hook_delivery d;
};

static inline void fuzz_line(struct fuzz_hook *f, struct str line, size_t *n)
{
    struct str rest = line, name;
    if (!str_next(&rest, '=', &name) || memchr(line.p, '\0', line.n))
        return;
    if (str_is(name, "REQUEST_METHOD"))
        f->d.method = rest;
    else if (str_is(name, "CONTENT_TYPE"))
        f->d.content_type = f->req.content_type = rest;
    else if (*n < FUZZ_HEADERS)
        f->params[(*n)++] = arena_str(&f->a, line);
}

static inline void fuzz_start(struct fuzz_hook *f, const uint8_t *data, size_t size,
                              const char *options, const char *secret)
{
    struct str in = {(const char *)data, size}, line;
    struct err err = {0};
    size_t n = 0;
    memset(f, 0, sizeof *f);
    arena_init(&f->a, REQ_ARENA_MAX);
    f->d = (struct hook_delivery){.method = STR("POST"),
                                  .content_type = STR(""),
                                  .req = &f->req,
                                  .secrets = {str_of(secret)},
                                  .n_secrets = 1,
                                  .now = FUZZ_NOW,
                                  .arena = &f->a};
    while (str_next(&in, '\n', &line) && line.n > 0)
        fuzz_line(f, line, &n);
    f->d.body = in;
    f->req.params_raw = f->params;
    f->req.arena = &f->a;
    HOLDS(json_parse(&f->a, str_of(options), 0, "options", &f->d.options, &err) == RC_OK);
}

static inline bool fuzz_clean(struct str s, size_t max)
{
    return s.n <= max && str_is_utf8(s) && str_is_clean(s);
}

static inline void fuzz_event(const struct hook_event *e)
{
    HOLDS(fuzz_clean(e->id, 8192) && fuzz_clean(e->object, 2560));
    HOLDS(fuzz_clean(e->sequence, 1024) && fuzz_clean(e->version, 1024));
    HOLDS(e->at >= -62135596800000LL || e->at == -1);
    HOLDS(e->what == HOOK_CHANGED || e->what == HOOK_GONE || e->what == HOOK_OTHER);
    HOLDS(e->bytes.n <= (16u << 20));
}

/* Each line of the headers: a name, a colon, clean text, CRLF. */
static inline void fuzz_lines(struct str lines)
{
    struct str line;
    while (str_next(&lines, '\n', &line)) {
        HOLDS(line.n > 1 && line.p[line.n - 1] == '\r' && memchr(line.p, ':', line.n));
        HOLDS(str_is_clean((struct str){line.p, line.n - 1}));
    }
}

static inline bool fuzz_same(const struct hook_reading *x, const struct hook_reading *y)
{
    bool same = x->kind == y->kind && x->n_events == y->n_events && str_eq(x->reply, y->reply) &&
                str_eq(x->reply_headers, y->reply_headers) &&
                str_eq(x->confirm_url, y->confirm_url);
    for (size_t i = 0; same && i < x->n_events; i++)
        same = str_eq(x->events[i].id, y->events[i].id) &&
               str_eq(x->events[i].object, y->events[i].object) &&
               str_eq(x->events[i].sequence, y->events[i].sequence) &&
               str_eq(x->events[i].bytes, y->events[i].bytes) &&
               x->events[i].what == y->events[i].what;
    return same;
}

static inline enum rc fuzz_verify(struct fuzz_hook *f, const struct hook_adapter *adapter)
{
    struct err err = {0};
    enum rc rc = adapter->verify(&f->d, &err);
    HOLDS(rc == RC_OK || rc == RC_UNAUTHORIZED || rc == RC_INVALID || rc == RC_TOO_LARGE ||
          rc == RC_NOMEM);
    HOLDS(err.rc == rc && str_is_clean(str_of(err.msg)) && str_is_utf8(str_of(err.msg)));
    return rc;
}

/* Reads whatever verify said, as only who holds a key gets past it. */
static inline enum rc fuzz_read(struct fuzz_hook *f, const struct hook_adapter *adapter,
                                struct hook_reading *ret)
{
    static struct hook_reading again;
    struct err err = {0};
    memset(ret, 0, sizeof *ret);
    memset(&again, 0, sizeof again);
    ret->n_events = 77;
    enum rc rc = adapter->read(&f->d, ret, &err);
    HOLDS(err.rc == rc && str_is_clean(str_of(err.msg)) && str_is_utf8(str_of(err.msg)));
    if (rc != RC_OK) {
        HOLDS(ret->n_events == 77);
        return rc;
    }
    HOLDS(ret->n_events <= HOOK_EVENTS_MAX);
    HOLDS(ret->kind == HOOK_EVENTS || ret->n_events == (ret->kind == HOOK_CONFIRM));
    for (size_t i = 0; i < ret->n_events; i++)
        fuzz_event(&ret->events[i]);
    fuzz_lines(ret->reply_headers);
    if (adapter->read(&f->d, &again, &err) != RC_NOMEM)
        HOLDS(fuzz_same(ret, &again));
    return rc;
}

#endif
