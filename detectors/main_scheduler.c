/* freshet-scheduler: looks at sources when they are due or asked for. One per instance.
 *
 *   every 200 ms: new requests? sources due?   always: drive checks and event streams, commit what
 *                                              has ended
 *
 * Invariants
 *   1. One scheduler per instance: it holds run/scheduler.lock (flock) as long as it lives.
 *   2. SIGTERM and SIGINT: no new checks; those under way get STOP_GRACE_MS to end, what has ended
 *      is committed, the rest is abandoned and stays due.
 *   3. A slow host delays only its own sources (detect.h 5, struct walk).
 *   4. While the inbox is full (inbox_max) no check is begun; what is due stays due. The log says
 *      so (scheduler.paused, scheduler.resumed), and so does the sign of life "full".
 *   5. A clock that was ahead once costs no look: what was looked at in the future is
 *      due (scheduler.clock).
 *   6. A ledger that cannot be written ends the process: the supervisor starts a new one. One that
 *      is busy, and memory that ran out, are met again after REST_MS; what is under way goes
 *      on meanwhile.
 */
#include <poll.h>
#include "core/clock.h"
#include "core/daemon.h"
#include "core/fd.h"
#include "core/lock.h"
#include "core/log.h"
#include "detectors/confirms.h"
#include "detectors/detect.h"
#include "detectors/orders.h"
#include "detectors/streams.h"
#include "ledger/ahead.h"
#include "ledger/inbox.h"

#define POLL_MS 200
#define REFILL 128    /* room for so many is worth a look at what is due */
#define DUE_PAGE 1024 /* sources read at a time */
#define LAP_MS 1000   /* between two laps over sources that have to wait for their hosts */
#define HEARTBEAT_MS 5000
#define STOP_GRACE_MS 2000
#define REST_MS 1000         /* after an error that may be over soon */
#define REST_STEP_MS 20      /* an answer waits so long at most */
#define SPOOL_KEEP_MS DAY_MS /* a body that nobody came for in a day is fetched again */

/* A walk over what is due, oldest first, page by page and round and round: what has to wait for its
 * host is passed by and met again on the next lap, so it hides nobody behind it. */
struct walk {
    int64_t at, no;     /* the last source gone through; no 0: at the start of a lap */
    int64_t began;      /* this lap, clock_mono */
    size_t added, full; /* on this lap: checks; sources that were passed by */
    size_t last_added, last_full;
    size_t n;
    int64_t nos[DUE_PAGE], ats[DUE_PAGE];
};

struct scheduler {
    struct arena settings;
    struct instance inst;
    struct ledger *ledger;
    struct detect *detect;
    struct orders *orders;
    struct streams *streams;
    struct confirms *confirms;
    int lock, signals;
    bool stop, polled, paused;
    int64_t polled_at, beat_at; /* clock_mono */
    int64_t newest;             /* clock_now so far; 0: just started */
    int64_t known_ahead;        /* of ahead_mend */
    struct walk walk;
};

static const struct daemon self = {
    "freshet-scheduler", "scheduler",
    "Looks at the sources of the instance in DIR when they are due or asked for.\n"
    "  -C DIR   the instance (default: FRESHET_DIR, else the current folder)\n"
    "`freshet up` starts it together with everything else.\n"};

/* ---- telling --------------------------------------------------------------------------------- */

/* Details may name hosts and sizes tell of content: those of withheld sources stay in
 * the ledger. */
static void tell_check(const struct source *s, const struct check_result *r)
{
    char name[SOURCE_LOG_NAME_MAX];
    bool open = s->level < LEVEL_RESTRICTED;
    bool fails_first = outcome_failure(r->outcome) && r->state.failures == 1;
    enum log_level level = fails_first                     ? LOG_WARN
                           : outcome_candidate(r->outcome) ? LOG_INFO
                                                           : LOG_DEBUG;
    log_event(level, outcome_failure(r->outcome) ? "check.failed" : "check.done",
              LOG_S("source", source_log_name(s, name)), LOG_S("outcome", outcome_name(r->outcome)),
              LOG_S("detail", open ? r->detail : ""), LOG_S("event", open ? r->event_id : ""),
              LOG_S("because", r->due_because), LOG_I("attempts", r->attempts),
              LOG_I("bytes", open ? r->bytes_in : 0));
}

static void on_checked(void *ctx, const struct source *s, const struct check_result *r)
{
    struct scheduler *sc = ctx;
    if (r->request_no)
        orders_count(sc->orders, r->request_no);
    streams_checked(sc->streams, r);
    tell_check(s, r);
}

static const char *on_told(void *ctx, int64_t src_no, bool *ret_open)
{
    const struct scheduler *sc = ctx;
    return streams_told(sc->streams, src_no, ret_open);
}

