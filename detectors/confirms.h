/* confirms: subscriptions that want an address fetched before anything is delivered (SNS). Intake,
 * which may reach nobody, has written it down (ledger/push.h); the scheduler fetches it here, one
 * at a time.
 *
 *   open ──▶ fetched ── 200 ──▶ done
 *     ▲         └─ else: another try, with growing pauses, up to PUSH_CONFIRM_TRIES; then failed
 *     └────────────┘
 *
 * Invariants
 *   1. The address policy of the fetch engine holds: https, no private addresses but those listed.
 *   2. (I12) The address holds a token: it is in no log and no detail, and gone from the ledger at
 *      the end.
 *   3. A confirmation that is interrupted is fetched again: it can be given any number of times.
 * Called by the scheduler.
 */
#ifndef FRESHET_DETECTORS_CONFIRMS_H
#define FRESHET_DETECTORS_CONFIRMS_H

#include "core/instance.h"
#include "ledger/ledger.h"

struct confirms;
MUST_CHECK enum rc confirms_new(struct ledger *l, const struct instance *inst,
                                struct confirms **ret, struct err *err);
void confirms_free(struct confirms **c);
/* Writes what has ended, begins what is due; never waits. */
MUST_CHECK enum rc confirms_turn(struct confirms *c, struct err *err);

#endif
