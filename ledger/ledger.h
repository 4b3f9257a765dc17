/* ledger: one SQLite file, opened in one of three roles. Only this room speaks SQL; all SQL is in
 * statements.def, each row with the role it needs.
 *
 *   READ    freshet-api: read-only handle that can prepare statements on public_* tables only
 *   INBOX   freshet-intake, freshet-scheduler: candidates, receipts, validator state, requests
 *   WRITE   freshet-handler, freshet: everything
 *
 * Invariants
 *   1. A statement above the role is refused twice: by the registry and by the authorizer.
 *   2. (I13) Every write transaction and every checkpoint hold the exclusive flock `ledger.lock`
 *      beside the file. No connection checkpoints by itself.
 *   3. Writers run synchronous=FULL: after ledger_commit returned RC_OK, it is on disk.
 *      A sync that fails ends the process.
 *   4. Readers step statements to the end or reset them, and end what ledger_read_begin began
 *      before they wait for anything: none holds the WAL open.
 *   5. A ledger handle never crosses a fork.
 */
#ifndef FRESHET_LEDGER_LEDGER_H
#define FRESHET_LEDGER_LEDGER_H

#include <stdint.h>
#include "core/arena.h"
#include "core/digest.h"
#include "core/rc.h"

enum ledger_role { LEDGER_READ, LEDGER_INBOX, LEDGER_WRITE };
struct ledger;

/* Makes dir/ledger.db with the newest schema. RC_CONFLICT when it is there already. */
MUST_CHECK enum rc ledger_create(const char *dir, sha256_fn *hash, struct err *err);
/* Opens dir/ledger.db. WRITE migrates an older schema forward; the others refuse it, and every
 * role refuses a newer one. `hash` is the process's sha256 (OpenSSL or mbedTLS); NULL for READ. */
MUST_CHECK enum rc ledger_open(const char *dir, enum ledger_role role, sha256_fn *hash,
                               struct ledger **ret, struct err *err);
void ledger_close(struct ledger **l); /* fits CLEANUP; aborts an open transaction */

/* One write transaction: takes ledger.lock (waits), then BEGIN IMMEDIATE. Functions of this room
 * that write must be called inside one; they say so. */
MUST_CHECK enum rc ledger_begin(struct ledger *l, struct err *err);
/* Commits, checkpoints when the WAL has grown, releases the lock. On failure nothing was written
 * and the transaction is over. */
MUST_CHECK enum rc ledger_commit(struct ledger *l, struct err *err);
/* Commits when rc is RC_OK, else undoes and gives rc back. */
MUST_CHECK enum rc ledger_end(struct ledger *l, enum rc rc, struct err *err);
void ledger_abort(struct ledger *l); /* no-op without a transaction and a group */
/* Several transactions that one sync makes durable. Between these two, ledger_begin and
 * ledger_commit mark the parts of one; when a part is aborted, or the commit of the group fails,
 * none of them was written and the group is over. The lock is held all the while. */
MUST_CHECK enum rc ledger_group_begin(struct ledger *l, struct err *err);
MUST_CHECK enum rc ledger_group_commit(struct ledger *l, struct err *err);
/* What this transaction takes from the public must not be found in a cache either, once it is
 * committed (ledger/slots.h). */
void ledger_withdraws(struct ledger *l);

/* A large transaction is about to begin: gives the handle, until it is closed, memory for it. WRITE
 * role. */
MUST_CHECK enum rc ledger_bulk(struct ledger *l, struct err *err);
/* The same, and the schema's CHECKs, references and triggers are not asked any more on this handle:
 * for an import that only adds sources. The reader of declarations has checked their values,
 * source_add numbers them and what refers to them, and no trigger of theirs does more
 * than refuse. */
MUST_CHECK enum rc ledger_bulk_adds(struct ledger *l, struct err *err);

/* Several reads as of one moment, and without taking SQLite's lock for each. Short: as long as it
 * is open, no checkpoint gets past it. No write transaction may begin before ledger_read_end. */
MUST_CHECK enum rc ledger_read_begin(struct ledger *l, struct err *err);
void ledger_read_end(struct ledger *l); /* no-op when none is open */

/* Not a program: since when the scheduler begins no check as the inbox is full; -1: there
 * is room. */
#define HEARTBEAT_FULL "full"
/* Sign of life for /readyz; `role` is "handler" or "scheduler". With the scheduler's goes when the
 * oldest public source is due (role "due"), for /metrics. Opens its own transaction. */
MUST_CHECK enum rc ledger_heartbeat(struct ledger *l, const char *role, int64_t now,
                                    struct err *err);
/* Makes one consistent copy while others work (sqlite3_backup). */
MUST_CHECK enum rc ledger_backup(struct ledger *l, const char *file, struct err *err);

/* "SQLite 3.40.1, schema 2": the library in use and the newest schema this program knows. */
const char *ledger_engine(void);

/* Appends to the replay log, inside a transaction. src_no 0 for none; body is JSON text. */
MUST_CHECK enum rc replay_append(struct ledger *l, int64_t now, const char *kind, int64_t src_no,
                                 const char *ref, struct str body, struct err *err);

#endif
