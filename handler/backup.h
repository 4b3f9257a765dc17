/* backup: a copy of an instance that is one itself, made while everything runs.
 *
 *   DIR/ledger.db, freshet.json, policy.json, notify.json, store/… and the empty folders that work
 *   needs; sources.json too, the list for `freshet source import`, where an operator keeps one here
 *
 * Invariants
 *   1. The ledger is copied as of one moment; objects after it. They are never altered and gc waits
 *      (run/keep.lock), so every row of the copy has its bytes.
 *   2. DIR appears whole or not at all: it is made as DIR.partial and renamed when all of it is
 *      synced. Neither may be there before.
 *   3. Objects are hard links where that is possible (the same filesystem), else copies whose
 *      digest is checked on the way.
 *   4. (I12) secrets/ is not copied.
 * Called by `freshet backup`.
 */
#ifndef FRESHET_HANDLER_BACKUP_H
#define FRESHET_HANDLER_BACKUP_H

#include "core/instance.h"
#include "ledger/ledger.h"

struct backup_counts {
    int64_t objects, bytes, linked; /* linked: of the objects */
};
typedef void backup_progress_fn(void *ctx, int64_t done, int64_t total);
/* RC_CONFLICT when dir or dir.partial is there. On failure dir.partial may stay, and err
 * says so. */
MUST_CHECK enum rc backup(struct ledger *l, const struct instance *inst, const char *dir,
                          backup_progress_fn *progress, void *ctx, struct backup_counts *ret,
                          struct err *err);

#endif
