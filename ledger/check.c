/* check: state, receipts and the batch commit (I3). */
#include "ledger/check.h"

#include "ledger/breach.h"
#include "ledger/enqueue.h"
#include "ledger/query.h"
#include "ledger/twin.h"

bool check_found(const struct check_result *r)
{
    return outcome_candidate(r->outcome) || r->deleted;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* c: where the columns of STATE_GET begin. */
static void read_state(const struct query *q, int c, struct check_state *ret)
{
    *ret = (struct check_state){.seen_size = col_time(q, c + 4),
                                .head_refused = col_i64(q, c + 5) != 0,
                                .etag_flaps = col_i64(q, c + 6),
                                .checks = col_i64(q, c + 7),
                                .since_audit = col_i64(q, c + 8),
                                .failures = col_i64(q, c + 9),
                                .gone_count = col_i64(q, c + 10),
                                .gone_since = col_time(q, c + 11),
                                .checked_at = col_time(q, c + 12),
                                .reached_at = col_time(q, c + 13),
                                .verified_at = col_time(q, c + 14),
                                .changed_at = col_time(q, c + 15),
                                .interval_s = col_i64(q, c + 16),
                                .next_check_at = col_time(q, c + 17),
                                .date_doubted = col_i64(q, c + 21) != 0,
                                .stream_down_at = col_time(q, c + 27),
                                .writes = col_i64(q, c + 28),
                                .heard = col_i64(q, c + 32),
                                .heard_at = col_time(q, c + 33)};
    ret->has_seen = col_sha(q, c + 3, &ret->seen_sha);
    ret->has_other = col_sha(q, c + 22, &ret->other_sha);
    ret->other_size = col_i64(q, c + 23);
    ret->other_same = col_i64(q, c + 26) != 0;
    col_copy(q, c + 24, ret->other_etag, sizeof ret->other_etag);
    col_copy(q, c + 25, ret->other_last_modified, sizeof ret->other_last_modified);
    col_copy(q, c, ret->etag, sizeof ret->etag);
    col_copy(q, c + 1, ret->last_modified, sizeof ret->last_modified);
    col_copy(q, c + 2, ret->validator_url, sizeof ret->validator_url);
    col_copy(q, c + 18, ret->last_outcome, sizeof ret->last_outcome);
    col_copy(q, c + 19, ret->last_detail, sizeof ret->last_detail);
    col_copy(q, c + 30, ret->refused, sizeof ret->refused);
    col_copy(q, c + 29, ret->seen_shape, sizeof ret->seen_shape);
    col_copy(q, c + 20, ret->cursor, sizeof ret->cursor);
    col_copy(q, c + 31, ret->breach, sizeof ret->breach);
}

static enum rc one_row(struct ledger *l, struct query *q, struct err *err)
{
    enum rc rc = query_next(l, q, err);
    return rc == RC_NOT_FOUND ? err_set(err, rc, "source", "no such source") : rc;
}

enum rc check_state_get(struct ledger *l, int64_t src_no, struct check_state *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_STATE_GET, &q, err, "i", src_no));
    TRY(one_row(l, &q, err));
    read_state(&q, 0, ret);
    return RC_OK;
}

void check_state_fresh(const struct source *s, struct check_state *ret)
{
    *ret = (struct check_state){.seen_size = -1,
                                .gone_since = -1,
                                .checked_at = -1,
                                .reached_at = -1,
                                .verified_at = -1,
                                .changed_at = -1,
                                .next_check_at = source_first_due(s, s->created_at)};
}

enum rc check_load(struct ledger *l, struct arena *a, int64_t src_no, struct source *ret_source,
                   struct check_state *ret_state, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_CHECK_LOAD, &q, err, "i", src_no));
    TRY(one_row(l, &q, err));
    TRY(source_from_row(a, &q, ret_source, err));
    read_state(&q, SOURCE_COLUMNS, ret_state);
    return RC_OK;
}

enum rc check_url(struct ledger *l, int64_t src_no, char *out, size_t n, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_CHECK_URL, &q, err, "i", src_no));
    TRY(one_row(l, &q, err));
    col_copy(&q, 0, out, n);
    return RC_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

