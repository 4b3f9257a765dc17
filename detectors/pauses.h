/* pauses: what hosts have asked for ("come back in an hour") outlives the process that was told.
 * Owned by detect.c. Breakers are not kept: whoever is down is found out again by a few requests.
 *
 * Invariants
 *   1. A pause beyond FETCH_PAUSE_TOLD_MS is in the ledger soon after it was heard, for every
 *      process that starts before it is over; it never becomes shorter.
 */
#ifndef FRESHET_DETECTORS_PAUSES_H
#define FRESHET_DETECTORS_PAUSES_H

#include "core/fetch.h"
#include "ledger/pause.h"

#define PAUSES_MAX 64 /* heard and not yet written; more are forgotten at the end of the process */

struct pauses {
    size_t n;
    struct pause all[PAUSES_MAX];
};
/* Tells the engine what is in force, and hears from it from now on; p stays where it is. */
MUST_CHECK enum rc pauses_open(struct pauses *p, struct ledger *l, struct fetch *f,
                               struct err *err);
/* Writes what was heard. Costs nothing when that is nothing. */
MUST_CHECK enum rc pauses_save(struct pauses *p, struct ledger *l, struct err *err);

#endif
