/* unhealthy: the sources that are not in order, without walking all of them. WRITE role.
 *
 * Invariants
 *   1. fn sees exactly the active sources whose state is a breach (health.h), in number order; of
 *      those whose declaration cannot be read their checks tell.
 *   2. Only suspects are read: rows that an index names as failing, never checked, late, or long
 *      not digested, and the withheld ones, which stand in no public index.
 */
#ifndef FRESHET_LEDGER_UNHEALTHY_H
#define FRESHET_LEDGER_UNHEALTHY_H

#include "ledger/check.h"
#include "ledger/health.h"

/* What health_judge wants to know, from the operator's rows. st outlives the facts. */
struct health_facts health_facts_of(const struct source *s, const struct check_state *st);

/* Source and state are valid during the call only. */
typedef enum rc unhealthy_fn(void *ctx, const struct source *s, const struct check_state *st,
                             const struct health *h, struct err *err);
MUST_CHECK enum rc unhealthy_each(struct ledger *l, int64_t now, unhealthy_fn *fn, void *ctx,
                                  struct err *err);

#endif
