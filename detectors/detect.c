/* detect: the checks under way, and the batches in which their results are committed.
 *
 *   detect_add ─▶ open ─(look ends)─▶ ended ─(flush: one transaction)─▶ done callback, idle
 *                  ▲                                                                      │
 *                  └──────────────────────────────────────────────────────────────────────┘
 */
#include "detectors/detect.h"
#include "core/clock.h"
#include "core/fetch.h"
#include "detectors/look.h"
#include "detectors/window.h"

#define BUCKETS 2048

TAILQ_HEAD(looks, look);
LIST_HEAD(bucket, look);

struct detect {
    struct ledger *ledger;
    const struct instance *inst;
    detect_fn *done;
    void *ctx;
    struct spool_dir spool;
    struct look_env env;
    struct looks open, ended, idle;
    size_t n_open, n_ended;
    int64_t ended_since; /* clock_mono when the oldest of `ended` ended */
    struct bucket by_source[BUCKETS];
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
    if (!d)
        return err_set(err, RC_NOMEM, "", "no memory for checks");
    d->ledger = l;
    d->inst = inst;
    d->done = done;
    d->ctx = ctx;
    d->spool.fd = -1;
    TAILQ_INIT(&d->open);
    TAILQ_INIT(&d->ended);
    TAILQ_INIT(&d->idle);
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
    drop_looks(&d->idle);
    spool_dir_close(&d->spool);
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

void detect_accept(struct detect *d)
{
    d->env.accept = true;
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

size_t detect_room(const struct detect *d)
{
    size_t max = (size_t)d->inst->conf.max_concurrency + DETECT_BATCH, n = d->n_open + d->n_ended;
    return n < max ? max - n : 0;
}

bool detect_has_room(const struct detect *d)
{
    return detect_room(d) > 0;
}

static struct look *take_look(struct detect *d)
{
    struct look *k = TAILQ_FIRST(&d->idle);
    if (!k)
        return look_new(&d->env);
    TAILQ_REMOVE(&d->idle, k, link);
    return k;
}

static enum rc add(struct detect *d, int64_t src_no, const char *due_because, int64_t request_no,
                   struct err *err)
{
    struct look *k = take_look(d);
    if (!k)
        return err_set(err, RC_NOMEM, "", "no memory for another check");
    enum rc rc = look_load(k, d->ledger, src_no, err);
    if (rc != RC_OK) {
        look_free(&k);
        return rc;
    }
    struct check_result *r = &k->result;
    r->request_no = request_no;
    r->due_because = due_because;
    if (!due_because)
        r->due_because = window_next(&k->source, &r->state, &d->inst->conf, clock_now()).because;
    TAILQ_INSERT_TAIL(&d->open, k, link);
    LIST_INSERT_HEAD(bucket_of(d, src_no), k, bucket);
    d->n_open++;
    look_start(k);
    return RC_OK;
}

enum rc detect_add_some(struct detect *d, const int64_t *src_nos, size_t n, const char *due_because,
                        int64_t request_no, size_t *ret_n, struct err *err)
{
    size_t room = detect_room(d), i = 0;
    *ret_n = 0;
    TRY(ledger_read_begin(d->ledger, err));
    enum rc rc = RC_OK;
    for (; i < n && i < room && rc == RC_OK; i++)
        if (!detect_has(d, src_nos[i]))
            rc = add(d, src_nos[i], due_because, request_no, err);
    ledger_read_end(d->ledger);
    *ret_n = rc == RC_OK ? i : i - 1;
    return rc;
}

enum rc detect_add(struct detect *d, const struct source *s, const char *due_because,
                   int64_t request_no, struct err *err)
{
    size_t ignored;
    while (!detect_has_room(d))
        TRY(detect_drive(d, DETECT_BATCH_MS, &ignored, err));
    return add(d, s->no, due_because, request_no, err);
}

/* ---- committing ------------------------------------------------------------------------------ */

static enum rc commit_ended(struct detect *d, struct err *err)
{
    struct check_batch b;
    struct look *k;
    TRY(check_begin(d->ledger, clock_now(), &b, err));
    TAILQ_FOREACH(k, &d->ended, link)
    {
        enum rc rc = check_put(&b, &k->result, err);
        if (rc != RC_OK) {
            check_abort(&b);
            return rc;
        }
    }
    return check_end(&b, err);
}

enum rc detect_flush(struct detect *d, struct err *err)
{
    if (d->n_ended == 0)
        return RC_OK;
    TRY(commit_ended(d, err));
    for (struct look *k; (k = TAILQ_FIRST(&d->ended)) != NULL;) {
        TAILQ_REMOVE(&d->ended, k, link);
        LIST_REMOVE(k, bucket);
        d->n_ended--;
        d->done(d->ctx, &k->source, &k->result);
        look_clear(k);
        TAILQ_INSERT_HEAD(&d->idle, k, link);
    }
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
    if (d->n_open > 0 && wait_ms > DETECT_BATCH_MS)
        wait_ms = DETECT_BATCH_MS;
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
