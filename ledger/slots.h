/* slots: for how long nginx may hand out public answers that it has kept.
 *
 * Time is cut into slots of ten seconds. What nginx keeps, it keeps under the slot in which it was
 * asked for, and hands it out in that slot alone (nginx/nginx.conf.in). A file
 * DIR/run/closed/<slot> closes one: nothing that was kept is handed out in it, and nothing new
 * is kept.
 *
 * Invariants
 *   1. A transaction that withdraws something (ledger_withdraws) closes the slots it may commit in
 *      before it does, and those around the moment after: what was kept before is never found
 *      again, and nobody has to open anything, since time goes on. Whoever dies in between leaves
 *      them closed.
 *   2. When they cannot be closed, the transaction does not commit.
 *   3. Slots are of the machine's time, as nginx has it, whatever FRESHET_NOW says.
 * Called by ledger_commit, under the lock of the ledger, and by `freshet up` before nginx starts.
 */
#ifndef FRESHET_LEDGER_SLOTS_H
#define FRESHET_LEDGER_SLOTS_H

#include "core/rc.h"

/* The slot of this moment, the one before (nginx looks at the clock now and then) and the two that
 * follow (a commit may wait for the disk). Marks of older ones go. */
MUST_CHECK enum rc slots_close(const char *dir, struct err *err);
/* Before nginx starts: what an earlier one has kept goes, so all slots are open. */
MUST_CHECK enum rc slots_reset(const char *dir, struct err *err);

#endif
