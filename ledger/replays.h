/* replays: which replays were made, by whom, and how they ended; the sums of it for /metrics. WRITE role. */
#ifndef FRESHET_LEDGER_REPLAYS_H
#define FRESHET_LEDGER_REPLAYS_H

#include "ledger/ledger.h"

struct replay_done {
    int64_t since, until, src_no; /* src_no 0: all */
    const char *by, *approved_by; /* approved_by NULL: nobody had to */
    bool
        own; /* of the ledger's own log: that gets a row. Another log must stay the ledger's, so it does not */
    bool good;
    int64_t rows, noop, applied, failed;
    const char *detail; /* why it ended early, or NULL */
};
/* Kept. Own transaction. */
MUST_CHECK enum rc replays_done(struct ledger *l, const struct replay_done *r, int64_t now,
                                struct err *err);

#endif
