/* job: the steps of a run, in order. Each fills struct job and says how to go on: a step that ends
 * the run sets `ended`, and the steps behind it are skipped. */
#include "handler/job_internal.h"

#include <unistd.h>
#include "core/clock.h"
#include "handler/children.h"
#include "handler/outbox.h"
#include "handler/project.h"
#include "handler/prov.h"
#include "handler/redact.h"
#include "ledger/twin.h"

#define REPORTS_MEMORY_MAX (1u << 30) /* two parsed reports of INSPECT_REPORT_MAX bytes */
#define BACKOFF_FIRST_MS 1000
#define BACKOFF_MAX_MS (60LL * 60 * 1000)
#define MISSED_AGAIN_MS                                                                            \
    60000 /* an entry given up here is looked at again: as after a failed check */

int64_t job_backoff(int64_t attempts, int64_t retry_after_ms)
{
    int64_t cap = BACKOFF_MAX_MS, first = BACKOFF_FIRST_MS;
    int64_t n = attempts > 0 ? attempts - 1 : 0;
    int64_t most = n < 12 && first << n < cap ? first << n : cap;
    int64_t wait = (int64_t)rand_below((uint64_t)most + 1);
    int64_t asked = retry_after_ms < DAY_MS ? retry_after_ms : DAY_MS;
    return wait > asked ? wait : asked;
}

static int64_t max_bytes(const struct job *j)
{
    return j->source.max_bytes > 0 ? j->source.max_bytes : j->env->inst->conf.max_bytes;
}

enum tier job_tier(const struct job *j)
{
    return j->source.level == LEVEL_PUBLIC ? TIER_PUBLIC : TIER_RESTRICTED;
}

/* ---- ending without effect ------------------------------------------------------------------- */

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

enum rc job_next(const struct job *j, struct ledger *l, struct err *err)
{
    return j->env->next ? j->env->next(j->env->next_ctx, l, err) : RC_OK;
}

/* A run that is tried again has not failed yet, and one that found nothing to do is no news. A replay tells
 * nothing a second time. */
static bool tells_failure(const struct job *j)
{
    const struct facts *f = &j->facts;
    return f->lineage && !j->env->again && !j->replayed &&
           (j->dead || strcmp(f->result, "failed") == 0);
}

static enum rc finish_also(void *ctx, struct ledger *l, struct err *err)
{
    const struct job *j = ctx;
    if (tells_failure(j))
        TRY(outbox_put(l, j->claim->run_id, OUTBOX_OPENLINEAGE, STR("{}"), j->facts.finalized_at,
                       err));
    if (j->also)
        TRY(j->also(ctx, l, err));
    return job_next(j, l, err);
}

/* wait_ms counts for INBOX_RETRY only. `also` is written with it. */
static enum rc finish_with(struct job *j, enum inbox_end end, const char *reason, int64_t wait_ms,
                           run_also_fn *also, struct err *err)
{
    const struct candidate *c = &j->claim->cand;
    struct facts *f = &j->facts;
    int64_t now = clock_now();
    struct inbox_finish fin = {.cand_no = c->no,
                               .src_no = c->src_no,
                               .lease_token = c->lease_token,
                               .run_id = j->claim->run_id,
                               .end = end,
                               .reason = reason,
                               .qa = f->qa.report,
                               .max_attempts = j->denied ? 0 : j->env->inst->conf.max_attempts,
                               .approved = j->claim->resumed,
                               .also = finish_also,
                               .also_ctx = j};
    j->also = also;
    f->finalized_at = now;
    f->result = word_of(end);
    f->reason = reason;
    f->item_id = NULL; /* nothing came of it */
    if (f->source)
        TRY(prov_render(j->env->arena, f, &fin.prov, err));
    fin.next_attempt_at = now + wait_ms;
    TRY(inbox_finish(j->env->ledger, &fin, now, &j->dead, err));
    j->ended = true;
    j->end.result = result_of(end, j->dead);
    j->end.reason = reason;
    return RC_OK;
}

static enum rc finish(struct job *j, enum inbox_end end, const char *reason, int64_t wait_ms,
                      struct err *err)
{
    return finish_with(j, end, reason, wait_ms, NULL, err);
}

enum rc job_project(void *ctx, struct ledger *l, struct err *err)
{
    const struct job *j = ctx;
    return project_source(l, j->env->inst, &j->source, j->facts.finalized_at, err);
}

/* ---- gate ------------------------------------------------------------------------------------ */

static void begin_facts(struct job *j)
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

