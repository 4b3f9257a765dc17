/* ahead: sources that were looked at in the future, by a clock that was ahead then (or is behind
 * now). Their next looks are counted from that time, so nobody would look at them until it has
 * come. Called by whoever looks at what is due. */
#ifndef FRESHET_LEDGER_AHEAD_H
#define FRESHET_LEDGER_AHEAD_H

#include "ledger/health.h"
#include "ledger/ledger.h"

/* They are due at `now`; *ret_n: how many. All sources are gone through when `search` says so, or
 * when checks were counted on later days that *io_known does not know of yet (0 at first); else it
 * costs one lookup. */
MUST_CHECK enum rc ahead_mend(struct ledger *l, int64_t now, bool search, int64_t *io_known,
                              int64_t *ret_n, struct err *err);

#endif
