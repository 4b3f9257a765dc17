/* overtake: held changes that a later look at their source left behind. Approving one would make
 * something head that the upstream does not have any more, and nobody would notice: what the
 * detector remembers is newer.
 *
 * A look overtakes what was held before it when it settles what is head: by a promotion, or because
 * it found that the head is what the upstream has. One that is held itself, or refused, settles
 * nothing: then the older one may still be the newest that can be had.
 * Called by handler, within the transaction that ends the later run. WRITE role. */
#ifndef FRESHET_LEDGER_OVERTAKE_H
#define FRESHET_LEDGER_OVERTAKE_H

#include "ledger/ledger.h"

#define OVERTAKEN "SUPERSEDED" /* the reason code */

/* Ends what waits for a person in this source, or was approved and not begun again, and is older
 * than candidate `before`: no-op, its run rolled back and kept as evidence, a replay row
 * each. *ret_n: how many. */
MUST_CHECK enum rc overtake_older(struct ledger *l, int64_t src_no, int64_t before, int64_t now,
                                  int64_t *ret_n, struct err *err);
/* From a replay log: the one of this event. */
MUST_CHECK enum rc overtake_again(struct ledger *l, const char *event_id, int64_t now,
                                  struct err *err);

#endif