/* Its order is not kept waiting for what will not come. */
static void on_dropped(void *ctx, const struct source *s, const struct check_result *r,
                       const struct err *why)
{
    struct scheduler *sc = ctx;
    char name[SOURCE_LOG_NAME_MAX];
    if (r->request_no)
        orders_count(sc->orders, r->request_no);
    log_event(LOG_ERROR, "check.dropped", LOG_S("source", source_log_name(s, name)),
              LOG_S("rc", rc_name(why->rc)), LOG_S("message", why->msg));
}

/* ---- one turn -------------------------------------------------------------------------------- */

static enum rc collect_due(void *ctx, int64_t src_no, int64_t due_at, struct err *err)
{
    struct walk *w = ctx;
    (void)err;
    w->nos[w->n] = src_no;
    w->ats[w->n++] = due_at;
    return RC_OK;
}

/* A backlog is worked off without waiting for the next poll. A lap that found all hosts busy is not
 * repeated at once: it may have been long. */
static bool is_time_to_walk(const struct scheduler *sc)
{
    const struct walk *w = &sc->walk;
    bool under_way = w->no != 0;
    bool more = under_way || (w->last_full > 0 && w->last_added >= REFILL);
    if (more && detect_room(sc->detect) >= REFILL)
        return true;
    return sc->polled && (more || w->last_full == 0 || clock_mono() - w->began >= LAP_MS);
}

static void end_lap(struct walk *w)
{
    w->last_added = w->added;
    w->last_full = w->full;
    w->added = w->full = 0;
    w->at = w->no = 0;
}

/* What there was no room for is read again next time: it may not be due any more by then. */
static enum rc add_due(struct scheduler *sc, struct err *err)
{
    struct walk *w = &sc->walk;
    size_t n, full, room = detect_room(sc->detect);
    if (!is_time_to_walk(sc))
        return RC_OK;
    if (w->no == 0)
        w->began = clock_mono();
    w->n = 0;
    TRY(check_due_after(sc->ledger, clock_now(), w->no ? w->at : INT64_MIN, w->no, DUE_PAGE,
                        collect_due, w, err));
    enum rc rc = detect_add_some(sc->detect, w->nos, w->n, NULL, 0, &n, &full, err);
    w->added += room - detect_room(sc->detect);
    w->full += full;
    if (n > 0) {
        w->at = w->ats[n - 1];
        w->no = w->nos[n - 1];
    }
    if (n == w->n && n < DUE_PAGE)
        end_lap(w);
    return rc;
}

/* At the start, when the clock steps back, and when somebody else's was ahead. */
static enum rc watch_clock(struct scheduler *sc, struct err *err)
{
    int64_t n, now = clock_now();
    bool search = sc->newest == 0 || sc->newest - now > HEALTH_AHEAD_MS;
    TRY(ahead_mend(sc->ledger, now, search, &sc->known_ahead, &n, err));
    sc->newest = search || now > sc->newest ? now : sc->newest;
    if (n > 0)
        log_event(LOG_WARN, "scheduler.clock", LOG_I("due_again", n));
    return RC_OK;
}

static enum rc beat(struct scheduler *sc, struct err *err)
{
    if (sc->beat_at != 0 && clock_mono() - sc->beat_at < HEARTBEAT_MS)
        return RC_OK;
    sc->beat_at = clock_mono();
    TRY(watch_clock(sc, err));
    return ledger_heartbeat(sc->ledger, "scheduler", clock_now(), err);
}

/* Is there room in the inbox again, or no more? */
static enum rc watch_inbox(struct scheduler *sc, struct err *err)
{
    int64_t max = sc->inst.conf.inbox_max;
    enum rc rc = inbox_room(sc->ledger, max, err);
    if (rc != RC_OK && rc != RC_FULL)
        return rc;
    if (sc->paused == (rc == RC_FULL))
        return RC_OK;
    sc->paused = rc == RC_FULL;
    log_event(sc->paused ? LOG_WARN : LOG_INFO,
              sc->paused ? "scheduler.paused" : "scheduler.resumed", LOG_I("inbox_max", max));
    return ledger_heartbeat(sc->ledger, HEARTBEAT_FULL, sc->paused ? clock_now() : -1, err);
}

static enum rc poll_ledger(struct scheduler *sc, struct err *err)
{
    sc->polled = clock_mono() - sc->polled_at >= POLL_MS;
    if (!sc->polled)
        return RC_OK;
    sc->polled_at = clock_mono();
    TRY(watch_inbox(sc, err));
    return orders_take(sc->orders, clock_now(), err);
}

static void read_signals(struct scheduler *sc)
{
    sc->stop = sc->stop || daemon_told_to_stop(sc->signals);
}

static enum rc turn(struct scheduler *sc, struct err *err)
{
    size_t open;
    TRY(beat(sc, err));
    TRY(poll_ledger(sc, err));
    if (!sc->paused) {
        TRY(add_due(sc, err));
        TRY(orders_feed(sc->orders, sc->detect, err));
    }
    TRY(streams_turn(sc->streams, sc->paused ? NULL : sc->detect, err));
    TRY(confirms_turn(sc->confirms, err));
    TRY(detect_drive(sc->detect, POLL_MS, &open, err));
    TRY(orders_finish(sc->orders, clock_now(), err));
    read_signals(sc);
    return RC_OK;
}

