/* rollback_run: claiming a rollback, what it brings back, and what is blocked since. */
#include "ledger/enqueue.h"
#include "ledger/query.h"
#include "ledger/rollback.h"
#include "ledger/runs.h"

#define OPERATOR "operator" /* who found a rollback, where others name their detector */

/* ---- claiming -------------------------------------------------------------------------------- */

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
static enum rc add_candidate(struct ledger *l, const struct open_rollback *o, const char *event,
                             int64_t now, int64_t *ret_no, struct err *err)
{
    char body[128];
    int n = snprintf(body, sizeof body, "{\"rollback\":\"%s\"}", o->id);
    TRY(query_run(l, Q_INBOX_ADD, err, "tittthtiiim", event, o->src_no, OPERATOR, ROLLBACK_OUTCOME,
                  o->delta_id, (struct sha256 *)NULL, (char *)NULL, now, now, (int64_t)0,
                  (int64_t)-1));
    *ret_no = query_last_no(l);
    TRY(query_run(l, Q_ROLLBACK_TAKE, err, "ii", o->no, *ret_no));
    return replay_append(l, now, "rollback.taken", o->src_no, event, (struct str){body, (size_t)n},
                         err);
}

static enum rc make_candidate(struct ledger *l, const struct open_rollback *o, int64_t now,
                              int64_t *ret_no, struct err *err)
{
    enum level level;
    char event[48];
    if (level_parse(o->level, &level) != RC_OK)
        return err_set(err, RC_CORRUPT, "", "a source has no level");
    TRY(enqueue_event_id(l, level, now, event, err));
    return add_candidate(l, o, event, now, ret_no, err);
}

enum rc rollback_take_again(struct ledger *l, const char *id, const char *event, int64_t now,
                            struct err *err)
{
    struct open_rollback o;
    int64_t no;
    TRY(next_open(l, id, &o, err));
    TRY(ledger_begin(l, err));
    return ledger_end(l, add_candidate(l, &o, event, now, &no, err), err);
}

struct claim {
    const char *id, *owner;
    int64_t now, lease_ms;
    const struct run_tags *tags;
};

/* The candidate to claim, made where it must be. 0: what was next may not be done any more, and is
 * marked so. */
static enum rc choose(struct ledger *l, const struct claim *c, int64_t *ret_no, struct err *err)
{
    struct open_rollback o;
    struct rollback_plan p;
    enum rc rc = c->id ? RC_NOT_FOUND : query_i64(l, Q_ROLLBACK_LEFT, ret_no, err, "i", c->now);
    if (rc != RC_NOT_FOUND)
        return rc;
    TRY(next_open(l, c->id, &o, err));
    TRY(rollback_plan(l, o.delta_id, &p, err));
    if (rollback_allowed(&p, err) == RC_OK)
        return make_candidate(l, &o, c->now, ret_no, err);
    *ret_no = 0;
    return query_run(l, Q_ROLLBACK_REFUSE, err, "it", o.no, err->msg);
}

static enum rc claim(struct ledger *l, struct arena *a, const struct claim *c,
                     struct candidate *ret, char ret_run[37], bool *ret_refused, struct err *err)
{
    int64_t no = 0;
    bool resumed;
    TRY(choose(l, c, &no, err));
    *ret_refused = no == 0;
    if (no == 0)
        return RC_OK;
    return inbox_claim_one(l, a, no, c->owner, c->now, c->lease_ms, c->tags, ret, ret_run, &resumed,
                           err);
}

/* Without the lock: mostly there is none. */
static enum rc look(struct ledger *l, const struct claim *c, struct err *err)
{
    struct open_rollback o;
    int64_t no;
    enum rc rc = c->id ? RC_NOT_FOUND : query_i64(l, Q_ROLLBACK_LEFT, &no, err, "i", c->now);
    return rc == RC_NOT_FOUND ? next_open(l, c->id, &o, err) : rc;
}

enum rc rollback_waits(struct ledger *l, int64_t now, bool *ret, struct err *err)
{
    const struct claim c = {.now = now};
    enum rc rc = look(l, &c, err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret = rc == RC_OK;
    return RC_OK;
}

enum rc rollback_claim(struct ledger *l, struct arena *a, const char *id, const char *owner,
                       int64_t now, int64_t lease_ms, const struct run_tags *tags,
                       struct candidate *ret, char ret_run[37], struct err *err)
{
    const struct claim c = {id, owner, now, lease_ms, tags};
    for (;;) {
        struct candidate cand;
        char run[37];
        bool refused = false;
        TRY(look(l, &c, err));
        TRY(ledger_begin(l, err));
        TRY(ledger_end(l, claim(l, a, &c, &cand, run, &refused, err), err));
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
    o->reverted_item_id = col_text(a, &q, 8);
    o->reverted_version = col_i64(&q, 9);
    if (!o->delta_id || !o->reason || !o->by || !o->media_type || !o->item_id ||
        !o->reverted_item_id)
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

/* ---- blocks ---------------------------------------------------------------------------------- */

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

enum rc rollback_blocked_qa(struct ledger *l, int64_t src_no, rollback_qa_fn *fn, void *ctx,
                            struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_BLOCKED_QA, &q, err, "ii", src_no, (int64_t)ROLLBACK_BLOCKS_MAX));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        rc = fn(ctx, col_view(&q, 0), err);
        if (rc != RC_OK)
            return rc == RC_GONE ? RC_OK : rc;
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
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
