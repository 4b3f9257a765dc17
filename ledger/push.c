/* push: first all that is known of an event is read, then the verdict, then what it writes. The way
 * of an event is in the header. */
#include "ledger/push.h"

#include "ledger/calendar.h"
#include "ledger/enqueue.h"
#include "ledger/notice.h"
#include "ledger/query.h"

#define SCOPE_MAX 32
#define FORGET_MAX 5000 /* rows in one transaction: the lock is not held for long */

static const char *const public_results[PUSH_ENDS] = {
    [PUSH_ACCEPTED] = "accepted", [PUSH_CONFLICT] = "conflict"};

static void scope_of(const struct source *s, char out[SCOPE_MAX])
{
    snprintf(out, SCOPE_MAX, "hook/%lld", (long long)s->no);
}

/* ---- was it told before? --------------------------------------------------------------------- */

/* RC_NOT_FOUND: the id is new. */
static enum rc find_id(struct ledger *l, const struct source *s, const struct push_event *e,
                       struct sha256 *ret, struct err *err)
{
    char scope[SCOPE_MAX];
    CLEANUP(query_close) struct query q = {0};
    scope_of(s, scope);
    TRY(query_open(l, Q_NONCE_GET, &q, err, "ts", scope, e->id));
    TRY(query_next(l, &q, err));
    return col_sha(&q, 0, ret) ? RC_OK : err_set(err, RC_CORRUPT, "", "an event id has no digest");
}

