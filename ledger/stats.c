/* stats: see the header. */
#include "ledger/stats.h"

#include "ledger/query.h"

#define LAGS_MAX 500

/* Groups in the order they are told. Each statement gives name and number. */
static const struct {
    const char *group;
    enum stmt_id id;
} groups[] = {{"sources", Q_STATS_SOURCES},   {"changes", Q_STATS_CHANGES},
              {"runs", Q_STATS_RUNS},         {"inbox", Q_STATS_INBOX},
              {"bytes_kept", Q_STATS_BYTES},  {"objects", Q_STATS_OBJECTS},
              {"evidence", Q_STATS_EVIDENCE}, {"to_be_told", Q_STATS_TOLD}};

static enum rc tell(struct ledger *l, struct arena *a, size_t g, stats_fn *fn, void *ctx,
                    struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(fn(ctx, groups[g].group, NULL, 0, err));
    TRY(query_open(l, groups[g].id, &q, err, ""));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        arena_reset(a);
        const char *name = col_text(a, &q, 0);
        if (!name)
            return err_set(err, RC_NOMEM, "", "no memory for a number");
        TRY(fn(ctx, groups[g].group, name, col_i64(&q, 1), err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc stats_each(struct ledger *l, stats_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    enum rc rc = RC_OK;
    arena_init(&a, 1 << 16);
    TRY(ledger_read_begin(l, err)); /* all of one moment */
    for (size_t g = 0; g < ARRAY_LEN(groups) && rc == RC_OK; g++)
        rc = tell(l, &a, g, fn, ctx, err);
    ledger_read_end(l);
    return rc;
}

enum rc stats_lag(struct ledger *l, struct stats_lag *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    int64_t lags[LAGS_MAX];
    size_t n = 0;
    enum rc rc = RC_OK;
    TRY(query_open(l, Q_STATS_LAGS, &q, err, "i", (int64_t)LAGS_MAX));
    while (n < LAGS_MAX && (rc = query_next(l, &q, err)) == RC_OK)
        lags[n++] = col_i64(&q, 0); /* in order */
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret = (struct stats_lag){n ? lags[(n - 1) / 2] : -1, n ? lags[(n - 1) * 95 / 100] : -1,
                              (int64_t)n};
    return RC_OK;
}
