/* work: a worker's slot, its loop and its signs of life.
 *
 *   run/worker-<k>.lock   held (flock) by the worker of slot k; the lock of a dead one is free
 *   owner of a lease      "worker-<k>"
 *   store/tmp/slot-<k>-*  temporary files of slot k */
#include "handler/work.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/log.h"
#include "core/version.h"
#include "handler/facts.h"
#include "handler/job.h"
#include "handler/levels.h"
#include "handler/orders.h"
#include "handler/outbox.h"
#include "ledger/rollback.h"

#define SLOTS_MAX 256               /* workers of one instance, all programs together */
#define JOB_MEMORY_MAX (256u << 20) /* documents of one change; bytes and parsing have their own */
#define POLICY_MEMORY_MAX (32u << 20)
#define HEARTBEAT_MS 5000
#define OWNER_MAX 24

struct worker {
    struct ledger *ledger;
    const struct instance *inst;
    int slot, lock;
    struct store *store;
    struct fetch *engine;        /* made by the first fetch, kept for its connections */
    struct inspector *inspector; /* made by the first file, kept for its processes */
    struct arena arenas[2];      /* of this job, and of the next */
    struct arena *arena, *spare;
    struct job_claim now, next;
    bool chains, has_next;
    struct arena policy_arena;
    struct policy policy;
    struct stat policy_stat;       /* of the file that was read, st_ino 0: none */
    const struct job_claim *claim; /* while a job runs */
    const char *role;              /* of the heartbeat, NULL for none */
    int64_t beat_at, renew_at;     /* clock_mono: when the next one is due */
    struct work_end last;
};

const char *work_result_name(enum work_result r)
{
    static const char *const names[] = {"promoted", "noop", "failed", "held", "retry", "dead"};
    return names[r];
}

