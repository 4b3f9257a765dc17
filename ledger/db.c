/* db: opening, roles, and the one way statements are run. Transactions are in tx.c.
 *
 * Invariants: see ledger.h and query.h. The authorizer is set before the first statement of a role
 * is prepared and stays; connections are made with every safe setting that SQLite leaves off.
 */
#include "ledger/query.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>
#include "core/fd.h"
#include "ledger/compose.h"
#include "ledger/migrate.h"

/* A handle keeps pages of its own. A mapped one is looked up in the WAL and its cells are measured
 * (cell_size_check) with every use: half of what a page of items cost. */
#define CACHE "PRAGMA mmap_size = 0; PRAGMA cache_size = -8192"
/* What an import of a million sources enters in the middle: below that, pages go to the WAL and
 * come back many times before the commit. */
#define BULK "PRAGMA cache_size = -262144"
/* A CHECK with more than two names builds a table of them for every row, about a fifth of the time
 * of an import; the names it writes come from tables of our own, checked when the declaration
 * was read. */
#define UNCHECKED "PRAGMA ignore_check_constraints = 1"

static const struct {
    enum ledger_role role;
    const char *name, *sql;
} statements[Q_COUNT] = {
#define X(name, role, sql) [Q_##name] = {LEDGER_##role, #name, sql},
#include "ledger/statements.def"
#undef X
};

static const struct {
    const char *table;
    bool read, write;
} inbox_rights[] = {
#define X(table, read, write) {#table, read, write},
#include "ledger/rights.def"
#undef X
};

enum rc query_error(struct ledger *l, struct err *err, const char *doing)
{
    int code = sqlite3_errcode(l->db);
    enum rc rc = code == SQLITE_BUSY || code == SQLITE_LOCKED      ? RC_BUSY
                 : code == SQLITE_AUTH                             ? RC_DENIED
                 : code == SQLITE_CONSTRAINT                       ? RC_CONFLICT
                 : code == SQLITE_NOMEM                            ? RC_NOMEM
                 : code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? RC_CORRUPT
                                                                   : RC_IO;
    return err_set(err, rc, "", "ledger, %s: %s", doing, sqlite3_errmsg(l->db));
}

/* ---- roles ----------------------------------------------------------------------------------- */

static bool may_touch(enum ledger_role role, const char *table, bool write)
{
    if (!table)
        return false;
    if (!write && strncmp(table, "public_", 7) == 0)
        return true;
    if (role == LEDGER_READ)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(inbox_rights); i++)
        if (strcmp(table, inbox_rights[i].table) == 0)
            return write ? inbox_rights[i].write : inbox_rights[i].read;
    return false;
}

static int authorize(void *ctx, int action, const char *a, const char *b, const char *db,
                     const char *trigger)
{
    (void)b, (void)db, (void)trigger;
    enum ledger_role role = ((struct ledger *)ctx)->role;
    bool ok = false;

    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE:
    case SQLITE_TRANSACTION: ok = true; break;
    case SQLITE_READ: ok = role == LEDGER_WRITE || may_touch(role, a, false); break;
    case SQLITE_INSERT:
    case SQLITE_UPDATE: ok = role == LEDGER_WRITE || may_touch(role, a, true); break;
    case SQLITE_DELETE:
    case SQLITE_PRAGMA: ok = role == LEDGER_WRITE; break;
    }
    return ok ? SQLITE_OK : SQLITE_DENY;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int note_wal_pages(void *ctx, sqlite3 *db, const char *name, int pages)
{
    (void)db, (void)name;
    ((struct ledger *)ctx)->wal_pages = pages;
    return SQLITE_OK;
}

