/* tx: transactions, the lock that every writer holds, checkpoints, and groups of transactions.
 *
 *   idle --begin--> in_tx --commit, abort--> idle
 *   idle --group_begin--> group --begin--> group, in_tx --commit--> group --group_commit--> idle
 *                                                      `--abort---> idle, all of it undone
 */
#include "ledger/query.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include "core/log.h"
#include "ledger/slots.h"

#define CHECKPOINT_PAGES 1000 /* 4 MiB of WAL: short to scan, rare enough to be cheap */
#define TRUNCATE_PAGES 16000  /* a reader kept the WAL from starting over: cut it when we can */

static enum rc lock(struct ledger *l, struct err *err)
{
    while (flock(l->lock_fd, LOCK_EX) != 0)
        if (errno != EINTR)
            return err_set(err, RC_IO, "", "ledger.lock: %s", strerror(errno));
    return RC_OK;
}

static void unlock(struct ledger *l)
{
    flock(l->lock_fd, LOCK_UN);
}

enum rc ledger_need_tx(const struct ledger *l, struct err *err)
{
    if (!l->in_tx)
        return err_set(err, RC_INTERNAL, "", "a ledger write was tried outside a transaction");
    return RC_OK;
}

static enum rc begin(struct ledger *l, struct err *err)
{
    if (l->role == LEDGER_READ || l->reading)
        return err_set(err, RC_INTERNAL, "", "a transaction cannot start here");
    TRY(lock(l, err));
    if (sqlite3_exec(l->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) {
        enum rc rc = query_error(l, err, "begin");
        unlock(l);
        return rc;
    }
    l->withdraws = false;
    l->generation = 0;
    l->replay_seq = -1;
    return RC_OK;
}

enum rc ledger_begin(struct ledger *l, struct err *err)
{
    if (l->in_tx)
        return err_set(err, RC_INTERNAL, "", "a transaction within another");
    if (!l->group)
        TRY(begin(l, err));
    l->in_tx = true;
    return RC_OK;
}

enum rc ledger_group_begin(struct ledger *l, struct err *err)
{
    if (l->in_tx || l->group)
        return err_set(err, RC_INTERNAL, "", "a group within a transaction");
    TRY(begin(l, err));
    l->group = true;
    return RC_OK;
}

enum rc ledger_read_begin(struct ledger *l, struct err *err)
{
    if (l->in_tx || l->group || l->reading)
        return err_set(err, RC_INTERNAL, "", "a read cannot start here");
    if (sqlite3_exec(l->db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return query_error(l, err, "begin");
    l->reading = true;
    return RC_OK;
}

void ledger_read_end(struct ledger *l)
{
    if (l->reading)
        sqlite3_exec(l->db, "COMMIT", NULL, NULL, NULL);
    l->reading = false;
}

/* After a failed sync nobody knows what is on disk, and a second one that succeeds proves nothing:
 * the process ends, and the next one starts from what is there. */
static void die_of_sync(struct ledger *l)
{
    int code = sqlite3_extended_errcode(l->db);
    if (code != SQLITE_IOERR_FSYNC && code != SQLITE_IOERR_DIR_FSYNC)
        return;
    log_event(LOG_ERROR, "ledger.fsync_failed", LOG_S("why", sqlite3_errmsg(l->db)));
    abort();
}

/* Holds ledger.lock: no other connection can commit while frames move into the file. */
static void checkpoint(struct ledger *l)
{
    if (l->wal_pages < CHECKPOINT_PAGES)
        return;
    int mode =
        l->wal_pages < TRUNCATE_PAGES ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE;
    sqlite3_busy_timeout(l->db, 0); /* readers are not waited for: the next commit tries again */
    if (sqlite3_wal_checkpoint_v2(l->db, NULL, mode, NULL, NULL) != SQLITE_OK)
        die_of_sync(l);
    sqlite3_busy_timeout(l->db, LEDGER_BUSY_MS);
}

enum rc ledger_generation(struct ledger *l, int64_t now, int64_t *ret, struct err *err)
{
    TRY(ledger_need_tx(l, err));
    if (!l->generation)
        TRY(query_i64(l, Q_META_BUMP, &l->generation, err, "i", now));
    *ret = l->generation;
    return RC_OK;
}

/* No commit leaves an extent that tells of items which are gone. */
static enum rc mend_extents(struct ledger *l, struct err *err)
{
    if (!l->generation || l->role != LEDGER_WRITE) /* others touch no items */
        return RC_OK;
    TRY(query_run(l, Q_EXTENTS_EMPTY, err, ""));
    return query_run(l, Q_EXTENTS_MEND, err, "");
}

/* The folder of the instance. */
static enum rc folder_of(struct ledger *l, char ret[PATH_MAX], struct err *err)
{
    const char *file = sqlite3_db_filename(l->db, "main"), *end = file ? strrchr(file, '/') : NULL;
    if (!end || end - file >= PATH_MAX)
        return err_set(err, RC_INTERNAL, "", "the ledger has no folder");
    memcpy(ret, file, (size_t)(end - file));
    ret[end - file] = 0;
    return RC_OK;
}

static enum rc close_slots(struct ledger *l, struct err *err)
{
    char dir[PATH_MAX];
    if (!l->withdraws)
        return RC_OK;
    TRY(folder_of(l, dir, err));
    return slots_close(dir, err);
}

void ledger_withdraws(struct ledger *l)
{
    l->withdraws = l->in_tx;
}

static enum rc commit(struct ledger *l, struct err *err)
{
    struct err late;
    if (mend_extents(l, err) != RC_OK || close_slots(l, err) != RC_OK) {
        ledger_abort(l);
        return err->rc;
    }
    if (sqlite3_exec(l->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) {
        enum rc rc = query_error(l, err, "commit");
        die_of_sync(l);
        ledger_abort(l);
        return rc;
    }
    l->in_tx = l->group = false;
    if (close_slots(l, &late) != RC_OK)
        log_err(LOG_WARN, "ledger.slots", &late); /* those of before the commit are closed */
    checkpoint(l);
    unlock(l);
    return RC_OK;
}

enum rc ledger_commit(struct ledger *l, struct err *err)
{
    TRY(ledger_need_tx(l, err));
    if (!l->group)
        return commit(l, err);
    l->in_tx = false;
    return RC_OK;
}

enum rc ledger_group_commit(struct ledger *l, struct err *err)
{
    if (!l->group || l->in_tx)
        return err_set(err, RC_INTERNAL, "", "a group cannot end here");
    l->in_tx = true;
    return commit(l, err);
}

void ledger_abort(struct ledger *l)
{
    if (!l->in_tx && !l->group)
        return;
    sqlite3_exec(l->db, "ROLLBACK", NULL, NULL, NULL);
    l->in_tx = l->group = false;
    unlock(l);
}

enum rc ledger_end(struct ledger *l, enum rc rc, struct err *err)
{
    if (rc == RC_OK)
        return ledger_commit(l, err);
    ledger_abort(l);
    return rc;
}
