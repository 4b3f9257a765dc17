/* replays: the record of each. */
#include "ledger/replays.h"

#include "core/clock.h"
#include "core/json.h"
#include "ledger/query.h"

static enum rc log_it(struct ledger *l, const struct replay_done *r, const char *id, int64_t now,
                      struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, 1u << 16);
    buf_puts(&body, "{\"approved_by\":");
    json_put_str(&body, str_of(r->approved_by ? r->approved_by : ""));
    buf_puts(&body, ",\"by\":");
    json_put_str(&body, str_of(r->by));
    buf_printf(&body, ",\"since\":%lld,\"until\":%lld}", (long long)r->since, (long long)r->until);
    if (buf_rc(&body) != RC_OK)
        return err_set(err, RC_INVALID, "by", "is too long");
    return replay_append(l, now, "admin.replay", r->src_no, id, buf_view(&body), err);
}

static enum rc add(struct ledger *l, const struct replay_done *r, int64_t now, struct err *err)
{
    char uuid[37], id[48];
    const char *state = r->good ? "done" : "failed";
    uuid7(now, uuid);
    snprintf(id, sizeof id, "rpl_%s", uuid);
    TRY(query_run(l, Q_REPLAY_SET, err, "tiimitttiiiitii", id, r->since, r->until,
                  r->src_no ? r->src_no : -1, (int64_t)0, r->by, r->approved_by, state, r->rows,
                  r->noop, r->applied, r->failed, r->detail, now, now));
    TRY(query_run(l, Q_REPLAY_RESULT, err, "t", state));
    return r->own ? log_it(l, r, id, now, err) : RC_OK;
}

enum rc replays_done(struct ledger *l, const struct replay_done *r, int64_t now, struct err *err)
{
    TRY(ledger_begin(l, err));
    enum rc rc = add(l, r, now, err);
    if (rc != RC_OK) {
        ledger_abort(l);
        return rc;
    }
    return ledger_commit(l, err);
}
