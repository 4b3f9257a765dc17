/* orders: what admins asked to have checked (ledger/request.h), worked off by the scheduler.
 *
 *   request row open ─▶ taken: running, total known ─▶ checks added as there is room
 *                                                    ─▶ all committed: done
 *
 * Several orders run side by side, so that a slow upstream delays nobody else's.
 *
 * Invariants
 *   1. An order is done only after every check of it is committed.
 *   2. Two checks of one source never run at once: the order waits for the one under way.
 *   3. An order that a scheduler left behind is started anew by the next one.
 *   4. Sources that have to wait for a slow host delay no others of their order, as long as they
 *      are fewer than WAITING_MAX. A declaration that cannot be read delays nobody: its check fails
 *      by itself.
 */
#ifndef FRESHET_DETECTORS_ORDERS_H
#define FRESHET_DETECTORS_ORDERS_H

#include "detectors/detect.h"

struct orders;
MUST_CHECK enum rc orders_new(struct ledger *l, struct orders **ret, struct err *err);
void orders_free(struct orders **o);
/* Takes new requests from the ledger as far as there is a free place. */
MUST_CHECK enum rc orders_take(struct orders *o, int64_t now, struct err *err);
/* Adds checks as far as d has room. */
MUST_CHECK enum rc orders_feed(struct orders *o, struct detect *d, struct err *err);
/* To be told of every check that was committed for a request. */
void orders_count(struct orders *o, int64_t request_no);
/* Finishes orders whose checks are all committed. */
MUST_CHECK enum rc orders_finish(struct orders *o, int64_t now, struct err *err);

#endif
