/* job: the steps of a run, in order. Each fills struct job and says how to go on: a step that
 * decides how the run ends sets `write`, and the steps behind it are skipped. */
#include "handler/job_internal.h"

#include <errno.h>
#include "core/clock.h"
#include "core/fd.h"
#include "handler/children.h"
#include "handler/project.h"
#include "ledger/overtake.h"
#include "ledger/twin.h"

#define REPORTS_MEMORY_MAX (1u << 30) /* two parsed reports of INSPECT_REPORT_MAX bytes */

static int64_t max_bytes(const struct job *j)
{
    return j->source.max_bytes > 0 ? j->source.max_bytes : j->env->inst->conf.max_bytes;
}

enum tier job_tier(const struct job *j)
{
    return j->source.level == LEVEL_PUBLIC ? TIER_PUBLIC : TIER_RESTRICTED;
}

/* Who raised a level meanwhile must not find the public rows of the old one written after. */
enum rc job_project(void *ctx, struct ledger *l, struct err *err)
{
    const struct job *j = ctx;
    TRY(source_unmoved(l, &j->source, err));
    return project_source(l, j->env->inst, &j->source, j->facts.finalized_at, err);
}

/* ---- gate ------------------------------------------------------------------------------------ */

void job_begin_facts(struct job *j)
{
    j->facts = (struct facts){.source = &j->source,
                              .cand = &j->claim->cand,
                              .run_id = j->claim->run_id,
                              .tags = j->claim->tags,
                              .started_at = uuid7_time(j->claim->run_id),
                              .lineage = *j->env->inst->conf.openlineage &&
                                         j->source.level < LEVEL_SOVEREIGN};
}

bool job_claims_gone(const struct job *j)
{
    return strcmp(j->claim->cand.outcome, outcome_name(OUTCOME_gone)) == 0;
}

static bool is_head(const struct job *j, const struct sha256 *sha)
{
    return j->head.version > 0 && !j->head.deleted && sha256_eq(&j->head.sha, sha);
}

/* ---- the head in another form ---------------------------------------------------------------- */

#define BYTE_ONLY "BYTE_ONLY"

static enum rc learn_form(void *ctx, struct ledger *l, struct err *err)
{
    const struct job *j = ctx;
    TRY(twin_learn(l, j->source.no, &j->head.sha, &j->form, j->facts.finalized_at, err));
    return noise_count(l, NOISE_BYTE_ONLY, j->source.level, j->facts.finalized_at, err);
}

static enum rc end_byte_only(struct job *j, const struct sha256 *sha, struct err *err)
{
    j->form = *sha;
    return job_settle(j, BYTE_ONLY, learn_form, err);
}

static enum rc meet_head(void *ctx, struct ledger *l, struct err *err)
{
    const struct job *j = ctx;
    return twin_meet(l, j->source.no, &j->head.sha, &j->head.sha, err);
}

/* Ends the run when these bytes are the head's, or were found before to say the same. */
static enum rc end_known(struct job *j, const struct sha256 *sha, const char *same, struct err *err)
{
    bool twin = false;
    if (is_head(j, sha))
        return job_settle(j, same, meet_head, err);
    if (j->head.version > 0 && !j->head.deleted)
        TRY(twin_known(j->env->ledger, j->source.no, &j->head.sha, sha, &twin, err));
    return twin ? end_byte_only(j, sha, err) : RC_OK;
}

/* A rejection that came by way of the intake, which may not end a run itself. */
static enum rc end_rejected(struct job *j, struct err *err)
{
    bool rejected;
    TRY(inbox_rejected(j->env->ledger, j->claim->run_id, &rejected, err));
    return rejected ? job_finish(j, INBOX_REJECTED, "REJECTED", err) : RC_OK;
}

