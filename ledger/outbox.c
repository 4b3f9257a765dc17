/* outbox: rows for consumers, and what these need to know of a run. */
#include "ledger/outbox.h"

#include "ledger/query.h"
#include "ledger/telemetry.h"

enum rc outbox_put(struct ledger *l, const char *run_id, const char *kind, struct str body,
                   int64_t now, struct err *err)
{
    return query_run(l, Q_OUTBOX_ADD, err, "ttsi", kind, run_id, body, now);
}

enum rc outbox_next(struct ledger *l, const char *kind, int64_t now, size_t max,
                    struct outbox_row ret[OUTBOX_ROWS_MAX], size_t *ret_n, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc = RC_NOT_FOUND;
    size_t n = 0;
    max = max < OUTBOX_ROWS_MAX ? max : OUTBOX_ROWS_MAX;
    TRY(query_open(l, Q_OUTBOX_NEXT, &q, err, "tii", kind, now, (int64_t)max));
    while (n < max && (rc = query_next(l, &q, err)) == RC_OK) {
        ret[n] = (struct outbox_row){
            .no = col_i64(&q, 0), .attempts = col_i64(&q, 2), .created_at = col_i64(&q, 3)};
        col_copy(&q, 1, ret[n].run_id, sizeof ret[n].run_id);
        n++;
    }
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret_n = n;
    return RC_OK;
}

enum rc outbox_next_at(struct ledger *l, int64_t *ret, struct err *err)
{
    int64_t at = -1;
    enum rc rc = query_i64(l, Q_OUTBOX_NEXT_AT, &at, err, "");
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret = rc == RC_OK ? at : -1;
    return RC_OK;
}

enum rc outbox_done(struct ledger *l, const int64_t *nos, size_t n, struct err *err)
{
    enum rc rc = RC_OK;
    TRY(ledger_begin(l, err));
    for (size_t i = 0; i < n && rc == RC_OK; i++)
        rc = query_run(l, Q_OUTBOX_DONE, err, "i", nos[i]);
    return ledger_end(l, rc, err);
}

enum rc outbox_failed(struct ledger *l, int64_t no, const char *why, int64_t next_at, int64_t now,
                      struct err *err)
{
    TRY(ledger_begin(l, err));
    return ledger_end(l,
                      query_run(l, Q_OUTBOX_FAILED, err, "itim", no, why,
                                next_at < 0 ? now : next_at, next_at < 0 ? now : (int64_t)-1),
                      err);
}

enum rc outbox_revive(struct ledger *l, int64_t now, int64_t *ret_n, struct err *err)
{
    int64_t n = 0;
    TRY(ledger_begin(l, err));
    enum rc rc = query_i64(l, Q_OUTBOX_DEAD, &n, err, "");
    if (rc == RC_OK)
        rc = query_run(l, Q_OUTBOX_REVIVE, err, "i", now);
    TRY(ledger_end(l, rc, err));
    *ret_n = n;
    return RC_OK;
}

enum rc outbox_each(struct ledger *l, outbox_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    arena_init(&a, 1 << 16);
    TRY(query_open(l, Q_OUTBOX_STATS, &q, err, ""));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct outbox_stats s = {.kind = col_text(&a, &q, 0),
                                 .open = col_i64(&q, 1),
                                 .dead = col_i64(&q, 2),
                                 .oldest_at = col_time(&q, 3),
                                 .why = col_text(&a, &q, 4)};
        if (!s.kind || !s.why)
            return err_set(err, RC_NOMEM, "", "no memory for the outbox");
        TRY(fn(ctx, &s, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc outbox_count(struct ledger *l, int64_t now, struct err *err)
{
    TRY(ledger_begin(l, err));
    enum rc rc = query_run(l, Q_OUTBOX_WIPE, err, "");
    if (rc == RC_OK)
        rc = query_run(l, Q_OUTBOX_COUNT, err, "");
    if (rc == RC_OK)
        rc = query_run(l, Q_OUTBOX_COUNT_NOTICES, err, "");
    if (rc == RC_OK)
        rc = telemetry_measure(l, now, err);
    return ledger_end(l, rc, err);
}

enum rc outbox_run(struct ledger *l, struct arena *a, const char *run_id, struct outbox_run *ret,
                   struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_OUTBOX_RUN, &q, err, "t", run_id));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_NOT_FOUND)
        return err_set(
            err, rc, "",
            "run %s is not finalized, or has lost its delta or its provenance: bring them "
            "back from a backup",
            run_id);
    TRY(rc);
    struct outbox_run r = {.source_id = col_text(a, &q, 0),
                           .title = col_text(a, &q, 1),
                           .detector = col_str(a, &q, 3),
                           .wal = col_str(a, &q, 4),
                           .manifest = col_str(a, &q, 5),
                           .delta = col_str(a, &q, 6),
                           .prov = col_str(a, &q, 7),
                           .entry = col_str(a, &q, 8)};
    const char *level = col_text(a, &q, 2);
    if (!r.source_id || !r.title || !level || !r.detector.p || !r.wal.p || !r.manifest.p ||
        !r.delta.p || !r.prov.p || !r.entry.p)
        return err_set(err, RC_NOMEM, "", "no memory for the documents of a run");
    if (level_parse(level, &r.level) != RC_OK)
        return err_set(err, RC_CORRUPT, "", "a source has no level");
    *ret = r;
    return RC_OK;
}

enum rc outbox_failed_run(struct ledger *l, struct arena *a, const char *run_id,
                          struct outbox_failed_run *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_OUTBOX_RUN_FAILED, &q, err, "t", run_id));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, rc, "", "run %s has not ended", run_id);
    TRY(rc);
    struct outbox_failed_run r = {.source_id = col_text(a, &q, 0),
                                  .url = col_text(a, &q, 2),
                                  .reason = col_text(a, &q, 3),
                                  .at = col_text(a, &q, 4)};
    const char *level = col_text(a, &q, 1);
    if (!r.source_id || !r.url || !r.reason || !r.at || !level)
        return err_set(err, RC_NOMEM, "", "no memory for a run");
    if (level_parse(level, &r.level) != RC_OK)
        return err_set(err, RC_CORRUPT, "", "a source has no level");
    *ret = r;
    return RC_OK;
}

enum rc outbox_each_run(struct ledger *l, outbox_run_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    char run[37];
    enum rc rc;
    TRY(query_open(l, Q_OUTBOX_RUNS, &q, err, ""));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        col_copy(&q, 0, run, sizeof run);
        TRY(fn(ctx, run, col_i64(&q, 1), col_i64(&q, 2) != 0, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc outbox_knows(struct ledger *l, const char *run_id, struct err *err)
{
    int64_t one;
    return query_i64(l, Q_OUTBOX_KNOWS, &one, err, "t", run_id);
}
