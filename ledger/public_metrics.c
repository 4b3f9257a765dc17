/* public_metrics: see the header. */
#include "ledger/public_metrics.h"

#include "ledger/query.h"

enum rc public_totals(struct ledger *l, public_total_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_R_TOTALS, &q, err, ""));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct public_total t = {.outcome = col_view(&q, 0),
                                 .checks = col_i64(&q, 1),
                                 .requests = col_i64(&q, 2),
                                 .http_200 = col_i64(&q, 3),
                                 .http_304 = col_i64(&q, 4),
                                 .bytes_in = col_i64(&q, 5),
                                 .bytes_saved = col_i64(&q, 6)};
        TRY(fn(ctx, &t, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc count_failing(struct ledger *l, int64_t ret[HEALTH_COUNT], struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_R_COUNT_FAILING, &q, err, ""));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        bool gone = str_is(col_view(&q, 0), "gone");
        ret[gone ? HEALTH_gone : HEALTH_failing] += col_i64(&q, 1);
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc public_health_counts(struct ledger *l, int64_t now, int64_t ret[HEALTH_COUNT],
                             struct err *err)
{
    int64_t n[HEALTH_COUNT] = {0}, active;
    TRY(query_i64(l, Q_R_COUNT_ACTIVE, &active, err, ""));
    TRY(query_i64(l, Q_R_COUNT_UNCHECKED, &n[HEALTH_never_checked], err, ""));
    TRY(count_failing(l, n, err));
    TRY(query_i64(l, Q_R_COUNT_REFUSED, &n[HEALTH_refused], err, ""));
    TRY(query_i64(l, Q_R_COUNT_UNVERIFIED, &n[HEALTH_unverified], err, "i",
                  now - HEALTH_VERIFIED_MS));
    n[HEALTH_ok] = active;
    for (int s = 0; s < HEALTH_COUNT; s++)
        if (s != HEALTH_ok)
            n[HEALTH_ok] -= n[s];
    memcpy(ret, n, sizeof n);
    return RC_OK;
}

enum rc public_beats(struct ledger *l, public_beat_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_R_HEARTBEATS, &q, err, ""));
    while ((rc = query_next(l, &q, err)) == RC_OK)
        TRY(fn(ctx, col_view(&q, 0), col_i64(&q, 1), err));
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc public_outbox(struct ledger *l, public_outbox_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_R_OUTBOX, &q, err, ""));
    while ((rc = query_next(l, &q, err)) == RC_OK)
        TRY(fn(ctx, col_view(&q, 0), col_i64(&q, 1), col_i64(&q, 2), col_time(&q, 3), err));
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc sums(struct ledger *l, enum stmt_id id, public_sum_fn *fn, void *ctx,
                    struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, id, &q, err, ""));
    while ((rc = query_next(l, &q, err)) == RC_OK)
        TRY(fn(ctx, col_view(&q, 0), col_i64(&q, 1), err));
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc public_noise(struct ledger *l, public_sum_fn *fn, void *ctx, struct err *err)
{
    return sums(l, Q_R_NOISE, fn, ctx, err);
}

enum rc public_pushes(struct ledger *l, public_sum_fn *fn, void *ctx, struct err *err)
{
    return sums(l, Q_R_PUSHES, fn, ctx, err);
}

enum rc public_replays(struct ledger *l, public_sum_fn *fn, void *ctx, struct err *err)
{
    return sums(l, Q_R_REPLAYS, fn, ctx, err);
}

enum rc public_run_counts(struct ledger *l, public_run_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_R_RUNS, &q, err, ""));
    while ((rc = query_next(l, &q, err)) == RC_OK)
        TRY(fn(ctx, col_view(&q, 0), col_view(&q, 1), col_i64(&q, 2), err));
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc public_gauges(struct ledger *l, public_gauge_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_R_GAUGES, &q, err, ""));
    while ((rc = query_next(l, &q, err)) == RC_OK)
        TRY(fn(ctx, col_view(&q, 0), col_num(&q, 1), err));
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc public_undigested(struct ledger *l, int64_t now, int64_t *ret, struct err *err)
{
    return query_i64(l, Q_R_COUNT_UNDIGESTED, ret, err, "i", now - HEALTH_VERIFIED_MS);
}
