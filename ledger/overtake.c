/* overtake: ends held changes that a later look left behind. */
#include "ledger/overtake.h"

#include "ledger/query.h"
#include "ledger/runs.h"
#include "ledger/telemetry.h"

struct left {
    int64_t cand_no, src_no;
    char event_id[48], run_id[37];
};

static enum rc next_left(struct ledger *l, int64_t src_no, int64_t before, struct left *ret,
                         struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_OVERTAKEN, &q, err, "ii", src_no, before));
    TRY(query_next(l, &q, err));
    *ret = (struct left){.cand_no = col_i64(&q, 0), .src_no = src_no};
    col_copy(&q, 1, ret->event_id, sizeof ret->event_id);
    col_copy(&q, 2, ret->run_id, sizeof ret->run_id);
    return RC_OK;
}

static enum rc end(struct ledger *l, const struct left *x, int64_t now, struct err *err)
{
    char body[96];
    int n = snprintf(body, sizeof body, "{\"run\":\"%s\"}", x->run_id);
    TRY(replay_append(l, now, "run.superseded", x->src_no, x->event_id,
                      (struct str){body, (size_t)n}, err));
    TRY(run_fail(l, x->run_id, OVERTAKEN, (struct str){0}, (struct str){0}, now, err));
    TRY(telemetry_run(l, x->src_no, RUN_NOOP, OVERTAKEN, err));
    return query_run(l, Q_INBOX_END, err, "itttm", x->cand_no, "done", "noop", OVERTAKEN, now);
}

enum rc overtake_older(struct ledger *l, int64_t src_no, int64_t before, int64_t now,
                       int64_t *ret_n, struct err *err)
{
    struct left x;
    enum rc rc;
    *ret_n = 0;
    while ((rc = next_left(l, src_no, before, &x, err)) == RC_OK) {
        TRY(end(l, &x, now, err));
        ++*ret_n;
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc find(struct ledger *l, const char *event_id, struct left *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_OVERTAKEN_FIND, &q, err, "t", event_id));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_CORRUPT, "log", "what was superseded is not on hold");
    TRY(rc);
    *ret = (struct left){.cand_no = col_i64(&q, 0), .src_no = col_i64(&q, 1)};
    col_copy(&q, 2, ret->event_id, sizeof ret->event_id);
    col_copy(&q, 3, ret->run_id, sizeof ret->run_id);
    return RC_OK;
}

enum rc overtake_again(struct ledger *l, const char *event_id, int64_t now, struct err *err)
{
    struct left x;
    TRY(find(l, event_id, &x, err));
    return end(l, &x, now, err);
}
