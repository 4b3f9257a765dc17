/* verify: proves that the ledger agrees with itself and with the store (I6). Every rule is a
 * statement that yields one sentence per violation, so adding a rule is one row. */
#include "ledger/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/embedded.h"
#include "core/fd.h"
#include "ledger/query.h"
#include "ledger/replay.h"

static const enum stmt_id rules[] = {
    Q_V_HEADLESS,  Q_V_UNLOGGED, Q_V_UNBLOCKED, Q_V_ITEMS,    Q_V_HEADS,          Q_V_TOMBSTONES,
    Q_V_ROLLBACKS, Q_V_BLOBLESS, Q_V_DOCLESS,   Q_V_VERSIONS, Q_V_TWICE,          Q_V_OPEN_DONE,
    Q_V_SEQ,       Q_V_FEED,     Q_V_SOVEREIGN, Q_V_ASSETS,   Q_V_PUBLIC_MISSING, Q_V_DEPTH};

struct verify {
    struct ledger *l;
    const char *store_dir;
    bool deep;
    verify_problem_fn *problem;
    void *ctx;
    struct verify_counts counts;
    struct sha256 chain; /* hash of the replay row before */
    int64_t chain_seq;
};

static void PRINTF_LIKE(2, 3) report(struct verify *v, const char *fmt, ...)
{
    char sentence[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, ap);
    va_end(ap);
    v->problem(v->ctx, sentence);
}

static enum rc check_integrity(struct verify *v, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(v->l, Q_V_INTEGRITY, &q, err, ""));
    while ((rc = query_next(v->l, &q, err)) == RC_OK)
        if (!str_is(col_view(&q, 0), "ok"))
            report(v, "SQLite: %.*s", STR_FMT(col_view(&q, 0)));
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc check_foreign(struct verify *v, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(v->l, Q_V_FOREIGN, &q, err, ""));
    while ((rc = query_next(v->l, &q, err)) == RC_OK)
        report(v, "a row of %.*s refers to nothing in %.*s", STR_FMT(col_view(&q, 0)),
               STR_FMT(col_view(&q, 2)));
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* ---- the schema ------------------------------------------------------------------------------ */

/* What the migrations make of nothing. NULL: no memory. */
static sqlite3 *fresh_schema(void)
{
    sqlite3 *db = NULL;
    bool ok = sqlite3_open(":memory:", &db) == SQLITE_OK;
    for (size_t i = 0; ok && schema_files[i].name; i++)
        ok = sqlite3_exec(db, schema_files[i].text, NULL, NULL, NULL) == SQLITE_OK;
    if (ok)
        return db;
    sqlite3_close(db);
    return NULL;
}

/* The text that this ledger has of a table, index or trigger; RC_NOT_FOUND: it has none. */
static enum rc same_part(struct verify *v, struct str what, struct str sql, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(v->l, Q_V_SCHEMA, &q, err, ""));
    while ((rc = query_next(v->l, &q, err)) == RC_OK)
        if (str_eq(col_view(&q, 0), what)) {
            if (!str_eq(col_view(&q, 1), sql))
                report(v, "the schema has another %.*s", STR_FMT(what));
            return RC_OK;
        }
    if (rc == RC_NOT_FOUND)
        report(v, "the schema lacks %.*s", STR_FMT(what));
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* Triggers and indexes hold invariants, so that who drops one can do what it forbids. What an
 * operator added, an index say, does no harm. */
static enum rc check_schema(struct verify *v, struct err *err)
{
    static const char sql[] = "SELECT type || ' ' || name, sql FROM sqlite_schema WHERE"
                              " name NOT LIKE 'sqlite_%' ORDER BY 1";
    sqlite3 *db = fresh_schema();
    sqlite3_stmt *s = NULL;
    enum rc rc = db && sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK
                     ? RC_OK
                     : err_set(err, RC_NOMEM, "", "no memory for the schema");
    while (rc == RC_OK && sqlite3_step(s) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(s, 1);
        rc = same_part(v, str_of((const char *)sqlite3_column_text(s, 0)), str_of(text ? text : ""),
                       err);
    }
    sqlite3_finalize(s);
    sqlite3_close(db);
    return rc;
}

