/* inbox: claim under a lease, finish once. */
#include "ledger/inbox.h"

#include "core/clock.h"
#include "core/json.h"
#include "ledger/notice.h"
#include "ledger/runs.h"
#include "ledger/telemetry.h"

/* Claims in a row that never came to an end before a candidate counts as poison: something in it
 * kills us. */
#define CRASHES_MAX 10

/* ---- claim ----------------------------------------------------------------------------------- */

/* The run that a crashed or held job left open goes on; otherwise a new one starts. */
static enum rc open_run(struct ledger *l, const struct candidate *c, const struct run_tags *t,
                        int64_t now, char ret_run[37], bool *ret_resumed, struct err *err)
{
    {
        CLEANUP(query_close) struct query q = {0};
        TRY(query_open(l, Q_INBOX_RUN_OPEN, &q, err, "i", c->no));
        enum rc rc = query_next(l, &q, err);
        if (rc == RC_OK) {
            col_copy(&q, 0, ret_run, 37);
            *ret_resumed = str_is(col_view(&q, 1), "held");
            return RC_OK;
        }
        if (rc != RC_NOT_FOUND)
            return rc;
    }
    uuid7(now, ret_run);
    *ret_resumed = false;
    TRY(query_run(l, Q_RUN_ADD, err, "titttt", ret_run, now, t->tool_version, t->tool_commit,
                  t->rules_version, t->policy_version));
    return query_run(l, Q_LEDGER_ADD, err, "tiiti", ret_run, c->src_no, c->no, c->event_id, now);
}

/* Late news: its bytes are older than what is head now, so they must not be used; the handler asks
 * the upstream instead (I10). */
static enum rc distrust_late(struct ledger *l, struct candidate *c, struct err *err)
{
    int64_t head_cand = 0;
    enum rc rc = query_i64(l, Q_HEAD_CANDIDATE, &head_cand, err, "i", c->src_no);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    if (head_cand > c->no)
        c->has_sha = false;
    return RC_OK;
}

enum rc inbox_claim_one(struct ledger *l, struct arena *a, int64_t no, const char *owner,
                        int64_t now, int64_t lease_ms, const struct run_tags *tags,
                        struct candidate *ret, char ret_run[37], bool *ret_resumed, struct err *err)
{
    TRY(query_run(l, Q_INBOX_LEASE, err, "iti", no, owner, now + lease_ms));
    TRY(inbox_get(l, a, no, ret, err));
    TRY(distrust_late(l, ret, err));
    return open_run(l, ret, tags, now, ret_run, ret_resumed, err);
}

static enum rc next_ready(struct ledger *l, int64_t now, int64_t *ret_no, int64_t *ret_crashes,
                          struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_INBOX_READY, &q, err, "i", now));
    TRY(query_next(l, &q, err));
    *ret_no = col_i64(&q, 0);
    *ret_crashes = col_i64(&q, 1);
    return RC_OK;
}

enum rc inbox_claim_next(struct ledger *l, struct arena *a, const char *owner, int64_t now,
                         int64_t lease_ms, const struct run_tags *tags, bool others,
                         struct candidate *ret, char ret_run[37], bool *ret_resumed,
                         struct err *err)
{
    int64_t no, crashes;
    TRY(next_ready(l, now, &no, &crashes, err));
    if (crashes >= INBOX_SUSPECT && others)
        return RC_NOT_FOUND;
    TRY(inbox_claim_one(l, a, no, owner, now, lease_ms, tags, ret, ret_run, ret_resumed, err));
    ret->suspect = crashes >= INBOX_SUSPECT;
    return RC_OK;
}