bool job_is_listing(const struct job *j)
{
    return strcmp(j->source.detector, "manifest") == 0;
}

static bool is_head(const struct job *j, const struct sha256 *sha)
{
    return j->head.version > 0 && !j->head.deleted && sha256_eq(&j->head.sha, sha);
}

/* ---- the head in another form ----------------------------------------------------------------- */

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
    return finish_with(j, INBOX_NOOP, BYTE_ONLY, 0, learn_form, err);
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
        return finish_with(j, INBOX_NOOP, same, 0, meet_head, err);
    if (j->head.version > 0 && !j->head.deleted)
        TRY(twin_known(j->env->ledger, j->source.no, &j->head.sha, sha, &twin, err));
    return twin ? end_byte_only(j, sha, err) : RC_OK;
}

/* A rejection that came by way of the intake, which may not end a run itself. */
static enum rc end_rejected(struct job *j, struct err *err)
{
    bool rejected;
    TRY(inbox_rejected(j->env->ledger, j->claim->run_id, &rejected, err));
    return rejected ? finish_with(j, INBOX_REJECTED, "REJECTED", 0, job_project, err) : RC_OK;
}

static enum rc gate(struct job *j, struct err *err)
{
    const struct candidate *c = &j->claim->cand;
    TRY(source_by_no(j->env->ledger, j->env->arena, c->src_no, &j->source, err));
    TRY(head_get(j->env->ledger, j->env->arena, c->src_no, &j->head, err));
    begin_facts(j);
    j->end.level = j->source.level;
    (void)source_log_name(&j->source, j->end.source);
    if (j->claim->resumed)
        TRY(end_rejected(j, err));
    if (j->ended)
        return RC_OK;
    if (j->source.retired_at >= 0 && !job_is_rollback(j))
        return finish(j, INBOX_NOOP, "SOURCE_RETIRED", 0, err);
    if (!j->claim->resumed && source_is_unlisted(&j->source) && !job_claims_gone(j))
        return finish(j, INBOX_NOOP, "UNLISTED", 0, err); /* a check was under way meanwhile */
    if (j->claim->resumed && j->head.cand_no > c->no)
        return finish(j, INBOX_NOOP, "SUPERSEDED", 0, err);
    if (!j->claim->resumed && c->has_sha)
        return end_known(j, &c->sha, "SAME_AS_HEAD", err);
    return RC_OK;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

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
    const char *d = j->claim->cand.detector;
    return strcmp(d, "webhook") == 0 || strcmp(d, "event") == 0;
}

/* The listing has said its word about this version of an entry and will not repeat it, and no more does
 * who told of a change: when this was the last try, the scheduler goes on. */
static enum rc miss_entry(void *ctx, struct ledger *l, struct err *err)
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

static enum rc get_bytes(struct job *j, struct err *err)
{
    const struct job_env *e = j->env;
    const struct candidate *c = &j->claim->cand;
    enum rc rc = RC_NOT_FOUND;
    TRY(store_begin(e->store, &j->put, err));
    if (e->again)
        return bytes_from_store(e->store, e->again, j->put, &j->bytes, err);
    if (c->has_sha)
        rc = bytes_from_spool(e->arena, e->inst, &c->sha, j->put, &j->bytes, err);
    if (rc != RC_NOT_FOUND)
        return rc;
    return bytes_fetch(e->arena, e->inst, e->engine, &j->source, max_bytes(j), j->put, e->tick,
                       e->tick_ctx, &j->bytes, err);
}

/* A listing cannot be fetched: the upstream has pages, and how to read them is the detectors'
 * knowledge. What was seen is forgotten, so that the next check, which is due now, finds it again. */
static enum rc look_again(void *ctx, struct ledger *l, struct err *err)
{
    const struct job *j = ctx;
    TRY(check_forget(l, j->source.no, j->facts.finalized_at, err));
    return job_project(ctx, l, err);
}

static enum rc get_listing(struct job *j, struct err *err)
{
    const struct job_env *e = j->env;
    const struct candidate *c = &j->claim->cand;
    enum rc rc = RC_NOT_FOUND;
    if (j->head.cand_no > c->no)
        return finish(j, INBOX_NOOP, "SUPERSEDED", 0, err);
    TRY(store_begin(e->store, &j->put, err));
    if (e->again)
        return bytes_from_store(e->store, e->again, j->put, &j->bytes, err);
    if (c->has_sha)
        rc = bytes_from_spool(e->arena, e->inst, &c->sha, j->put, &j->bytes, err);
    if (rc == RC_NOT_FOUND)
        return finish_with(j, INBOX_FAILED, "SPOOL_LOST", 0, look_again, err);
    return rc;
}

