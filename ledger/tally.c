/* tally: see the header. */
#include "ledger/tally.h"

#include "core/clock.h"
#include "ledger/query.h"

/* ---- writing --------------------------------------------------------------------------------- */

static void add(struct tally *to, const struct tally *t)
{
    to->checks += t->checks;
    to->requests += t->requests;
    to->http_200 += t->http_200;
    to->http_304 += t->http_304;
    to->bytes_in += t->bytes_in;
    to->bytes_saved += t->bytes_saved;
}

void tally_count(struct tally_batch *b, enum outcome o, bool open, const struct tally *t)
{
    add(&b->all[o], t);
    if (open)
        add(&b->open[o], t);
}

enum rc tally_put(struct ledger *l, const struct tally_batch *b, int64_t now, struct err *err)
{
    int64_t day = now - now % DAY_MS;
    for (int o = 0; o < OUTCOME_COUNT; o++) {
        const struct tally *t = &b->all[o];
        const char *name = outcome_name((enum outcome)o);
        if (t->checks)
            TRY(query_run(l, Q_TALLY_DAY, err, "itiiiiii", day, name, t->checks, t->requests,
                          t->http_200, t->http_304, t->bytes_in, t->bytes_saved));
        t = &b->open[o];
        if (t->checks)
            TRY(query_run(l, Q_TALLY_PUBLIC, err, "tiiiiii", name, t->checks, t->requests,
                          t->http_200, t->http_304, t->bytes_in, t->bytes_saved));
    }
    return RC_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

enum rc tally_between(struct ledger *l, int64_t from, int64_t until, struct tally_sums *ret,
                      struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    struct tally_sums sums = {0};
    enum rc rc;
    TRY(query_open(l, Q_TALLY_BETWEEN, &q, err, "ii", from, until));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct tally t = {.checks = col_i64(&q, 1),
                          .requests = col_i64(&q, 2),
                          .http_200 = col_i64(&q, 3),
                          .http_304 = col_i64(&q, 4),
                          .bytes_in = col_i64(&q, 5),
                          .bytes_saved = col_i64(&q, 6)};
        add(&sums.all, &t);
        for (int o = 0; o < OUTCOME_COUNT; o++)
            if (str_is(col_view(&q, 0), outcome_name((enum outcome)o)))
                add(&sums.by_outcome[o], &t);
    }
    if (rc != RC_NOT_FOUND)
        return rc;
    *ret = sums;
    return RC_OK;
}

enum rc tally_range(struct ledger *l, int64_t *ret_first, int64_t *ret_last, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_TALLY_RANGE, &q, err, ""));
    TRY(query_next(l, &q, err));
    *ret_first = col_time(&q, 0);
    *ret_last = col_time(&q, 1);
    return RC_OK;
}