enum rc check_missed(struct ledger *l, int64_t src_no, enum outcome o, const char *detail,
                     int64_t now, int64_t due_at, struct err *err)
{
    return query_run(l, Q_STATE_MISSED, err, "ittii", src_no, outcome_name(o), detail, now, due_at);
}

enum rc check_reached(struct ledger *l, int64_t src_no, int64_t now, struct err *err)
{
    return query_run(l, Q_STATE_REACHED, err, "ii", src_no, now);
}

static const char *or_null(const char *s)
{
    return *s ? s : NULL;
}

/* How its last check ended that asked anybody. */
static const char *outcome_kept(const struct check_result *r)
{
    return r->spared ? or_null(r->state.last_outcome) : outcome_name(r->outcome);
}

/* *ret_outrun: it was not, as somebody else has written it since it was read. */
static enum rc put_state(struct ledger *l, const struct check_result *r, bool *ret_outrun,
                         struct err *err)
{
    const struct check_state *s = &r->state;
    TRY(query_run(l, Q_STATE_PUT, err, "ittthmiiiiiimmmmmimtttiiti", r->src_no, or_null(s->etag),
                  or_null(s->last_modified), or_null(s->validator_url),
                  s->has_seen ? &s->seen_sha : NULL, s->seen_size, (int64_t)s->head_refused,
                  s->etag_flaps, s->checks, s->since_audit, s->failures, s->gone_count,
                  s->gone_since, s->checked_at, s->reached_at, s->verified_at, s->changed_at,
                  s->interval_s, s->next_check_at, outcome_kept(r),
                  r->spared ? or_null(s->last_detail) : r->detail, or_null(s->cursor),
                  (int64_t)s->date_doubted, s->writes, or_null(s->seen_shape), r->started_at));
    *ret_outrun = sqlite3_changes(l->db) == 0;
    return RC_OK;
}

/* What it found is of another declaration, or older than what is known by now: not even its level
 * is certain. Nobody can tell from here whether anything is new, so it is asked again. */
static enum rc be_outrun(struct ledger *l, struct check_result *r, int64_t now, struct err *err)
{
    r->outcome = OUTCOME_unavailable;
    r->level = LEVEL_SOVEREIGN;
    r->has_sha = r->deleted = r->unexpected = false;
    r->bytes_saved = 0;
    snprintf(r->detail, sizeof r->detail,
             "here: the source was declared anew or looked at by another meanwhile; asked again");
    TRY(query_run(l, Q_CHECK_OUTRUN, err, "tt", outcome_name(r->outcome), r->detail));
    return query_run(l, Q_STATE_OUTRUN, err, "ii", r->src_no, now);
}