static enum rc gate(struct job *j, struct err *err)
{
    const struct candidate *c = &j->claim->cand;
    TRY(source_by_no(j->env->ledger, j->env->arena, c->src_no, &j->source, err));
    TRY(head_get(j->env->ledger, j->env->arena, c->src_no, &j->head, err));
    job_begin_facts(j);
    j->end.level = j->source.level;
    (void)source_log_name(&j->source, j->end.source);
    if (j->claim->resumed)
        TRY(end_rejected(j, err));
    if (j->write)
        return RC_OK;
    if (j->source.retired_at >= 0 && !job_is_rollback(j))
        return job_finish(j, INBOX_NOOP, "SOURCE_RETIRED", err);
    if (!j->claim->resumed && source_is_unlisted(&j->source) && !job_claims_gone(j))
        return job_finish(j, INBOX_NOOP, "UNLISTED", err); /* a check was under way meanwhile */
    if (j->claim->resumed && j->head.cand_no > c->no)
        return job_finish(j, INBOX_NOOP, OVERTAKEN, err);
    if (!j->claim->resumed && c->has_sha)
        return end_known(j, &c->sha, "SAME_AS_HEAD", err);
    return RC_OK;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* From where they are already; RC_NOT_FOUND when the upstream must be asked. */
static enum rc get_near(struct job *j, struct err *err)
{
    const struct job_env *e = j->env;
    const struct candidate *c = &j->claim->cand;
    TRY(store_begin(e->store, &j->put, err));
    if (e->again)
        return bytes_from_store(e->store, e->again, j->put, &j->bytes, err);
    if (!c->has_sha)
        return RC_NOT_FOUND;
    return bytes_from_spool(e->arena, e->inst, &c->sha, j->put, &j->bytes, err);
}

/* A listing cannot be fetched: the upstream has pages, and how to read them is the detectors'
 * knowledge. What was seen is forgotten, so that the next check, which is due now, finds
 * it again. */
static enum rc look_again(void *ctx, struct ledger *l, struct err *err)
{
    const struct job *j = ctx;
    TRY(check_forget(l, j->source.no, j->facts.finalized_at, err));
    return job_project(ctx, l, err);
}

static enum rc ask_for_bytes(struct job *j, struct err *err)
{
    const struct job_env *e = j->env;
    if (source_is_listing(&j->source) && j->head.cand_no > j->claim->cand.no)
        return job_finish(j, INBOX_NOOP, OVERTAKEN, err);
    enum rc rc = get_near(j, err);
    if (rc != RC_NOT_FOUND || e->again)
        return rc;
    if (source_is_listing(&j->source))
        return job_finish_with(j, INBOX_FAILED, "SPOOL_LOST", 0, look_again, err);
    return bytes_ask(e->arena, e->inst, e->engine, &j->source, max_bytes(j), j->put, &j->transfer,
                     err);
}

static enum rc take_in(struct job *j, struct err *err)
{
    bool blocked;
    if (j->transfer)
        TRY(bytes_take(j->transfer, &j->bytes, err));
    j->end.bytes = j->bytes.size;
    if (j->bytes.end != BYTES_OK)
        return job_finish_with(
            j, j->bytes.end == BYTES_RETRY ? INBOX_RETRY : INBOX_FAILED, j->bytes.reason,
            job_backoff(j->claim->cand.attempts, j->bytes.retry_after_ms), job_miss_entry, err);
    TRY(end_known(j, &j->bytes.sha, "SAME_BYTES", err));
    if (j->write)
        return RC_OK;
    TRY(job_is_blocked(j, &j->bytes.sha, &blocked, err));
    return blocked ? job_finish(j, INBOX_NOOP, JOB_ROLLED_BACK, err) : RC_OK;
}

static enum rc count_entries(struct job *j, int fd, struct err *err)
{
    struct entry_counts counts;
    struct entries none;
    entries_none(&none);
    enum rc rc = entries_open(&j->listing, fd, j->bytes.size, err);
    if (rc == RC_OK)
        rc = entries_diff(&none, &j->listing, NULL, NULL, &counts, err);
    if (rc == RC_OK)
        j->facts.qa.features = counts.total;
    return rc == RC_INVALID ? job_finish(j, INBOX_FAILED, "PARSE_ERROR", err) : rc;
}

/* The rules over the bytes of fd. What a source declares about its upstream's type, place and
 * features is not about a listing, which is JSON of our own; that must be canonical to its
 * last entry. */
static enum rc judge(struct job *j, int fd, struct err *err)
{
    static const struct expectation listing = {.media_type = "application/json",
                                               .url = "",
                                               .count_drift_pct = -1,
                                               .area_drift_pct = -1,
                                               .size_drift_pct = -1};
    struct expectation expect = listing;
    struct summary now;
    bool same = false;
    summary_none(&now);
    if (!source_is_listing(&j->source)) {
        expectation_of(&j->source, max_bytes(j), &expect);
        expect.head_bytes = j->head.version > 0 && !j->head.deleted ? j->head.size : 0;
        TRY(job_inspect(j, fd, &now, err));
    }
    expect.max_bytes = max_bytes(j);
    TRY(validate(j->env->arena, fd, j->bytes.size, &expect, &now,
                 *j->before.format ? &j->before : NULL, &j->facts.qa, err));
    j->facts.qa.media_type =
        arena_strdup(j->env->arena, j->facts.qa.media_type); /* outlives reports */
    if (!j->facts.qa.media_type)
        return err_set(err, RC_NOMEM, "", "no memory for a media type");
    if (source_is_listing(&j->source) && j->facts.qa.outcome != VERDICT_FAIL)
        return count_entries(j, fd, err);
    if (job_same_content(j) && j->facts.qa.outcome != VERDICT_FAIL)
        return end_byte_only(j, &j->bytes.sha, err);
    if (!source_is_listing(&j->source) && !job_is_rollback(j) &&
        j->facts.qa.outcome != VERDICT_FAIL)
        TRY(job_within_precision(j, fd, &same, err));
    return same ? end_byte_only(j, &j->bytes.sha, err) : RC_OK;
}

/* A held run has its bytes in the restricted tier; they are read again, so that what is promoted
 * is what is there. */
static enum rc take_held(struct job *j, struct err *err)
{
    const struct job_env *e = j->env;
    CLEANUP(fd_close) int fd = -1;
    TRY(held_run_get(e->ledger, e->arena, j->claim->run_id, &j->held, err));
    TRY(store_check(e->store, TIER_RESTRICTED, &j->held.sha, j->held.size, err));
    j->bytes = (struct bytes){.reason = "", .sha = j->held.sha, .size = j->held.size};
    j->end.bytes = j->held.size;
    j->facts.reviewer = j->held.reviewer;
    j->facts.note = j->held.note;
    if (is_head(j, &j->bytes.sha))
        return job_settle(j, "SAME_BYTES", NULL, err);
    TRY(store_read(e->store, TIER_RESTRICTED, &j->held.sha, &fd, err));
    return judge(j, fd, err);
}

/* ---- a deletion ------------------------------------------------------------------------------ */

static enum rc pass_policy(struct job *j, struct err *err);

/* There are no bytes to take in or to judge: the head's own are what goes. Where the level wants a
 * person for a change it wants one for a deletion too, since what is removed cannot be read any
 * more by those who rely on it. */
static enum rc take_gone(struct job *j, struct err *err)
{
    const struct head *h = &j->head;
    bool blocked;
    if (h->version == 0)
        return job_settle(j, "NO_HEAD", NULL, err);
    if (h->deleted)
        return job_settle(j, "ALREADY_DELETED", NULL, err);
    if (h->cand_no > j->claim->cand.no)
        return job_finish(j, INBOX_NOOP, OVERTAKEN, err);
    TRY(job_is_blocked(j, NULL, &blocked, err));
    if (blocked)
        return job_finish(j, INBOX_NOOP, JOB_ROLLED_BACK, err);
    j->bytes = (struct bytes){.reason = "", .sha = h->sha, .size = h->size};
    j->facts.qa.features = -1;
    if (!j->claim->resumed)
        return pass_policy(j, err);
    TRY(held_run_get(j->env->ledger, j->env->arena, j->claim->run_id, &j->held, err));
    j->facts.reviewer = j->held.reviewer;
    j->facts.note = j->held.note;
    return pass_policy(j, err);
}

/* ---- validate and stage ---------------------------------------------------------------------- */

/* What was taken back stays away however it is written. Bytes that a person has approved are not
 * asked about: the person knew. */
static enum rc check(struct job *j, struct err *err)
{
    bool blocked = false;
    TRY(judge(j, store_put_fd(j->put), err));
    if (!j->write && j->facts.qa.outcome == VERDICT_FAIL)
        return job_finish(j, INBOX_FAILED, j->facts.qa.reason, err);
    if (!j->write)
        TRY(job_is_blocked_content(j, &blocked, err));
    return blocked ? job_finish(j, INBOX_NOOP, JOB_ROLLED_BACK_CONTENT, err) : RC_OK;
}

/* Ends the run unless the policy allows it. */
static enum rc pass_policy(struct job *j, struct err *err)
{
    TRY(job_gate(j, err));
    if (j->gate.verdict == GATE_HOLD) {
        job_hold(j, j->gate.reason);
        return RC_OK;
    }
    j->denied = j->gate.verdict == GATE_DENY;
    if (!j->denied)
        return RC_OK;
    return job_finish_with(j, INBOX_RETRY, j->gate.reason, 0, job_record_gate, err);
}

static enum rc copy_object(struct job *j, enum tier from, enum tier to, struct err *err)
{
    CLEANUP(fd_close) int fd = -1;
    struct sha256 sha;
    int64_t size;
    char chunk[16384];
    ssize_t n = 0;
    TRY(store_read(j->env->store, from, &j->bytes.sha, &fd, err));
    TRY(store_begin(j->env->store, &j->put, err));
    while ((n = fd_read_all(fd, chunk, sizeof chunk)) > 0)
        TRY(store_add(j->put, chunk, (size_t)n, err));
    if (n < 0)
        return err_set(err, RC_IO, "", "cannot read an object of the store: %s", strerror(errno));
    store_seal(j->put, &sha, &size);
    if (!sha256_eq(&sha, &j->bytes.sha))
        return err_set(err, RC_CORRUPT, "", "an object of the store changed while it was copied");
    return store_keep(&j->put, to, err);
}

void job_stage(struct job *j, enum tier tier)
{
    j->stage = tier;
    j->staged = true;
}

static enum rc stage(struct job *j, struct err *err)
{
    enum tier tier = job_tier(j);
    TRY(pass_policy(j, err));
    if (j->write)
        return RC_OK;
    if (j->claim->resumed) /* held bytes lie in the restricted tier */
        return tier == TIER_RESTRICTED ? RC_OK : copy_object(j, TIER_RESTRICTED, tier, err);
    job_stage(j, tier);
    return RC_OK;
}

/* ---- a rollback ------------------------------------------------------------------------------ */

/* Bytes that were promoted before are in the store, in the tier that their level had then. They are
 * judged for what the documents say of them: that they come back is decided. */
static enum rc take_back(struct job *j, struct err *err)
{
    CLEANUP(fd_close) int fd = -1;
    enum tier tier = job_tier(j);
    const char *refused = NULL;
    TRY(job_find_prior(j, &refused, err));
    if (refused)
        return job_finish(j, INBOX_FAILED, refused, err);
    if (j->back.version == 0)
        return RC_OK;
    enum rc rc = store_check(j->env->store, tier, &j->bytes.sha, j->bytes.size, err);
    if (rc == RC_NOT_FOUND)
        rc = copy_object(j, tier == TIER_PUBLIC ? TIER_RESTRICTED : TIER_PUBLIC, tier, err);
    TRY(rc);
    TRY(store_read(j->env->store, tier, &j->bytes.sha, &fd, err));
    return judge(j, fd, err);
}

/* ---- a template ------------------------------------------------------------------------------ */

static enum rc open_vintages(void *ctx, struct ledger *l, struct err *err)
{
    const struct job *j = ctx;
    return children_open(l, j->env->inst, &j->source, j->vintage_from, j->vintage,
                         j->facts.finalized_at, err);
}

/* The candidate's hint is the year whose window opened. Nothing is promoted: a vintage is a source
 * of its own, and its first version is its first change. One job runs per source, so what is
 * missing now is missing when the transaction begins. */
static enum rc take_vintage(struct job *j, struct err *err)
{
    int64_t year;
    struct str hint = str_of(j->claim->cand.version_hint);
    if (hint.n != 4 || str_to_i64(hint, &year) != RC_OK || year < 1000)
        return job_finish(j, INBOX_FAILED, "VINTAGE_UNREADABLE", err);
    j->vintage = (int)year;
    enum rc rc = children_missing(j->env->ledger, &j->source, j->vintage, &j->vintage_from, err);
    if (rc == RC_INVALID)
        return job_finish(j, INBOX_FAILED, "VINTAGE_GAP", err);
    TRY(rc);
    if (j->vintage_from > j->vintage)
        return job_finish(j, INBOX_NOOP, "VINTAGE_KNOWN", err);
    return job_finish_with(j, INBOX_NOOP, "VINTAGE_OPENED", 0, open_vintages, err);
}

/* ---- the run --------------------------------------------------------------------------------- */

static step_fn *const *steps_of(const struct job *j)
{
    static step_fn *const fresh[] = {take_in, check, stage, job_publish};
    static step_fn *const resumed[] = {take_held, stage, job_publish};
    static step_fn *const gone[] = {take_gone, job_publish};
    static step_fn *const back[] = {take_back, job_publish};
    static step_fn *const template[] = {take_vintage};
    return job_is_rollback(j)               ? back
           : source_is_template(&j->source) ? template
           : job_claims_gone(j)             ? gone
           : j->claim->resumed              ? resumed
                                            : fresh;
}

static enum rc begin(struct job *j, struct err *err)
{
    TRY(gate(j, err));
    if (j->write)
        return RC_OK;
    j->steps = steps_of(j);
    return *j->steps == take_in ? ask_for_bytes(j, err) : RC_OK;
}

void job_begin_end(const struct job_claim *claim, struct work_end *end)
{
    *end = (struct work_end){.reason = "", .level = LEVEL_SOVEREIGN};
    snprintf(end->run_id, sizeof end->run_id, "%s", claim->run_id);
    snprintf(end->source, sizeof end->source, "#%lld", (long long)claim->cand.src_no);
}

enum rc job_begin(const struct job_env *env, const struct job_claim *claim, struct job **ret,
                  struct err *err)
{
    struct job *j = ARENA_NEW(env->arena, struct job);
    if (!j)
        return err_set(err, RC_NOMEM, "", "no memory for a run");
    *j = (struct job){.env = env, .claim = claim};
    job_begin_end(claim, &j->end);
    arena_init(&j->reports, REPORTS_MEMORY_MAX);
    summary_none(&j->before);
    enum rc rc = begin(j, err);
    if (rc != RC_OK) {
        job_free(&j);
        return rc;
    }
    *ret = j;
    return RC_OK;
}

bool job_waits(const struct job *j)
{
    return !j->write && j->transfer && !bytes_arrived(j->transfer);
}

int64_t job_size(const struct job *j)
{
    return j->put ? store_put_size(j->put) : 0;
}

enum rc job_decide(struct job *j, struct err *err)
{
    enum rc rc = RC_OK;
    for (step_fn *const *step = j->steps; rc == RC_OK && !j->write; step++)
        rc = (*step)(j, err);
    arena_release(&j->reports); /* the documents are made, and hold none of it */
    return rc;
}

enum rc job_run(const struct job_env *env, const struct job_claim *claim, struct work_end *ret,
                struct err *err)
{
    CLEANUP(job_free) struct job *j = NULL;
    struct store_keep keep;
    TRY(job_begin(env, claim, &j, err));
    TRY(job_decide(j, err));
    if (job_stages(j, &keep))
        TRY(store_keep_all(env->store, &keep, 1, err));
    TRY(job_write(j, err));
    job_done(j, ret);
    return RC_OK;
}

void job_free(struct job **job)
{
    struct job *j = *job;
    if (!j)
        return;
    store_drop(&j->put);
    entries_close(&j->listing);
    entries_close(&j->listing_before);
    arena_release(&j->reports);
    *job = NULL;
}
