/* rebuild: the public projections anew, from the enduring rows, in one transaction.
 *
 * Invariants
 *   1. What is right is not written: an intact ledger is the same, byte for byte, and no
 *      ETag moves.
 *   2. What was lost or altered is written as its source's present level shows it (I8); what should
 *      not be there is removed. The place of a change in the feed is the ledger's public_seq.
 *   3. All of it, or nothing; others wait for the ledger's lock meanwhile.
 *   4. rebuild_check writes nothing: what a rebuild would mend is undone, and told.
 * What is kept because it is not derivable: ledger/rebuild.h. Called by `freshet rebuild` and
 * `freshet verify`.
 */
#ifndef FRESHET_HANDLER_REBUILD_H
#define FRESHET_HANDLER_REBUILD_H

#include "core/instance.h"
#include "ledger/ledger.h"

struct rebuild_counts {
    int64_t sources, sources_mended, changes, changes_mended;
    int64_t removed; /* rows that nothing stood behind */
    bool tip;        /* the end of the feed was wrong */
};
typedef void rebuild_progress_fn(void *ctx, int64_t done, int64_t total);
/* No transaction may be open. */
MUST_CHECK enum rc rebuild(struct ledger *l, const struct instance *inst, int64_t now,
                           rebuild_progress_fn *progress, void *ctx, struct rebuild_counts *ret,
                           struct err *err);
/* One sentence per source or change whose public rows a rebuild would write, or could not make. It
 * takes as long as a rebuild, in a transaction that is rolled back: writers wait meanwhile. */
typedef void rebuild_problem_fn(void *ctx, const char *sentence);
MUST_CHECK enum rc rebuild_check(struct ledger *l, const struct instance *inst, int64_t now,
                                 rebuild_problem_fn *problem, void *ctx, struct err *err);

#endif
