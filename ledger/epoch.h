/* epoch: the name under which nginx may keep public answers for a moment.
 *
 * DIR/run/epoch is a symbolic link to an empty folder, DIR/run/epochs/<name>; its real path is part of
 * the key of everything that is kept (nginx/nginx.conf.in). Without the link nothing is kept, and nothing
 * that was kept is handed out.
 *
 * Invariants
 *   1. A transaction that withdraws something (ledger_withdraws) takes the link away before it commits and
 *      sets a new one after: what was kept before cannot be found afterwards, and what is read in between is
 *      not kept. Whoever dies in between leaves the cache closed, until the next withdrawal or start.
 *   2. Names do not come twice.
 *   3. When the link cannot be taken away, the transaction does not commit.
 * Called by ledger_commit, under the lock of the ledger, and by `freshet up` before nginx starts.
 */
#ifndef FRESHET_LEDGER_EPOCH_H
#define FRESHET_LEDGER_EPOCH_H

#include "core/rc.h"

/* Nothing may be kept from here on. *ret_was: the cache was in use, and is to be opened again. */
MUST_CHECK enum rc epoch_close(const char *dir, bool *ret_was, struct err *err);
/* A new epoch. number: whatever grows with the ledger. */
MUST_CHECK enum rc epoch_open(const char *dir, int64_t number, struct err *err);

#endif