static enum rc take_in(struct job *j, struct err *err)
{
    bool blocked;
    TRY(job_is_listing(j) ? get_listing(j, err) : get_bytes(j, err));
    if (j->ended)
        return RC_OK;
    j->end.bytes = j->bytes.size;
    if (j->bytes.end != BYTES_OK)
        return finish_with(
            j, j->bytes.end == BYTES_RETRY ? INBOX_RETRY : INBOX_FAILED, j->bytes.reason,
            job_backoff(j->claim->cand.attempts, j->bytes.retry_after_ms), miss_entry, err);
    TRY(end_known(j, &j->bytes.sha, "SAME_BYTES", err));
    if (j->ended)
        return RC_OK;
    TRY(job_is_blocked(j, &j->bytes.sha, &blocked, err));
    return blocked ? finish(j, INBOX_NOOP, JOB_ROLLED_BACK, 0, err) : RC_OK;
}

void job_close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
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
    return rc == RC_INVALID ? finish(j, INBOX_FAILED, "PARSE_ERROR", 0, err) : rc;
}

/* The rules over the bytes of fd. What a source declares about its upstream's type, place and features
 * is not about a listing, which is JSON of our own; that must be canonical to its last entry. */
static enum rc judge(struct job *j, int fd, struct err *err)
{
    static const struct expectation listing = {.media_type = "application/json",
                                               .url = "",
                                               .count_drift_pct = -1,
                                               .area_drift_pct = -1,
                                               .size_drift_pct = -1};
    struct expectation expect = listing;
    struct summary now;
    summary_none(&now);
    if (!job_is_listing(j)) {
        expectation_of(&j->source, max_bytes(j), &expect);
        expect.head_bytes = j->head.version > 0 && !j->head.deleted ? j->head.size : 0;
        TRY(job_inspect(j, fd, &now, err));
    }
    expect.max_bytes = max_bytes(j);
    TRY(validate(j->env->arena, fd, j->bytes.size, &expect, &now,
                 *j->before.format ? &j->before : NULL, &j->facts.qa, err));
    if (job_is_listing(j) && j->facts.qa.outcome != VERDICT_FAIL)
        return count_entries(j, fd, err);
    if (job_same_content(j) && j->facts.qa.outcome != VERDICT_FAIL)
        return end_byte_only(j, &j->bytes.sha, err);
    return RC_OK;
}

/* A held run has its bytes in the restricted tier; they are read again, so that what is promoted
 * is what is there. */
static enum rc take_held(struct job *j, struct err *err)
{
    const struct job_env *e = j->env;
    CLEANUP(job_close_fd) int fd = -1;
    TRY(held_run_get(e->ledger, e->arena, j->claim->run_id, &j->held, err));
    TRY(store_check(e->store, TIER_RESTRICTED, &j->held.sha, j->held.size, err));
    j->bytes = (struct bytes){.reason = "", .sha = j->held.sha, .size = j->held.size};
    j->end.bytes = j->held.size;
    j->facts.reviewer = j->held.reviewer;
    j->facts.note = j->held.note;
    if (is_head(j, &j->bytes.sha))
        return finish(j, INBOX_NOOP, "SAME_BYTES", 0, err);
    TRY(store_read(e->store, TIER_RESTRICTED, &j->held.sha, &fd, err));
    return judge(j, fd, err);
}

/* ---- a deletion --------------------------------------------------------------------------------- */

static enum rc pass_policy(struct job *j, struct err *err);

/* There are no bytes to take in or to judge: the head's own are what goes. Where the level wants a
 * person for a change it wants one for a deletion too, since what is removed cannot be read any
 * more by those who rely on it. */