static bool may_be_over_soon(enum rc rc)
{
    return rc == RC_BUSY || rc == RC_NOMEM;
}

/* The wait is our own: detect_drive does not wait while it has something to commit. */
static enum rc rest(struct scheduler *sc, struct err *err)
{
    struct pollfd told = {.fd = sc->signals, .events = POLLIN};
    int64_t until = clock_mono() + REST_MS;
    size_t open;
    while (!sc->stop && clock_mono() < until) {
        (void)poll(&told, 1, REST_STEP_MS);
        enum rc rc = detect_drive(sc->detect, 0, &open, err);
        if (!may_be_over_soon(rc))
            TRY(rc);
        read_signals(sc);
    }
    return RC_OK;
}

static enum rc run_until_stopped(struct scheduler *sc, struct err *err)
{
    while (!sc->stop) {
        enum rc rc = turn(sc, err);
        if (!may_be_over_soon(rc)) {
            TRY(rc);
            continue;
        }
        log_err(LOG_WARN, "scheduler.waits", err);
        TRY(rest(sc, err));
    }
    return RC_OK;
}

static enum rc wind_down(struct scheduler *sc, struct err *err)
{
    size_t open = 1;
    int64_t until = clock_mono() + STOP_GRACE_MS;
    sc->stop = false; /* a second signal cuts the grace short */
    while (open > 0 && !sc->stop && clock_mono() < until) {
        TRY(detect_drive(sc->detect, POLL_MS / 4, &open, err));
        read_signals(sc);
    }
    TRY(detect_flush(sc->detect, err));
    return orders_finish(sc->orders, clock_now(), err);
}

/* ---- start and end --------------------------------------------------------------------------- */

static enum rc take_lock(struct scheduler *sc, struct err *err)
{
    char *path = instance_path(&sc->settings, &sc->inst, "run/scheduler.lock");
    if (!path)
        return err_set(err, RC_NOMEM, "", "no memory");
    enum rc rc = lock_take(path, 0600, &sc->lock, err);
    if (rc == RC_BUSY)
        return err_set(err, RC_CONFLICT, "", "another scheduler works in %s: stop it first",
                       sc->inst.dir);
    return rc;
}

static enum rc start(struct scheduler *sc, const char *dir, struct err *err)
{
    TRY(daemon_begin(&self, dir, &sc->settings, &sc->inst, err));
    TRY(take_lock(sc, err));
    TRY(daemon_signals(&sc->signals, err));
    TRY(ledger_open(sc->inst.dir, LEDGER_INBOX, digest_sha256, &sc->ledger, err));
    TRY(ledger_heartbeat(sc->ledger, HEARTBEAT_FULL, -1,
                         err)); /* what one before us may have said */
    TRY(orders_new(sc->ledger, &sc->orders, err));
    TRY(detect_new(sc->ledger, &sc->inst, on_checked, sc, &sc->detect, err));
    TRY(streams_new(sc->ledger, &sc->inst, &sc->streams, err));
    TRY(confirms_new(sc->ledger, &sc->inst, &sc->confirms, err));
    detect_on_dropped(sc->detect, on_dropped);
    detect_on_told(sc->detect, on_told);
    detect_wake_fd(sc->detect, sc->signals);
    detect_sweep(sc->detect, clock_now() - SPOOL_KEEP_MS);
    return RC_OK;
}

static void release(struct scheduler *sc)
{
    confirms_free(&sc->confirms);
    streams_free(&sc->streams);
    detect_free(&sc->detect);
    orders_free(&sc->orders);
    ledger_close(&sc->ledger);
    fd_close(&sc->signals);
    fd_close(&sc->lock);
    arena_release(&sc->settings);
}

static enum rc work(const char *dir, struct err *err)
{
    struct scheduler sc = {.lock = -1, .signals = -1};
    arena_init(&sc.settings, 4u << 20);
    enum rc rc = start(&sc, dir, err);
    if (rc == RC_OK) {
        log_event(LOG_INFO, "scheduler.started", LOG_S("dir", sc.inst.dir));
        rc = run_until_stopped(&sc, err);
        if (rc == RC_OK)
            rc = wind_down(&sc, err);
        log_event(LOG_INFO, "scheduler.stopped", LOG_I("ok", rc == RC_OK));
    }
    release(&sc);
    return rc;
}

int main(int argc, char **argv)
{
    struct err err;
    int code = 0;
    const char *dir = daemon_folder(&self, argc, argv, &code);
    if (!dir)
        return code;
    if (work(dir, &err) == RC_OK)
        return 0;
    log_err(LOG_ERROR, "scheduler.failed", &err);
    return 1;
}
