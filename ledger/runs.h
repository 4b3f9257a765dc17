/* runs: moving the status of a run (I7). Private to ledger/; inside the caller's transaction. */
#ifndef FRESHET_LEDGER_RUNS_H
#define FRESHET_LEDGER_RUNS_H

#include "ledger/inbox.h"
#include "ledger/query.h"

/* Moves a run along pending → fetched → validated → staged → promoted, up to and including
 * `last`; a held run goes on from validated. */
MUST_CHECK enum rc run_advance(struct ledger *l, const char *run_id, const char *last, int64_t now,
                               struct err *err);
MUST_CHECK enum rc run_move(struct ledger *l, const char *run_id, const char *status, int64_t now,
                            struct err *err);
/* failed, then rolled_back: nothing was promoted; the evidence (prov, may be empty) is
 * kept (I5). */
MUST_CHECK enum rc run_fail(struct ledger *l, const char *run_id, const char *reason, struct str qa,
                            struct str prov, int64_t now, struct err *err);
/* The same for whatever run a candidate left open; RC_OK when it left none. */
MUST_CHECK enum rc run_fail_open(struct ledger *l, int64_t cand_no, const char *reason, int64_t now,
                                 struct err *err);
/* Leases this candidate, whatever waits before it, and opens its run; see inbox_claim. */
MUST_CHECK enum rc inbox_claim_one(struct ledger *l, struct arena *a, int64_t no, const char *owner,
                                   int64_t now, int64_t lease_ms, const struct run_tags *tags,
                                   struct candidate *ret, char ret_run[37], bool *ret_resumed,
                                   struct err *err);
/* RC_CONFLICT unless this lease is in force. */
MUST_CHECK enum rc inbox_lease_check(struct ledger *l, int64_t cand_no, int64_t token,
                                     struct err *err);

#endif
