/* rollback: what may be taken back. */
#include "ledger/rollback.h"

#include "ledger/query.h"

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
        return err_set(err, rc, "delta", "no change has the delta %.*s", STR_CUT(delta_id, 200));
    TRY(rc);
    col_copy(&q, 0, p->run_id, sizeof p->run_id);
    p->src_no = col_i64(&q, 1);
    *ret_version = col_i64(&q, 2);
    return RC_OK;
}

/* Where the names go: the first few into the plan, all of them into a list where one is wanted. */
struct names {
    struct rollback_plan *plan;
    struct arena *a;
    struct rollback_list *list; /* NULL: none */
};

static enum rc list_add(struct arena *a, struct rollback_list *l, const char *delta_id,
                        struct err *err)
{
    l->more = l->n == ROLLBACK_FIRST_MAX;
    if (l->more)
        return RC_OK;
    if (!l->ids)
        l->ids = arena_zalloc(a, ROLLBACK_FIRST_MAX * sizeof *l->ids);
    if (!l->ids || !(l->ids[l->n] = arena_strdup(a, delta_id)))
        return err_set(err, RC_NOMEM, "", "no memory for a list of deltas");
    l->n++;
    return RC_OK;
}

static enum rc name_first(const struct names *to, const char *delta_id, struct err *err)
{
    struct rollback_plan *p = to->plan;
    if (p->n_first == ROLLBACK_NAMED_MAX)
        p->more = true;
    else
        snprintf(p->first[p->n_first++], DELTA_ID_MAX, "%s", delta_id);
    return to->list ? list_add(to->a, to->list, delta_id, err) : RC_OK;
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

static enum rc name_only(const struct names *to, const char *delta_id, struct err *err)
{
    to->plan->n_first = 0;
    to->plan->more = false;
    if (to->list)
        *to->list = (struct rollback_list){0};
    return name_first(to, delta_id, err);
}

static enum rc make_plan(struct ledger *l, const char *delta_id, const struct names *to,
                         struct err *err)
{
    struct rollback_plan *p = to->plan;
    struct step s = {0};
    int64_t version = 0, at = 0;
    TRY(find_change(l, delta_id, p, &version, err));
    TRY(query_i64(l, Q_HEAD_VERSION, &at, err, "i", p->src_no));
    for (; !s.found && at >= version; at = s.below) {
        TRY(read_step(l, p, at, &s, err));
        if (!s.found && !s.jumps)
            TRY(name_first(to, s.delta_id, err));
    }
    if (!s.found) /* the last step was over it */
        TRY(name_only(to, s.delta_id, err));
    p->verdict = !s.found ? ROLLBACK_OVER : p->n_first ? ROLLBACK_BEHIND : ROLLBACK_READY;
    return RC_OK;
}

enum rc rollback_plan(struct ledger *l, const char *delta_id, struct rollback_plan *ret,
                      struct err *err)
{
    struct rollback_plan p = {.verdict = ROLLBACK_READY};
    const struct names to = {.plan = &p};
    TRY(make_plan(l, delta_id, &to, err));
    *ret = p;
    return RC_OK;
}

enum rc rollback_first(struct ledger *l, struct arena *a, const char *delta_id,
                       struct rollback_list *ret, struct err *err)
{
    struct rollback_plan p = {.verdict = ROLLBACK_READY};
    struct rollback_list list = {0};
    const struct names to = {&p, a, &list};
    TRY(make_plan(l, delta_id, &to, err));
    list.src_no = p.src_no;
    *ret = list;
    return RC_OK;
}

/* Down from the head. What a rollback would do is stood over by the next step, so one pass finds
 * all: a plain change goes, and so does a rollback that reaches below the change; any other is
 * stepped over. */
enum rc rollback_way(struct ledger *l, struct arena *a, const char *delta_id,
                     struct rollback_list *ret, struct err *err)
{
    struct rollback_plan p = {.verdict = ROLLBACK_READY};
    struct rollback_list list = {0};
    struct step s = {0};
    int64_t version = 0, at = 0;
    TRY(find_change(l, delta_id, &p, &version, err));
    TRY(query_i64(l, Q_HEAD_VERSION, &at, err, "i", p.src_no));
    while (at >= version && !list.more) {
        TRY(read_step(l, &p, at, &s, err));
        if (s.found)
            break;
        bool goes = !s.jumps || s.below < version;
        if (goes)
            TRY(list_add(a, &list, s.delta_id, err));
        at = goes ? at - 1 : s.below;
    }
    list.src_no = p.src_no;
    *ret = list;
    return RC_OK;
}

const char *rollback_delta(struct arena *a, const char *name)
{
    return strncmp(name, "man_", 4) == 0 ? arena_printf(a, DELTA_PREFIX "%s", name + 4) : name;
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
