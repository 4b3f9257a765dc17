/* decision: decisions of the gate, and waivers. */
#include "ledger/decision.h"

#include "core/json.h"
#include "ledger/approval.h"
#include "ledger/query.h"

enum rc decision_add(struct ledger *l, const struct decision *d, struct err *err)
{
    TRY(ledger_need_tx(l, err));
    return query_run(l, Q_DECISION_ADD, err, "ttttsi", d->run_id, d->policy_version, d->verdict,
                     d->reason, d->doc, d->at);
}

enum rc decision_each(struct ledger *l, const char *run_id, decision_fn *fn, void *ctx,
                      struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    arena_init(&a, 1 << 20);
    TRY(query_open(l, Q_DECISIONS_OF, &q, err, "t", run_id));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        arena_reset(&a);
        const struct decision d = {.no = col_i64(&q, 0),
                                   .run_id = run_id,
                                   .policy_version = col_text(&a, &q, 1),
                                   .verdict = col_text(&a, &q, 2),
                                   .reason = col_text(&a, &q, 3),
                                   .doc = col_str(&a, &q, 4),
                                   .at = col_i64(&q, 5)};
        if (!d.policy_version || !d.verdict || !d.reason || !d.doc.p)
            return err_set(err, RC_NOMEM, "", "no memory for a decision");
        TRY(fn(ctx, &d, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc decision_held_each(struct ledger *l, int64_t src_no, held_fn *fn, void *ctx,
                           struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    arena_init(&a, 1 << 20);
    TRY(query_open(l, Q_DECISIONS_HELD, &q, err, "ii", src_no, (int64_t)DECISION_HELD_MAX));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        arena_reset(&a);
        const char *event = col_text(&a, &q, 0);
        struct str doc = col_str(&a, &q, 1);
        if (!event || !doc.p)
            return err_set(err, RC_NOMEM, "", "no memory for a decision");
        TRY(fn(ctx, event, doc, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* ---- waivers --------------------------------------------------------------------------------- */

static enum rc check_waiver(const struct waiver *w, int64_t now, struct err *err)
{
    TRY(policy_check_text("requester", w->requester, PERSON_MAX, err));
    TRY(policy_check_text("reviewer", w->reviewer, PERSON_MAX, err));
    TRY(policy_check_text("note", w->note, NOTE_MAX, err));
    if (policy_same_person(w->requester, w->reviewer))
        return err_set(err, RC_INVALID, "reviewer", "must be somebody else than the requester");
    if (w->expires_at <= now || w->expires_at > now + WAIVER_LONGEST_MS)
        return err_set(
            err, RC_INVALID, "expires",
            "must be a time to come, at most a year away: what shall hold longer belongs "
            "into " POLICY_FILE);
    return RC_OK;
}

static enum rc record_waiver(struct ledger *l, const struct waiver *w, const char *ref, int64_t now,
                             struct err *err)
{
    CLEANUP(buf_release) struct buf body = {0};
    buf_init(&body, JSON_MAX);
    buf_printf(&body, "{\"expires_at\":%lld,\"note\":", (long long)w->expires_at);
    json_put_str(&body, str_of(w->note));
    buf_puts(&body, ",\"requester\":");
    json_put_str(&body, str_of(w->requester));
    buf_puts(&body, ",\"reviewer\":");
    json_put_str(&body, str_of(w->reviewer));
    buf_puts(&body, ",\"rule\":");
    json_put_str(&body, str_of(w->rule));
    buf_byte(&body, '}');
    if (buf_rc(&body) != RC_OK)
        return err_set(err, RC_NOMEM, "", "no memory for the row of a waiver");
    return replay_append(l, now, "waiver.add", w->src_no, ref, buf_view(&body), err);
}

static enum rc add(struct ledger *l, const struct waiver *w, int64_t now, int64_t *ret_no,
                   struct err *err)
{
    char ref[32];
    TRY(query_run(l, Q_WAIVER_ADD, err,
                  "itttt"
                  "iim",
                  w->src_no, w->rule, w->requester, w->reviewer, w->note, now, w->expires_at,
                  w->no ? w->no : -1));
    *ret_no = query_last_no(l);
    snprintf(ref, sizeof ref, "%lld", (long long)*ret_no);
    return record_waiver(l, w, ref, now, err);
}

enum rc waiver_add(struct ledger *l, const struct waiver *w, int64_t now, int64_t *ret_no,
                   struct err *err)
{
    TRY(check_waiver(w, now, err));
    TRY(ledger_begin(l, err));
    return ledger_end(l, add(l, w, now, ret_no, err), err);
}

static enum rc revoke(struct ledger *l, int64_t no, const char *by, const char *note, int64_t now,
                      struct err *err)
{
    int64_t live;
    char ref[32];
    enum rc rc = query_i64(l, Q_WAIVER_LIVE, &live, err, "ii", no, now);
    if (rc == RC_NOT_FOUND)
        return err_set(err, rc, "waiver", "no waiver has the number %lld", (long long)no);
    TRY(rc);
    if (!live)
        return err_set(err, RC_CONFLICT, "waiver", "it is over already");
    snprintf(ref, sizeof ref, "%lld", (long long)no);
    TRY(query_run(l, Q_WAIVER_REVOKE, err, "itti", no, by, note, now));
    return approval_log(l, "waiver.revoke", 0, ref, by, note, now, err);
}

enum rc waiver_revoke(struct ledger *l, int64_t no, const char *by, const char *note, int64_t now,
                      struct err *err)
{
    TRY(policy_check_text("by", by, PERSON_MAX, err));
    TRY(policy_check_text("note", note, NOTE_MAX, err));
    TRY(ledger_begin(l, err));
    return ledger_end(l, revoke(l, no, by, note, now, err), err);
}

enum rc waiver_each(struct ledger *l, int64_t src_no, int64_t live_at, waiver_fn *fn, void *ctx,
                    struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    arena_init(&a, 1 << 20);
    TRY(query_open(l, Q_WAIVERS, &q, err, "im", src_no, live_at));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        arena_reset(&a);
        const struct waiver w = {.no = col_i64(&q, 0),
                                 .src_no = col_i64(&q, 1),
                                 .rule = col_text(&a, &q, 2),
                                 .requester = col_text(&a, &q, 3),
                                 .reviewer = col_text(&a, &q, 4),
                                 .note = col_text(&a, &q, 5),
                                 .at = col_i64(&q, 6),
                                 .expires_at = col_i64(&q, 7),
                                 .revoked_at = col_time(&q, 8)};
        if (!w.rule || !w.requester || !w.reviewer || !w.note)
            return err_set(err, RC_NOMEM, "", "no memory for a waiver");
        TRY(fn(ctx, &w, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}
