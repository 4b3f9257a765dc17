/* bytes: spool or upstream, into the store's temporary file. */
#include "handler/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/fd.h"

#define CHUNK (256u << 10)

/* ---- spool ----------------------------------------------------------------------------------- */

static void chunk_free(char **p)
{
    free(*p);
}

static char *spool_path(struct arena *a, const struct instance *inst, const char *hex)
{
    return arena_printf(a, "%s/spool/%s", inst->dir, hex);
}

static enum rc copy(int fd, struct store_put *put, struct err *err)
{
    CLEANUP(chunk_free) char *chunk = malloc(CHUNK);
    ssize_t n = 0;
    if (!chunk)
        return err_set(err, RC_NOMEM, "", "no memory to copy");
    while ((n = fd_read_all(fd, chunk, CHUNK)) > 0)
        TRY(store_add(put, chunk, (size_t)n, err));
    return n < 0 ? err_set(err, RC_IO, "", "cannot read the spool: %s", strerror(errno)) : RC_OK;
}

enum rc bytes_from_spool(struct arena *a, const struct instance *inst, const struct sha256 *want,
                         struct store_put *put, struct bytes *ret, struct err *err)
{
    struct bytes b = {.end = BYTES_OK, .reason = "", .retry_after_ms = -1};
    struct stat st;
    char hex[SHA256_HEX];
    sha256_hex(want, hex);
    char *path = spool_path(a, inst, hex);
    if (!path)
        return err_set(err, RC_NOMEM, "", "no memory for a path");
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return err_set(err, RC_NOT_FOUND, "", "not in the spool");
    TRY(copy(fd, put, err));
    store_seal(put, &b.sha, &b.size);
    if (!sha256_eq(&b.sha, want)) {
        TRY(store_restart(put, err));
        return err_set(err, RC_NOT_FOUND, "", "the spool's copy is not what its name says");
    }
    *ret = b;
    return RC_OK;
}

enum rc bytes_from_store(struct store *s, const struct sha256 *want, struct store_put *put,
                         struct bytes *ret, struct err *err)
{
    struct bytes b = {.end = BYTES_OK, .reason = "", .retry_after_ms = -1};
    CLEANUP(fd_close) int fd = -1;
    enum rc rc = store_read(s, TIER_PUBLIC, want, &fd, err);
    if (rc == RC_NOT_FOUND)
        rc = store_read(s, TIER_RESTRICTED, want, &fd, err);
    TRY(rc);
    TRY(copy(fd, put, err));
    store_seal(put, &b.sha, &b.size);
    if (!sha256_eq(&b.sha, want))
        return err_set(err, RC_CORRUPT, "", "an object of the store is not what its name says");
    *ret = b;
    return RC_OK;
}

/* The hint is the digest where the detector saw bytes; a claim may have withdrawn has_sha. */
void bytes_forget(struct arena *a, const struct instance *inst, struct ledger *l,
                  const struct candidate *c)
{
    struct sha256 sha;
    struct err ignored;
    bool needed = true;
    if (hex_decode(str_of(c->version_hint), sha.b, sizeof sha.b) != RC_OK)
        return;
    if (inbox_needs(l, &sha, &needed, &ignored) != RC_OK || needed)
        return;
    char *path = spool_path(a, inst, c->version_hint);
    if (path)
        (void)unlink(path);
}

/* ---- upstream -------------------------------------------------------------------------------- */

static const struct {
    int from, to;
    enum bytes_end end;
    const char *reason;
} answers[] = {
#define X(from, to, end, reason) {from, to, BYTES_##end, reason},
#include "handler/answers.def"
#undef X
};

struct transfer {
    struct store_put *put;
    struct bytes b;
    bool done;
    enum rc rc;     /* unless RC_OK: what went wrong on our side, */
    struct err err; /* in words */
};

static void judge_answer(int http, struct bytes *b)
{
    size_t i = 0;
    while (http < answers[i].from || http > answers[i].to)
        i++; /* the last row fits all */
    b->end = answers[i].end;
    b->reason = answers[i].reason;
}

