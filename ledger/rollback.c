/* rollback: what may be taken back, requests for it, and blocks. */
#include "ledger/rollback.h"

#include "core/clock.h"
#include "ledger/enqueue.h"
#include "ledger/query.h"
#include "ledger/runs.h"

#define OPERATOR "operator" /* who found a rollback, where others name their detector */
#define DELTA_PREFIX "dlt_"

static enum rc end_tx(struct ledger *l, enum rc rc, struct err *err)
{
    if (rc == RC_OK)
        return ledger_commit(l, err);
    ledger_abort(l);
    return rc;
}

/* ---- what is in force -------------------------------------------------------------------------- */

/* A delta is named after its run. */
static enum rc find_change(struct ledger *l, const char *delta_id, struct rollback_plan *p,
                           int64_t *ret_version, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    size_t n = strlen(DELTA_PREFIX);
    enum rc rc = RC_NOT_FOUND;
    if (strncmp(delta_id, DELTA_PREFIX, n) == 0) {
        TRY(query_open(l, Q_ROLLBACK_TARGET, &q, err, "t", delta_id + n));
        rc = query_next(l, &q, err);
    }
    if (rc == RC_NOT_FOUND)
        return err_set(err, rc, "delta", "no change has the delta %.60s", delta_id);
    TRY(rc);
    col_copy(&q, 0, p->run_id, sizeof p->run_id);
    p->src_no = col_i64(&q, 1);
    *ret_version = col_i64(&q, 2);
    return RC_OK;
}

static void name_first(struct rollback_plan *p, const char *delta_id)
{
    if (p->n_first == ROLLBACK_FIRST_MAX)
        p->more = true;
    else
        snprintf(p->first[p->n_first++], DELTA_ID_MAX, "%s", delta_id);
}

/* One version on the way down. */
struct step {
    bool found, jumps; /* it is the change we look for; it is a rollback */
    int64_t below;     /* the version in force below it */
    char delta_id[DELTA_ID_MAX];
};

/* A rollback stands for the state before what it took back. */
static enum rc read_step(struct ledger *l, const struct rollback_plan *p, int64_t version,
                         struct step *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_ROLLBACK_STEP, &q, err, "ii", p->src_no, version));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_CORRUPT, "", "a version of the source is missing");
    TRY(rc);
    *ret = (struct step){.found = str_is(col_view(&q, 0), p->run_id), .jumps = !col_null(&q, 2)};
    ret->below = (ret->jumps ? col_i64(&q, 2) : version) - 1;
    col_copy(&q, 1, ret->delta_id, sizeof ret->delta_id);
    return RC_OK;
}

enum rc rollback_plan(struct ledger *l, const char *delta_id, struct rollback_plan *ret,
                      struct err *err)
{
    struct rollback_plan p = {.verdict = ROLLBACK_READY};
    struct step s = {0};
    int64_t version = 0, at = 0;
    TRY(find_change(l, delta_id, &p, &version, err));
    TRY(query_i64(l, Q_HEAD_VERSION, &at, err, "i", p.src_no));
    for (; !s.found && at >= version; at = s.below) {
        TRY(read_step(l, &p, at, &s, err));
        if (!s.found && !s.jumps)
            name_first(&p, s.delta_id);
    }
    if (!s.found) { /* the last step was over it */
        p.n_first = 0;
        p.more = false;
        name_first(&p, s.delta_id);
    }
    p.verdict = !s.found ? ROLLBACK_OVER : p.n_first ? ROLLBACK_BEHIND : ROLLBACK_READY;
    *ret = p;
    return RC_OK;
}