/* Padded on the right with zeros and compared as text: so S3 says of its sequencer. */
static int compare(struct str a, struct str b)
{
    size_t n = a.n > b.n ? a.n : b.n;
    for (size_t i = 0; i < n; i++) {
        int x = i < a.n ? (unsigned char)a.p[i] : '0', y = i < b.n ? (unsigned char)b.p[i] : '0';
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

/* Where an event stands in the order of its object. An object of which nothing is known (any more)
 * has lost whatever came before. */
struct place {
    bool stale, gap;
};

static enum rc place_of(struct ledger *l, const struct source *s, const struct push_event *e,
                        struct place *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    *ret = (struct place){.gap = e->after.n > 0};
    if (e->sequence.n == 0)
        return RC_OK;
    TRY(query_open(l, Q_PUSH_OBJECT, &q, err, "is", s->no, e->object));
    enum rc rc = query_next(l, &q, err);
    if (rc == RC_OK) {
        struct str last = col_view(&q, 0);
        ret->stale = compare(e->sequence, last) <= 0;
        ret->gap = ret->gap && !str_starts(last, e->after);
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* What is known of an event before it is taken. */
struct verdict {
    enum push_end end;   /* PUSH_ACCEPTED: neither told before nor late */
    struct sha256 first; /* the digest under this id, when it was told before */
    bool gap;            /* of an accepted one */
};

static enum rc judge(struct ledger *l, const struct source *s, const struct push_event *e,
                     struct verdict *ret, struct err *err)
{
    struct place place;
    enum rc rc = find_id(l, s, e, &ret->first, err);
    if (rc == RC_OK) {
        ret->end = sha256_eq(&ret->first, &e->digest) ? PUSH_DUPLICATE : PUSH_CONFLICT;
        return RC_OK;
    }
    if (rc != RC_NOT_FOUND)
        return rc;
    TRY(place_of(l, s, e, &place, err));
    ret->end = place.stale ? PUSH_STALE : PUSH_ACCEPTED;
    ret->gap = place.gap && !place.stale;
    return RC_OK;
}

enum rc push_is_old(struct ledger *l, const struct source *s, const struct push_event *e, bool *ret,
                    enum push_end *ret_end, struct err *err)
{
    struct verdict v = {0};
    TRY(judge(l, s, e, &v, err));
    *ret_end = v.end;
    *ret = v.end == PUSH_DUPLICATE || v.end == PUSH_STALE;
    return RC_OK;
}

/* ---- who gets the news ----------------------------------------------------------------------- */

static enum rc look_at(struct ledger *l, const struct source *s, int64_t now, struct err *err)
{
    if (source_is_template(s))
        return query_run(l, Q_PUSH_DUE_CHILDREN, err, "ii", s->no, now);
    return query_run(l, Q_PUSH_DUE, err, "ii", s->no, now);
}

/* What was lost stands in the source, or in the listing that names it. */
static enum rc look_after_gap(struct ledger *l, struct arena *a, const struct source *s,
                              int64_t now, struct err *err)
{
    struct source parent;
    TRY(look_at(l, s, now, err));
    if (s->parent_no == 0)
        return RC_OK;
    TRY(source_by_no(l, a, s->parent_no, &parent, err));
    return look_at(l, &parent, now, err);
}

/* The entry of a listing that the object is: by its whole name, or without the bucket before it. */
static enum rc find_entry(struct ledger *l, struct arena *a, const struct source *s,
                          struct str object, struct source *ret, struct err *err)
{
    const char *name = arena_str(a, object);
    const char *slash = name ? strchr(name, '/') : NULL;
    if (!name)
        return err_set(err, RC_NOMEM, "", "no memory for a name");
    enum rc rc = source_child(l, a, s->no, name, ret, err);
    if (rc == RC_NOT_FOUND && slash)
        rc = source_child(l, a, s->no, slash + 1, ret, err);
    if (rc == RC_OK && (ret->retired_at >= 0 || source_is_unlisted(ret)))
        return RC_NOT_FOUND;
    return rc;
}

static enum rc add_candidate(struct ledger *l, struct arena *a, const struct source *s,
                             const char *detector, const struct push_event *e, int64_t now,
                             struct err *err)
{
    char event[48];
    int64_t deleted = 0;
    enum rc rc = query_i64(l, Q_PUSH_HEAD, &deleted, err, "i", s->no);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    bool first = rc == RC_NOT_FOUND;
    struct str hint = e->version.n ? e->version : e->sequence.n ? e->sequence : STR("pushed");
    struct news n = {.src_no = s->no,
                     .level = s->level,
                     .detector = detector,
                     .outcome = first ? OUTCOME_new : OUTCOME_changed,
                     .hint = arena_str(a, hint),
                     .detected_at = now,
                     .unexpected = !first && !calendar_expects(s, now)};
    if (!n.hint)
        return err_set(err, RC_NOMEM, "", "no memory for a candidate");
    return enqueue(l, &n, now, event, err);
}

static enum rc tell(struct ledger *l, struct arena *a, const struct source *s, const char *detector,
                    const struct push_event *e, int64_t now, struct err *err)
{
    struct source entry;
    if (e->look || source_is_template(s))
        return look_at(l, s, now, err);
    if (!source_is_listing(s))
        return add_candidate(l, a, s, detector, e, now, err);
    enum rc rc = e->object.n ? find_entry(l, a, s, e->object, &entry, err) : RC_NOT_FOUND;
    if (rc == RC_NOT_FOUND)
        return look_at(l, s, now, err);
    TRY(rc);
    return add_candidate(l, a, &entry, detector, e, now, err);
}

/* ---- subscriptions --------------------------------------------------------------------------- */

enum rc push_confirm(struct ledger *l, const struct source *s, const char *url, int64_t now,
                     struct err *err)
{
    int64_t open = 0;
    TRY(query_i64(l, Q_PUSH_CONFIRM_OPEN, &open, err, "i", s->no));
    if (open >= PUSH_CONFIRMS_MAX)
        return err_set(err, RC_FULL, "", "Too many subscriptions of this source wait already.");
    return query_run(l, Q_PUSH_CONFIRM_ADD, err, "iti", s->no, url, now);
}

/* ---- taking in ------------------------------------------------------------------------------- */

static enum rc count(struct ledger *l, const struct source *s, enum push_end end, struct err *err)
{
    if (s->level >= LEVEL_RESTRICTED)
        return RC_OK;
    return query_run(l, Q_PUSH_PUBLIC, err, "t", public_results[end]);
}

static enum rc remember_id(struct ledger *l, const struct source *s, const struct push_event *e,
                           int64_t now, struct err *err)
{
    char scope[SCOPE_MAX];
    scope_of(s, scope);
    return query_run(l, Q_NONCE_ADD, err, "tshtim", scope, e->id, &e->digest, "", now,
                     e->keep_until);
}

static enum rc remember(struct ledger *l, const struct source *s, const struct push_event *e,
                        int64_t now, struct err *err)
{
    TRY(remember_id(l, s, e, now, err));
    if (e->sequence.n)
        TRY(query_run(l, Q_PUSH_OBJECT_SET, err, "issi", s->no, e->object, e->sequence,
                      e->keep_until));
    TRY(query_run(l, Q_PUSH_HEARD, err, "ii", s->no, now));
    return count(l, s, PUSH_ACCEPTED, err);
}

static enum rc quarantine(struct ledger *l, const struct source *s, const struct push_event *e,
                          const struct sha256 *first, int64_t now, struct err *err)
{
    int64_t times;
    TRY(query_i64(l, Q_PUSH_CONFLICT, &times, err, "ishhi", s->no, e->id, first, &e->digest, now));
    if (times == 1)
        TRY(notice_put(l, NOTICE_conflict, s->no, "", "SAME_ID", now, err));
    return count(l, s, PUSH_CONFLICT, err);
}

enum rc push_take(struct ledger *l, struct arena *a, const struct source *s, const char *detector,
                  const struct push_event *e, int64_t now, enum push_end *ret, struct err *err)
{
    struct verdict v = {0};
    TRY(ledger_need_tx(l, err));
    TRY(judge(l, s, e, &v, err));
    if (v.end == PUSH_ACCEPTED && e->confirm) {
        TRY(push_confirm(l, s, e->confirm, now, err));
        TRY(remember_id(l, s, e, now, err));
    } else if (v.end == PUSH_ACCEPTED) {
        if (v.gap)
            TRY(look_after_gap(l, a, s, now, err));
        TRY(tell(l, a, s, detector, e, now, err));
        TRY(remember(l, s, e, now, err));
    }
    if (v.end == PUSH_CONFLICT)
        TRY(quarantine(l, s, e, &v.first, now, err));
    *ret = v.end;
    return RC_OK;
}

/* ---- confirmations --------------------------------------------------------------------------- */

enum rc push_confirm_next(struct ledger *l, int64_t now, struct push_confirmation *ret,
                          struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_PUSH_CONFIRM_NEXT, &q, err, "i", now));
    TRY(query_next(l, &q, err));
    *ret = (struct push_confirmation){
        .no = col_i64(&q, 0), .src_no = col_i64(&q, 1), .attempts = col_i64(&q, 3)};
    col_copy(&q, 2, ret->url, sizeof ret->url);
    return RC_OK;
}

enum rc push_confirm_again(struct ledger *l, int64_t no, int64_t next_at, const char *detail,
                           struct err *err)
{
    TRY(ledger_begin(l, err));
    return ledger_end(l, query_run(l, Q_PUSH_CONFIRM_AGAIN, err, "iit", no, next_at, detail), err);
}

enum rc push_confirm_end(struct ledger *l, int64_t no, bool done, const char *detail, int64_t now,
                         struct err *err)
{
    TRY(ledger_begin(l, err));
    return ledger_end(
        l, query_run(l, Q_PUSH_CONFIRM_END, err, "itti", no, done ? "done" : "failed", detail, now),
        err);
}

/* ---- for people ------------------------------------------------------------------------------ */

enum rc push_state_get(struct ledger *l, int64_t src_no, struct push_state *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_PUSH_STATE, &q, err, "i", src_no));
    TRY(query_next(l, &q, err));
    *ret = (struct push_state){.accepted = col_i64(&q, 0),
                               .last_at = col_time(&q, 1),
                               .conflicts = col_i64(&q, 2),
                               .confirm_attempts = col_i64(&q, 5),
                               .confirm_asked_at = col_time(&q, 6),
                               .confirm_next_at = col_time(&q, 7)};
    col_copy(&q, 3, ret->confirm, sizeof ret->confirm);
    col_copy(&q, 4, ret->confirm_detail, sizeof ret->confirm_detail);
    return RC_OK;
}

