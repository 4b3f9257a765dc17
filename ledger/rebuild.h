/* rebuild: what handler/rebuild.c needs of the ledger to make the public projections anew.
 *
 * Rows are mended where they stand: one that says what it must keeps its generation, so that ETags
 * and what clients hold stay valid; one that was lost or altered is written with a new generation,
 * as nobody can vouch for the old. Sums for /metrics are not derivable in full: they are kept as
 * they are, and where their rows are gone, what is still known is counted again. Gauges, the
 * outbox's depth and signs of life come from who measures them. WRITE role.
 */
#ifndef FRESHET_LEDGER_REBUILD_H
#define FRESHET_LEDGER_REBUILD_H

#include "ledger/ledger.h"

/* Begins a transaction with memory for a large one and gives it its generation. *ret_total: sources
 * and changes that there are to project. *ret_tip: the feed's end was wrong, and was put right. On
 * failure no transaction is open. */
MUST_CHECK enum rc rebuild_begin(struct ledger *l, int64_t now, int64_t *ret_total, bool *ret_tip,
                                 struct err *err);
/* Removes every public row that nothing stands behind, or that is of a sovereign source. */
MUST_CHECK enum rc rebuild_strays(struct ledger *l, struct err *err);
/* Sums whose rows are gone; checks: those of checks, too. */
MUST_CHECK enum rc rebuild_sums(struct ledger *l, bool checks, struct err *err);
/* Rows that this handle has written; only differences mean something. */
int64_t rebuild_written(const struct ledger *l);

#endif