enum rc rollback_allowed(const struct rollback_plan *p, struct err *err)
{
    char names[6 * DELTA_ID_MAX] = "";
    size_t n = 0, shown = p->n_first < 5 ? p->n_first : 5; /* as many as an error holds */
    if (p->verdict == ROLLBACK_READY)
        return RC_OK;
    if (p->verdict == ROLLBACK_OVER)
        return err_set(err, RC_CONFLICT, "delta",
                       "was taken back already; to have it again take back %s", p->first[0]);
    for (size_t i = 0; i < shown; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", p->first[i]);
    return err_set(err, RC_CONFLICT, "delta", "the head has moved on; first take back %s%s", names,
                   p->more || shown < p->n_first ? " and others" : "");
}

/* ---- asking ------------------------------------------------------------------------------------ */

static enum rc add(struct ledger *l, const struct rollback_ask *ask, int64_t now,
                   char ret_id[ROLLBACK_ID_MAX], struct err *err)
{
    struct rollback_plan p;
    char uuid[37];
    TRY(rollback_plan(l, ask->delta_id, &p, err));
    TRY(rollback_allowed(&p, err));
    uuid7(now, uuid);
    snprintf(ret_id, ROLLBACK_ID_MAX, "rbk_%s", uuid);
    TRY(query_run(l, Q_ROLLBACK_ADD, err, "ttitti", ret_id, p.run_id, p.src_no, ask->reason,
                  ask->by, now));
    return replay_append(l, now, "admin.rollback", p.src_no, ret_id, ask->body, err);
}

static enum rc add_once(struct ledger *l, const struct rollback_ask *ask, int64_t now,
                        char ret_id[ROLLBACK_ID_MAX], struct err *err)
{
    const struct request_key k = {"rollback", ask->token, ask->key, ask->body};
    bool repeated = false;
    TRY(request_key_find(l, &k, ret_id, &repeated, err));
    if (repeated)
        return RC_OK;
    TRY(add(l, ask, now, ret_id, err));
    return request_key_add(l, &k, ret_id, now, err);
}

enum rc rollback_ask(struct ledger *l, const struct rollback_ask *ask, int64_t now,
                     char ret_id[ROLLBACK_ID_MAX], struct err *err)
{
    char id[ROLLBACK_ID_MAX] = "";
    struct str reason = str_trim(str_of(ask->reason));
    if (reason.n == 0 || reason.n > ROLLBACK_REASON_MAX)
        return err_set(err, RC_INVALID, "reason", "must have 1 to %d bytes", ROLLBACK_REASON_MAX);
    TRY(ledger_begin(l, err));
    TRY(end_tx(l, add_once(l, ask, now, id, err), err));
    memcpy(ret_id, id, sizeof id);
    return RC_OK;
}

/* ---- looking ----------------------------------------------------------------------------------- */

static enum rc read_rollback(struct arena *a, const struct query *q, struct rollback *ret,
                             struct err *err)
{
    struct rollback r = {.no = col_i64(q, 0),
                         .src_no = col_i64(q, 1),
                         .created_at = col_i64(q, 2),
                         .ended_at = col_time(q, 3),
                         .id = col_text(a, q, 4),
                         .delta_id = col_text(a, q, 5),
                         .reason = col_text(a, q, 6),
                         .by = col_text(a, q, 7),
                         .state = col_text(a, q, 8),
                         .event_id = col_text(a, q, 9),
                         .detail = col_text(a, q, 10)};
    if (!r.id || !r.delta_id || !r.reason || !r.by || !r.state || !r.event_id || !r.detail)
        return err_set(err, RC_NOMEM, "", "no memory for a rollback");
    *ret = r;
    return RC_OK;
}

enum rc rollback_get(struct ledger *l, struct arena *a, const char *id, struct rollback *ret,
                     struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_ROLLBACK_GET, &q, err, "t", id));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, rc, "rollback_id", "no such rollback");
    TRY(rc);
    return read_rollback(a, &q, ret, err);
}

enum rc rollback_each(struct ledger *l, int64_t max, rollback_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(arena_release) struct arena a;
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    arena_init(&a, 1 << 16);
    TRY(query_open(l, Q_ROLLBACK_LIST, &q, err, "i", max));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct rollback r;
        arena_reset(&a);
        TRY(read_rollback(&a, &q, &r, err));
        TRY(fn(ctx, &r, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* ---- claiming ---------------------------------------------------------------------------------- */

struct open_rollback {
    int64_t no, src_no;
    char id[ROLLBACK_ID_MAX], delta_id[DELTA_ID_MAX], level[16];
};

static enum rc next_open(struct ledger *l, const char *id, struct open_rollback *ret,
                         struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_ROLLBACK_OPEN, &q, err, "t", id));
    TRY(query_next(l, &q, err));
    ret->no = col_i64(&q, 0);
    ret->src_no = col_i64(&q, 1);
    col_copy(&q, 2, ret->id, sizeof ret->id);
    col_copy(&q, 3, ret->delta_id, sizeof ret->delta_id);
    col_copy(&q, 4, ret->level, sizeof ret->level);
    return RC_OK;
}

/* A candidate that nobody detected: it says which delta is to be reverted. */
static enum rc make_candidate(struct ledger *l, const struct open_rollback *o, int64_t now,
                              int64_t *ret_no, struct err *err)
{
    enum level level;
    char event[48];
    if (level_parse(o->level, &level) != RC_OK)
        return err_set(err, RC_CORRUPT, "", "a source has no level");
    TRY(enqueue_event_id(l, level, now, event, err));
    TRY(query_run(l, Q_INBOX_ADD, err, "tittthtiiim", event, o->src_no, OPERATOR, ROLLBACK_OUTCOME,
                  o->delta_id, (struct sha256 *)NULL, (char *)NULL, now, now, (int64_t)0,
                  (int64_t)-1));
    *ret_no = query_last_no(l);
    return query_run(l, Q_ROLLBACK_TAKE, err, "ii", o->no, *ret_no);
}

struct claim {
    const char *id, *owner;
    int64_t now, lease_ms;
    const struct run_tags *tags;
};

/* RC_CONFLICT: the oldest one may not be done any more, and is marked so. */
static enum rc claim(struct ledger *l, struct arena *a, const struct claim *c,
                     struct candidate *ret, char ret_run[37], bool *ret_refused, struct err *err)
{
    struct open_rollback o;
    struct rollback_plan p;
    int64_t no;
    bool resumed;
    TRY(next_open(l, c->id, &o, err));
    TRY(rollback_plan(l, o.delta_id, &p, err));
    if (rollback_allowed(&p, err) != RC_OK) {
        *ret_refused = true;
        return query_run(l, Q_ROLLBACK_REFUSE, err, "it", o.no, err->msg);
    }
    TRY(make_candidate(l, &o, c->now, &no, err));
    return inbox_claim_one(l, a, no, c->owner, c->now, c->lease_ms, c->tags, ret, ret_run, &resumed,
                           err);
}

enum rc rollback_claim(struct ledger *l, struct arena *a, const char *id, const char *owner,
                       int64_t now, int64_t lease_ms, const struct run_tags *tags,
                       struct candidate *ret, char ret_run[37], struct err *err)
{
    const struct claim c = {id, owner, now, lease_ms, tags};
    struct open_rollback o;
    for (;;) {
        struct candidate cand;
        char run[37];
        bool refused = false;
        TRY(next_open(l, id, &o, err)); /* without the lock: mostly there is none */
        TRY(ledger_begin(l, err));
        TRY(end_tx(l, claim(l, a, &c, &cand, run, &refused, err), err));
        if (refused)
            continue;
        *ret = cand;
        memcpy(ret_run, run, sizeof run);
        return RC_OK;
    }
}

static enum rc read_order(struct ledger *l, struct arena *a, int64_t cand_no,
                          struct rollback_order *o, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_ROLLBACK_ORDER, &q, err, "i", cand_no));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_CORRUPT, "", "a rollback has lost what it shall take back");
    TRY(rc);
    o->delta_id = col_text(a, &q, 0);
    o->reason = col_text(a, &q, 1);
    o->by = col_text(a, &q, 2);
    o->version = col_i64(&q, 3);
    o->size = col_i64(&q, 4);
    o->media_type = col_text(a, &q, 5);
    o->item_id = col_text(a, &q, 6);
    if (!o->delta_id || !o->reason || !o->by || !o->media_type || !o->item_id)
        return err_set(err, RC_NOMEM, "", "no memory for a rollback");
    if (o->version && hex_decode(col_view(&q, 7), o->sha.b, sizeof o->sha.b) != RC_OK)
        return err_set(err, RC_CORRUPT, "", "a stored delta has no digest");
    return RC_OK;
}

