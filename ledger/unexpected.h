/* unexpected: what was found outside every window of its source, for `freshet monitor`.
 * WRITE role. */
#ifndef FRESHET_LEDGER_UNEXPECTED_H
#define FRESHET_LEDGER_UNEXPECTED_H

#include "ledger/source.h"

struct unexpected {
    int64_t cand_no, src_no, detected_at;
    struct str event_id, outcome;
    struct str state, result;             /* of the candidate; result "" while it is open */
    struct str change_type, change_class; /* "" unless it was promoted */
};
/* Newest first, those after candidate `after_no` that were detected at `since` or later, at most
 * max. Views are valid during the call; other statements may run inside. */
typedef enum rc unexpected_fn(void *ctx, const struct unexpected *u, struct err *err);
MUST_CHECK enum rc unexpected_each(struct ledger *l, int64_t after_no, int64_t since, int64_t max,
                                   unexpected_fn *fn, void *ctx, struct err *err);

#endif
