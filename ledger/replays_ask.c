/* replays_ask: stores the wish for a replay. Apart from replays.c, as who makes replays takes
 * no wishes. */
#include "core/clock.h"
#include "ledger/query.h"
#include "ledger/replays.h"

static enum rc refuse_second(struct ledger *l, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_REPLAY_OPEN, &q, err, ""));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_OK)
        return err_set(err, RC_CONFLICT, "", "Another replay is under way: wait for its end.");
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc ask(struct ledger *l, const struct replay_wish *w, int64_t now,
                   char ret_id[REPLAYS_ID_MAX], struct err *err)
{
    const struct request_key k = {"replay", w->by, w->key, w->body};
    const struct replay_done r = {.since = w->since,
                                  .until = w->until,
                                  .src_no = w->src_no,
                                  .by = w->by->name,
                                  .approved_by = w->approved_by};
    bool repeated = false;
    char uuid[37];
    TRY(request_key_find(l, &k, ret_id, &repeated, err));
    if (repeated)
        return RC_OK;
    TRY(refuse_second(l, err));
    uuid7(now, uuid);
    snprintf(ret_id, REPLAYS_ID_MAX, "rpl_%s", uuid);
    TRY(query_run(l, Q_REPLAY_ASK, err, "tiimtti", ret_id, w->since, w->until,
                  w->src_no ? w->src_no : -1, w->by->name, w->approved_by, now));
    TRY(replays_log(l, &r, ret_id, now, err));
    return request_key_add(l, &k, ret_id, now, err);
}

enum rc replays_ask(struct ledger *l, const struct replay_wish *w, int64_t now,
                    char ret_id[REPLAYS_ID_MAX], struct err *err)
{
    char id[REPLAYS_ID_MAX] = "";
    TRY(ledger_begin(l, err));
    TRY(ledger_end(l, ask(l, w, now, id, err), err));
    memcpy(ret_id, id, sizeof id);
    return RC_OK;
}
