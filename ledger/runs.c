/* runs: moving the status of a run. The database itself refuses illegal moves
 * (trigger ledger_moves). */
#include "ledger/runs.h"

static const char *const path[] = {"pending", "fetched", "validated", "staged", "promoted"};

enum rc run_move(struct ledger *l, const char *run_id, const char *status, int64_t now,
                 struct err *err)
{
    return query_run(l, Q_LEDGER_MOVE, err, "tti", run_id, status, now);
}

static enum rc read_status(struct ledger *l, const char *run_id, char out[16], struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_LEDGER_STATUS, &q, err, "t", run_id));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_NOT_FOUND, "", "no such run");
    TRY(rc);
    col_copy(&q, 0, out, 16);
    return RC_OK;
}

enum rc run_advance(struct ledger *l, const char *run_id, const char *last, int64_t now,
                    struct err *err)
{
    char status[16];
    size_t i = 0;
    TRY(read_status(l, run_id, status, err));
    if (strcmp(status, "held") == 0)
        i = 1; /* held → validated */
    else
        while (i < ARRAY_LEN(path) && strcmp(path[i], status) != 0)
            i++;
    while (++i < ARRAY_LEN(path)) {
        TRY(run_move(l, run_id, path[i], now, err));
        if (strcmp(path[i], last) == 0)
            return RC_OK;
    }
    return err_set(err, RC_CONFLICT, "", "a run that is %s cannot become %s", status, last);
}

enum rc run_fail(struct ledger *l, const char *run_id, const char *reason, struct str qa,
                 struct str prov, int64_t now, struct err *err)
{
    TRY(run_move(l, run_id, "failed", now, err));
    TRY(run_move(l, run_id, "rolled_back", now, err));
    TRY(query_run(l, Q_LEDGER_REASON, err, "tt", run_id, reason));
    TRY(query_run(l, Q_RUN_END, err, "tiss", run_id, now, qa, (struct str){0}));
    return prov.n ? query_run(l, Q_PROV_ADD, err, "ts", run_id, prov) : RC_OK;
}

enum rc run_fail_open(struct ledger *l, int64_t cand_no, const char *reason, int64_t now,
                      struct err *err)
{
    char run[37];
    {
        CLEANUP(query_close) struct query q = {0};
        TRY(query_open(l, Q_INBOX_RUN_OPEN, &q, err, "i", cand_no));
        enum rc rc = query_next(l, &q, err);
        if (rc != RC_OK)
            return rc == RC_NOT_FOUND ? RC_OK : rc;
        col_copy(&q, 0, run, sizeof run);
    }
    return run_fail(l, run, reason, (struct str){0}, (struct str){0}, now, err);
}
