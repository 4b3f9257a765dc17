/* freshet-outbox: tells consumers (handler/outbox.h) and subscribers (handler/notify.h) what
 * happened, until it is told to stop.
 *
 * Invariants
 *   1. One per instance delivers (run/outbox.lock); another waits for its end.
 *   2. SIGTERM and SIGINT: the present row is finished, then the process ends.
 *   3. Slow or dead receivers cost this process time, and no handler any.
 */
#include <poll.h>
#include "core/clock.h"
#include "core/daemon.h"
#include "core/fd.h"
#include "core/lock.h"
#include "core/log.h"
#include "handler/notify.h"
#include "ledger/breach.h"

#define IDLE_MS 1000               /* between two looks at an empty outbox */
#define COUNT_MS 5000              /* between two counts for /metrics */
#define SWEEP_MS 30000             /* between two looks for sources that are late */
#define RUN_MEMORY_MAX (64u << 20) /* documents of one run */

static const struct daemon self = {
    "freshet-outbox", "outbox",
    "Writes run artifacts and tells others what happened in the instance in DIR.\n"
    "  -C DIR   the instance (default: FRESHET_DIR, else the current folder)\n"
    "`freshet up` starts it together with everything else.\n"};

struct outbox {
    struct arena settings, run;
    struct instance inst;
    struct ledger *ledger;
    struct fetch *engine;
    struct notify *notify;
    int signals, lock;
    int64_t count_at, sweep_at; /* clock_mono */
    char wrong[512];            /* what was told of notify.json */
    struct outbox_counts n;
    bool stop;
};

static void wait_signal(struct outbox *o, int ms)
{
    struct pollfd fd = {.fd = o->signals, .events = POLLIN};
    (void)poll(&fd, 1, ms);
    o->stop = o->stop || daemon_told_to_stop(o->signals);
}

static enum rc count(struct outbox *o, struct err *err)
{
    if (clock_mono() < o->count_at)
        return RC_OK;
    o->count_at = clock_mono() + COUNT_MS;
    return outbox_count(o->ledger, clock_now(), err);
}

static enum rc sweep(struct outbox *o, struct err *err)
{
    int64_t moved;
    if (clock_mono() < o->sweep_at)
        return RC_OK;
    o->sweep_at = clock_mono() + SWEEP_MS;
    return breach_sweep(o->ledger, clock_now(), &moved, err);
}

/* A file that is wrong is told once, and again when it is wrong otherwise. */
static void tell_wrong(struct outbox *o)
{
    const char *wrong = notify_wrong(o->notify);
    if (*wrong && strcmp(wrong, o->wrong) != 0)
        log_event(LOG_ERROR, "notify.wrong", LOG_S("why", wrong));
    snprintf(o->wrong, sizeof o->wrong, "%s", wrong);
}

static enum rc turn(struct outbox *o, struct err *err)
{
    const struct outbox_env env = {o->ledger, &o->inst, &o->run, &o->engine};
    struct outbox_counts before = o->n;
    bool more = false, busy = false;
    TRY(outbox_turn(&env, &o->n, &more, err));
    TRY(sweep(o, err));
    TRY(notify_turn(o->notify, &o->n, &busy, err));
    tell_wrong(o);
    if (o->n.failed > before.failed || o->n.dead > before.dead)
        log_event(LOG_WARN, "outbox.failed", LOG_I("dead", o->n.dead - before.dead));
    TRY(count(o, err));
    wait_signal(o, more || busy ? 0 : IDLE_MS);
    return RC_OK;
}

static enum rc run_until_stopped(struct outbox *o, struct err *err)
{
    while (!o->stop) {
        enum rc rc = turn(o, err);
        if (rc == RC_OK)
            continue;
        if (!rc_retryable(rc))
            return rc;
        log_err(LOG_WARN, "outbox.waits", err);
        wait_signal(o, IDLE_MS);
    }
    return RC_OK;
}

static enum rc take_lock(struct outbox *o, struct err *err)
{
    const char *path = instance_path(&o->settings, &o->inst, "run/outbox.lock");
    struct err busy;
    if (!path)
        return err_set(err, RC_NOMEM, "", "no memory for a path");
    while (!o->stop) {
        enum rc rc = lock_take(path, 0600, &o->lock, &busy);
        if (rc == RC_OK)
            return RC_OK;
        if (rc != RC_BUSY)
            return err_set(err, rc, "", "%s", busy.msg);
        wait_signal(o, IDLE_MS);
    }
    return RC_OK;
}

static enum rc start(struct outbox *o, const char *dir, struct err *err)
{
    TRY(daemon_begin(&self, dir, &o->settings, &o->inst, err));
    TRY(daemon_signals(&o->signals, err));
    TRY(take_lock(o, err));
    TRY(ledger_open(o->inst.dir, LEDGER_WRITE, digest_sha256, &o->ledger, err));
    TRY(notify_new(o->ledger, &o->inst, &o->notify, err));
    log_event(LOG_INFO, "outbox.started", LOG_S("dir", o->inst.dir));
    return RC_OK;
}

static void finish(struct outbox *o)
{
    notify_free(&o->notify);
    fetch_free(&o->engine);
    ledger_close(&o->ledger);
    fd_close(&o->signals);
    fd_close(&o->lock);
    arena_release(&o->run);
    arena_release(&o->settings);
}

int main(int argc, char **argv)
{
    struct outbox o = {.signals = -1, .lock = -1};
    struct err err = {0};
    int code = 0;
    const char *dir = daemon_folder(&self, argc, argv, &code);
    if (!dir)
        return code;
    arena_init(&o.settings, 1u << 20);
    arena_init(&o.run, RUN_MEMORY_MAX);
    enum rc rc = start(&o, dir, &err);
    if (rc == RC_OK)
        rc = run_until_stopped(&o, &err);
    if (rc != RC_OK)
        log_err(LOG_ERROR, "outbox.failed", &err);
    finish(&o);
    return rc == RC_OK ? 0 : 1;
}
