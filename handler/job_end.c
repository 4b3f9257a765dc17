/* job_end: how a run ends without a new head (noop, failed, another try, on hold), and the
 * transaction that writes whatever end was decided. */
#include "handler/job_internal.h"

#include "core/clock.h"
#include "handler/outbox.h"
#include "handler/project.h"
#include "handler/prov.h"
#include "handler/redact.h"
#include "ledger/overtake.h"

#define BACKOFF_FIRST_MS 1000
#define BACKOFF_MAX_MS (60LL * 60 * 1000)
/* An entry given up here is looked at again: as after a failed check. */
#define MISSED_AGAIN_MS 60000

int64_t job_backoff(int64_t attempts, int64_t retry_after_ms)
{
    int64_t cap = BACKOFF_MAX_MS, first = BACKOFF_FIRST_MS;
    int64_t n = attempts > 0 ? attempts - 1 : 0;
    int64_t most = n < 12 && first << n < cap ? first << n : cap;
    int64_t wait = (int64_t)rand_below((uint64_t)most + 1);
    int64_t asked = retry_after_ms < DAY_MS ? retry_after_ms : DAY_MS;
    return wait > asked ? wait : asked;
}

/* ---- without effect -------------------------------------------------------------------------- */

static enum work_result result_of(enum inbox_end end, bool dead)
{
    if (dead)
        return WORK_DEAD;
    return end == INBOX_NOOP ? WORK_NOOP : end == INBOX_RETRY ? WORK_RETRY : WORK_FAILED;
}

static const char *word_of(enum inbox_end end)
{
    static const char *const words[] = {"noop", "failed", "retry", "rejected"};
    return words[end];
}

/* A run that is tried again has not failed yet, and one that found nothing to do is no news. A
 * replay tells nothing a second time. */
static bool tells_failure(const struct job *j)
{
    const struct facts *f = &j->facts;
    return f->lineage && !j->env->again && !j->replayed &&
           (j->dead || strcmp(f->result, "failed") == 0);
}

/* Bytes that were fetched now are later than all that is held; others are as late as their
 * candidate. A rollback is no look at the upstream: it leaves what its head was later than. */
enum rc job_overtake(const struct job *j, struct ledger *l, bool *ret, struct err *err)
{
    int64_t n = 0;
    int64_t no = job_is_rollback(j) ? j->head.cand_no : j->claim->cand.no;
    *ret = false;
    if (j->env->again || j->replayed)
        return RC_OK;
    TRY(overtake_older(l, j->source.no, j->bytes.fetched ? INT64_MAX : no, j->facts.finalized_at,
                       &n, err));
    *ret = n > 0;
    return RC_OK;
}

/* What waited waits no more: this one, when a person was asked about it, and what it overtook. The
 * source is read again, as the run must end whatever became of its declaration. */
static enum rc end_waiting(const struct job *j, struct ledger *l, struct err *err)
{
    struct source s;
    bool any = false;
    if (j->settles)
        TRY(job_overtake(j, l, &any, err));
    if (!any && !j->claim->resumed)
        return RC_OK;
    TRY(source_by_no(l, j->env->arena, j->claim->cand.src_no, &s, err));
    return redact_shows(s.level, "held")
               ? project_source(l, j->env->inst, &s, j->facts.finalized_at, err)
               : RC_OK;
}

static enum rc finish_also(void *ctx, struct ledger *l, struct err *err)
{
    const struct job *j = ctx;
    if (tells_failure(j))
        TRY(outbox_put(l, j->claim->run_id, OUTBOX_OPENLINEAGE, STR("{}"), j->facts.finalized_at,
                       err));
    if (j->also)
        TRY(j->also(ctx, l, err));
    return end_waiting(j, l, err);
}

static enum rc write_finish(struct job *j, struct err *err)
{
    TRY(inbox_finish(j->env->ledger, &j->finish, j->facts.finalized_at, &j->dead, err));
    j->end.result = result_of(j->finish.end, j->dead);
    return RC_OK;
}

enum rc job_finish_with(struct job *j, enum inbox_end end, const char *reason, int64_t wait_ms,
                        run_also_fn *also, struct err *err)
{
    const struct candidate *c = &j->claim->cand;
    struct facts *f = &j->facts;
    f->finalized_at = clock_now();
    f->result = word_of(end);
    f->reason = reason;
    f->item_id = NULL; /* nothing came of it */
    j->also = also;
    j->finish =
        (struct inbox_finish){.cand_no = c->no,
                              .src_no = c->src_no,
                              .lease_token = c->lease_token,
                              .run_id = j->claim->run_id,
                              .end = end,
                              .reason = reason,
                              .qa = f->qa.report,
                              .next_attempt_at = f->finalized_at + wait_ms,
                              .max_attempts = j->denied ? 0 : j->env->inst->conf.max_attempts,
                              .approved = j->claim->resumed,
                              .also = finish_also,
                              .also_ctx = j};
    if (f->source)
        TRY(prov_render(j->env->arena, f, &j->finish.prov, err));
    j->end.reason = reason;
    j->write = write_finish;
    return RC_OK;
}

enum rc job_finish(struct job *j, enum inbox_end end, const char *reason, struct err *err)
{
    return job_finish_with(j, end, reason, 0, NULL, err);
}

