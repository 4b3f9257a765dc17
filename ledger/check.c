/* check: state, receipts and the batch commit (I3). */
#include "ledger/check.h"

#include "ledger/enqueue.h"
#include "ledger/query.h"
#include "ledger/tally.h"

static const struct {
    const char *name;
    bool failure, candidate;
} outcomes[OUTCOME_COUNT] = {
#define X(name, failure, candidate, help) [OUTCOME_##name] = {#name, failure, candidate},
#include "ledger/outcomes.def"
#undef X
};

const char *outcome_name(enum outcome o)
{
    return outcomes[o].name;
}

bool outcome_failure(enum outcome o)
{
    return outcomes[o].failure;
}

bool outcome_candidate(enum outcome o)
{
    return outcomes[o].candidate;
}

bool check_found(const struct check_result *r)
{
    return outcome_candidate(r->outcome) || r->deleted;
}

enum rc check_state_get(struct ledger *l, int64_t src_no, struct check_state *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_STATE_GET, &q, err, "i", src_no));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_NOT_FOUND, "source", "no such source");
    TRY(rc);
    *ret = (struct check_state){.seen_size = col_time(&q, 4),
                                .head_refused = col_i64(&q, 5) != 0,
                                .etag_flaps = col_i64(&q, 6),
                                .checks = col_i64(&q, 7),
                                .since_audit = col_i64(&q, 8),
                                .failures = col_i64(&q, 9),
                                .gone_count = col_i64(&q, 10),
                                .gone_since = col_time(&q, 11),
                                .checked_at = col_time(&q, 12),
                                .reached_at = col_time(&q, 13),
                                .verified_at = col_time(&q, 14),
                                .changed_at = col_time(&q, 15),
                                .interval_s = col_i64(&q, 16),
                                .next_check_at = col_time(&q, 17),
                                .date_doubted = col_i64(&q, 21) != 0};
    ret->has_seen = col_sha(&q, 3, &ret->seen_sha);
    col_copy(&q, 0, ret->etag, sizeof ret->etag);
    col_copy(&q, 1, ret->last_modified, sizeof ret->last_modified);
    col_copy(&q, 2, ret->validator_url, sizeof ret->validator_url);
    col_copy(&q, 18, ret->last_outcome, sizeof ret->last_outcome);
    col_copy(&q, 19, ret->last_detail, sizeof ret->last_detail);
    col_copy(&q, 20, ret->cursor, sizeof ret->cursor);
    return RC_OK;
}

enum rc check_forget(struct ledger *l, int64_t src_no, int64_t due_at, struct err *err)
{
    return query_run(l, Q_STATE_FORGET, err, "im", src_no, due_at);
}

static const char *or_null(const char *s)
{
    return *s ? s : NULL;
}

static enum rc put_state(struct ledger *l, const struct check_result *r, struct err *err)
{
    const struct check_state *s = &r->state;
    return query_run(l, Q_STATE_PUT, err, "ittthmiiiiiimmmmmimttti", r->src_no, or_null(s->etag),
                     or_null(s->last_modified), or_null(s->validator_url),
                     s->has_seen ? &s->seen_sha : NULL, s->seen_size, (int64_t)s->head_refused,
                     s->etag_flaps, s->checks, s->since_audit, s->failures, s->gone_count,
                     s->gone_since, s->checked_at, s->reached_at, s->verified_at, s->changed_at,
                     s->interval_s, s->next_check_at, outcome_name(r->outcome), r->detail,
                     or_null(s->cursor), (int64_t)s->date_doubted);
}

