/* levels: carries out what a second person approved: the level of a source is lowered, and its
 * public rows are written as the new level shows them.
 *
 * Invariants
 *   1. Declaration, public rows of the source and its children, and the mark that it was done are
 *      one transaction.
 *   2. A level that is not lower any more when its turn comes changes nothing, nor does one that
 *      was asked for while the source had another.
 * Called by work between two jobs, and by `freshet approve`.
 */
#ifndef FRESHET_HANDLER_LEVELS_H
#define FRESHET_HANDLER_LEVELS_H

#include "core/instance.h"
#include "ledger/level.h"

/* All that is approved and open. */
MUST_CHECK enum rc levels_apply(struct ledger *l, const struct instance *inst, int64_t now,
                                struct err *err);
/* The declaration of s with another level; strings live in the arena. */
MUST_CHECK enum rc levels_declare(struct arena *a, const struct source *s, enum level to,
                                  struct source *ret, struct err *err);

#endif
