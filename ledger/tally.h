/* tally: what checking has cost and saved, summed by outcome: per day (check_days, the operator's)
 * and since the beginning without withheld sources (public_check_totals, for /metrics).
 *
 * Invariants
 *   1. a batch costs one upsert per outcome and batch, not per check.
 *   2. (I8) A check of a restricted or sovereign source never moves a public sum.
 *   3. Sums are committed with the receipts they count.
 */
#ifndef FRESHET_LEDGER_TALLY_H
#define FRESHET_LEDGER_TALLY_H

#include "ledger/ledger.h"
#include "ledger/outcome.h"

struct tally {
    int64_t checks, requests, http_200, http_304, bytes_in, bytes_saved;
};

/* The sums of one batch, before they are written. */
struct tally_batch {
    struct tally all[OUTCOME_COUNT], open[OUTCOME_COUNT];
};
/* open: the check may be counted in public. */
void tally_count(struct tally_batch *b, enum outcome o, bool open, const struct tally *t);
/* Writes a batch, inside the transaction of its receipts. check.c is the one caller. INBOX role. */
MUST_CHECK enum rc tally_put(struct ledger *l, const struct tally_batch *b, int64_t now,
                             struct err *err);

/* Sums of the days in [from, until), by outcome. WRITE role. */
struct tally_sums {
    struct tally by_outcome[OUTCOME_COUNT], all;
};
MUST_CHECK enum rc tally_between(struct ledger *l, int64_t from, int64_t until,
                                 struct tally_sums *ret, struct err *err);
/* First and last day that has sums; -1 when there are none. */
MUST_CHECK enum rc tally_range(struct ledger *l, int64_t *ret_first, int64_t *ret_last,
                               struct err *err);

#endif
