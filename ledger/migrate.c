/* migrate: applies ledger/schema/NNN_*.sql (embedded at build) in order; user_version is the number
 * of the last one applied. A ledger newer than the program is refused, so an old binary cannot
 * misread it.
 */
#include "ledger/migrate.h"

#include <sys/file.h>
#include "core/embedded.h"

static enum rc pragma_i64(struct ledger *l, const char *sql, int64_t *ret, struct err *err)
{
    sqlite3_stmt *s = NULL;
    enum rc rc = RC_OK;
    if (sqlite3_prepare_v2(l->db, sql, -1, &s, NULL) != SQLITE_OK || sqlite3_step(s) != SQLITE_ROW)
        rc = query_error(l, err, sql);
    else
        *ret = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return rc;
}

static int64_t newest(void)
{
    int64_t n = 0;
    while (schema_files[n].name)
        n++;
    return n;
}

static enum rc read_versions(struct ledger *l, int64_t *ret_have, struct err *err)
{
    int64_t have = 0, app = 0;
    TRY(pragma_i64(l, "PRAGMA user_version", &have, err));
    TRY(pragma_i64(l, "PRAGMA application_id", &app, err));
    if (have > 0 && app != LEDGER_APPLICATION_ID)
        return err_set(err, RC_CONFLICT, "", "ledger.db belongs to another program");
    if (have > newest())
        return err_set(err, RC_CONFLICT, "",
                       "ledger.db has schema %lld, this program knows %lld: use a newer freshet",
                       (long long)have, (long long)newest());
    *ret_have = have;
    return RC_OK;
}

static enum rc apply(struct ledger *l, int64_t number, const char *sql, struct err *err)
{
    char tail[96];
    snprintf(tail, sizeof tail, "PRAGMA user_version = %lld; PRAGMA application_id = %d;",
             (long long)number, LEDGER_APPLICATION_ID);
    TRY(ledger_begin(l, err));
    if (sqlite3_exec(l->db, sql, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(l->db, tail, NULL, NULL, NULL) != SQLITE_OK) {
        enum rc rc = query_error(l, err, schema_files[number - 1].name);
        ledger_abort(l);
        return rc;
    }
    return ledger_commit(l, err);
}

enum rc migrate_up(struct ledger *l, struct err *err)
{
    int64_t have;
    TRY(read_versions(l, &have, err));
    while (have < newest()) {
        TRY(apply(l, have + 1, schema_files[have].text, err));
        have++;
    }
    return RC_OK;
}

enum rc migrate_check(struct ledger *l, struct err *err)
{
    int64_t have;
    TRY(read_versions(l, &have, err));
    if (have < newest())
        return err_set(
            err, RC_CONFLICT, "",
            "ledger.db has the older schema %lld: run `freshet verify` once, it migrates",
            (long long)have);
    return RC_OK;
}