const struct work_end *work_last(const struct worker *w)
{
    return &w->last;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static void owner_name(int slot, char out[OWNER_MAX])
{
    snprintf(out, OWNER_MAX, "worker-%d", slot);
}

/* The lock file of a slot, locked; -1 when it is taken or (without O_CREAT) not there. */
static int lock_slot(const struct instance *inst, int slot, int flags, bool *ret_there)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/run/worker-%d.lock", inst->dir, slot);
    int fd = n < (int)sizeof path ? open(path, O_RDWR | O_CLOEXEC | flags, 0600) : -1;
    *ret_there = fd >= 0;
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int work_lock_slot(const struct instance *inst, int slot)
{
    bool there;
    return slot < 0 || slot >= SLOTS_MAX ? -1 : lock_slot(inst, slot, O_CREAT, &there);
}

static enum rc take_slot(struct worker *w, struct err *err)
{
    bool there = true;
    char *dir = instance_path(w->arena, w->inst, "run");
    if (!dir || (mkdir(dir, 0750) != 0 && errno != EEXIST))
        return err_set(err, RC_IO, "", "cannot make the folder run: %s", strerror(errno));
    for (int slot = 0; slot < SLOTS_MAX && there; slot++) {
        w->lock = lock_slot(w->inst, slot, O_CREAT, &there);
        w->slot = slot;
        if (w->lock >= 0)
            return RC_OK;
    }
    if (!there)
        return err_set(err, RC_IO, "", "cannot open a lock in %s: %s", dir, strerror(errno));
    return err_set(err, RC_BUSY, "", "%d workers are running already", SLOTS_MAX);
}

static enum rc reclaim_slot(struct worker *w, int slot, int64_t *n, struct err *err)
{
    char owner[OWNER_MAX];
    int64_t freed = 0;
    owner_name(slot, owner);
    store_sweep(w->store, slot);
    TRY(inbox_reclaim(w->ledger, owner, clock_now(), &freed, err));
    *n += freed;
    return RC_OK;
}

/* A free lock means that its last owner is dead; while we hold it nobody takes the slot. */
enum rc worker_reclaim(struct worker *w, int64_t *ret_n, struct err *err)
{
    int64_t n = 0;
    bool there = true;
    enum rc rc = inbox_reclaim(w->ledger, NULL, clock_now(), &n, err);
    for (int slot = 0; rc == RC_OK && there && slot < SLOTS_MAX; slot++) {
        int fd = slot == w->slot ? -1 : lock_slot(w->inst, slot, 0, &there);
        there = there || slot == w->slot;
        if (fd < 0)
            continue;
        rc = reclaim_slot(w, slot, &n, err);
        close(fd);
    }
    TRY(rc);
    *ret_n = n;
    return RC_OK;
}

/* ---- a worker -------------------------------------------------------------------------------- */

static enum rc worker_start(struct worker *w, struct err *err)
{
    int64_t n = 0;
    TRY(take_slot(w, err));
    char *dir = instance_path(w->arena, w->inst, "store");
    if (!dir)
        return err_set(err, RC_NOMEM, "", "no memory for a worker");
    TRY(store_open(dir, w->slot, w->inst->conf.free_bytes_min, &w->store, err));
    TRY(reclaim_slot(w, w->slot, &n, err));
    return worker_reclaim(w, &n, err);
}

enum rc worker_new(struct ledger *l, const struct instance *inst, struct worker **ret,
                   struct err *err)
{
    struct worker *w = calloc(1, sizeof *w);
    if (!w)
        return err_set(err, RC_NOMEM, "", "no memory for a worker");
    *w = (struct worker){.ledger = l, .inst = inst, .lock = -1, .last = {.reason = ""}};
    arena_init(&w->arenas[0], JOB_MEMORY_MAX);
    arena_init(&w->arenas[1], JOB_MEMORY_MAX);
    w->arena = &w->arenas[0];
    w->spare = &w->arenas[1];
    arena_init(&w->policy_arena, POLICY_MEMORY_MAX);
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit is an error of write, not the end of us */
    enum rc rc = worker_start(w, err);
    if (rc != RC_OK) {
        worker_free(&w);
        return rc;
    }
    *ret = w;
    return RC_OK;
}

/* When it fails, the freed lock of the slot says the same. */
static void give_back(struct worker *w)
{
    struct err err;
    if (w->has_next &&
        inbox_release(w->ledger, w->next.cand.no, w->next.cand.lease_token, &err) != RC_OK)
        log_err(LOG_WARN, "handler.not_given_back", &err);
    w->has_next = false;
}

void worker_free(struct worker **w)
{
    if (!*w)
        return;
    give_back(*w);
    fetch_free(&(*w)->engine);
    inspector_free(&(*w)->inspector);
    store_close(&(*w)->store);
    arena_release(&(*w)->arenas[0]);
    arena_release(&(*w)->arenas[1]);
    arena_release(&(*w)->policy_arena);
    if ((*w)->lock >= 0)
        close((*w)->lock);
    free(*w);
    *w = NULL;
}

/* ---- signs of life --------------------------------------------------------------------------- */

void worker_heartbeat(struct worker *w, const char *role)
{
    w->role = role;
    w->beat_at = 0;
}

enum rc worker_beat(struct worker *w, struct err *err)
{
    int64_t mono = clock_mono();
    if (!w->role || mono < w->beat_at)
        return RC_OK;
    w->beat_at = mono + HEARTBEAT_MS;
    return ledger_heartbeat(w->ledger, w->role, clock_now(), err);
}

static int64_t lease_ms(const struct worker *w)
{
    return w->inst->conf.lease_s * 1000;
}

/* While a transfer runs: a long one must not look like a dead worker. */
static enum rc tick(void *ctx, struct err *err)
{
    struct worker *w = ctx;
    int64_t mono = clock_mono();
    TRY(worker_beat(w, err));
    if (mono < w->renew_at)
        return RC_OK;
    w->renew_at = mono + lease_ms(w) / 3;
    return inbox_renew(w->ledger, w->claim->cand.no, w->claim->cand.lease_token,
                       clock_now() + lease_ms(w), err);
}

/* ---- the policy ------------------------------------------------------------------------------- */

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static enum rc read_policy(struct worker *w, struct err *err)
{
    struct stat st = {0};
    char *path = instance_path(w->arena, w->inst, POLICY_FILE);
    if (!path)
        return err_set(err, RC_NOMEM, "", "no memory for a path");
    bool there = stat(path, &st) == 0;
    if (there && same_file(&st, &w->policy_stat))
        return RC_OK;
    w->policy_stat = (struct stat){0};
    arena_reset(&w->policy_arena);
    TRY(policy_load(&w->policy_arena, w->inst->dir, digest_sha256, &w->policy, err));
    w->policy_stat = st;
    return RC_OK;
}

/* The policy as it is now. One that cannot be read closes the gate: nothing is claimed, so that nothing
 * is promoted and nothing is lost, until it can. */
static enum rc need_policy(struct worker *w, struct err *err)
{
    struct err why = {0};
    enum rc rc = read_policy(w, &why);
    if (rc == RC_OK)
        return policy_publish(w->ledger, w->arena, w->policy.tag, clock_now(), err);
    TRY(policy_publish(w->ledger, w->arena, POLICY_CLOSED, clock_now(), err));
    return err_set(err, RC_CLOSED, why.field,
                   "%s. Nothing is promoted until it is right: freshet policy check", why.msg);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void begin_claim(const struct worker *w, struct job_claim *c)
{
    *c = (struct job_claim){
        .at = clock_now(), .tags = {freshet_version, freshet_commit, RULES_VERSION, w->policy.tag}};
}

/* What an operator wants back goes before what the detectors found. */
static enum rc claim(struct worker *w, const char *rollback_id, struct job_claim *ret,
                     struct err *err)
{
    char owner[OWNER_MAX];
    owner_name(w->slot, owner);
    begin_claim(w, ret);
    enum rc rc = rollback_claim(w->ledger, w->arena, rollback_id, owner, ret->at, lease_ms(w),
                                &ret->tags, &ret->cand, ret->run_id, err);
    if (rc != RC_NOT_FOUND || rollback_id)
        return rc;
    return inbox_claim(w->ledger, w->arena, owner, ret->at, lease_ms(w), &ret->tags, &ret->cand,
                       ret->run_id, &ret->resumed, err);
}

void worker_chain(struct worker *w)
{
    w->chains = true;
}

/* A run_also_fn: the next candidate, within the transaction that ends this run. */
static enum rc claim_next(void *ctx, struct ledger *l, struct err *err)
{
    struct worker *w = ctx;
    char owner[OWNER_MAX];
    bool rollback;
    w->has_next = false;
    TRY(rollback_waits(l, clock_now(), &rollback, err));
    if (rollback)
        return RC_OK;
    owner_name(w->slot, owner);
    arena_reset(w->spare);
    begin_claim(w, &w->next);
    enum rc rc = inbox_claim_next(l, w->spare, owner, w->next.at, lease_ms(w), &w->next.tags,
                                  &w->next.cand, w->next.run_id, &w->next.resumed, err);
    w->has_next = rc == RC_OK;
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static struct job_env env_of(struct worker *w)
{
    return (struct job_env){.ledger = w->ledger,
                            .inst = w->inst,
                            .store = w->store,
                            .engine = &w->engine,
                            .inspector = &w->inspector,
                            .policy = &w->policy,
                            .arena = w->arena,
                            .tick = tick,
                            .tick_ctx = w,
                            .next = w->chains ? claim_next : NULL,
                            .next_ctx = w};
}

static enum rc run(struct worker *w, const struct job_claim *c, struct err *err)
{
    const struct job_env env = env_of(w);
    enum rc rc = job_run(&env, c, &w->last, err);
    if (rc == RC_OK && w->last.seq > 0)
        outbox_wake(w->inst);
    if (rc == RC_OK)
        return RC_OK;
    w->has_next = false; /* what was not committed was not claimed */
    rc = job_give_up(&env, c, rc, &w->last, err);
    if (rc == RC_OK)
        return RC_OK;
    w->has_next = false;
    if (rc != RC_CONFLICT)
        return rc;
    w->last.result = WORK_RETRY; /* fenced off: the candidate is another worker's now */
    w->last.reason = "LEASE_LOST";
    return RC_OK;
}

/* The claim that the last commit brought, or a new one. */
static enum rc take(struct worker *w, const char *rollback_id, struct err *err)
{
    struct arena *spare = w->spare;
    if (!w->has_next || rollback_id) {
        arena_reset(w->arena);
        return claim(w, rollback_id, &w->now, err);
    }
    w->spare = w->arena;
    w->arena = spare;
    w->now = w->next;
    w->has_next = false;
    return RC_OK;
}

/* While the log is gone through. A sign of life that cannot be given is missed by others. */
static void still_here(void *ctx, int64_t done, int64_t total)
{
    struct err ignored;
    (void)done, (void)total;
    (void)!worker_beat(ctx, &ignored);
}

/* What comes before any claim. One that was made under another policy goes back, and is claimed anew. */
static enum rc prepare(struct worker *w, struct err *err)
{
    char tag[POLICY_TAG_MAX];
    memcpy(tag, w->policy.tag, sizeof tag);
    enum rc rc = need_policy(w, err);
    if (rc != RC_OK || strcmp(tag, w->policy.tag) != 0)
        give_back(w);
    TRY(rc);
    TRY(levels_apply(w->ledger, w->inst, clock_now(), err));
    TRY(orders_apply(w->ledger, w->inst, clock_now(), err));
    return orders_replay(w->ledger, w->inst, still_here, w, err);
}

static enum rc work_on(struct worker *w, const char *rollback_id, enum work_result *ret,
                       struct err *err)
{
    int64_t from = clock_mono();
    TRY(prepare(w, err));
    TRY(take(w, rollback_id, err));
    w->claim = &w->now;
    w->renew_at = from + lease_ms(w) / 3;
    enum rc rc = run(w, &w->now, err);
    w->claim = NULL;
    TRY(rc);
    w->last.elapsed_ms = clock_mono() - from;
    *ret = w->last.result;
    return RC_OK;
}

enum rc work_one(struct worker *w, enum work_result *ret, struct err *err)
{
    return work_on(w, NULL, ret, err);
}

enum rc work_rollback(struct worker *w, const char *rollback_id, enum work_result *ret,
                      struct err *err)
{
    return work_on(w, rollback_id, ret, err);
}

/* ---- from a replay log ------------------------------------------------------------------------- */

static enum rc claim_again(struct worker *w, const char *event, const char *run_id,
                           struct job_claim *ret, struct err *err)
{
    arena_reset(w->arena);
    TRY(read_policy(w, err)); /* the log tells which was in force; nothing is published here */
    struct job_claim c;
    begin_claim(w, &c);
    TRY(inbox_claim_again(w->ledger, w->arena, event, run_id, c.at, &c.tags, &c.cand, &c.resumed,
                          err));
    snprintf(c.run_id, sizeof c.run_id, "%s", run_id);
    *ret = c;
    return RC_OK;
}

enum rc work_again(struct worker *w, const char *event, const char *run_id,
                   const struct sha256 *sha, struct err *err)
{
    struct job_claim c;
    struct job_env env = env_of(w);
    env.again = sha;
    TRY(claim_again(w, event, run_id, &c, err));
    w->claim = &c;
    w->renew_at = clock_mono() + lease_ms(w) / 3;
    enum rc rc = job_run(&env, &c, &w->last, err);
    w->claim = NULL;
    return rc;
}

enum rc work_end_again(struct worker *w, const char *event, const char *run_id, enum inbox_end end,
                       const char *reason, bool dead, struct err *err)
{
    struct job_claim c;
    const struct job_env env = env_of(w);
    TRY(claim_again(w, event, run_id, &c, err));
    return job_end_as(&env, &c, end, reason, dead ? 0 : INT64_MAX, err);
}

static void count(struct work_counts *n, enum work_result r)
{
    int64_t *const counters[] = {&n->done, &n->noop, &n->failed, &n->held, &n->retry, &n->dead};
    ++*counters[r];
}

enum rc work_drain(struct worker *w, struct work_counts *ret, struct err *err)
{
    struct work_counts n = {0};
    worker_chain(w);
    for (;;) {
        enum work_result r;
        int64_t freed = 0;
        enum rc rc = work_one(w, &r, err);
        if (rc == RC_OK) {
            count(&n, r);
            continue;
        }
        if (rc != RC_NOT_FOUND)
            return rc;
        arena_reset(w->arena);
        TRY(worker_reclaim(w, &freed, err)); /* somebody may have died while we worked */
        if (freed == 0)
            break;
    }
    *ret = n;
    return RC_OK;
}
