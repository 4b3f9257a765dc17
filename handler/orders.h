/* orders: carries out what was asked for over HTTP: declarations (ledger/order.h) and replays
 * (ledger/replays.h).
 *
 * Invariants
 *   1. A declaration, its public rows and the mark that it was done are one transaction. What
 *      cannot be done leaves nothing but the reason.
 *   2. One replay at a time per instance (run/replay.lock, freed when its worker dies; then it is
 *      made again from the start). It looks at the ledger's own log and changes nothing.
 * Called by work between two jobs.
 */
#ifndef FRESHET_HANDLER_ORDERS_H
#define FRESHET_HANDLER_ORDERS_H

#include "core/instance.h"
#include "ledger/ledger.h"

/* All that are open. */
MUST_CHECK enum rc orders_apply(struct ledger *l, const struct instance *inst, int64_t now,
                                struct err *err);
/* The oldest open replay, unless another worker has one; tick is called while it goes on. */
typedef void orders_tick_fn(void *ctx, int64_t done, int64_t total);
MUST_CHECK enum rc orders_replay(struct ledger *l, const struct instance *inst,
                                 orders_tick_fn *tick, void *ctx, struct err *err);

#endif
