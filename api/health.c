/* health: /healthz (this process lives) and /readyz (all parts can do their work).
 *
 * Invariants
 *   1. Ready means: the ledger answers, and handler, scheduler and stream gave a sign of life
 *      within HEARTBEAT_MAX_MS by the same clock that they stamp with.
 *   2. A 503 names every part that is not ready.
 * Called by the route table. */
#include "api/documents.h"
#include "api/put.h"
#include "api/stream_stat.h"

#define HEARTBEAT_MAX_MS 30000 /* several missed beats, not one that came late */

enum rc health_live(struct req *r, struct resp *w, struct err *err)
{
    (void)r;
    (void)err;
    buf_puts(&w->body, "{\"status\":\"ok\"}");
    return RC_OK;
}

struct readiness {
    struct resp *w;
    struct buf parts; /* members of "checks" */
    bool ready;
};

static void report(struct readiness *x, const char *part, const char *trouble)
{
    put_text(&x->parts, part, trouble ? trouble : "ok");
    if (!trouble)
        return;
    x->ready = false;
    resp_error(x->w, str_of(part), trouble);
}

static void check_heartbeat(struct readiness *x, struct req *r, const char *role)
{
    int64_t at = -1;
    struct err err = {0};
    if (public_heartbeat_get(r->ledger, role, &at, &err) != RC_OK)
        report(x, role, "its sign of life cannot be read");
    else if (at < 0)
        report(x, role, "has not given a sign of life yet");
    else if (r->now - at > HEARTBEAT_MAX_MS)
        report(x, role, "gave no sign of life for more than 30 seconds");
    else
        report(x, role, NULL);
}

/* It stamps a file, as it may not write into the ledger. Where there is none, nobody runs it. */
static void check_stream(struct readiness *x, struct req *r)
{
    struct stream_stat s;
    struct err err = {0};
    if (!r->inst || stream_stat_read(r->inst->dir, &s, &err) != RC_OK)
        return;
    bool silent = r->now - s.at > HEARTBEAT_MAX_MS;
    report(x, "stream", silent ? "gave no sign of life for more than 30 seconds" : NULL);
}

/* Whoever reads is served as ever, so this is told without being a failure. */
static void tell_inbox(struct readiness *x, struct req *r)
{
    int64_t at = -1;
    struct err err = {0};
    if (public_heartbeat_get(r->ledger, HEARTBEAT_FULL, &at, &err) == RC_OK && at >= 0)
        put_text(&x->parts, "inbox", "full: no check is begun until handlers have caught up");
    else
        put_text(&x->parts, "inbox", "ok");
}

static void check_ledger(struct readiness *x, struct req *r)
{
    struct public_meta m = {0};
    struct err err = {0};
    bool readable = r->ledger && public_meta_get(r->ledger, r->arena, &m, &err) == RC_OK;
    report(x, "ledger", readable ? NULL : "cannot be read");
    if (readable) /* as the handler found it */
        report(x, "policy",
               strcmp(m.policy_version, "closed") == 0
                   ? "policy.json is not valid: nothing is promoted. See: freshet policy check"
                   : NULL);
}

enum rc health_ready(struct req *r, struct resp *w, struct err *err)
{
    struct readiness x = {.w = w, .ready = true};
    buf_init(&x.parts, 1024);
    check_ledger(&x, r);
    if (r->ledger) {
        check_heartbeat(&x, r, "handler");
        check_heartbeat(&x, r, "scheduler");
        check_stream(&x, r);
        tell_inbox(&x, r);
    }
    struct buf *out = x.ready ? &w->body : &w->extra;
    buf_printf(out, "%s\"checks\":{%.*s}%s", x.ready ? "{\"status\":\"ready\"," : ",",
               STR_FMT(buf_view(&x.parts)), x.ready ? "}" : "");
    buf_release(&x.parts);
    return x.ready ? RC_OK
                   : err_set(err, RC_BUSY, "", "Not ready: see errors for the part that is not.");
}