static enum rc add_candidate(struct ledger *l, struct check_result *r, int64_t now, struct err *err)
{
    char hex[SHA256_HEX];
    struct news n = {.src_no = r->src_no,
                     .level = r->level,
                     .detector = r->detector,
                     .outcome = r->outcome,
                     .hint = r->hint ? r->hint : r->state.etag,
                     .etag = or_null(r->state.etag),
                     .sha = r->has_sha ? &r->sha : NULL,
                     .detected_at = r->ended_at,
                     .request_no = r->request_no,
                     .unexpected = r->unexpected};
    if (r->has_sha && !r->hint) {
        sha256_hex(&r->sha, hex);
        n.hint = hex;
    }
    return enqueue(l, &n, now, r->event_id, err);
}

/* When a source was looked at is public, unless its level says otherwise; then not even the
 * generation may move. */
static enum rc show_check(struct ledger *l, const struct check_result *r, int64_t now,
                          struct err *err)
{
    int64_t gen;
    if (r->level >= LEVEL_RESTRICTED)
        return RC_OK;
    TRY(ledger_generation(l, now, &gen, err));
    return query_run(l, Q_FRESH_CHECKED, err, "immimti", r->src_no, r->state.checked_at,
                     r->state.reached_at, r->state.failures, r->state.next_check_at,
                     outcome_name(r->outcome), gen);
}

static enum rc commit_one(struct ledger *l, struct check_result *r, int64_t now, struct err *err)
{
    r->event_id[0] = '\0';
    TRY(query_run(l, Q_CHECK_ADD, err, "iiittiiiitm", r->src_no, r->started_at, r->ended_at,
                  outcome_name(r->outcome), r->detail, (int64_t)r->http, (int64_t)r->attempts,
                  r->bytes_in, r->bytes_saved, r->due_because, r->request_no ? r->request_no : -1));
    TRY(put_state(l, r, err));
    if (check_found(r))
        TRY(add_candidate(l, r, now, err));
    TRY(show_check(l, r, now, err));
    if (r->request_no)
        TRY(query_run(l, Q_REQUEST_COUNT, err, "it", r->request_no, outcome_name(r->outcome)));
    return RC_OK;
}

enum rc check_commit(struct ledger *l, struct check_result *results, size_t n, int64_t now,
                     struct err *err)
{
    TRY(ledger_begin(l, err));
    for (size_t i = 0; i < n; i++) {
        enum rc rc = commit_one(l, &results[i], now, err);
        if (rc != RC_OK) {
            ledger_abort(l);
            return rc;
        }
    }
    enum rc rc = tally_add(l, results, n, now, err);
    if (rc != RC_OK) {
        ledger_abort(l);
        return rc;
    }
    return ledger_commit(l, err);
}

enum rc check_due(struct ledger *l, int64_t now, int64_t max, check_due_fn *fn, void *ctx,
                  struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_CHECK_DUE, &q, err, "ii", now, max));
    while ((rc = query_next(l, &q, err)) == RC_OK)
        TRY(fn(ctx, col_i64(&q, 0), col_i64(&q, 1), err));
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc check_next_due(struct ledger *l, int64_t *ret, struct err *err)
{
    int64_t at = -1;
    enum rc rc = query_i64(l, Q_CHECK_NEXT, &at, err, "");
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret = at;
    return RC_OK;
}

enum rc check_receipts(struct ledger *l, int64_t src_no, int64_t max, check_receipt_fn *fn,
                       void *ctx, struct err *err)
{
    struct arena a;
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_CHECK_LIST, &q, err, "ii", src_no, max));
    arena_init(&a, 1 << 16);
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct check_receipt r = {.check_no = col_i64(&q, 0),
                                  .started_at = col_i64(&q, 1),
                                  .outcome = col_text(&a, &q, 2),
                                  .detail = col_text(&a, &q, 3),
                                  .due_because = col_text(&a, &q, 4),
                                  .http = (int)col_i64(&q, 5),
                                  .attempts = (int)col_i64(&q, 6),
                                  .bytes_in = col_i64(&q, 7),
                                  .bytes_saved = col_i64(&q, 8)};
        rc = fn(ctx, &r, err);
        if (rc != RC_OK)
            break;
        arena_reset(&a);
    }
    arena_release(&a);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}
