/* candidates: reading what is in the inbox. Apart from inbox.c, whose writers a program that only
 * looks must not hold. */
#include "ledger/inbox.h"
#include "ledger/query.h"

/* Columns of INBOX_GET and INBOX_LIST. */
static enum rc read_candidate(struct arena *a, const struct query *q, struct candidate *ret,
                              struct err *err)
{
    struct candidate c = {.no = col_i64(q, 0),
                          .src_no = col_i64(q, 1),
                          .event_id = col_text(a, q, 2),
                          .detector = col_text(a, q, 3),
                          .outcome = col_text(a, q, 4),
                          .version_hint = col_text(a, q, 5),
                          .etag = col_text(a, q, 6),
                          .unexpected = col_i64(q, 8) != 0,
                          .detected_at = col_i64(q, 9),
                          .received_at = col_i64(q, 10),
                          .absorbed = col_i64(q, 11),
                          .attempts = col_i64(q, 12),
                          .lease_token = col_i64(q, 13),
                          .state = col_text(a, q, 14),
                          .reason = col_text(a, q, 15),
                          .result = col_text(a, q, 16),
                          .next_attempt_at = col_i64(q, 17)};
    c.has_sha = col_sha(q, 7, &c.sha);
    if (!c.event_id || !c.detector || !c.outcome || !c.version_hint || !c.etag || !c.state ||
        !c.reason || !c.result)
        return err_set(err, RC_NOMEM, "", "no memory for a candidate");
    *ret = c;
    return RC_OK;
}

enum rc inbox_get(struct ledger *l, struct arena *a, int64_t no, struct candidate *ret,
                  struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_INBOX_GET, &q, err, "i", no));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_NOT_FOUND, "", "no such candidate");
    TRY(rc);
    return read_candidate(a, &q, ret, err);
}

enum rc inbox_room(struct ledger *l, int64_t max, struct err *err)
{
    int64_t open;
    TRY(query_i64(l, Q_INBOX_DEPTH, &open, err, ""));
    if (open < max)
        return RC_OK;
    return err_set(
        err, RC_FULL, "",
        "The inbox is full (setting inbox_max): try again when handlers have caught up.");
}

enum rc inbox_each(struct ledger *l, const char *state, int64_t max, candidate_fn *fn, void *ctx,
                   struct err *err)
{
    struct arena a;
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_INBOX_LIST, &q, err, "ti", state, max));
    arena_init(&a, 1 << 16);
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct candidate c;
        arena_reset(&a);
        rc = read_candidate(&a, &q, &c, err);
        if (rc == RC_OK)
            rc = fn(ctx, &c, err);
        if (rc != RC_OK)
            break;
    }
    arena_release(&a);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}