static enum rc take_gone(struct job *j, struct err *err)
{
    const struct head *h = &j->head;
    bool blocked;
    if (h->version == 0)
        return finish(j, INBOX_NOOP, "NO_HEAD", 0, err);
    if (h->deleted)
        return finish(j, INBOX_NOOP, "ALREADY_DELETED", 0, err);
    if (h->cand_no > j->claim->cand.no)
        return finish(j, INBOX_NOOP, "SUPERSEDED", 0, err);
    TRY(job_is_blocked(j, NULL, &blocked, err));
    if (blocked)
        return finish(j, INBOX_NOOP, JOB_ROLLED_BACK, 0, err);
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

static enum rc check(struct job *j, struct err *err)
{
    TRY(judge(j, store_put_fd(j->put), err));
    if (!j->ended && j->facts.qa.outcome == VERDICT_FAIL)
        return finish(j, INBOX_FAILED, j->facts.qa.reason, 0, err);
    return RC_OK;
}

/* That something waits is told only where the level shows it. A promotion after approval has no
 * validators to tell the clocks by, so they are moved here. */
static enum rc hold_also(void *ctx, struct ledger *l, struct err *err)
{
    const struct job *j = ctx;
    if (!job_claims_gone(j))
        TRY(job_has_object(j, TIER_RESTRICTED, err));
    if (j->bytes.fetched)
        TRY(check_reached(l, j->source.no, j->facts.finalized_at, err));
    TRY(job_record_gate(j, l, err));
    if (redact_shows(j->source.level, "held"))
        TRY(job_project(ctx, l, err));
    return job_next(j, l, err);
}

static enum rc hold(struct job *j, const char *reason, struct err *err)
{
    const struct candidate *c = &j->claim->cand;
    struct hold h = {.cand_no = c->no,
                     .lease_token = c->lease_token,
                     .src_no = c->src_no,
                     .run_id = j->claim->run_id,
                     .event_id = c->event_id,
                     .reason = reason,
                     .sha = j->bytes.sha,
                     .size = j->bytes.size,
                     .media_type = j->facts.qa.media_type,
                     .tier = tier_name(TIER_RESTRICTED),
                     .qa = j->facts.qa.report};
    j->facts.finalized_at = clock_now();
    if (j->put)
        TRY(store_keep(&j->put, TIER_RESTRICTED, err));
    TRY(promote_hold(j->env->ledger, &h, j->facts.finalized_at, hold_also, j, err));
    j->ended = true;
    j->end.result = WORK_HELD;
    j->end.reason = reason;
    return RC_OK;
}

static enum rc deny_also(void *ctx, struct ledger *l, struct err *err)
{
    return job_record_gate(ctx, l, err);
}

/* Ends the run unless the policy allows it. */
static enum rc pass_policy(struct job *j, struct err *err)
{
    TRY(job_gate(j, err));
    if (j->gate.verdict == GATE_HOLD)
        return hold(j, j->gate.reason, err);
    j->denied = j->gate.verdict == GATE_DENY;
    return j->denied ? finish_with(j, INBOX_RETRY, j->gate.reason, 0, deny_also, err) : RC_OK;
}

static enum rc copy_object(struct job *j, enum tier from, enum tier to, struct err *err)
{
    CLEANUP(job_close_fd) int fd = -1;
    struct sha256 sha;
    int64_t size;
    char chunk[16384];
    ssize_t n = 0;
    TRY(store_read(j->env->store, from, &j->bytes.sha, &fd, err));
    TRY(store_begin(j->env->store, &j->put, err));
    while ((n = read(fd, chunk, sizeof chunk)) > 0)
        TRY(store_add(j->put, chunk, (size_t)n, err));
    store_seal(j->put, &sha, &size);
    if (n < 0 || !sha256_eq(&sha, &j->bytes.sha))
        return err_set(err, RC_CORRUPT, "", "an object of the store changed while it was copied");
    return store_keep(&j->put, to, err);
}

static enum rc stage(struct job *j, struct err *err)
{
    enum tier tier = job_tier(j);
    TRY(pass_policy(j, err));
    if (j->ended)
        return RC_OK;
    if (j->claim->resumed) /* held bytes lie in the restricted tier */
        return tier == TIER_RESTRICTED ? RC_OK : copy_object(j, TIER_RESTRICTED, tier, err);
    return store_keep(&j->put, tier, err);
}

/* ---- a rollback -------------------------------------------------------------------------------- */

/* Bytes that were promoted before are in the store, in the tier that their level had then. They are
 * judged for what the documents say of them: that they come back is decided. */
static enum rc take_back(struct job *j, struct err *err)
{
    CLEANUP(job_close_fd) int fd = -1;
    enum tier tier = job_tier(j);
    const char *refused = NULL;
    TRY(job_find_prior(j, &refused, err));
    if (refused)
        return finish(j, INBOX_FAILED, refused, 0, err);
    if (j->back.version == 0)
        return RC_OK;
    enum rc rc = store_check(j->env->store, tier, &j->bytes.sha, j->bytes.size, err);
    if (rc == RC_NOT_FOUND)
        rc = copy_object(j, tier == TIER_PUBLIC ? TIER_RESTRICTED : TIER_PUBLIC, tier, err);
    TRY(rc);
    TRY(store_read(j->env->store, tier, &j->bytes.sha, &fd, err));
    return judge(j, fd, err);
}

/* ---- a template ------------------------------------------------------------------------------- */

static enum rc open_vintages(void *ctx, struct ledger *l, struct err *err)
{
    const struct job *j = ctx;
    return children_open(l, j->env->inst, &j->source, j->vintage_from, j->vintage,
                         j->facts.finalized_at, err);
}

/* The candidate's hint is the year whose window opened. Nothing is promoted: a vintage is a source of
 * its own, and its first version is its first change. One job runs per source, so what is missing now
 * is missing when the transaction begins. */
static enum rc take_vintage(struct job *j, struct err *err)
{
    int64_t year;
    struct str hint = str_of(j->claim->cand.version_hint);
    if (hint.n != 4 || str_to_i64(hint, &year) != RC_OK || year < 1000)
        return finish(j, INBOX_FAILED, "VINTAGE_UNREADABLE", 0, err);
    j->vintage = (int)year;
    enum rc rc = children_missing(j->env->ledger, &j->source, j->vintage, &j->vintage_from, err);
    if (rc == RC_INVALID)
        return finish(j, INBOX_FAILED, "VINTAGE_GAP", 0, err);
    TRY(rc);
    if (j->vintage_from > j->vintage)
        return finish(j, INBOX_NOOP, "VINTAGE_KNOWN", 0, err);
    return finish_with(j, INBOX_NOOP, "VINTAGE_OPENED", 0, open_vintages, err);
}

/* ---- the run --------------------------------------------------------------------------------- */

typedef enum rc step_fn(struct job *j, struct err *err);

static enum rc run_steps(struct job *j, struct err *err)
{
    static step_fn *const fresh[] = {take_in, check, stage, job_publish, NULL};
    static step_fn *const resumed[] = {take_held, stage, job_publish, NULL};
    static step_fn *const gone[] = {take_gone, job_publish, NULL};
    static step_fn *const back[] = {take_back, job_publish, NULL};
    static step_fn *const template[] = {take_vintage, NULL};
    TRY(gate(j, err));
    step_fn *const *step = job_is_rollback(j)               ? back
                           : source_is_template(&j->source) ? template
                           : job_claims_gone(j)             ? gone
                           : j->claim->resumed              ? resumed
                                                            : fresh;
    for (; *step && !j->ended; step++)
        TRY((*step)(j, err));
    return RC_OK;
}

static void begin_end(const struct job_claim *claim, struct work_end *end)
{
    *end = (struct work_end){.reason = "", .level = LEVEL_SOVEREIGN};
    snprintf(end->run_id, sizeof end->run_id, "%s", claim->run_id);
    snprintf(end->source, sizeof end->source, "#%lld", (long long)claim->cand.src_no);
}

enum rc job_run(const struct job_env *env, const struct job_claim *claim, struct work_end *ret,
                struct err *err)
{
    struct job j = {.env = env, .claim = claim};
    begin_end(claim, &j.end);
    arena_init(&j.reports, REPORTS_MEMORY_MAX);
    summary_none(&j.before);
    enum rc rc = run_steps(&j, err);
    store_drop(&j.put);
    entries_close(&j.listing);
    entries_close(&j.listing_before);
    arena_release(&j.reports);
    if (rc == RC_OK && j.end.result != WORK_RETRY)
        bytes_forget(env->arena, env->inst, env->ledger, &claim->cand);
    *ret = j.end;
    return rc;
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
    begin_facts(&j);
    return finish(&j, end, reason, 0, err);
}

enum rc job_give_up(const struct job_env *env, const struct job_claim *claim, enum rc why,
                    struct work_end *ret, struct err *err)
{
    struct job j = {.env = env, .claim = claim};
    bool moved = why == RC_CONFLICT; /* the documents are out of date: at once again */
    begin_end(claim, &j.end);
    if (source_by_no(env->ledger, env->arena, claim->cand.src_no, &j.source, err) != RC_OK)
        j.source = (struct source){0}; /* the run must end all the same */
    TRY(finish_with(&j, moved || rc_retryable(why) ? INBOX_RETRY : INBOX_FAILED,
                    moved ? "HEAD_MOVED" : rc_name(why),
                    moved ? 0 : job_backoff(claim->cand.attempts, -1), miss_entry, err));
    *ret = j.end;
    return RC_OK;
}
