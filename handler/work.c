/* work: a worker's slot, its loop and its signs of life.
 *
 *   run/worker-<k>.lock   held (flock) by the worker of slot k; the lock of a dead one is free
 *   owner of a lease      "worker-<k>"
 *   store/tmp/slot-<k>-*  temporary files of slot k */
#include "handler/work.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/fd.h"
#include "core/lock.h"
#include "core/log.h"
#include "handler/batch.h"
#include "handler/levels.h"
#include "handler/orders.h"
#include "handler/outbox.h"

#define SLOTS_MAX 256 /* workers of one instance, all programs together */
/* Documents of one change; bytes and parsing have their own. */
#define REPLAY_MEMORY_MAX (256u << 20)
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
    char owner[OWNER_MAX];
    struct batch *batch;
    struct arena arena; /* of paths, and of a replayed run */
    struct arena policy_arena;
    struct policy policy;
    struct stat policy_stat;   /* of the file that was read, st_ino 0: none */
    const char *role;          /* of the heartbeat, NULL for none */
    int64_t beat_at, renew_at; /* clock_mono: when the next one is due */
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

/* RC_BUSY when another has the slot, RC_NOT_FOUND when nobody ever had it and `make` is false. */
static enum rc lock_slot(const struct instance *inst, int slot, bool make, int *ret_fd,
                         struct err *err)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/run/worker-%d.lock", inst->dir, slot) >= (int)sizeof path)
        return err_set(err, RC_IO, "", "the path of a lock is too long");
    if (!make && access(path, F_OK) != 0)
        return err_set(err, RC_NOT_FOUND, "", "nobody had slot %d", slot);
    return lock_take(path, 0600, ret_fd, err);
}

int work_lock_slot(const struct instance *inst, int slot)
{
    struct err ignored;
    int fd = -1;
    if (slot >= 0 && slot < SLOTS_MAX)
        (void)!lock_slot(inst, slot, true, &fd, &ignored);
    return fd;
}

