/* enqueue: one candidate and its replay row. */
#include "ledger/enqueue.h"

#include "core/clock.h"
#include "core/json.h"
#include "ledger/query.h"
#include "ledger/telemetry.h"

/* evt_<time>_<6 hex>; the day alone where the level hides when exactly something moved. */
enum rc enqueue_event_id(struct ledger *l, enum level level, int64_t detected_at, char out[48],
                         struct err *err)
{
    char when[TIME_MAX], hex[7];
    uint8_t bytes[3];
    int64_t taken, at = detected_at;
    if (level >= LEVEL_RESTRICTED)
        at -= at % DAY_MS;
    time_compact(at, when);
    for (int tries = 0; tries < 100; tries++) {
        rand_bytes(bytes, sizeof bytes);
        hex_encode(bytes, sizeof bytes, hex);
        snprintf(out, 48, "evt_%s_%s", when, hex);
        enum rc rc = query_i64(l, Q_INBOX_EVENT_TAKEN, &taken, err, "t", out);
        if (rc != RC_OK)
            return rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    return err_set(err, RC_INTERNAL, "", "no free event id was found");
}

static enum rc absorb(struct ledger *l, const struct news *n, char ret_event[48],
                      bool *ret_absorbed, struct err *err)
{
    int64_t cand_no;
    {
        CLEANUP(query_close) struct query q = {0};
        TRY(query_open(l, Q_INBOX_NEWEST, &q, err, "i", n->src_no));
        enum rc rc = query_next(l, &q, err);
        if (rc == RC_NOT_FOUND)
            return RC_OK;
        TRY(rc);
        if (!str_is(col_view(&q, 3), "ready") || !str_is(col_view(&q, 2), n->hint))
            return RC_OK;
        cand_no = col_i64(&q, 0);
        col_copy(&q, 1, ret_event, 48);
    }
    *ret_absorbed = true;
    TRY(query_run(l, Q_INBOX_ABSORB, err, "i", cand_no));
    return telemetry_run(l, n->src_no, RUN_ABSORBED, "", err);
}

static enum rc add(struct ledger *l, const struct news *n, int64_t now, char ret_event[48],
                   struct err *err)
{
    TRY(enqueue_event_id(l, n->level, n->detected_at, ret_event, err));
    return query_run(l, Q_INBOX_ADD, err, "tittthtiiim", ret_event, n->src_no, n->detector,
                     outcome_name(n->outcome), n->hint, n->sha, n->etag, n->detected_at, now,
                     (int64_t)n->unexpected, n->request_no ? n->request_no : -1);
}

/* All that the candidate is made of: from this row it can be made again (handler/replay.h). */
static enum rc record(struct ledger *l, const struct news *n, bool absorbed, int64_t now,
                      const char *event, struct err *err)
{
    CLEANUP(buf_release) struct buf body = {0};
    char hex[SHA256_HEX] = "";
    buf_init(&body, 1u << 16);
    if (n->sha)
        sha256_hex(n->sha, hex);
    buf_printf(&body, "{\"absorbed\":%s,\"detected_at\":%lld,\"detector\":\"%s\",\"etag\":",
               absorbed ? "true" : "false", (long long)n->detected_at, n->detector);
    if (n->etag)
        json_put_str(&body, str_of(n->etag));
    else
        buf_puts(&body, "null");
    buf_puts(&body, ",\"hint\":");
    json_put_str(&body, str_of(n->hint));
    buf_printf(&body, ",\"outcome\":\"%s\",\"sha256\":\"%s\",\"unexpected\":%s}",
               outcome_name(n->outcome), hex, n->unexpected ? "true" : "false");
    if (buf_rc(&body) != RC_OK)
        return err_set(err, RC_NOMEM, "", "no memory for the row of a candidate");
    return replay_append(l, now, "candidate", n->src_no, event, buf_view(&body), err);
}

enum rc enqueue(struct ledger *l, const struct news *n, int64_t now, char ret_event[48],
                struct err *err)
{
    bool absorbed = false;
    TRY(absorb(l, n, ret_event, &absorbed, err));
    if (!absorbed)
        TRY(add(l, n, now, ret_event, err));
    return record(l, n, absorbed, now, ret_event, err);
}

/* ---- from the log ---------------------------------------------------------------------------- */

static enum rc add_again(struct ledger *l, const struct news *n, int64_t now, const char *event,
                         struct err *err)
{
    return query_run(l, Q_INBOX_ADD, err, "tittthtiiim", event, n->src_no, n->detector,
                     outcome_name(n->outcome), n->hint, n->sha, n->etag, n->detected_at, now,
                     (int64_t)n->unexpected, (int64_t)-1);
}

enum rc enqueue_again(struct ledger *l, const struct news *n, bool absorbed, const char *event,
                      int64_t now, struct err *err)
{
    int64_t cand_no;
    if (absorbed) {
        TRY(query_i64(l, Q_DEAD_FIND, &cand_no, err, "t", event));
        TRY(query_run(l, Q_INBOX_ABSORB, err, "i", cand_no));
    } else {
        TRY(add_again(l, n, now, event, err));
    }
    return record(l, n, absorbed, now, event, err);
}
