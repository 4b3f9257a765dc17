/* orders: each is taken when its turn comes; an error of who asked ends it, one of ours leaves it
 * open. */
#include "handler/orders.h"

#include "core/clock.h"
#include "core/fd.h"
#include "core/lock.h"
#include "handler/declare.h"
#include "handler/replay.h"
#include "ledger/order.h"
#include "ledger/replays.h"

#define DETAIL_MAX 600

/* ---- declarations ---------------------------------------------------------------------------- */

static enum rc store(const struct declare *d, const struct order *o, int64_t now,
                     char detail[DETAIL_MAX], struct err *err)
{
    struct source s;
    struct declared done;
    if (d->update)
        TRY(source_by_id(d->ledger, d->arena, o->source_id, &s, err));
    TRY(source_reread(d->arena, o->spec, &s, err));
    TRY(declare_source(d, &s, now, &done, err));
    if (*done.level_id)
        snprintf(detail, DETAIL_MAX,
                 "it stays %s until a second person approves %s; all else is in force",
                 level_name(done.level), done.level_id);
    return RC_OK;
}

static enum rc carry_out(struct ledger *l, struct arena *a, const struct instance *inst,
                         const struct order *o, int64_t now, struct err *err)
{
    const struct declare d = {.ledger = l,
                              .inst = inst,
                              .arena = a,
                              .by = o->by,
                              .note = "asked for over HTTP",
                              .update = strcmp(o->kind, ORDER_REPLACE) == 0};
    char detail[DETAIL_MAX] = "";
    if (strcmp(o->kind, ORDER_RETIRE) == 0)
        TRY(declare_retired(&d, o->source_id, now, err));
    else
        TRY(store(&d, o, now, detail, err));
    return order_end(l, o->no, true, detail, now, err);
}

/* An error of who asked; others are ours, and it is tried again. */
static bool is_theirs(enum rc rc)
{
    return rc == RC_CONFLICT || rc == RC_INVALID || rc == RC_NOT_FOUND || rc == RC_TOO_LARGE;
}

static enum rc refuse(struct ledger *l, const struct order *o, const struct err *why, int64_t now,
                      struct err *err)
{
    char detail[DETAIL_MAX];
    snprintf(detail, sizeof detail, "%s%s%s", why->field, *why->field ? ": " : "", why->msg);
    TRY(ledger_begin(l, err));
    return ledger_end(l, order_end(l, o->no, false, detail, now, err), err);
}

static enum rc apply_next(struct ledger *l, struct arena *a, const struct instance *inst,
                          int64_t now, struct err *err)
{
    struct order o;
    struct err why = {0};
    TRY(ledger_begin(l, err));
    enum rc rc = order_next(l, a, &o, err); /* again, now under the lock */
    if (rc != RC_OK) {
        ledger_abort(l);
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    rc = carry_out(l, a, inst, &o, now, &why);
    if (rc == RC_OK)
        return ledger_commit(l, err);
    ledger_abort(l);
    if (is_theirs(rc))
        return refuse(l, &o, &why, now, err);
    *err = why;
    return rc;
}

enum rc orders_apply(struct ledger *l, const struct instance *inst, int64_t now, struct err *err)
{
    for (;;) {
        CLEANUP(arena_release) struct arena a = {0};
        struct order o;
        struct err none;
        arena_init(&a, SOURCE_CHANGE_MEMORY_MAX);
        enum rc rc = order_next(l, &a, &o, &none); /* without the lock: mostly there is nothing */
        if (rc != RC_OK)
            return rc == RC_NOT_FOUND ? RC_OK : err_set(err, rc, "", "%s", none.msg);
        TRY(apply_next(l, &a, inst, now, err));
    }
}

/* ---- replays --------------------------------------------------------------------------------- */

static enum rc replay(struct ledger *l, struct arena *a, const struct instance *inst,
                      orders_tick_fn *tick, void *ctx, struct err *err)
{
    struct replay_request r;
    struct replay_counts n = {0};
    struct err why = {0}, none;
    enum rc rc = replays_open(l, a, &r, &none); /* again, now that nobody else may have it */
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : err_set(err, rc, "", "%s", none.msg);
    const struct replay_ask ask = {.since = r.since, .until = r.until, .src_no = r.src_no};
    rc = replay_run(l, inst, &ask, tick, ctx, &n, &why);
    const struct replay_done done = {.good = rc == RC_OK && n.failed == 0,
                                     .rows = n.rows,
                                     .noop = n.noop,
                                     .applied = n.applied,
                                     .failed = n.failed,
                                     .detail = rc == RC_OK ? NULL : why.msg};
    return replays_end(l, r.no, &done, clock_now(), err);
}

enum rc orders_replay(struct ledger *l, const struct instance *inst, orders_tick_fn *tick,
                      void *ctx, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    CLEANUP(fd_close) int lock = -1;
    struct replay_request r;
    struct err none;
    arena_init(&a, 1u << 16);
    enum rc rc = replays_open(l, &a, &r, &none);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : err_set(err, rc, "", "%s", none.msg);
    const char *path = instance_path(&a, inst, "run/replay.lock");
    if (!path || lock_take(path, 0600, &lock, &none) != RC_OK)
        return RC_OK;
    return replay(l, &a, inst, tick, ctx, err);
}