enum rc push_sources(struct ledger *l, source_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    CLEANUP(arena_release) struct arena a = {0};
    enum rc rc;
    arena_init(&a, SOURCE_MEMORY_MAX);
    TRY(query_open(l, Q_PUSH_SOURCES, &q, err, ""));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct source s;
        arena_reset(&a);
        TRY(source_by_no(l, &a, col_i64(&q, 0), &s, err));
        TRY(fn(ctx, &s, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc push_conflicts(struct ledger *l, int64_t src_no, int64_t max, push_conflict_fn *fn,
                       void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_PUSH_CONFLICTS, &q, err, "ii", src_no, max));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct push_conflict c = {.no = col_i64(&q, 0),
                                  .src_no = col_i64(&q, 1),
                                  .event_id = col_view(&q, 2),
                                  .at = col_time(&q, 5),
                                  .last_at = col_time(&q, 6),
                                  .times = col_i64(&q, 7)};
        if (!col_sha(&q, 3, &c.first_sha) || !col_sha(&q, 4, &c.sha))
            return err_set(err, RC_CORRUPT, "", "a conflict has no digest");
        TRY(fn(ctx, &c, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc push_conflict_count(struct ledger *l, int64_t *ret, struct err *err)
{
    return query_i64(l, Q_PUSH_CONFLICT_COUNT, ret, err, "");
}

enum rc push_conflict_drop(struct ledger *l, int64_t no, struct err *err)
{
    int64_t src_no;
    TRY(ledger_begin(l, err));
    enum rc rc = query_i64(l, Q_PUSH_CONFLICT_DROP, &src_no, err, "i", no);
    if (rc == RC_NOT_FOUND)
        rc = err_set(err, rc, "", "no conflict has the number %lld", (long long)no);
    return ledger_end(l, rc, err);
}

/* ---- forgetting ------------------------------------------------------------------------------ */

enum rc push_forget(struct ledger *l, int64_t now, struct err *err)
{
    int64_t any;
    enum rc rc;
    while ((rc = query_i64(l, Q_PUSH_FORGET_ANY, &any, err, "i", now)) == RC_OK) {
        TRY(ledger_begin(l, err));
        rc = query_run(l, Q_PUSH_FORGET_IDS, err, "ii", now, (int64_t)FORGET_MAX);
        if (rc == RC_OK)
            rc = query_run(l, Q_PUSH_FORGET_OBJECTS, err, "ii", now, (int64_t)FORGET_MAX);
        TRY(ledger_end(l, rc, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}
