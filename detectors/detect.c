/* detect: the checks under way, and the batches in which their results are committed.
 *
 *   detect_add ─▶ open ─(look ends)─▶ ended ─(flush: one transaction)─▶ done callback, freed
 */
#include "detectors/detect.h"
#include "core/clock.h"
#include "core/fetch.h"
#include "detectors/look.h"
#include "detectors/window.h"

#define BUCKETS 512

TAILQ_HEAD(looks, look);
LIST_HEAD(bucket, look);

struct detect {
    struct ledger *ledger;
    const struct instance *inst;
    detect_fn *done;
    void *ctx;
    struct spool_dir spool;
    struct look_env env;
    struct looks open, ended;
    size_t n_open, n_ended;
    int64_t ended_since; /* clock_mono when the oldest of `ended` ended */
    struct bucket by_source[BUCKETS];
    struct check_result *batch; /* DETECT_BATCH of them */
};

static void look_ended(void *ctx, struct look *k)
{
    struct detect *d = ctx;
    if (d->n_ended == 0)
        d->ended_since = clock_mono();
    TAILQ_REMOVE(&d->open, k, link);
    TAILQ_INSERT_TAIL(&d->ended, k, link);
    d->n_open--;
    d->n_ended++;
}

enum rc detect_new(struct ledger *l, const struct instance *inst, detect_fn *done, void *ctx,
                   struct detect **ret, struct err *err)
{
    struct detect *d = calloc(1, sizeof *d);
    if (d)
        d->batch = calloc(DETECT_BATCH, sizeof *d->batch);
    if (!d || !d->batch) {
        free(d);
        return err_set(err, RC_NOMEM, "", "no memory for checks");
    }
    d->ledger = l;
    d->inst = inst;
    d->done = done;
    d->ctx = ctx;
    d->spool.fd = -1;
    TAILQ_INIT(&d->open);
    TAILQ_INIT(&d->ended);
    d->env = (struct look_env){.inst = inst, .spool = &d->spool, .ended = look_ended, .ctx = d};
    enum rc rc = spool_dir_open(inst, &d->spool, err);
    if (rc == RC_OK)
        rc = fetch_new(&inst->conf, &d->env.fetch, err);
    if (rc != RC_OK) {
        detect_free(&d);
        return rc;
    }
    *ret = d;
    return RC_OK;
}

static void drop_looks(struct looks *looks)
{
    for (struct look *k; (k = TAILQ_FIRST(looks)) != NULL;) {
        TAILQ_REMOVE(looks, k, link);
        look_free(&k);
    }
}

void detect_free(struct detect **dp)
{
    struct detect *d = *dp;
    if (!d)
        return;
    if (d->env.fetch)
        fetch_free(&d->env.fetch); /* first: it still points to the looks */
    drop_looks(&d->open);
    drop_looks(&d->ended);
    spool_dir_close(&d->spool);
    free(d->batch);
    free(d);
    *dp = NULL;
}

void detect_wake_fd(struct detect *d, int fd)
{
    fetch_wake_fd(d->env.fetch, fd);
}

void detect_trace(struct detect *d, detect_trace_fn *fn, void *ctx)
{
    d->env.trace = fn;
    d->env.trace_ctx = ctx;
}

void detect_sweep(struct detect *d, int64_t before)
{
    spool_dir_sweep(&d->spool, before);
}

/* ---- adding ---------------------------------------------------------------------------------- */

static struct bucket *bucket_of(const struct detect *d, int64_t src_no)
{
    return (struct bucket *)&d->by_source[(uint64_t)src_no % BUCKETS];
}

bool detect_has(const struct detect *d, int64_t src_no)
{
    const struct look *k;
    LIST_FOREACH(k, bucket_of(d, src_no), bucket)
    {
        if (k->source.no == src_no)
            return true;
    }
    return false;
}

bool detect_has_room(const struct detect *d)
{
    return d->n_open + d->n_ended < (size_t)d->inst->conf.max_concurrency + DETECT_BATCH;
}

enum rc detect_add(struct detect *d, const struct source *s, const char *due_because,
                   int64_t request_no, struct err *err)
{
    size_t ignored;
    while (!detect_has_room(d))
        TRY(detect_drive(d, DETECT_BATCH_MS, &ignored, err));
    struct check_state st;
    TRY(check_state_get(d->ledger, s->no, &st, err));
    if (!due_because)
        due_because = window_next(s, &st, &d->inst->conf, clock_now()).because;
    struct look *k = look_new(&d->env, s, &st, due_because, request_no);
    if (!k)
        return err_set(err, RC_NOMEM, "", "no memory for another check");
    TAILQ_INSERT_TAIL(&d->open, k, link);
    LIST_INSERT_HEAD(bucket_of(d, s->no), k, bucket);
    d->n_open++;
    look_start(k);
    return RC_OK;
}

/* ---- committing ------------------------------------------------------------------------------ */

static enum rc commit_batch(struct detect *d, struct err *err)
{
    size_t n = 0;
    struct look *k;
    TAILQ_FOREACH(k, &d->ended, link)
    {
        if (n == DETECT_BATCH)
            break;
        d->batch[n++] = k->result;
    }
    TRY(check_commit(d->ledger, d->batch, n, clock_now(), err));
    for (size_t i = 0; i < n; i++) {
        k = TAILQ_FIRST(&d->ended);
        TAILQ_REMOVE(&d->ended, k, link);
        LIST_REMOVE(k, bucket);
        d->n_ended--;
        d->done(d->ctx, &k->source, &d->batch[i]);
        look_free(&k);
    }
    return RC_OK;
}

enum rc detect_flush(struct detect *d, struct err *err)
{
    while (d->n_ended > 0)
        TRY(commit_batch(d, err));
    return RC_OK;
}

static int64_t batch_wait(const struct detect *d)
{
    if (d->n_ended >= DETECT_BATCH)
        return 0;
    int64_t left = d->ended_since + DETECT_BATCH_MS - clock_mono();
    return left > 0 ? left : 0;
}

enum rc detect_drive(struct detect *d, int wait_ms, size_t *ret_open, struct err *err)
{
    if (d->n_ended > 0 && batch_wait(d) < wait_ms)
        wait_ms = (int)batch_wait(d);
    (void)fetch_run(d->env.fetch, wait_ms);
    if (d->n_ended > 0 && batch_wait(d) == 0)
        TRY(detect_flush(d, err));
    *ret_open = d->n_open + d->n_ended;
    return RC_OK;
}

enum rc detect_finish(struct detect *d, struct err *err)
{
    size_t left = d->n_open + d->n_ended;
    while (left > 0) {
        if (d->n_open == 0)
            TRY(detect_flush(d, err));
        TRY(detect_drive(d, d->n_open > 0 ? 1000 : 0, &left, err));
    }
    return RC_OK;
}