enum rc job_settle(struct job *j, const char *reason, run_also_fn *also, struct err *err)
{
    j->settles = true;
    return job_finish_with(j, INBOX_NOOP, reason, 0, also, err);
}

/* ---- an entry that could not be had ---------------------------------------------------------- */

static enum outcome outcome_of(const char *reason)
{
    static const struct {
        const char *reason;
        enum outcome outcome;
    } rows[] = {{"GONE", OUTCOME_gone},
                {"DENIED", OUTCOME_denied},
                {"RATE_LIMITED", OUTCOME_rate_limited},
                {"NOT_READY", OUTCOME_not_ready},
                {"BLOCKED", OUTCOME_blocked}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].reason, reason) == 0)
            return rows[i].outcome;
    return OUTCOME_unavailable;
}

/* It came by itself (ledger/push.h): the upstream told of it, once. */
static bool is_told(const struct job *j)
{
    return detector_takes_push(j->claim->cand.detector);
}

/* The listing has said its word about this version of an entry and will not repeat it, and no more
 * does who told of a change: when this was the last try, the scheduler goes on. */
enum rc job_miss_entry(void *ctx, struct ledger *l, struct err *err)
{
    const struct job *j = ctx;
    const struct facts *f = &j->facts;
    if ((!source_is_entry(&j->source) && !is_told(j)) ||
        (strcmp(f->result, "retry") == 0 && !j->dead))
        return RC_OK;
    TRY(check_missed(l, j->source.no, outcome_of(f->reason), f->reason, f->finalized_at,
                     f->finalized_at + MISSED_AGAIN_MS, err));
    return job_project(ctx, l, err);
}

/* ---- on hold --------------------------------------------------------------------------------- */

/* That something waits is told only where the level shows it. A promotion after approval has no
 * validators to tell the clocks by, so they are moved here. */
static enum rc hold_also(void *ctx, struct ledger *l, struct err *err)
{
    const struct job *j = ctx;
    if (!job_claims_gone(j))
        TRY(job_has_object(j, TIER_RESTRICTED, err));
    if (j->bytes.fetched)
        TRY(check_reached(l, j->source.no, j->facts.finalized_at, err));
    TRY(job_record_gate(ctx, l, err));
    return redact_shows(j->source.level, "held") ? job_project(ctx, l, err) : RC_OK;
}

static enum rc write_hold(struct job *j, struct err *err)
{
    const struct candidate *c = &j->claim->cand;
    struct hold h = {.cand_no = c->no,
                     .lease_token = c->lease_token,
                     .src_no = c->src_no,
                     .run_id = j->claim->run_id,
                     .event_id = c->event_id,
                     .reason = j->end.reason,
                     .sha = j->bytes.sha,
                     .size = j->bytes.size,
                     .media_type = j->facts.qa.media_type,
                     .tier = tier_name(TIER_RESTRICTED),
                     .qa = j->facts.qa.report};
    TRY(promote_hold(j->env->ledger, &h, j->facts.finalized_at, hold_also, j, err));
    j->end.result = WORK_HELD;
    return RC_OK;
}

void job_hold(struct job *j, const char *reason)
{
    j->facts.finalized_at = clock_now();
    j->end.reason = reason;
    if (j->put)
        job_stage(j, TIER_RESTRICTED);
    j->write = write_hold;
}

/* ---- the end that was decided ---------------------------------------------------------------- */

bool job_stages(struct job *j, struct store_keep *ret)
{
    if (!j->staged || !j->put)
        return false;
    *ret = (struct store_keep){&j->put, j->stage};
    return true;
}

enum rc job_write(struct job *j, struct err *err)
{
    return j->write(j, err);
}

void job_done(struct job *j, struct work_end *ret)
{
    const struct job_env *e = j->env;
    if (j->end.result != WORK_RETRY)
        bytes_forget(e->arena, e->inst, e->ledger, &j->claim->cand);
    *ret = j->end;
}

enum rc job_end_as(const struct job_env *env, const struct job_claim *claim, enum inbox_end end,
                   const char *reason, int64_t max_attempts, struct err *err)
{
    struct job j = {.env = env, .claim = claim, .replayed = true};
    struct instance inst = *env->inst;
    struct job_env own = *env;
    inst.conf.max_attempts = max_attempts;
    own.inst = &inst;
    j.env = &own;
    TRY(source_by_no(env->ledger, env->arena, claim->cand.src_no, &j.source, err));
    job_begin_facts(&j);
    TRY(job_finish(&j, end, reason, err));
    return job_write(&j, err);
}

enum rc job_give_up(const struct job_env *env, const struct job_claim *claim, enum rc why,
                    struct work_end *ret, struct err *err)
{
    struct job j = {.env = env, .claim = claim};
    bool moved = why == RC_CONFLICT; /* the documents are out of date: at once again */
    job_begin_end(claim, &j.end);
    if (source_by_no(env->ledger, env->arena, claim->cand.src_no, &j.source, err) != RC_OK)
        j.source = (struct source){0}; /* the run must end all the same */
    TRY(job_finish_with(&j, moved || rc_retryable(why) ? INBOX_RETRY : INBOX_FAILED,
                        moved ? "HEAD_MOVED" : rc_name(why),
                        moved ? 0 : job_backoff(claim->cand.attempts, -1), job_miss_entry, err));
    TRY(job_write(&j, err));
    *ret = j.end;
    return RC_OK;
}
