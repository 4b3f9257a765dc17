/* enqueue: one candidate and its replay row. */
#include "ledger/enqueue.h"

#include "core/clock.h"
#include "ledger/query.h"

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
    return query_run(l, Q_INBOX_ABSORB, err, "i", cand_no);
}

static enum rc add(struct ledger *l, const struct news *n, int64_t now, char ret_event[48],
                   struct err *err)
{
    TRY(enqueue_event_id(l, n->level, n->detected_at, ret_event, err));
    return query_run(l, Q_INBOX_ADD, err, "tittthtiiim", ret_event, n->src_no, n->detector,
                     outcome_name(n->outcome), n->hint, n->sha, n->etag, n->detected_at, now,
                     (int64_t)n->unexpected, n->request_no ? n->request_no : -1);
}

enum rc enqueue(struct ledger *l, const struct news *n, int64_t now, char ret_event[48],
                struct err *err)
{
    char hex[SHA256_HEX] = "", body[256];
    bool absorbed = false;
    TRY(absorb(l, n, ret_event, &absorbed, err));
    if (!absorbed)
        TRY(add(l, n, now, ret_event, err));
    if (n->sha)
        sha256_hex(n->sha, hex);
    int len = snprintf(body, sizeof body,
                       "{\"absorbed\":%s,\"detector\":\"%s\",\"outcome\":\"%s\",\"sha256\":\"%s\"}",
                       absorbed ? "true" : "false", n->detector, outcome_name(n->outcome), hex);
    return replay_append(l, now, "candidate", n->src_no, ret_event, (struct str){body, (size_t)len},
                         err);
}
