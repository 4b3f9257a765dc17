/* replay: proves a log, then takes it row by row. */
#include "handler/replay_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/json.h"

#define ROW_MEMORY_MAX (64u << 20) /* a row is a declaration at most, parsed twice */

/* ---- reading a file -------------------------------------------------------------------------- */

static void file_close(FILE **f)
{
    if (*f)
        fclose(*f);
}

static void line_free(char **p)
{
    free(*p);
}

static bool get_sha(yyjson_val *o, const char *key, struct sha256 *ret)
{
    yyjson_val *v = yyjson_obj_get(o, key);
    struct str hex = {yyjson_get_str(v), yyjson_get_len(v)};
    return yyjson_is_str(v) && hex_decode(hex, ret->b, sizeof ret->b) == RC_OK;
}

static bool get_view(yyjson_val *o, const char *key, struct str *ret)
{
    yyjson_val *v = yyjson_obj_get(o, key);
    *ret = (struct str){yyjson_get_str(v), yyjson_get_len(v)};
    return yyjson_is_str(v);
}

static enum rc parse_row(struct arena *a, struct str line, int64_t n, struct replay_row *ret,
                         struct err *err)
{
    yyjson_val *o = NULL;
    struct replay_row r = {0};
    if (json_parse(a, line, 0, "the log", &o, err) != RC_OK ||
        json_get_i64(o, "seq", 1, INT64_MAX, &r.seq, err) != RC_OK ||
        json_get_i64(o, "at", 0, INT64_MAX, &r.at, err) != RC_OK ||
        json_get_i64(o, "src_no", 0, INT64_MAX, &r.src_no, err) != RC_OK ||
        !get_view(o, "kind", &r.kind) || !get_view(o, "ref", &r.ref) ||
        !get_view(o, "body", &r.body) || !get_sha(o, "prev", &r.prev) ||
        !get_sha(o, "hash", &r.hash))
        return err_set(err, RC_CORRUPT, "log", "line %lld is no row of a replay log", (long long)n);
    *ret = r;
    return RC_OK;
}

static enum rc each_of_file(const char *path, replay_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    CLEANUP(line_free) char *line = NULL;
    size_t room = 0;
    ssize_t n;
    arena_init(&a, ROW_MEMORY_MAX);
    CLEANUP(file_close) FILE *f = fopen(path, "re");
    if (!f)
        return err_set(err, errno == ENOENT ? RC_NOT_FOUND : RC_IO, "log", "cannot read %s: %s",
                       path, strerror(errno));
    for (int64_t i = 1; (n = getline(&line, &room, f)) >= 0; i++) {
        struct replay_row r;
        arena_reset(&a);
        TRY(parse_row(&a, (struct str){line, (size_t)n}, i, &r, err));
        TRY(fn(ctx, &r, err));
    }
    return ferror(f) ? err_set(err, RC_IO, "log", "cannot read %s", path) : RC_OK;
}

/* ---- proving --------------------------------------------------------------------------------- */

static bool in_window(const struct replay *p, const struct replay_row *r)
{
    return r->at >= p->ask->since && r->at < p->ask->until &&
           (!p->ask->src_no || p->ask->src_no == r->src_no);
}

/* A row that the ledger lacks: may it be done? */
static enum rc allow(struct replay *p, const struct replay_row *r, struct err *err)
{
    char at[TIME_MAX];
    time_format(r->at, at);
    if (r->at >= p->ask->until) {
        p->ends = true;
        return RC_OK;
    }
    if (p->ends)
        return err_set(err, RC_INVALID, "until",
                       "rows after it are older than others before it: choose a later one");
    if (r->at < p->ask->since)
        return err_set(err, RC_INVALID, "since",
                       "the ledger lacks rows from before it: begin at %s or earlier", at);
    if (p->ask->src_no)
        return err_set(err, RC_INVALID, "source",
                       "the ledger lacks rows of this log, and is rebuilt whole: leave it out");
    if (!replay_kind(r->kind))
        return err_set(err, RC_CONFLICT, "log",
                       "row %lld is of the kind %.*s, which this program does not know",
                       (long long)r->seq, STR_FMT(r->kind));
    return RC_OK;
}

static enum rc prove(void *ctx, const struct replay_row *r, struct err *err)
{
    struct replay *p = ctx;
    struct sha256 hash;
    TRY(replay_hash(p->ledger, r, &hash, err));
    if (r->seq != p->last_seq + 1 || !sha256_eq(&r->prev, &p->last) || !sha256_eq(&hash, &r->hash))
        return err_set(err, RC_CORRUPT, "log",
                       "row %lld does not follow from the one before: the log was altered or cut",
                       (long long)r->seq);
    p->last_seq = r->seq;
    p->last = r->hash;
    p->total += in_window(p, r);
    enum rc rc = replay_has(p->ledger, r, err);
    if (rc != RC_NOT_FOUND)
        return rc;
    return allow(p, r, err);
}

/* ---- doing ----------------------------------------------------------------------------------- */

static bool has_object(const struct replay *p, const struct sha256 *sha)
{
    char path[4096], name[STORE_PATH_MAX];
    struct stat st;
    for (int t = 0; t < TIER_COUNT; t++) {
        store_path((enum tier)t, sha, name);
        snprintf(path, sizeof path, "%s/store/%s", p->inst->dir, name);
        if (stat(path, &st) == 0)
            return true;
    }
    return false;
}

