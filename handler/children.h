/* children: sources that another source names. An entry of a listing (detector manifest) and a
 * vintage of a URL with {year} are sources of their own under their parent, made from
 * its declaration.
 *
 * Invariants
 *   1. A child is made, changed and announced in the transaction that its parent's news ends in: a
 *      listing is never head without its entries' candidates in the inbox, and none is made twice.
 *   2. (I8) A child has its parent's level, or a stricter one that was set by hand. A level that is
 *      raised is raised for the children in the same transaction. The key of an entry is a part of
 *      an address: it is in a child's id and title at level public only.
 *   3. (I12) Headers and pin of the parent go to the parent's own origin; a child elsewhere
 *      has none.
 *   4. Absence from a complete listing is a deletion, of the child's bytes: the
 *      child stays and goes on when its entry returns; until then it is not looked at, whatever its
 *      own upstream answers (sources.unlisted_at). A child that was retired by hand stays so.
 * All functions run inside the caller's transaction. Called by job and by the source commands.
 */
#ifndef FRESHET_HANDLER_CHILDREN_H
#define FRESHET_HANDLER_CHILDREN_H

#include "core/instance.h"
#include "ledger/inbox.h"

struct entries; /* handler/entries.h */

/* What changed from one listing of the parent to the next: added entries get a child and a
 * candidate `new`, modified ones a candidate `changed` (and their new address), removed ones a
 * candidate `gone`. No candidate holds bytes: the handler fetches them when their turn comes. cand
 * is the listing's. */
MUST_CHECK enum rc children_follow(struct ledger *l, const struct instance *inst,
                                   const struct source *parent, const struct candidate *cand,
                                   struct entries *old, struct entries *now, int64_t at,
                                   struct err *err);

#define CHILDREN_VINTAGES_MAX 50 /* opened at once: a longer gap is a mistake, not a backlog */
/* The vintages of a template that are missing up to the year that opened: *ret_from .. year; from
 * the newest there is on, or this one alone; years without a window are passed over. *ret_from >
 * year when none is. RC_INVALID when there are too many. */
MUST_CHECK enum rc children_missing(struct ledger *l, const struct source *parent, int year,
                                    int *ret_from, struct err *err);
MUST_CHECK enum rc children_open(struct ledger *l, const struct instance *inst,
                                 const struct source *parent, int from, int year, int64_t at,
                                 struct err *err);

/* May a declaration take the place of `before`? RC_INVALID when it would make something else of a
 * source that has others under it (a template, a listing, or neither), or lower a child below its
 * parent's level. */
MUST_CHECK enum rc children_allow(struct ledger *l, struct arena *a, const struct source *before,
                                  const struct source *s, struct err *err);
/* The declaration of the parent changed, its level from `before`: its children are made from it
 * anew. What was set on a child by hand is replaced, except a stricter level. */
MUST_CHECK enum rc children_set(struct ledger *l, const struct instance *inst,
                                const struct source *parent, enum level before, int64_t at,
                                struct err *err);
/* The parent was retired, and so are they. */
MUST_CHECK enum rc children_retire(struct ledger *l, const struct instance *inst, int64_t parent_no,
                                   int64_t at, struct err *err);

#endif