enum rc rollback_order(struct ledger *l, struct arena *a, int64_t cand_no,
                       struct rollback_order *ret, struct err *err)
{
    struct rollback_order o = {0};
    TRY(read_order(l, a, cand_no, &o, err));
    TRY(rollback_plan(l, o.delta_id, &o.plan, err));
    *ret = o;
    return RC_OK;
}

/* ---- blocks ------------------------------------------------------------------------------------ */

enum rc rollback_blocks(struct ledger *l, int64_t src_no, const struct sha256 *sha, bool *ret,
                        struct err *err)
{
    int64_t one;
    enum rc rc = sha ? query_i64(l, Q_BLOCKED, &one, err, "ih", src_no, sha)
                     : query_i64(l, Q_BLOCKED_GONE, &one, err, "i", src_no);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret = rc == RC_OK;
    return RC_OK;
}

static enum rc lift(struct ledger *l, int64_t src_no, int64_t now, int64_t *ret_n, struct err *err)
{
    char body[48];
    TRY(query_i64(l, Q_BLOCK_COUNT, ret_n, err, "i", src_no));
    if (*ret_n == 0)
        return RC_OK;
    int n = snprintf(body, sizeof body, "{\"lifted\":%lld}", (long long)*ret_n);
    TRY(query_run(l, Q_BLOCK_LIFT_ALL, err, "ii", src_no, now));
    TRY(check_forget(l, src_no, now, err));
    return replay_append(l, now, "rollback.lifted", src_no, "", (struct str){body, (size_t)n}, err);
}

enum rc rollback_lift(struct ledger *l, int64_t src_no, int64_t now, int64_t *ret_n,
                      struct err *err)
{
    int64_t n = 0;
    TRY(ledger_begin(l, err));
    TRY(end_tx(l, lift(l, src_no, now, &n, err), err));
    *ret_n = n;
    return RC_OK;
}

enum rc rollback_done(struct ledger *l, const char *run_id, const char *reverted, int64_t src_no,
                      const struct sha256 *sha, int64_t now, struct err *err)
{
    int64_t one;
    TRY(query_run(l, Q_LEDGER_REVERTED, err, "tt", reverted, run_id));
    enum rc rc = query_i64(l, Q_BLOCK_OF, &one, err, "t", reverted);
    if (rc == RC_OK)
        return query_run(l, Q_BLOCK_LIFT, err, "ti", reverted, now);
    if (rc != RC_NOT_FOUND)
        return rc;
    return query_run(l, Q_BLOCK_ADD, err, "tihi", run_id, src_no, sha, now);
}
