/* freshet-handler: works off the inbox until it is told to stop. Several may run.
 *
 *   claim some, run them, claim more, … nothing ready: wait for a write to the ledger or the
 *   next attempt
 *
 * Invariants
 *   1. SIGTERM and SIGINT: runs that were begun are finished, then the process ends. A second one
 *      is not needed: kill -9 at any time leaves nothing that the next start does not put
 *      right (I1).
 *   2. One log line per run, with a stable code and without anything withheld (I8).
 *   3. A ledger that cannot be written ends the process: the supervisor starts a new one.
 */
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/daemon.h"
#include "core/fd.h"
#include "core/log.h"
#include "handler/work.h"
#include "ledger/pause.h"
#include "ledger/publish.h"
#include "ledger/push.h"

#define IDLE_MS 1000 /* with inotify; deaths of other workers are looked for this often */
#define POLL_MS 250  /* without */
/* A write is seen before its transaction is: only the sync behind it ends that. So after a write
 * the ledger is asked this often, for as long as a slow disk may take. */
#define SETTLE_MS 10
#define SETTLE_FOR_MS 250

#define FORGET_EVERY_MS 3600000

static const struct daemon self = {
    "freshet-handler", "handler",
    "Promotes, holds or refuses what the detectors of the instance in DIR found.\n"
    "  -C DIR   the instance (default: FRESHET_DIR, else the current folder)\n"
    "`freshet up` starts it together with everything else.\n"};

struct handler {
    struct arena settings;
    struct instance inst;
    struct ledger *ledger;
    struct worker *worker;
    int signals, watch; /* watch: inotify on the instance's folder, -1 when there is none */
    int64_t settled_at; /* clock_mono: until then a write was just seen */
    int64_t forgot_at;  /* clock_mono */
    char closed[512];   /* why the gate is closed, as it was told; "": it is open */
    bool stop;
};

/* ---- telling --------------------------------------------------------------------------------- */

