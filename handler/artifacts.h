/* artifacts: a folder per promoted run, for people and for tools that read files.
 *
 *   runs/change-detection/<run>/detector.json          what was found, when, by whom
 *                               wal.json               the ledger's row
 *                               manifest.json          the version that was made
 *                               delta_manifest.json    what changed
 *                               provenance.prov.jsonld PROV-O
 *                               summary.md             one screen
 *
 * Invariants
 *   1. Made of the ledger alone, so the same again at any time; a folder appears whole (made beside
 *      it and renamed). One that is there is replaced only when it differs from what it must be.
 *   2. A folder is on disk before its row goes; one that a power cut left torn has its row still,
 *      differs, and is written again.
 *   3. Folders of withheld sources are 0700, their files 0600; nobody serves any of them.
 *   4. Every finalized run has its folder, or a row in the outbox, or is older than
 *      run_artifacts_days: artifacts_check tells where not.
 * Called by outbox, gc, verify and rebuild.
 */
#ifndef FRESHET_HANDLER_ARTIFACTS_H
#define FRESHET_HANDLER_ARTIFACTS_H

#include "handler/outbox.h"

/* An outbox_tell_fn. */
MUST_CHECK enum rc artifacts_write(const struct outbox_env *env, const char *run_id,
                                   struct err *err);
/* An outbox_settle_fn: what was written is on disk when it returns. */
MUST_CHECK enum rc artifacts_settle(const struct instance *inst, struct err *err);
/* Runs that must have a folder and have none, or have another one. */
typedef void artifacts_problem_fn(void *ctx, const char *sentence);
MUST_CHECK enum rc artifacts_check(struct ledger *l, const struct instance *inst, int64_t now,
                                   artifacts_problem_fn *fn, void *ctx, int64_t *ret_n,
                                   struct err *err);
/* Writes the folders that are missing. */
MUST_CHECK enum rc artifacts_mend(struct ledger *l, const struct instance *inst, int64_t now,
                                  int64_t *ret_n, struct err *err);
/* Removes folders that are past their age, half-made ones, and those of no run of this ledger. */
typedef void artifacts_gone_fn(void *ctx, const char *path);
MUST_CHECK enum rc artifacts_sweep(struct ledger *l, const struct instance *inst, int64_t now,
                                   bool dry, artifacts_gone_fn *fn, void *ctx, int64_t *ret_n,
                                   struct err *err);

#endif
