/* telemetry: sums are rows that grow; measures are taken anew, from what is there. */
#include "ledger/telemetry.h"

#include "ledger/query.h"

#define LAGS_MAX 500         /* newest changes: a window that every program can sort at once */
#define RATE_WINDOW_MS 60000 /* over which the rate of runs is taken */

enum rc telemetry_run(struct ledger *l, int64_t src_no, const char *result, const char *reason,
                      struct err *err)
{
    return l->script ? RC_OK : query_run(l, Q_RUN_COUNT, err, "itt", src_no, result, reason);
}

static enum rc put(struct ledger *l, const char *name, double value, int64_t now, struct err *err)
{
    return query_run(l, Q_GAUGE_PUT, err, "tdi", name, value, now);
}

static enum rc get(struct ledger *l, const char *name, double *ret_value, int64_t *ret_at,
                   struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_GAUGE_GET, &q, err, "t", name));
    TRY(query_next(l, &q, err));
    *ret_value = col_num(&q, 0);
    *ret_at = col_i64(&q, 1);
    return RC_OK;
}

/* From detection to publication, of the newest changes. */
static enum rc measure_lag(struct ledger *l, int64_t now, struct err *err)
{
    int64_t lags[LAGS_MAX];
    size_t n = 0;
    {
        CLEANUP(query_close) struct query q = {0};
        enum rc rc = RC_OK;
        TRY(query_open(l, Q_LAGS, &q, err, "i", (int64_t)LAGS_MAX));
        while (n < LAGS_MAX && (rc = query_next(l, &q, err)) == RC_OK)
            lags[n++] = col_i64(&q, 0); /* in order */
        if (rc != RC_OK && rc != RC_NOT_FOUND)
            return rc;
    }
    if (n == 0)
        return RC_OK;
    size_t half = (n - 1) / 2, most = (n - 1) * 95 / 100;
    TRY(put(l, "lag_p50", (double)lags[half] / 1000, now, err));
    return put(l, "lag_p95", (double)lags[most] / 1000, now, err);
}

/* How long what waits will take at the rate of the last minute; -1: nothing moves. */
static enum rc measure_drain(struct ledger *l, double open, int64_t now, struct err *err)
{
    double before = 0, rate = 0;
    int64_t runs, at = 0;
    TRY(query_i64(l, Q_RUNS_TOTAL, &runs, err, ""));
    enum rc rc = get(l, "runs_seen", &before, &at, err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    if (rc == RC_OK && now > at)
        rate = ((double)runs - before) * 1000 / (double)(now - at);
    TRY(put(l, "drain", open <= 0 ? 0 : rate > 0 ? open / rate : -1, now, err));
    return rc == RC_OK && now - at < RATE_WINDOW_MS ? RC_OK
                                                    : put(l, "runs_seen", (double)runs, now, err);
}

enum rc telemetry_measure(struct ledger *l, int64_t now, struct err *err)
{
    int64_t open, held, dead, oldest;
    {
        CLEANUP(query_close) struct query q = {0};
        TRY(query_open(l, Q_INBOX_MEASURE, &q, err, ""));
        TRY(query_next(l, &q, err));
        open = col_i64(&q, 0);
        held = col_i64(&q, 1);
        dead = col_i64(&q, 2);
        oldest = col_time(&q, 3);
    }
    TRY(put(l, "inbox_open", (double)open, now, err));
    TRY(put(l, "inbox_held", (double)held, now, err));
    TRY(put(l, "inbox_dead", (double)dead, now, err));
    TRY(put(l, "inbox_oldest_at", (double)oldest, now, err));
    TRY(measure_drain(l, (double)open, now, err));
    return measure_lag(l, now, err);
}
