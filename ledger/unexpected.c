/* unexpected: see the header. */
#include "ledger/unexpected.h"

#include "ledger/query.h"

enum rc unexpected_each(struct ledger *l, int64_t after_no, int64_t since, int64_t max,
                        unexpected_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_UNEXPECTED_NEW, &q, err, "iii", after_no, since, max));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct unexpected u = {.cand_no = col_i64(&q, 0),
                               .src_no = col_i64(&q, 1),
                               .event_id = col_view(&q, 2),
                               .outcome = col_view(&q, 3),
                               .detected_at = col_i64(&q, 4),
                               .state = col_view(&q, 5),
                               .result = col_view(&q, 6),
                               .change_type = col_view(&q, 7),
                               .change_class = col_view(&q, 8)};
        TRY(fn(ctx, &u, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}