static enum rc on_begin(void *ctx, const struct fetch_res *res)
{
    struct transfer *t = ctx;
    struct bytes b;
    judge_answer(res->http, &b);
    if (b.end != BYTES_OK)
        return RC_UPSTREAM; /* an error page is not wanted */
    t->rc = store_restart(t->put, &t->err);
    return t->rc;
}

static enum rc on_body(void *ctx, const void *p, size_t n)
{
    struct transfer *t = ctx;
    t->rc = store_add(t->put, p, n, &t->err);
    return t->rc;
}

/* Certificates are mended and clocks set: TLS is worth another try, though not at once. */
static void judge_end(const struct fetch_res *res, struct bytes *b)
{
    bool again = fetch_end_transient(res->end) || res->end == FETCH_TLS;
    b->end = again ? BYTES_RETRY : BYTES_FAILED;
    b->reason = fetch_end_name(res->end);
}

static void on_done(void *ctx, const struct fetch_res *res)
{
    struct transfer *t = ctx;
    struct bytes *b = &t->b;
    t->done = true;
    b->retry_after_ms = res->retry_after_ms;
    if (res->end == FETCH_OK || (res->end == FETCH_STOPPED && t->rc == RC_OK))
        judge_answer(res->http, b);
    else
        judge_end(res, b);
    if (b->end != BYTES_OK)
        return;
    b->fetched = true;
    snprintf(b->etag, sizeof b->etag, "%s", res->etag);
    snprintf(b->last_modified, sizeof b->last_modified, "%s", res->last_modified);
    fetch_url_place(res->final_url, b->final_url);
    store_seal(t->put, &b->sha, &b->size);
}

static enum rc resolve_headers(struct arena *a, const struct instance *inst, const struct source *s,
                               struct fetch_header *out, struct err *err)
{
    static const struct str mark = {"secret:", 7};
    for (size_t i = 0; i < s->n_headers; i++) {
        struct fetch_header h = {.name = s->headers[i].name, .value = s->headers[i].value};
        h.secret = str_starts(str_of(h.value), mark);
        if (h.secret)
            TRY(instance_secret(a, inst, h.value + mark.n, &h.value, err));
        out[i] = h;
    }
    return RC_OK;
}

/* A URL that may not be fetched is the source's fault, not ours. */
static enum rc refused(enum rc rc, struct transfer *t)
{
    if (rc != RC_BLOCKED && rc != RC_INVALID)
        return rc;
    t->b = (struct bytes){.end = BYTES_FAILED, .reason = rc_name(rc), .retry_after_ms = -1};
    t->done = true;
    return RC_OK;
}

enum rc bytes_ask(struct arena *a, const struct instance *inst, struct fetch **engine,
                  const struct source *s, int64_t max_bytes, struct store_put *put,
                  struct transfer **ret, struct err *err)
{
    struct fetch_header headers[SOURCE_HEADERS_MAX];
    struct transfer *t = ARENA_NEW(a, struct transfer);
    struct fetch_req req = {.method = "GET",
                            .url = s->url,
                            .headers = headers,
                            .n_headers = s->n_headers,
                            .pin_sha256 = *s->pin_sha256 ? s->pin_sha256 : NULL,
                            .max_body = max_bytes,
                            .timeout_ms = inst->conf.fetch_timeout_ms,
                            .on_begin = on_begin,
                            .on_body = on_body,
                            .on_done = on_done,
                            .ctx = t};
    if (!t)
        return err_set(err, RC_NOMEM, "", "no memory for a transfer");
    *t = (struct transfer){.put = put, .b = {.reason = "", .retry_after_ms = -1}};
    TRY(resolve_headers(a, inst, s, headers, err));
    if (!*engine)
        TRY(fetch_new(&inst->conf, engine, err));
    enum rc rc = fetch_start(*engine, &req, err);
    if (rc != RC_OK)
        TRY(refused(rc, t));
    *ret = t;
    return RC_OK;
}

bool bytes_arrived(const struct transfer *t)
{
    return t->done;
}

enum rc bytes_take(const struct transfer *t, struct bytes *ret, struct err *err)
{
    if (t->rc != RC_OK) {
        *err = t->err;
        return t->rc;
    }
    *ret = t->b;
    return RC_OK;
}
