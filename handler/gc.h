/* gc: removes what nothing refers to: bytes of the store without a row, temporary files of dead
 * workers, bytes in the spool that nobody waits for. Handlers may run meanwhile.
 *
 *   store/<tier>/sha256/…   no row of artifacts names it
 *   store/tmp/slot-<k>-*    the lock of worker k is free
 *   spool/tmp-*             its writer's lock is free
 *   spool/<hex>             no open candidate has this digest
 *
 * Invariants
 *   1. An object is removed only under the ledger's lock and without a row. Whoever commits a row
 *      looks under the same lock whether the object is there (job_has_object), and takes the bytes
 *      in again when it is not. So there is never a row without its object, whatever the timing.
 *   2. A row of artifacts goes only when no head and no ledger row, of whatever status, names its
 *      digest: every version can be reverted to, and what is held or was rejected stays
 *      as evidence.
 *   3. What is younger than GC_AGE_MS stays. That is a courtesy, so that running jobs need not
 *      start anew; safety does not rest on clocks.
 *   4. Names that are not ours are not touched. A dry run removes nothing.
 *   5. Of the feed go public rows alone, and only where feed_retention_days says so.
 *   6. One gc or backup at a time (run/keep.lock).
 * Called by `freshet gc`.
 */
#ifndef FRESHET_HANDLER_GC_H
#define FRESHET_HANDLER_GC_H

#include "core/instance.h"
#include "ledger/ledger.h"

#define GC_AGE_MS 3600000LL /* longer than any ordinary job from its last byte to its commit */

enum gc_kind { GC_OBJECT, GC_TEMP, GC_SPOOL, GC_RUN, GC_KINDS };
const char *gc_kind_name(enum gc_kind k); /* "object" */
struct gc_counts {
    int64_t files[GC_KINDS], bytes[GC_KINDS];
    int64_t rows;  /* of artifacts that nothing named */
    int64_t feed;  /* entries of the feed that were older than it keeps */
    int64_t young; /* objects without a row that are left: younger than an hour */
};
/* Told of every file that goes; path is relative to the instance. */
typedef void gc_fn(void *ctx, enum gc_kind k, const char *path, int64_t bytes);
/* RC_BUSY while another gc or a backup runs. */
MUST_CHECK enum rc gc(struct ledger *l, const struct instance *inst, int64_t now, bool dry_run,
                      gc_fn *fn, void *ctx, struct gc_counts *ret, struct err *err);

/* Takes run/keep.lock; the caller closes the descriptor. RC_BUSY when it is taken. */
MUST_CHECK enum rc gc_lock(const struct instance *inst, int *ret_fd, struct err *err);

#endif