static enum rc exec(struct ledger *l, const char *sql, struct err *err)
{
    if (sqlite3_exec(l->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return query_error(l, err, sql);
    return RC_OK;
}

static enum rc harden(struct ledger *l, struct err *err)
{
    sqlite3_busy_timeout(l->db, LEDGER_BUSY_MS);
    sqlite3_extended_result_codes(l->db, 0);
    sqlite3_db_config(l->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_db_config(l->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(l->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(l->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_db_config(l->db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    sqlite3_db_config(l->db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
    sqlite3_limit(l->db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_wal_autocheckpoint(l->db, 0);
    sqlite3_wal_hook(l->db, note_wal_pages, l);
    TRY(exec(l,
             "PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;",
             err));
    /* What is deleted is overwritten where that costs no write: addresses with
     * tokens (push_confirm). */
    TRY(exec(l, "PRAGMA secure_delete = FAST;", err));
    return exec(l, CACHE, err);
}

static enum rc open_lock(const char *dir, int *ret, struct err *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/ledger.lock", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0660);
    if (fd < 0)
        return err_set(err, RC_IO, "", "%s: %s", path, strerror(errno));
    *ret = fd;
    return RC_OK;
}

static enum rc open_db(const char *dir, enum ledger_role role, int flags, sha256_fn *hash,
                       struct ledger **ret, struct err *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/ledger.db", dir);
    struct ledger *l = calloc(1, sizeof *l);
    if (!l)
        return err_set(err, RC_NOMEM, "", "no memory for the ledger handle");
    /* A connection belongs to one thread, and nobody asks SQLite what it has allocated. Refused,
     * and needless, when SQLite is running already. */
    sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    l->role = role;
    l->hash = hash;
    l->lock_fd = -1;

    enum rc rc = RC_OK;
    if (sqlite3_open_v2(path, &l->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        rc = err_set(err, RC_IO, "", "%s: %s", path, sqlite3_errmsg(l->db));
    if (rc == RC_OK)
        rc = harden(l, err);
    if (rc == RC_OK && role != LEDGER_READ)
        rc = open_lock(dir, &l->lock_fd, err);
    if (rc != RC_OK) {
        ledger_close(&l);
        return rc;
    }
    *ret = l;
    return RC_OK;
}

enum rc ledger_create(const char *dir, sha256_fn *hash, struct err *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/ledger.db", dir);
    if (access(path, F_OK) == 0)
        return err_set(err, RC_CONFLICT, "", "%s is there already", path);

    CLEANUP(ledger_close) struct ledger *l = NULL;
    TRY(open_db(dir, LEDGER_WRITE, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, hash, &l, err));
    TRY(exec(l, "PRAGMA journal_mode = WAL;", err));
    return migrate_up(l, err);
}

enum rc ledger_open(const char *dir, enum ledger_role role, sha256_fn *hash, struct ledger **ret,
                    struct err *err)
{
    CLEANUP(ledger_close) struct ledger *l = NULL;
    int flags = role == LEDGER_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    TRY(open_db(dir, role, flags, hash, &l, err));
    TRY(role == LEDGER_WRITE ? migrate_up(l, err) : migrate_check(l, err));
    /* The R*Tree module prepares statements on its own tables, also writing ones, when it is first
     * used; that must happen before the authorizer would refuse it to a reader. */
    TRY(exec(l, "SELECT 1 FROM public_items_box LIMIT 0", err));
    TRY(compose_setup(l, err));
    sqlite3_set_authorizer(l->db, authorize, l);
    *ret = l;
    l = NULL;
    return RC_OK;
}

void ledger_close(struct ledger **lp)
{
    struct ledger *l = *lp;
    if (!l)
        return;
    ledger_abort(l);
    for (int i = 0; i < Q_COUNT; i++)
        sqlite3_finalize(l->stmts[i]);
    compose_teardown(l);
    sqlite3_close_v2(l->db);
    fd_close(&l->lock_fd);
    free(l);
    *lp = NULL;
}

/* ---- large transactions ---------------------------------------------------------------------- */

enum rc ledger_bulk(struct ledger *l, struct err *err)
{
    return exec(l, BULK, err);
}

enum rc ledger_bulk_adds(struct ledger *l, struct err *err)
{
    TRY(ledger_bulk(l, err));
    sqlite3_db_config(l->db, SQLITE_DBCONFIG_ENABLE_FKEY, 0, NULL);
    sqlite3_db_config(l->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    return exec(l, UNCHECKED, err);
}

/* ---- signs of life and copies ---------------------------------------------------------------- */

enum rc ledger_heartbeat(struct ledger *l, const char *role, int64_t now, struct err *err)
{
    TRY(ledger_begin(l, err));
    enum rc rc = query_run(l, Q_HEARTBEAT_PUT, err, "ti", role, now);
    if (rc == RC_OK && strcmp(role, "scheduler") == 0)
        rc = query_run(l, Q_HEARTBEAT_DUE, err, "");
    return ledger_end(l, rc, err);
}

enum rc ledger_backup(struct ledger *l, const char *file, struct err *err)
{
    sqlite3 *to = NULL;
    if (sqlite3_open_v2(file, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK) {
        sqlite3_close(to);
        return err_set(err, RC_IO, "", "%s cannot be written", file);
    }
    sqlite3_backup *b = sqlite3_backup_init(to, "main", l->db, "main");
    int code = b ? sqlite3_backup_step(b, -1) : SQLITE_ERROR;
    sqlite3_backup_finish(b);
    sqlite3_close(to);
    if (code != SQLITE_DONE)
        return err_set(err, RC_IO, "", "%s: the copy did not end well", file);
    return RC_OK;
}

/* ---- statements ------------------------------------------------------------------------------ */

static enum rc prepare(struct ledger *l, enum stmt_id id, struct query *q, struct err *err)
{
    if (statements[id].role > l->role)
        return err_set(err, RC_DENIED, "", "statement %s is above the role of this handle",
                       statements[id].name);
    bool busy = l->stmts[id] && sqlite3_stmt_busy(l->stmts[id]);
    sqlite3_stmt **slot = busy ? &q->s : &l->stmts[id];
    unsigned flags = busy ? 0 : SQLITE_PREPARE_PERSISTENT;
    if (!*slot && sqlite3_prepare_v3(l->db, statements[id].sql, -1, flags, slot, NULL) != SQLITE_OK)
        return query_error(l, err, statements[id].name);
    q->s = *slot;
    q->own = busy;
    return RC_OK;
}

static int bind_one(sqlite3_stmt *s, int i, char type, sqlite3_destructor_type keep, va_list *ap)
{
    switch (type) {
    case 'i': return sqlite3_bind_int64(s, i, va_arg(*ap, int64_t));
    case 'd': return sqlite3_bind_double(s, i, va_arg(*ap, double));
    case 'm': {
        int64_t t = va_arg(*ap, int64_t);
        return t < 0 ? sqlite3_bind_null(s, i) : sqlite3_bind_int64(s, i, t);
    }
    case 'o': {
        int64_t t = va_arg(*ap, int64_t);
        return t == INT64_MIN ? sqlite3_bind_null(s, i) : sqlite3_bind_int64(s, i, t);
    }
    case 't': {
        const char *z = va_arg(*ap, const char *);
        return z ? sqlite3_bind_text(s, i, z, -1, keep) : sqlite3_bind_null(s, i);
    }
    case 's': {
        struct str v = va_arg(*ap, struct str);
        return v.p ? sqlite3_bind_text64(s, i, v.p, v.n, keep, SQLITE_UTF8)
                   : sqlite3_bind_null(s, i);
    }
    case 'h': {
        const struct sha256 *h = va_arg(*ap, const struct sha256 *);
        return h ? sqlite3_bind_blob(s, i, h->b, sizeof h->b, keep) : sqlite3_bind_null(s, i);
    }
    }
    return SQLITE_MISUSE;
}

/* keep: are texts copied (SQLITE_TRANSIENT), or do they outlive the query (SQLITE_STATIC)? */
static enum rc open_bound(struct ledger *l, enum stmt_id id, struct query *q,
                          sqlite3_destructor_type keep, struct err *err, const char *types,
                          va_list *ap)
{
    TRY(prepare(l, id, q, err));
    for (int i = 0; types[i]; i++)
        if (bind_one(q->s, i + 1, types[i], keep, ap) != SQLITE_OK)
            return query_error(l, err, statements[id].name);
    return RC_OK;
}

enum rc query_open(struct ledger *l, enum stmt_id id, struct query *ret, struct err *err,
                   const char *types, ...)
{
    va_list ap;
    va_start(ap, types);
    enum rc rc = open_bound(l, id, ret, SQLITE_TRANSIENT, err, types, &ap);
    va_end(ap);
    return rc;
}

void query_bind_list(struct query *q, int first, int max, const struct str *list, size_t n)
{
    for (int i = 0; i < max; i++)
        if ((size_t)i < n)
            sqlite3_bind_text64(q->s, first + i, list[i].p, list[i].n, SQLITE_TRANSIENT,
                                SQLITE_UTF8);
        else
            sqlite3_bind_null(q->s, first + i);
}

enum rc query_next(struct ledger *l, struct query *q, struct err *err)
{
    switch (sqlite3_step(q->s)) {
    case SQLITE_ROW: return RC_OK;
    case SQLITE_DONE: return RC_NOT_FOUND;
    }
    return query_error(l, err, "step");
}

void query_close(struct query *q)
{
    if (q->own)
        sqlite3_finalize(q->s);
    else if (q->s)
        sqlite3_reset(q->s);
    q->s = NULL;
}

int64_t query_last_no(const struct ledger *l)
{
    return sqlite3_last_insert_rowid(l->db);
}

enum rc query_run(struct ledger *l, enum stmt_id id, struct err *err, const char *types, ...)
{
    TRY(ledger_need_tx(l, err));
    CLEANUP(query_close) struct query q = {0};
    va_list ap;
    va_start(ap, types);
    enum rc rc = open_bound(l, id, &q, SQLITE_STATIC, err, types, &ap);
    va_end(ap);
    if (rc != RC_OK)
        return rc;
    rc = query_next(l, &q, err);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc query_i64(struct ledger *l, enum stmt_id id, int64_t *ret, struct err *err,
                  const char *types, ...)
{
    CLEANUP(query_close) struct query q = {0};
    va_list ap;
    va_start(ap, types);
    enum rc rc = open_bound(l, id, &q, SQLITE_STATIC, err, types, &ap);
    va_end(ap);
    if (rc == RC_OK)
        rc = query_next(l, &q, err);
    if (rc == RC_OK)
        *ret = col_time(&q, 0);
    return rc;
}

/* ---- columns --------------------------------------------------------------------------------- */

int64_t col_i64(const struct query *q, int i)
{
    return sqlite3_column_int64(q->s, i);
}

int64_t col_time(const struct query *q, int i)
{
    return col_null(q, i) ? -1 : sqlite3_column_int64(q->s, i);
}

double col_num(const struct query *q, int i)
{
    return sqlite3_column_double(q->s, i);
}

bool col_null(const struct query *q, int i)
{
    return sqlite3_column_type(q->s, i) == SQLITE_NULL;
}

struct str col_view(const struct query *q, int i)
{
    const char *p = (const char *)sqlite3_column_text(q->s, i);
    return (struct str){p ? p : "", (size_t)sqlite3_column_bytes(q->s, i)};
}

struct str col_str(struct arena *a, const struct query *q, int i)
{
    struct str v = col_view(q, i);
    return (struct str){arena_str(a, v), v.n};
}

const char *col_text(struct arena *a, const struct query *q, int i)
{
    return col_null(q, i) ? "" : col_str(a, q, i).p;
}

void col_copy(const struct query *q, int i, char *out, size_t n)
{
    struct str v = col_view(q, i);
    size_t len = v.n < n ? v.n : n - 1;
    memcpy(out, v.p, len);
    out[len] = '\0';
}

bool col_sha(const struct query *q, int i, struct sha256 *ret)
{
    if (sqlite3_column_bytes(q->s, i) != sizeof ret->b)
        return false;
    memcpy(ret->b, sqlite3_column_blob(q->s, i), sizeof ret->b);
    return true;
}