enum rc inbox_ready(struct ledger *l, int64_t now, bool *ret, struct err *err)
{
    int64_t no, crashes;
    enum rc rc = next_ready(l, now, &no, &crashes, err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret = rc == RC_OK;
    return RC_OK;
}

enum rc inbox_claim(struct ledger *l, struct arena *a, const char *owner, int64_t now,
                    int64_t lease_ms, const struct run_tags *tags, struct candidate *ret,
                    char ret_run[37], bool *ret_resumed, struct err *err)
{
    struct candidate c;
    char run[37];
    bool ready, resumed = false;
    TRY(inbox_ready(l, now, &ready, err)); /* idle workers must not queue for the lock */
    if (!ready)
        return RC_NOT_FOUND;
    TRY(ledger_begin(l, err));
    TRY(ledger_end(
        l, inbox_claim_next(l, a, owner, now, lease_ms, tags, false, &c, run, &resumed, err), err));
    *ret = c;
    memcpy(ret_run, run, sizeof run);
    *ret_resumed = resumed;
    return RC_OK;
}

/* ---- from a replay log ----------------------------------------------------------------------- */

static enum rc open_again(struct ledger *l, const struct candidate *c, const char *run_id,
                          const struct run_tags *t, bool *ret_resumed, struct err *err)
{
    int64_t at = uuid7_time(run_id);
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_INBOX_RUN_OPEN, &q, err, "i", c->no));
    enum rc rc = query_next(l, &q, err);
    if (rc != RC_NOT_FOUND) {
        *ret_resumed = rc == RC_OK && str_is(col_view(&q, 1), "held");
        return rc;
    }
    TRY(query_run(l, Q_RUN_ADD, err, "titttt", run_id, at, t->tool_version, t->tool_commit,
                  t->rules_version, t->policy_version));
    return query_run(l, Q_LEDGER_ADD, err, "tiiti", run_id, c->src_no, c->no, c->event_id, at);
}

static enum rc claim_again(struct ledger *l, struct arena *a, const char *event, const char *run_id,
                           int64_t now, const struct run_tags *tags, struct candidate *ret,
                           bool *ret_resumed, struct err *err)
{
    int64_t no;
    enum rc rc = query_i64(l, Q_DEAD_FIND, &no, err, "t", event);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_CORRUPT, "log", "a run of the log has no candidate");
    TRY(rc);
    TRY(query_run(l, Q_INBOX_LEASE, err, "iti", no, "replay", now + DAY_MS));
    TRY(inbox_get(l, a, no, ret, err));
    return open_again(l, ret, run_id, tags, ret_resumed, err);
}

enum rc inbox_claim_again(struct ledger *l, struct arena *a, const char *event, const char *run_id,
                          int64_t now, const struct run_tags *tags, struct candidate *ret,
                          bool *ret_resumed, struct err *err)
{
    *ret_resumed = false;
    TRY(ledger_begin(l, err));
    return ledger_end(l, claim_again(l, a, event, run_id, now, tags, ret, ret_resumed, err), err);
}

/* ---- reclaim --------------------------------------------------------------------------------- */

static enum rc record_poison(struct ledger *l, int64_t no, int64_t now, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct candidate c;
    arena_init(&a, 1 << 16);
    TRY(inbox_get(l, &a, no, &c, err));
    TRY(notice_put(l, NOTICE_dead, c.src_no, c.event_id, "POISON", now, err));
    TRY(telemetry_run(l, c.src_no, RUN_DEAD, "POISON", err));
    return replay_append(l, now, "run.dead", c.src_no, c.event_id, STR("{\"reason\":\"POISON\"}"),
                         err);
}

static enum rc poison(struct ledger *l, int64_t no, int64_t now, struct err *err)
{
    TRY(record_poison(l, no, now, err));
    TRY(run_fail_open(l, no, "POISON", now, err));
    return query_run(l, Q_INBOX_END, err, "itttm", no, "dead", "failed", "POISON", now);
}

enum rc inbox_poison_event(struct ledger *l, const char *event, int64_t now, struct err *err)
{
    int64_t no;
    TRY(query_i64(l, Q_DEAD_FIND, &no, err, "t", event));
    return poison(l, no, now, err);
}

static enum rc free_one(struct ledger *l, int64_t no, int64_t crashes, int64_t now, struct err *err)
{
    if (crashes + 1 < CRASHES_MAX)
        return query_run(l, Q_INBOX_CRASHED, err, "ii", no, now);
    return poison(l, no, now, err);
}

#define RECLAIM_MAX 64 /* per call; the rest is met by the next one */