static void tell(void *ctx, const struct work_end *e)
{
    (void)ctx;
    static const char *const codes[] = {
        [WORK_PROMOTED] = "run.promoted", [WORK_NOOP] = "run.noop",   [WORK_FAILED] = "run.failed",
        [WORK_HELD] = "run.held",         [WORK_RETRY] = "run.retry", [WORK_DEAD] = "run.dead"};
    bool bad = e->result == WORK_FAILED || e->result == WORK_DEAD;
    bool open = e->level < LEVEL_RESTRICTED; /* sizes and versions tell what moved */
    log_event(bad ? LOG_WARN : LOG_INFO, codes[e->result], LOG_S("source", e->source),
              LOG_S("run", e->run_id), LOG_S("reason", e->reason),
              LOG_I("version", open ? e->version : 0), LOG_I("seq", e->seq),
              LOG_I("bytes", open ? e->bytes : 0), LOG_I("ms", e->elapsed_ms));
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void drain_watch(struct handler *h)
{
    char events[4096];
    while (h->watch >= 0 && read(h->watch, events, sizeof events) > 0)
        h->settled_at = clock_mono() + SETTLE_FOR_MS;
}

static int64_t wait_ms(const struct handler *h, int64_t next, bool settling)
{
    int64_t wait = settling ? SETTLE_MS : h->watch >= 0 ? IDLE_MS : POLL_MS;
    int64_t due = next >= 0 ? next - clock_now() : wait;
    /* Due already, but not to be had: its source is busy. */
    if (due <= 0)
        due = POLL_MS;
    return due < wait ? due : wait;
}

/* Entries of the feed past their time. A second handler finds nothing left to do. */
static enum rc forget_feed(struct handler *h, struct err *err)
{
    int64_t days = h->inst.conf.feed_retention_days, now = clock_now(), gone = 0;
    if (days == 0)
        return RC_OK;
    TRY(feed_forget(h->ledger, now - days * DAY_MS, now, &gone, err));
    if (gone > 0)
        log_event(LOG_INFO, "feed.forgot", LOG_I("entries", gone));
    return RC_OK;
}

/* Ids of deliveries (ledger/push.h) and pauses of hosts whose time is over go once an hour, when
 * there is nothing else to do; and what the feed no longer keeps. */
static enum rc forget(struct handler *h, struct err *err)
{
    if (h->forgot_at && clock_mono() - h->forgot_at < FORGET_EVERY_MS)
        return RC_OK;
    h->forgot_at = clock_mono();
    TRY(forget_feed(h, err));
    TRY(pause_forget(h->ledger, clock_now(), err));
    return push_forget(h->ledger, clock_now(), err);
}

/* Until something was written, an attempt is due, or the time is up. */
static enum rc idle(struct handler *h, struct err *err)
{
    int64_t next = -1;
    bool settling = clock_mono() < h->settled_at;
    struct pollfd fds[] = {{.fd = h->signals, .events = POLLIN},
                           {.fd = settling ? -1 : h->watch, .events = POLLIN}};
    TRY(forget(h, err));
    TRY(inbox_next_at(h->ledger, &next, err));
    (void)poll(fds, ARRAY_LEN(fds), (int)wait_ms(h, next, settling));
    h->stop = h->stop || daemon_told_to_stop(h->signals);
    drain_watch(h);
    return RC_OK;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static enum rc turn(struct handler *h, struct err *err)
{
    int64_t freed = 0;
    TRY(worker_beat(h->worker, err));
    enum rc rc = work_some(h->worker, tell, NULL, err);
    h->stop = h->stop || daemon_told_to_stop(h->signals);
    if (rc != RC_NOT_FOUND)
        return rc;
    TRY(worker_reclaim(h->worker, &freed, err));
    return freed > 0 || h->stop ? RC_OK : idle(h, err);
}

/* A policy that cannot be read is told once, not once a second; and again when it says
 * something else. */
static void say_waiting(struct handler *h, enum rc rc, const struct err *err)
{
    if (rc != RC_CLOSED)
        log_err(LOG_WARN, "handler.waits", err);
    else if (strcmp(h->closed, err->msg) != 0)
        log_err(LOG_ERROR, "policy.closed", err);
    snprintf(h->closed, sizeof h->closed, "%s", rc == RC_CLOSED ? err->msg : "");
}

static enum rc run_until_stopped(struct handler *h, struct err *err)
{
    while (!h->stop) {
        enum rc rc = turn(h, err);
        if (rc == RC_OK)
            continue;
        if (!rc_retryable(rc))
            return rc;
        say_waiting(h, rc, err);
        TRY(idle(h, err));
    }
    return work_finish(h->worker, tell, NULL, err);
}

/* ---- start and end --------------------------------------------------------------------------- */

/* Every commit writes to ledger.db-wal, which lies in the folder that is watched. Without inotify
 * (a network filesystem, no watches left) the ledger is asked every POLL_MS. */
static void watch_ledger(struct handler *h)
{
    h->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (h->watch >= 0 && inotify_add_watch(h->watch, h->inst.dir, IN_MODIFY) < 0)
        fd_close(&h->watch);
}

static enum rc start(struct handler *h, const char *dir, struct err *err)
{
    TRY(daemon_begin(&self, dir, &h->settings, &h->inst, err));
    TRY(daemon_signals(&h->signals, err));
    watch_ledger(h);
    TRY(ledger_open(h->inst.dir, LEDGER_WRITE, digest_sha256, &h->ledger, err));
    TRY(worker_new(h->ledger, &h->inst, &h->worker, err));
    worker_heartbeat(h->worker, "handler");
    log_event(LOG_INFO, "handler.started", LOG_S("dir", h->inst.dir));
    return RC_OK;
}

static void finish(struct handler *h)
{
    worker_free(&h->worker);
    ledger_close(&h->ledger);
    fd_close(&h->signals);
    fd_close(&h->watch);
    arena_release(&h->settings);
}

int main(int argc, char **argv)
{
    struct handler h = {.signals = -1, .watch = -1};
    struct err err = {0};
    int code = 0;
    const char *dir = daemon_folder(&self, argc, argv, &code);
    if (!dir)
        return code;
    arena_init(&h.settings, 1u << 20);
    enum rc rc = start(&h, dir, &err);
    if (rc == RC_OK)
        rc = run_until_stopped(&h, &err);
    if (rc != RC_OK)
        log_err(LOG_ERROR, "handler.failed", &err);
    else
        log_event(LOG_INFO, "handler.stopped", LOG_S("dir", h.inst.dir));
    finish(&h);
    return rc == RC_OK ? 0 : 1;
}