/* Its effect must be there; other rows are themselves all that they did. */
static enum rc look(struct replay *p, const struct replay_row *r, bool *ret, struct err *err)
{
    yyjson_val *body = NULL;
    const char *run = NULL;
    struct sha256 sha;
    *ret = true;
    if (!str_is(r->kind, "run.promoted"))
        return RC_OK;
    arena_reset(&p->arena);
    TRY(json_parse(&p->arena, r->body, 0, "a row", &body, err));
    TRY(json_get_str(body, "run", &run, err));
    *ret = false;
    if (!run || !get_sha(body, "sha256", &sha) || !has_object(p, &sha))
        return RC_OK;
    return replay_stands(p->ledger, run, &sha, ret, err);
}

static enum rc apply(struct replay *p, const struct replay_row *r, struct err *err)
{
    arena_reset(&p->arena);
    clock_set(r->at);
    replay_script(p->ledger, r);
    enum rc rc = replay_kind(r->kind)(p, r, err);
    if (rc == RC_OK && !replay_scripted(p->ledger))
        rc = err_set(err, RC_CORRUPT, "log", "row %lld of the log led to nothing",
                     (long long)r->seq);
    replay_script(p->ledger, NULL);
    return rc;
}

static enum rc take(void *ctx, const struct replay_row *r, struct err *err)
{
    struct replay *p = ctx;
    bool good = true;
    bool counts = in_window(p, r);
    enum rc rc = replay_has(p->ledger, r, err);
    if (rc == RC_OK && !counts)
        return RC_OK;
    if (rc == RC_OK) {
        TRY(look(p, r, &good, err));
        ++*(good ? &p->n.noop : &p->n.failed);
    } else if (rc == RC_NOT_FOUND) {
        if (r->at >= p->ask->until)
            return RC_OK;
        rc = p->ask->dry ? RC_OK : apply(p, r, err);
        p->n.failed += rc != RC_OK;
        TRY(rc);
        p->n.applied++;
    } else {
        return rc;
    }
    p->n.rows++;
    if (p->progress)
        p->progress(p->ctx, p->n.rows, p->total);
    return RC_OK;
}

static enum rc each(const struct replay *p, replay_fn *fn, void *ctx, struct err *err)
{
    return p->ask->log ? each_of_file(p->ask->log, fn, ctx, err)
                       : replay_each(p->ledger, fn, ctx, err);
}

static enum rc run(struct replay *p, struct err *err)
{
    if (p->ask->until <= p->ask->since)
        return err_set(err, RC_INVALID, "until", "must be after since");
    TRY(each(p, prove, p, err));
    if (p->ask->log && !p->ask->dry)
        TRY(worker_new(p->ledger, p->inst, &p->worker, err));
    return each(p, take, p, err);
}

enum rc replay_run(struct ledger *l, const struct instance *inst, const struct replay_ask *ask,
                   replay_progress_fn *progress, void *ctx, struct replay_counts *ret,
                   struct err *err)
{
    struct replay p = {.ledger = l, .inst = inst, .ask = ask, .progress = progress, .ctx = ctx};
    struct err ignored;
    arena_init(&p.arena, ROW_MEMORY_MAX);
    enum rc rc = run(&p, err);
    worker_free(&p.worker);
    arena_release(&p.arena);
    clock_set(-1);
    (void)!clock_init(&ignored); /* FRESHET_NOW again, where it is set */
    *ret = p.n;
    return rc;
}

/* ---- writing a file -------------------------------------------------------------------------- */

struct export
{
    FILE *f;
    int64_t rows;
    struct buf line;
};

static enum rc put_row(void *ctx, const struct replay_row *r, struct err *err)
{
    struct export *x = ctx;
    char prev[SHA256_HEX], hash[SHA256_HEX];
    struct buf *b = &x->line;
    sha256_hex(&r->prev, prev);
    sha256_hex(&r->hash, hash);
    buf_clear(b);
    buf_printf(b, "{\"seq\":%lld,\"at\":%lld,\"src_no\":%lld,\"kind\":", (long long)r->seq,
               (long long)r->at, (long long)r->src_no);
    json_put_str(b, r->kind);
    buf_puts(b, ",\"ref\":");
    json_put_str(b, r->ref);
    buf_puts(b, ",\"body\":");
    json_put_str(b, r->body);
    buf_printf(b, ",\"prev\":\"%s\",\"hash\":\"%s\"}\n", prev, hash);
    if (buf_rc(b) != RC_OK || fwrite(b->data, 1, b->len, x->f) != b->len)
        return err_set(err, RC_IO, "", "cannot write the log: %s", strerror(errno));
    x->rows++;
    return RC_OK;
}

/* It holds declarations and names of withheld sources: for the owner alone. */
enum rc replay_export(struct ledger *l, const char *path, int64_t *ret_rows, struct err *err)
{
    struct export x = {0};
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(err, errno == EEXIST ? RC_CONFLICT : RC_IO, "export", "cannot make %s: %s",
                       path, strerror(errno));
    x.f = fdopen(fd, "w");
    if (!x.f) {
        close(fd);
        return err_set(err, RC_NOMEM, "", "no memory for a file");
    }
    buf_init(&x.line, ROW_MEMORY_MAX);
    enum rc rc = replay_each(l, put_row, &x, err);
    if (rc == RC_OK && (fflush(x.f) != 0 || fsync(fd) != 0))
        rc = err_set(err, RC_IO, "", "cannot write %s: %s", path, strerror(errno));
    fclose(x.f);
    buf_release(&x.line);
    if (rc != RC_OK)
        (void)unlink(path);
    *ret_rows = x.rows;
    return rc;
}