static enum rc leased_by(struct ledger *l, const char *owner, int64_t now, int64_t nos[RECLAIM_MAX],
                         int64_t crashes[RECLAIM_MAX], size_t *ret_n, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    size_t n = 0;
    enum rc rc = RC_OK;
    TRY(query_open(l, Q_INBOX_LEASED_BY, &q, err, "it", now, owner));
    while (n < RECLAIM_MAX && (rc = query_next(l, &q, err)) == RC_OK) {
        nos[n] = col_i64(&q, 0);
        crashes[n++] = col_i64(&q, 1);
    }
    *ret_n = n;
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc inbox_reclaim(struct ledger *l, const char *owner, int64_t now, int64_t *ret_n,
                      struct err *err)
{
    int64_t nos[RECLAIM_MAX], crashes[RECLAIM_MAX];
    size_t n;
    TRY(leased_by(l, owner, now, nos, crashes, &n, err));
    *ret_n = 0;
    if (!n)
        return RC_OK;
    TRY(ledger_begin(l, err));
    enum rc rc = leased_by(l, owner, now, nos, crashes, &n, err); /* again, now under the lock */
    for (size_t i = 0; rc == RC_OK && i < n; i++)
        rc = free_one(l, nos[i], crashes[i], now, err);
    TRY(ledger_end(l, rc, err));
    *ret_n = (int64_t)n;
    return RC_OK;
}

/* ---- finish ---------------------------------------------------------------------------------- */

enum rc inbox_lease_check(struct ledger *l, int64_t cand_no, int64_t token, struct err *err)
{
    int64_t one;
    enum rc rc = query_i64(l, Q_INBOX_LEASE_CHECK, &one, err, "ii", cand_no, token);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_CONFLICT, "", "the lease was lost to another worker");
    return rc;
}

enum rc inbox_renew(struct ledger *l, int64_t cand_no, int64_t token, int64_t until,
                    struct err *err)
{
    TRY(ledger_begin(l, err));
    enum rc rc = inbox_lease_check(l, cand_no, token, err);
    if (rc == RC_OK)
        rc = query_run(l, Q_INBOX_RENEW, err, "ii", cand_no, until);
    return ledger_end(l, rc, err);
}

enum rc inbox_release(struct ledger *l, int64_t cand_no, int64_t token, struct err *err)
{
    TRY(ledger_begin(l, err));
    enum rc rc = inbox_lease_check(l, cand_no, token, err);
    if (rc == RC_OK)
        rc = query_run(l, Q_INBOX_RELEASE, err, "i", cand_no);
    return ledger_end(l, rc, err);
}

static enum rc finish(struct ledger *l, const struct inbox_finish *f, int64_t now, bool *ret_dead,
                      struct err *err)
{
    struct arena a;
    struct candidate c;
    char body[256];
    bool retry = f->end == INBOX_RETRY;
    TRY(inbox_lease_check(l, f->cand_no, f->lease_token, err));
    arena_init(&a, 1 << 16);
    enum rc rc = inbox_get(l, &a, f->cand_no, &c, err);
    int n = snprintf(body, sizeof body, "{\"reason\":\"%s\",\"run\":\"%s\"}", f->reason, f->run_id);
    bool dead = retry && rc == RC_OK && c.attempts >= f->max_attempts;
    if (rc == RC_OK)
        rc = replay_append(l, now,
                           dead                   ? "run.dead"
                           : retry                ? "run.retry"
                           : f->end == INBOX_NOOP ? "run.noop"
                                                  : "run.failed",
                           f->src_no, c.event_id, (struct str){body, (size_t)n}, err);
    if (rc == RC_OK && dead)
        rc = notice_put(l, NOTICE_dead, f->src_no, c.event_id, f->reason, now, err);
    arena_release(&a);
    TRY(rc);
    TRY(telemetry_run(l, f->src_no,
                      dead                   ? RUN_DEAD
                      : retry                ? RUN_RETRY
                      : f->end == INBOX_NOOP ? RUN_NOOP
                                             : RUN_FAILED,
                      f->reason, err));
    if (!f->approved || !retry || dead)
        TRY(run_fail(l, f->run_id, f->reason, f->qa, f->prov, now, err));
    *ret_dead = dead;
    if (retry && !dead)
        return query_run(l, Q_INBOX_RETRY, err, "iti", f->cand_no, f->reason, f->next_attempt_at);
    return query_run(l, Q_INBOX_END, err, "itttm", f->cand_no, dead ? "dead" : "done",
                     f->end == INBOX_NOOP       ? "noop"
                     : f->end == INBOX_REJECTED ? "rejected"
                                                : "failed",
                     f->reason, now);
}

enum rc inbox_finish(struct ledger *l, const struct inbox_finish *f, int64_t now, bool *ret_dead,
                     struct err *err)
{
    TRY(ledger_begin(l, err));
    enum rc rc = finish(l, f, now, ret_dead, err);
    if (rc == RC_OK && f->also)
        rc = f->also(f->also_ctx, l, err);
    return ledger_end(l, rc, err);
}

