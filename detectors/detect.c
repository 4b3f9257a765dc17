/* detect: the checks under way, and the batches in which their results are committed.
 *
 *   detect_add ─▶ open ─(look ends)─▶ ended ─▶ given (a transaction, committer.c) ─▶ callback, idle
 *                  ▲                                                                             │
 *                  └─────────────────────────────────────────────────────────────────────────────┘
 *
 * Read ahead, one goes idle ─▶ asked (committer.c reads it) ─▶ ahead ─▶ open, or back to idle.
 */
#include "detectors/detect.h"
#include "core/clock.h"
#include "core/fetch.h"
#include "detectors/committer.h"
#include "detectors/pauses.h"
#include "detectors/window.h"

#define BUCKETS 2048
#define HOSTS 16384       /* counters; hosts that meet in one share it: later, never wrong */
#define PATIENCE_MIN 16   /* sources in a row that have to wait for their host, before a pause */
#define PATIENCE_MAX 1024 /* the same where little else is found: others are behind them */
#define HOST_URL_MAX 300  /* scheme, the longest host name and a port */

LIST_HEAD(bucket, look);

struct detect {
    struct ledger *ledger;
    const struct instance *inst;
    detect_fn *done;
    detect_dropped_fn *dropped;
    detect_told_fn *told;
    void *ctx;
    struct spool_dir spool;
    struct look_env env;
    struct committer *committer;
    struct pauses pauses;
    struct looks open, ended, given, idle; /* given: to the committer */
    struct looks asked, ahead;             /* asked: given to it as well */
    struct bucket ahead_by_source[BUCKETS];
    size_t n_ahead;
    int64_t next[DETECT_AHEAD]; /* what the list that was added from last goes on with */
    size_t n_next;
    bool rush;
    size_t n_open, n_ended, n_given;
    int64_t ended_since; /* clock_mono when the oldest of `ended` ended */
    struct bucket by_source[BUCKETS];
    unsigned by_host[HOSTS]; /* of open, invariant 5 */
    size_t patience;
};

/* Scheme, host and port: two ports are two services. */
static size_t host_of(const char *url)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (int slashes = 0; *url && (slashes += *url == '/') < 3; url++)
        h = (h ^ ((unsigned char)*url | 0x20)) * 0x100000001b3u;
    return (size_t)((h ^ h >> 32) % HOSTS);
}

static void look_ended(void *ctx, struct look *k)
{
    struct detect *d = ctx;
    if (d->n_ended == 0)
        d->ended_since = clock_mono();
    TAILQ_REMOVE(&d->open, k, link);
    TAILQ_INSERT_TAIL(&d->ended, k, link);
    d->by_host[host_of(k->source.url)]--;
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
    d->patience = PATIENCE_MIN;
    TAILQ_INIT(&d->open);
    TAILQ_INIT(&d->ended);
    TAILQ_INIT(&d->given);
    TAILQ_INIT(&d->idle);
    TAILQ_INIT(&d->asked);
    TAILQ_INIT(&d->ahead);
    d->env = (struct look_env){.inst = inst, .spool = &d->spool, .ended = look_ended, .ctx = d};
    enum rc rc = spool_dir_open(inst, &d->spool, err);
    if (rc == RC_OK)
        rc = fetch_new(&inst->conf, &d->env.fetch, err);
    if (rc == RC_OK)
        rc = pauses_open(&d->pauses, l, d->env.fetch, err);
    if (rc == RC_OK)
        rc = committer_new(inst->dir, &d->committer, err);
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
    committer_free(&d->committer); /* and so may this */
    drop_looks(&d->open);
    drop_looks(&d->ended);
    drop_looks(&d->given);
    drop_looks(&d->idle);
    drop_looks(&d->asked);
    drop_looks(&d->ahead);
    spool_dir_close(&d->spool);
    free(d);
    *dp = NULL;
}

void detect_on_dropped(struct detect *d, detect_dropped_fn *fn)
{
    d->dropped = fn;
}

