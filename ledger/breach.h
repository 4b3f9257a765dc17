/* breach: tells subscribers when the health of a source (health.h) becomes a breach, and when it
 * is over.
 *
 * Invariants
 *   1. Told are moves only: source_state.breach remembers what was told last, and both are written
 *      in one transaction. Another breach after one (failing, then gone) is told as one
 *      that begins.
 *   2. What a check finds is told by the commit of that check (INBOX role). What time alone brings
 *      (late, long not digested), and sources that are retired, are met by breach_sweep.
 *   3. A source that was just declared is no breach: only one that nobody has looked at an hour
 *      after it was due.
 */
#ifndef FRESHET_LEDGER_BREACH_H
#define FRESHET_LEDGER_BREACH_H

#include "ledger/health.h"
#include "ledger/ledger.h"

/* The state of a source is now this; told: what its row said when it was read. Inside the caller's
 * transaction. INBOX role. */
MUST_CHECK enum rc breach_follow(struct ledger *l, int64_t src_no, const struct health_facts *f,
                                 const char *told, int64_t now, struct err *err);
/* Looks through those that may have moved without a check. *ret_n: how many had. Own transaction
 * when there is something to write. WRITE role. */
MUST_CHECK enum rc breach_sweep(struct ledger *l, int64_t now, int64_t *ret_n, struct err *err);

#endif