static enum rc take_slot(struct worker *w, struct err *err)
{
    struct err why;
    char *dir = instance_path(&w->arena, w->inst, "run");
    if (!dir || (mkdir(dir, 0750) != 0 && errno != EEXIST))
        return err_set(err, RC_IO, "", "cannot make the folder run: %s", strerror(errno));
    for (w->slot = 0; w->slot < SLOTS_MAX; w->slot++) {
        enum rc rc = lock_slot(w->inst, w->slot, true, &w->lock, &why);
        if (rc == RC_OK)
            return RC_OK;
        if (rc != RC_BUSY)
            return err_set(err, rc, "", "%s", why.msg);
    }
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
    struct err none;
    TRY(inbox_reclaim(w->ledger, NULL, clock_now(), &n, err));
    for (int slot = 0; slot < SLOTS_MAX; slot++) {
        CLEANUP(fd_close) int fd = -1;
        enum rc rc = slot == w->slot ? RC_BUSY : lock_slot(w->inst, slot, false, &fd, &none);
        if (rc == RC_OK)
            TRY(reclaim_slot(w, slot, &n, err));
        else if (rc != RC_BUSY) /* slots are given out from the first on */
            break;
    }
    *ret_n = n;
    return RC_OK;
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

/* While transfers run, and after each file: what takes long must not look like a dead worker. */
static enum rc tick(void *ctx, struct err *err)
{
    struct worker *w = ctx;
    int64_t mono = clock_mono();
    TRY(worker_beat(w, err));
    if (mono < w->renew_at)
        return RC_OK;
    w->renew_at = mono + w->inst->conf.lease_s * 1000 / 3;
    return batch_renew(w->batch, err);
}

/* ---- a worker -------------------------------------------------------------------------------- */

static struct job_env env_of(struct worker *w)
{
    return (struct job_env){.ledger = w->ledger,
                            .inst = w->inst,
                            .store = w->store,
                            .engine = &w->engine,
                            .inspector = &w->inspector,
                            .policy = &w->policy,
                            .arena = &w->arena,
                            .tick = tick,
                            .tick_ctx = w};
}

static enum rc worker_start(struct worker *w, struct err *err)
{
    int64_t n = 0;
    TRY(take_slot(w, err));
    char *dir = instance_path(&w->arena, w->inst, "store");
    if (!dir)
        return err_set(err, RC_NOMEM, "", "no memory for a worker");
    TRY(store_open(dir, w->slot, w->inst->conf.free_bytes_min, &w->store, err));
    TRY(reclaim_slot(w, w->slot, &n, err));
    TRY(worker_reclaim(w, &n, err));
    owner_name(w->slot, w->owner);
    const struct job_env lent = env_of(w);
    return batch_new(&lent, w->owner, &w->batch, err);
}

enum rc worker_new(struct ledger *l, const struct instance *inst, struct worker **ret,
                   struct err *err)
{
    struct worker *w = calloc(1, sizeof *w);
    if (!w)
        return err_set(err, RC_NOMEM, "", "no memory for a worker");
    *w = (struct worker){.ledger = l, .inst = inst, .lock = -1, .last = {.reason = ""}};
    arena_init(&w->arena, REPLAY_MEMORY_MAX);
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

void worker_free(struct worker **w)
{
    if (!*w)
        return;
    if ((*w)->batch)
        batch_give_back((*w)->batch, true);
    batch_free(&(*w)->batch);
    fetch_free(&(*w)->engine);
    inspector_free(&(*w)->inspector);
    store_close(&(*w)->store);
    arena_release(&(*w)->arena);
    arena_release(&(*w)->policy_arena);
    fd_close(&(*w)->lock);
    free(*w);
    *w = NULL;
}

/* ---- the policy ------------------------------------------------------------------------------ */

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static enum rc read_policy(struct worker *w, struct err *err)
{
    struct stat st = {0};
    char *path = instance_path(&w->arena, w->inst, POLICY_FILE);
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

/* The policy as it is now. One that cannot be read closes the gate: nothing is claimed, so that
 * nothing is promoted and nothing is lost, until it can. */
static enum rc need_policy(struct worker *w, struct err *err)
{
    struct err why = {0};
    enum rc rc = read_policy(w, &why);
    if (rc == RC_OK)
        return policy_publish(w->ledger, &w->arena, w->policy.tag, clock_now(), err);
    TRY(policy_publish(w->ledger, &w->arena, POLICY_CLOSED, clock_now(), err));
    return err_set(err, RC_CLOSED, why.field,
                   "%s. Nothing is promoted until it is right: freshet policy check", why.msg);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* While the log is gone through. A sign of life that cannot be given is missed by others. */
static void still_here(void *ctx, int64_t done, int64_t total)
{
    struct err ignored;
    (void)done, (void)total;
    (void)!tick(ctx, &ignored);
}

/* What comes before any claim. What was claimed under another policy goes back, and is
 * claimed anew. */
static enum rc prepare(struct worker *w, struct err *err)
{
    char tag[POLICY_TAG_MAX];
    memcpy(tag, w->policy.tag, sizeof tag);
    arena_reset(&w->arena);
    enum rc rc = need_policy(w, err);
    if (rc != RC_OK || strcmp(tag, w->policy.tag) != 0)
        batch_give_back(w->batch, true);
    TRY(rc);
    TRY(levels_apply(w->ledger, w->inst, clock_now(), err));
    TRY(orders_apply(w->ledger, w->inst, clock_now(), err));
    return orders_replay(w->ledger, w->inst, still_here, w, err);
}

struct ends {
    struct worker *w;
    work_end_fn *fn; /* may be NULL */
    void *ctx;
};

static void ended(void *ctx, const struct work_end *end)
{
    const struct ends *e = ctx;
    e->w->last = *end;
    if (end->seq > 0)
        outbox_wake(e->w->inst);
    if (e->fn)
        e->fn(e->ctx, end);
}

/* What an operator wants back goes before what the detectors found. RC_NOT_FOUND: nothing is
 * in hand. */
static enum rc take(struct worker *w, size_t max, struct err *err)
{
    TRY(prepare(w, err));
    enum rc rc = batch_claim_rollback(w->batch, NULL, err);
    if ((rc == RC_OK || rc == RC_NOT_FOUND) && batch_count(w->batch) < max)
        rc = batch_claim(w->batch, max, err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    return batch_count(w->batch) ? RC_OK : RC_NOT_FOUND;
}

static enum rc work_on(struct worker *w, size_t refill, work_end_fn *fn, void *ctx, struct err *err)
{
    struct ends e = {w, fn, ctx};
    return batch_work(w->batch, refill, ended, &e, err);
}

enum rc work_some(struct worker *w, work_end_fn *fn, void *ctx, struct err *err)
{
    TRY(take(w, BATCH_MAX, err));
    return work_on(w, BATCH_MAX, fn, ctx, err);
}

static enum rc end_all(struct worker *w, work_end_fn *fn, void *ctx, struct err *err)
{
    while (batch_count(w->batch))
        TRY(work_on(w, 0, fn, ctx, err));
    return RC_OK;
}

enum rc work_finish(struct worker *w, work_end_fn *fn, void *ctx, struct err *err)
{
    batch_give_back(w->batch, false);
    return end_all(w, fn, ctx, err);
}

enum rc work_one(struct worker *w, enum work_result *ret, struct err *err)
{
    TRY(take(w, 1, err));
    TRY(end_all(w, NULL, NULL, err));
    *ret = w->last.result;
    return RC_OK;
}

enum rc work_rollback(struct worker *w, const char *rollback_id, enum work_result *ret,
                      struct err *err)
{
    TRY(prepare(w, err));
    TRY(batch_claim_rollback(w->batch, rollback_id, err));
    TRY(end_all(w, NULL, NULL, err));
    *ret = w->last.result;
    return RC_OK;
}

/* ---- from a replay log ----------------------------------------------------------------------- */

static enum rc claim_again(struct worker *w, const char *event, const char *run_id,
                           struct job_claim *ret, struct err *err)
{
    arena_reset(&w->arena);
    TRY(read_policy(w, err)); /* the log tells which was in force; nothing is published here */
    struct job_claim c = batch_new_claim(&w->policy);
    TRY(inbox_claim_again(w->ledger, &w->arena, event, run_id, c.at, &c.tags, &c.cand, &c.resumed,
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
    return job_run(&env, &c, &w->last, err);
}

enum rc work_end_again(struct worker *w, const char *event, const char *run_id, enum inbox_end end,
                       const char *reason, bool dead, struct err *err)
{
    struct job_claim c;
    const struct job_env env = env_of(w);
    TRY(claim_again(w, event, run_id, &c, err));
    return job_end_as(&env, &c, end, reason, dead ? 0 : INT64_MAX, err);
}

static void count(void *ctx, const struct work_end *end)
{
    struct work_counts *n = ctx;
    int64_t *const counters[] = {&n->done, &n->noop, &n->failed, &n->held, &n->retry, &n->dead};
    ++*counters[end->result];
}

enum rc work_drain(struct worker *w, struct work_counts *ret, struct err *err)
{
    struct work_counts n = {0};
    for (;;) {
        int64_t freed = 0;
        enum rc rc = work_some(w, count, &n, err);
        if (rc == RC_OK)
            continue;
        if (rc != RC_NOT_FOUND)
            return rc;
        TRY(worker_reclaim(w, &freed, err)); /* somebody may have died while we worked */
        if (freed == 0)
            break;
    }
    *ret = n;
    return RC_OK;
}