/* ---- the log --------------------------------------------------------------------------------- */

static enum rc check_replay_row(void *ctx, const struct replay_row *r, struct err *err)
{
    struct verify *v = ctx;
    struct sha256 want;
    v->counts.replay_rows++;
    if (r->seq != v->chain_seq + 1)
        report(v, "replay log: row %lld is missing", (long long)v->chain_seq + 1);
    if (!sha256_eq(&r->prev, &v->chain))
        report(v, "replay log: row %lld does not follow the one before", (long long)r->seq);
    TRY(replay_hash(v->l, r, &want, err));
    if (!sha256_eq(&r->hash, &want))
        report(v, "replay log: row %lld was altered", (long long)r->seq);
    v->chain = r->hash;
    v->chain_seq = r->seq;
    return RC_OK;
}

static bool digest_file(int fd, struct sha256 *ret)
{
    static char block[1 << 16];
    CLEANUP(digest_free) struct digest *d = digest_new();
    ssize_t n;
    if (!d)
        return false;
    while ((n = fd_read_all(fd, block, sizeof block)) > 0)
        digest_add(d, block, (size_t)n);
    digest_take(d, ret);
    return n == 0;
}

static void check_blob(struct verify *v, const struct sha256 *sha, const char *tier, int64_t size)
{
    char hex[SHA256_HEX], path[4096];
    struct sha256 have;
    struct stat st;
    sha256_hex(sha, hex);
    snprintf(path, sizeof path, "%s/%s/sha256/%.2s/%.2s/%s", v->store_dir, tier, hex, hex + 2, hex);
    v->counts.artifacts++;
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        report(v, "artifact %s (%s): %s", hex, tier, strerror(errno));
    else if (st.st_size != size)
        report(v, "artifact %s (%s) has %lld bytes, not %lld", hex, tier, (long long)st.st_size,
               (long long)size);
    else if (v->deep && (!digest_file(fd, &have) || !sha256_eq(&have, sha)))
        report(v, "artifact %s (%s) holds other bytes", hex, tier);
    else
        v->counts.bytes += size;
}

static enum rc check_blobs(struct verify *v, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    struct sha256 sha;
    char tier[16];
    enum rc rc;
    TRY(query_open(v->l, Q_V_ARTIFACTS, &q, err, ""));
    while ((rc = query_next(v->l, &q, err)) == RC_OK) {
        col_sha(&q, 0, &sha);
        col_copy(&q, 1, tier, sizeof tier);
        check_blob(v, &sha, tier, col_i64(&q, 2));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc check_rule(struct verify *v, enum stmt_id rule, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(v->l, rule, &q, err, ""));
    while ((rc = query_next(v->l, &q, err)) == RC_OK)
        report(v, "%.*s", STR_FMT(col_view(&q, 0)));
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc count_rows(struct verify *v, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(v->l, Q_V_COUNTS, &q, err, ""));
    TRY(query_next(v->l, &q, err));
    v->counts.changes = col_i64(&q, 0);
    v->counts.heads = col_i64(&q, 1);
    v->counts.items = col_i64(&q, 2);
    v->counts.prov = col_i64(&q, 3);
    v->counts.deltas = col_i64(&q, 4);
    v->counts.public_rows = col_i64(&q, 5);
    return RC_OK;
}

enum rc ledger_verify(struct ledger *l, const char *store_dir, bool deep,
                      verify_problem_fn *problem, void *ctx, struct verify_counts *ret,
                      struct err *err)
{
    struct verify v = {
        .l = l, .store_dir = store_dir, .deep = deep, .problem = problem, .ctx = ctx};
    TRY(check_integrity(&v, err));
    TRY(check_foreign(&v, err));
    TRY(replay_each(l, check_replay_row, &v, err));
    TRY(check_schema(&v, err));
    TRY(check_blobs(&v, err));
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        TRY(check_rule(&v, rules[i], err));
    TRY(count_rows(&v, err));
    *ret = v.counts;
    return RC_OK;
}
