/* telemetry: sums and measures behind /metrics that are not by-products of checks (tally.h) or of
 * the outbox: how runs ended and why, what was absorbed, how deep and old the inbox is, how long a
 * change takes.
 *
 * Invariants
 *   1. (I8) Of restricted and sovereign sources nothing is counted and nothing is measured.
 *   2. A sum moves in the transaction of what it counts; a replay of the log moves none.
 *   3. A measure is as old as `at` says, at most some seconds while freshet-outbox runs.
 */
#ifndef FRESHET_LEDGER_TELEMETRY_H
#define FRESHET_LEDGER_TELEMETRY_H

#include "ledger/ledger.h"

/* Results in public_runs. */
#define RUN_PROMOTED "promoted"
#define RUN_NOOP "noop"
#define RUN_FAILED "failed"
#define RUN_HELD "held"
#define RUN_RETRY "retry"
#define RUN_DEAD "dead"
#define RUN_ABSORBED "absorbed" /* no run of its own: it was known, and waits already */

/* One more; reason a stable code or "". Inside the caller's transaction. INBOX role. */
MUST_CHECK enum rc telemetry_run(struct ledger *l, int64_t src_no, const char *result,
                                 const char *reason, struct err *err);
/* Measures all. Inside the caller's transaction. WRITE role. */
MUST_CHECK enum rc telemetry_measure(struct ledger *l, int64_t now, struct err *err);

#endif