/* Most checks leave it alone. */
static enum rc put_other(struct ledger *l, const struct check_result *r, int64_t now,
                         struct err *err)
{
    const struct check_state *s = &r->state;
    if (s->other_moved)
        TRY(query_run(l, Q_STATE_OTHER, err, "ihitti", r->src_no,
                      s->has_other ? &s->other_sha : NULL, s->other_size, or_null(s->other_etag),
                      or_null(s->other_last_modified), (int64_t)s->other_same));
    return s->other_met ? noise_count(l, NOISE_KNOWN_FORM, r->level, now, err) : RC_OK;
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

/* Told when it begins and when it ends. A template has no bytes of its own to be verified. */
static enum rc judge(struct ledger *l, const struct check_result *r, int64_t now, struct err *err)
{
    const struct check_state *s = &r->state;
    const struct health_facts f = {.template = r->template,
                                   .checked_at = s->checked_at,
                                   .reached_at = s->reached_at,
                                   .verified_at = s->verified_at,
                                   .failures = s->failures,
                                   .next_check_at = s->next_check_at,
                                   .removed_at = -1,
                                   .last_outcome = str_of(outcome_kept(r))};
    return breach_follow(l, r->src_no, &f, s->breach, now, err);
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
    if (r->state.verified_at >= r->started_at)
        TRY(query_run(l, Q_PUB_VERIFIED, err, "im", r->src_no, r->state.verified_at));
    return query_run(l, Q_PUB_CHECKED, err, "immimti", r->src_no, r->state.checked_at,
                     r->state.reached_at, r->state.failures, r->state.next_check_at,
                     outcome_kept(r), gen);
}

/* ---- batches --------------------------------------------------------------------------------- */

enum rc check_begin(struct ledger *l, int64_t now, struct check_batch *ret, struct err *err)
{
    TRY(ledger_begin(l, err));
    *ret = (struct check_batch){.ledger = l, .now = now};
    return RC_OK;
}

enum rc check_put(struct check_batch *b, struct check_result *r, struct err *err)
{
    struct ledger *l = b->ledger;
    int64_t now = b->now;
    bool outrun;
    r->event_id[0] = '\0';
    TRY(query_run(l, Q_CHECK_ADD, err, "iiittiiiitm", r->src_no, r->started_at, r->ended_at,
                  outcome_name(r->outcome), r->detail, (int64_t)r->http, (int64_t)r->attempts,
                  r->bytes_in, r->bytes_saved, r->due_because, r->request_no ? r->request_no : -1));
    TRY(put_state(l, r, &outrun, err));
    if (outrun)
        TRY(be_outrun(l, r, now, err));
    else
        TRY(put_other(l, r, now, err));
    if (check_found(r))
        TRY(add_candidate(l, r, now, err));
    TRY(show_check(l, r, now, err));
    TRY(judge(l, r, now, err));
    if (r->request_no)
        TRY(query_run(l, Q_REQUEST_COUNT, err, "it", r->request_no, outcome_name(r->outcome)));
    if (r->spared || r->template)
        return RC_OK; /* nobody was asked */
    tally_count(&b->tally, r->outcome, r->level < LEVEL_RESTRICTED,
                &(struct tally){.checks = 1,
                                .requests = r->attempts,
                                .http_200 = r->http == 200,
                                .http_304 = r->http == 304,
                                .bytes_in = r->bytes_in,
                                .bytes_saved = r->bytes_saved});
    return RC_OK;
}

enum rc check_end(struct check_batch *b, struct err *err)
{
    return ledger_end(b->ledger, tally_put(b->ledger, &b->tally, b->now, err), err);
}

void check_abort(struct check_batch *b)
{
    ledger_abort(b->ledger);
}

enum rc check_commit(struct ledger *l, struct check_result *results, size_t n, int64_t now,
                     struct err *err)
{
    struct check_batch b;
    TRY(check_begin(l, now, &b, err));
    for (size_t i = 0; i < n; i++) {
        enum rc rc = check_put(&b, &results[i], err);
        if (rc != RC_OK) {
            check_abort(&b);
            return rc;
        }
    }
    return check_end(&b, err);
}

/* ---- what is due, what was ------------------------------------------------------------------- */

static enum rc hand_out(struct ledger *l, struct query *q, check_due_fn *fn, void *ctx,
                        struct err *err)
{
    enum rc rc;
    while ((rc = query_next(l, q, err)) == RC_OK)
        TRY(fn(ctx, col_i64(q, 0), col_time(q, 1), err));
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc check_due_after(struct ledger *l, int64_t now, int64_t after_at, int64_t after_no,
                        int64_t max, check_due_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_CHECK_DUE, &q, err, "iiii", now, max, after_at, after_no));
    return hand_out(l, &q, fn, ctx, err);
}

enum rc check_due(struct ledger *l, int64_t now, int64_t max, check_due_fn *fn, void *ctx,
                  struct err *err)
{
    return check_due_after(l, now, INT64_MIN, 0, max, fn, ctx, err);
}

enum rc check_active_after(struct ledger *l, int64_t after_no, int64_t max, check_due_fn *fn,
                           void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_CHECK_ACTIVE, &q, err, "ii", after_no, max));
    return hand_out(l, &q, fn, ctx, err);
}

enum rc check_active(struct ledger *l, check_due_fn *fn, void *ctx, struct err *err)
{
    return check_active_after(l, 0, -1, fn, ctx, err); /* -1: no limit */
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