void detect_on_told(struct detect *d, detect_told_fn *fn)
{
    d->told = fn;
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

static struct bucket *bucket_of(const struct bucket *table, int64_t src_no)
{
    return (struct bucket *)&table[(uint64_t)src_no % BUCKETS];
}

static struct look *find(const struct bucket *table, int64_t src_no)
{
    struct look *k;
    LIST_FOREACH(k, bucket_of(table, src_no), bucket)
    {
        if (k->source.no == src_no)
            break;
    }
    return k;
}

bool detect_has(const struct detect *d, int64_t src_no)
{
    return find(d->by_source, src_no) != NULL;
}

/* Besides those under way: a batch that is being committed, and one that gathers meanwhile. */
static size_t room_beside(const struct detect *d, size_t n)
{
    size_t max = (size_t)d->inst->conf.max_concurrency + 2 * DETECT_BATCH;
    return n < max ? max - n : 0;
}

static size_t detect_left(const struct detect *d)
{
    return d->n_open + d->n_ended + d->n_given;
}

size_t detect_room(const struct detect *d)
{
    return room_beside(d, detect_left(d));
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

static void put_idle(struct detect *d, struct look *k)
{
    look_clear(k);
    TAILQ_INSERT_HEAD(&d->idle, k, link);
}

/* ---- reading ahead --------------------------------------------------------------------------- */

static void leave_ahead(struct detect *d, struct look *k)
{
    TAILQ_REMOVE(&d->ahead, k, link);
    LIST_REMOVE(k, bucket);
    d->n_ahead--;
}

/* The list goes on with these. */
static void remember_next(struct detect *d, const int64_t *src_nos, size_t n)
{
    d->n_next = n < DETECT_AHEAD ? n : DETECT_AHEAD;
    memcpy(d->next, src_nos, d->n_next * sizeof *src_nos);
}

/* They stand in the order in which they were asked for. */
static void drop_stale(struct detect *d, int64_t now)
{
    for (struct look *k; (k = TAILQ_FIRST(&d->ahead)) && now - k->asked_at > DETECT_AHEAD_MS;) {
        leave_ahead(d, k);
        put_idle(d, k);
    }
}

/* The look of this source, if it was read ahead and not too long ago. */
static struct look *take_ahead(struct detect *d, int64_t src_no)
{
    drop_stale(d, clock_mono());
    struct look *k = find(d->ahead_by_source, src_no);
    if (k)
        leave_ahead(d, k);
    return k;
}

/* Those that are under way are not read before their commit (invariant 8). */
static void ask_ahead(struct detect *d)
{
    int64_t now = clock_mono();
    drop_stale(d, now);
    size_t n = d->n_ahead;
    for (size_t i = 0; i < d->n_next && n < DETECT_AHEAD; i++) {
        if (detect_has(d, d->next[i]) || find(d->ahead_by_source, d->next[i]))
            continue;
        struct look *k = take_look(d);
        if (!k)
            break;
        k->result.src_no = d->next[i];
        k->asked_at = now;
        TAILQ_INSERT_TAIL(&d->asked, k, link);
        n++;
    }
    d->n_next = 0;
}

/* One whose check has begun meanwhile has another state soon. */
static void take_asked(struct detect *d)
{
    for (struct look *k; (k = TAILQ_FIRST(&d->asked)) != NULL;) {
        TAILQ_REMOVE(&d->asked, k, link);
        if (!k->loaded || detect_has(d, k->source.no)) {
            put_idle(d, k);
            continue;
        }
        TAILQ_INSERT_TAIL(&d->ahead, k, link);
        LIST_INSERT_HEAD(bucket_of(d->ahead_by_source, k->source.no), k, bucket);
        d->n_ahead++;
    }
}

/* ---- one check ------------------------------------------------------------------------------- */

/* What stands for a source that cannot be read, so that its check can end like any other. */
static enum rc load_unreadable(struct detect *d, struct look *k, int64_t src_no, struct err *err)
{
    struct check_result *r = &k->result;
    char *id = arena_printf(&k->arena, "#%lld", (long long)src_no);
    if (!id)
        return err_set(err, RC_NOMEM, "", "no memory for another check");
    k->source = (struct source){
        .no = src_no, .id = id, .url = "", .detector = "", .level = LEVEL_SOVEREIGN};
    r->src_no = src_no;
    r->source_id = id;
    r->detector = "";
    r->level = k->source.level;
    return check_state_get(d->ledger, src_no, &r->state, err);
}

/* The result becomes a failure that has nothing to do with the upstream; its state is as stored. */
static void make_hopeless(struct look *k, const char *what, const struct err *why)
{
    struct check_result *r = &k->result;
    r->ended_at = clock_now();
    r->outcome = OUTCOME_blocked;
    r->has_sha = r->deleted = r->unexpected = false;
    snprintf(r->detail, sizeof r->detail, "%s: %.160s%s%.40s", what, why->msg,
             *why->field ? ": " : "", why->field);
    state_settle(&r->state, r->outcome, r->detail, r->ended_at);
    r->state.next_check_at = r->ended_at + HOPELESS_MS;
}

static void end_unreadable(struct look *k, const struct err *why)
{
    k->result.started_at = clock_now();
    make_hopeless(k, "the stored declaration cannot be read", why);
    k->env->ended(k->env->ctx, k);
}

/* Before anything is sent: an event that comes later is for another check. */
static enum rc hear_stream(struct detect *d, struct look *k, struct err *err)
{
    bool open = false;
    bool has = d->told && source_has_stream(&k->source);
    const char *id = has ? d->told(d->ctx, k->source.no, &open) : NULL;
    if (!id)
        return RC_OK;
    k->told = arena_strdup(&k->arena, id);
    k->result.streaming = open;
    return k->told ? RC_OK : err_set(err, RC_NOMEM, "", "no memory for another check");
}

static enum rc add(struct detect *d, int64_t src_no, const char *due_because, int64_t request_no,
                   struct err *err)
{
    enum rc rc = RC_OK;
    struct look *k = take_ahead(d, src_no);
    if (!k && (k = take_look(d)))
        rc = look_load(k, d->ledger, src_no, err);
    if (!k)
        return err_set(err, RC_NOMEM, "", "no memory for another check");
    struct err why;
    bool unreadable = source_is_unreadable(rc);
    if (unreadable) {
        why = *err;
        rc = load_unreadable(d, k, src_no, err);
    }
    if (rc == RC_OK)
        rc = hear_stream(d, k, err);
    if (rc != RC_OK) {
        look_free(&k);
        return rc;
    }
    struct check_result *r = &k->result;
    r->request_no = request_no;
    r->due_because = due_because;
    if (!due_because && unreadable)
        r->due_because = "interval";
    else if (!due_because)
        r->due_because = window_because(&k->source, &r->state, &d->inst->conf, clock_now());
    TAILQ_INSERT_TAIL(&d->open, k, link);
    LIST_INSERT_HEAD(bucket_of(d->by_source, src_no), k, bucket);
    d->by_host[host_of(k->source.url)]++;
    d->n_open++;
    if (unreadable)
        end_unreadable(k, &why);
    else
        look_start(k);
    return RC_OK;
}

/* Has the host of this source its share? Those that ended wait for us, not for it: they do not
 * count. While less than half is open nobody can, and nothing is read. */
static enum rc is_host_full(struct detect *d, int64_t src_no, bool *ret, struct err *err)
{
    size_t share = room_beside(d, d->n_open);
    char url[HOST_URL_MAX];
    *ret = false;
    if (d->n_open < share)
        return RC_OK;
    const struct look *k = find(d->ahead_by_source, src_no);
    if (!k)
        TRY(check_url(d->ledger, src_no, url, sizeof url, err));
    *ret = d->by_host[host_of(k ? k->source.url : url)] >= share;
    return RC_OK;
}

static enum rc add_if_fair(struct detect *d, int64_t src_no, const char *due_because,
                           int64_t request_no, bool *ret_full, struct err *err)
{
    *ret_full = false;
    if (detect_has(d, src_no))
        return RC_OK;
    TRY(is_host_full(d, src_no, ret_full, err));
    return *ret_full ? RC_OK : add(d, src_no, due_because, request_no, err);
}

/* Going past sources that have to wait costs; where one host is all there is, it is in vain. */
static void set_patience(struct detect *d, size_t added, size_t n_full)
{
    d->patience = added * 8 >= n_full || d->patience < PATIENCE_MIN ? PATIENCE_MIN
                  : d->patience < PATIENCE_MAX                      ? d->patience * 2
                                                                    : PATIENCE_MAX;
}

enum rc detect_add_some(struct detect *d, int64_t *src_nos, size_t n, const char *due_because,
                        int64_t request_no, size_t *ret_n, size_t *ret_full, struct err *err)
{
    enum rc rc = RC_OK;
    size_t i = 0, n_full = 0, in_a_row = 0, room = detect_room(d);
    *ret_n = *ret_full = 0;
    TRY(ledger_read_begin(d->ledger, err));
    for (; i < n && detect_has_room(d) && in_a_row < d->patience; i++) {
        bool full;
        rc = add_if_fair(d, src_nos[i], due_because, request_no, &full, err);
        if (rc != RC_OK)
            break;
        in_a_row = full ? in_a_row + 1 : 0;
        if (full)
            src_nos[n_full++] = src_nos[i];
    }
    ledger_read_end(d->ledger);
    if (i < n)
        remember_next(d, src_nos + i, n - i);
    set_patience(d, room - detect_room(d), n_full);
    *ret_n = i;
    *ret_full = n_full;
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

static bool is_refused(enum rc rc)
{
    return rc == RC_CONFLICT || rc == RC_INVALID;
}

/* Commits one; what is refused is recorded as a failure instead. */
static enum rc commit_alone(struct detect *d, struct look *k, struct err *err)
{
    enum rc rc = check_commit(d->ledger, &k->result, 1, clock_now(), err);
    if (!is_refused(rc))
        return rc;
    struct err why = *err;
    TRY(check_state_get(d->ledger, k->result.src_no, &k->result.state, err));
    make_hopeless(k, "the ledger refused the result", &why);
    return check_commit(d->ledger, &k->result, 1, clock_now(), err);
}

/* dropped: why it was, NULL when it is durable. */
static void retire_look(struct detect *d, struct look *k, const struct err *dropped)
{
    TAILQ_REMOVE(&d->given, k, link);
    LIST_REMOVE(k, bucket);
    d->n_given--;
    if (k->result.level > k->source.level) /* the ledger knows better: check.h 2 */
        k->source.level = k->result.level;
    if (!dropped)
        d->done(d->ctx, &k->source, &k->result);
    else if (d->dropped)
        d->dropped(d->ctx, &k->source, &k->result, dropped);
    put_idle(d, k);
}

/* What the committer could not do for no fault of theirs is to be done again. */
static void take_back(struct detect *d)
{
    TAILQ_CONCAT(&d->given, &d->ended, link);
    TAILQ_CONCAT(&d->ended, &d->given, link);
    d->n_ended += d->n_given;
    d->n_given = 0;
    d->ended_since = clock_mono();
}

/* Ends what the committer has done. Where it was refused, each is tried alone, here. */
static enum rc settle(struct detect *d, bool wait, struct err *err)
{
    enum rc rc;
    TRY(pauses_save(&d->pauses, d->ledger, err));
    if (d->n_given == 0 || !committer_take(d->committer, wait, &rc, err))
        return RC_OK;
    take_asked(d);
    bool alone = is_refused(rc);
    for (struct look *k; (alone || rc == RC_OK) && (k = TAILQ_FIRST(&d->given)) != NULL;) {
        rc = alone ? commit_alone(d, k, err) : RC_OK;
        if (rc == RC_OK || is_refused(rc)) {
            retire_look(d, k, rc == RC_OK ? NULL : err);
            rc = RC_OK;
        } else {
            alone = false;
        }
    }
    if (rc != RC_OK)
        take_back(d);
    return rc;
}

static void give(struct detect *d)
{
    TAILQ_CONCAT(&d->given, &d->ended, link);
    d->n_given = d->n_ended;
    d->n_ended = 0;
    ask_ahead(d);
    committer_give(d->committer, &d->given, &d->asked, clock_now());
}

enum rc detect_flush(struct detect *d, struct err *err)
{
    TRY(settle(d, true, err));
    if (d->n_ended == 0)
        return RC_OK;
    give(d);
    return settle(d, true, err);
}

static int64_t batch_wait(const struct detect *d)
{
    if (d->n_ended >= DETECT_BATCH || (d->rush && d->n_open == 0))
        return 0;
    int64_t left = d->ended_since + DETECT_BATCH_MS - clock_mono();
    return left > 0 ? left : 0;
}

static bool is_batch_due(const struct detect *d)
{
    return d->n_ended > 0 && batch_wait(d) == 0;
}

/* A batch is given away at the beginning: by then the caller has added what follows, so that what
 * comes after that can be read meanwhile. */
enum rc detect_drive(struct detect *d, int wait_ms, size_t *ret_open, struct err *err)
{
    if (d->n_given == 0 && is_batch_due(d))
        give(d);
    if (d->n_ended > 0 && batch_wait(d) < wait_ms)
        wait_ms = (int)batch_wait(d);
    if (d->n_open > 0 && wait_ms > DETECT_BATCH_MS)
        wait_ms = DETECT_BATCH_MS;
    (void)fetch_run(d->env.fetch, wait_ms);
    bool full = is_batch_due(d) && d->n_ended >= 2 * DETECT_BATCH;
    TRY(settle(d, d->n_open == 0 || full, err));
    *ret_open = detect_left(d);
    return RC_OK;
}

void detect_rush(struct detect *d, bool on)
{
    d->rush = on;
}

enum rc detect_finish(struct detect *d, struct err *err)
{
    size_t left = detect_left(d);
    while (left > 0) {
        if (d->n_open == 0)
            TRY(detect_flush(d, err));
        TRY(detect_drive(d, d->n_open > 0 ? 1000 : 0, &left, err));
    }
    return RC_OK;
}