/* ---- decisions ------------------------------------------------------------------------------- */

enum rc inbox_rejected(struct ledger *l, const char *run_id, bool *ret, struct err *err)
{
    int64_t no = 0;
    enum rc rc = query_i64(l, Q_HELD_REJECTED, &no, err, "t", run_id);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret = rc == RC_OK && no != 0;
    return RC_OK;
}

enum rc inbox_end_rejected(struct ledger *l, const char *event_id, int64_t now, struct err *err)
{
    int64_t cand, src_no;
    char run[37], body[96];
    {
        CLEANUP(query_close) struct query q = {0};
        TRY(query_open(l, Q_INBOX_REJECTED, &q, err, "t", event_id));
        enum rc rc = query_next(l, &q, err);
        if (rc != RC_OK)
            return rc == RC_NOT_FOUND ? RC_OK : rc;
        cand = col_i64(&q, 0);
        col_copy(&q, 1, run, sizeof run);
        src_no = col_i64(&q, 2);
    }
    int n = snprintf(body, sizeof body, "{\"run\":\"%s\"}", run);
    TRY(replay_append(l, now, "run.rejected", src_no, event_id, (struct str){body, (size_t)n},
                      err));
    TRY(run_fail(l, run, "REJECTED", (struct str){0}, (struct str){0}, now, err));
    return query_run(l, Q_INBOX_END, err, "itttm", cand, "done", "rejected", "REJECTED", now);
}

/* ---- looking --------------------------------------------------------------------------------- */

enum rc inbox_stats(struct ledger *l, struct inbox_stats *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    struct inbox_stats s = {.oldest_ready_at = -1};
    enum rc rc;
    TRY(query_open(l, Q_INBOX_COUNTS, &q, err, ""));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct str state = col_view(&q, 0);
        int64_t n = col_i64(&q, 1);
        if (str_is(state, "ready")) {
            s.ready = n;
            s.oldest_ready_at = col_time(&q, 2);
        } else if (str_is(state, "leased"))
            s.leased = n;
        else if (str_is(state, "held"))
            s.held = n;
        else if (str_is(state, "dead"))
            s.dead = n;
        else
            s.done = n;
    }
    if (rc != RC_NOT_FOUND)
        return rc;
    *ret = s;
    return RC_OK;
}

enum rc inbox_next_at(struct ledger *l, int64_t *ret, struct err *err)
{
    int64_t at = -1;
    enum rc rc = query_i64(l, Q_INBOX_NEXT_AT, &at, err, "");
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret = at;
    return RC_OK;
}

enum rc inbox_needs(struct ledger *l, const struct sha256 *sha, bool *ret, struct err *err)
{
    int64_t one;
    enum rc rc = query_i64(l, Q_INBOX_NEEDS_SHA, &one, err, "h", sha);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret = rc == RC_OK;
    return RC_OK;
}

static void read_fate(const struct query *q, struct inbox_fate *ret)
{
    col_copy(q, 0, ret->name, sizeof ret->name);
    col_copy(q, 1, ret->reason, sizeof ret->reason);
    ret->open = col_i64(q, 2) != 0;
}

enum rc inbox_fate(struct ledger *l, const char *event_id, int64_t now, struct inbox_fate *ret,
                   struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_INBOX_FATE, &q, err, "ti", event_id, now));
    TRY(query_next(l, &q, err));
    read_fate(&q, ret);
    return RC_OK;
}

enum rc inbox_waiting(struct ledger *l, int64_t src_no, struct inbox_waiting *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_INBOX_WAITING, &q, err, "i", src_no));
    TRY(query_next(l, &q, err));
    *ret = (struct inbox_waiting){.attempts = col_i64(&q, 1), .next_at = col_i64(&q, 2)};
    col_copy(&q, 0, ret->reason, sizeof ret->reason);
    return RC_OK;
}

enum rc inbox_entries(struct ledger *l, const char *event_id, int64_t now, inbox_entry_fn *fn,
                      void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_INBOX_ENTRY_FATES, &q, err, "ti", event_id, now));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct inbox_entry e = {0};
        read_fate(&q, &e.fate);
        col_copy(&q, 3, e.event_id, sizeof e.event_id);
        col_copy(&q, 4, e.outcome, sizeof e.outcome);
        col_copy(&q, 5, e.source_id, sizeof e.source_id);
        TRY(fn(ctx, &e, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}
