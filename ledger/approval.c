/* approval: decisions of people about what waits. */
#include "ledger/approval.h"

#include "ledger/query.h"

/* What an id names, as it is inside the transaction. */
struct subject {
    bool level;
    int64_t no, src_no; /* candidate or request */
    char run_id[37], asked_by[PERSON_MAX + 1];
    bool open;
    bool stale;     /* the level is not what it was when this was asked for */
    bool overtaken; /* overtake.h */
};

static bool is_level(const char *id)
{
    return str_starts(str_of(id), STR("lvl_"));
}

static enum rc find(struct ledger *l, const char *id, struct subject *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    bool level = is_level(id);
    TRY(query_open(l, level ? Q_LEVEL_FIND : Q_HELD_FIND, &q, err, "t", id));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, rc, "event", "nothing that waits, or ever waited, has this id");
    TRY(rc);
    *ret = (struct subject){.level = level,
                            .no = col_i64(&q, 0),
                            .src_no = col_i64(&q, 1),
                            .open = col_i64(&q, 2) != 0};
    col_copy(&q, 3, ret->asked_by, sizeof ret->asked_by);
    col_copy(&q, 4, ret->run_id, sizeof ret->run_id);
    ret->stale = col_i64(&q, 5) != 0;
    ret->overtaken = col_i64(&q, 6) != 0;
    return RC_OK;
}

enum rc approval_source(struct ledger *l, const char *id, int64_t *ret_src, struct err *err)
{
    struct subject s;
    TRY(find(l, id, &s, err));
    *ret_src = s.src_no;
    return RC_OK;
}

/* ---- who may --------------------------------------------------------------------------------- */

static enum rc refuse_author(struct ledger *l, int64_t src_no, const char *reviewer,
                             struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    char author[PERSON_MAX + 1];
    enum rc rc;
    TRY(query_open(l, Q_SOURCE_AUTHORS, &q, err, "i", src_no));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        col_copy(&q, 0, author, sizeof author);
        if (policy_same_person(reviewer, author))
            return err_set(err, RC_WRONG_PERSON, "reviewer",
                           "declared or changed the source: somebody else must decide");
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc approval_person(struct ledger *l, const struct policy *policy, const struct source *s,
                        const char *reviewer, struct err *err)
{
    const struct policy_level *rule = &policy->levels[s->level];
    TRY(refuse_author(l, s->no, reviewer, err));
    bool steward = rule->approval == APPROVAL_STEWARD || s->level == LEVEL_SOVEREIGN;
    if (steward && !policy_is_steward(policy, s, reviewer))
        return err_set(err, RC_WRONG_PERSON, "reviewer",
                       "is no steward of it: only those that \"stewards\" of " POLICY_FILE
                       " names for the source or its collection decide");
    return RC_OK;
}

static enum rc check_person(struct ledger *l, const struct approval_ask *ask,
                            const struct subject *x, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct source s;
    arena_init(&a, SOURCE_MEMORY_MAX);
    TRY(source_by_no(l, &a, x->src_no, &s, err));
    if (policy_same_person(ask->reviewer, x->asked_by))
        return err_set(err, RC_WRONG_PERSON, "reviewer", "asked for it: somebody else must decide");
    return approval_person(l, ask->policy, &s, ask->reviewer, err);
}

static enum rc refuse_superseded(struct ledger *l, const struct subject *x, struct err *err)
{
    int64_t head = 0;
    enum rc rc = query_i64(l, Q_HEAD_CANDIDATE, &head, err, "i", x->src_no);
    if (rc == RC_OK && head > x->no)
        return err_set(err, RC_CONFLICT, "event",
                       "a newer version was promoted since: reject this one");
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* ---- deciding -------------------------------------------------------------------------------- */

static enum rc write(struct ledger *l, const struct approval_ask *ask, const struct subject *x,
                     int64_t now, struct err *err)
{
    const char *word = ask->approve ? "approve" : "reject";
    if (x->level) {
        TRY(query_run(l, Q_LEVEL_DECIDE, err, "ittti", x->no, word, ask->reviewer, ask->note, now));
        return approval_log(l, ask->approve ? "level.approve" : "level.reject", x->src_no, ask->id,
                            ask->reviewer, ask->note, now, err);
    }
    TRY(query_run(l, Q_APPROVAL_ADD, err, "ttttti", ask->id, x->run_id, word, ask->reviewer,
                  ask->note, now));
    TRY(approval_log(l, word, x->src_no, ask->id, ask->reviewer, ask->note, now, err));
    return query_run(l, Q_HELD_FREE, err, "ii", x->no, now);
}

static enum rc decide(struct ledger *l, const struct approval_ask *ask, int64_t now,
                      struct err *err)
{
    struct subject x;
    char old[48];
    bool repeated = false;
    TRY(request_key_find(l, &ask->key, old, &repeated, err));
    if (repeated)
        return RC_OK;
    TRY(find(l, ask->id, &x, err));
    if (x.overtaken)
        return err_set(err, RC_CONFLICT, "event",
                       "superseded: a later look at the source settled what its head is");
    if (!x.open)
        return err_set(err, RC_CONFLICT, "event", "this is not held: nothing is to be decided");
    if (ask->approve && x.stale)
        return err_set(err, RC_CONFLICT, "event",
                       "the level is another since this was asked for: reject it, and ask again");
    if (ask->policy)
        TRY(check_person(l, ask, &x, err));
    if (ask->approve && !x.level)
        TRY(refuse_superseded(l, &x, err));
    TRY(write(l, ask, &x, now, err));
    return request_key_add(l, &ask->key, ask->id, now, err);
}

enum rc approval_decide(struct ledger *l, const struct approval_ask *ask, int64_t now,
                        struct err *err)
{
    TRY(policy_check_text("reviewer", ask->reviewer, PERSON_MAX, err));
    TRY(policy_check_text("note", ask->note, NOTE_MAX, err));
    TRY(ledger_begin(l, err));
    return ledger_end(l, decide(l, ask, now, err), err);
}

/* ---- looking --------------------------------------------------------------------------------- */

enum rc approval_each(struct ledger *l, int64_t max, waiting_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    arena_init(&a, 1 << 20);
    TRY(query_open(l, Q_WAITING, &q, err, "i", max));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        arena_reset(&a);
        const struct waiting w = {.id = col_text(&a, &q, 0),
                                  .kind = col_text(&a, &q, 1),
                                  .reason = col_text(&a, &q, 2),
                                  .detail = col_text(&a, &q, 3),
                                  .author = col_text(&a, &q, 4),
                                  .src_no = col_i64(&q, 5),
                                  .since = col_i64(&q, 6)};
        if (!w.id || !w.kind || !w.reason || !w.detail || !w.author)
            return err_set(err, RC_NOMEM, "", "no memory for what waits");
        TRY(fn(ctx, &w, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}
