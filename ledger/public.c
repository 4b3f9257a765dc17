/* public: everything the api reads. */
#include "ledger/public.h"

#include <math.h>
#include "core/json.h"
#include "ledger/query.h"

#define ROW_ARENA (1u << 16)

/* A row that must be there for the request to make sense. */
static enum rc one_row(struct ledger *l, struct query *q, struct err *err)
{
    enum rc rc = query_next(l, q, err);
    return rc == RC_NOT_FOUND ? err_set(err, RC_NOT_FOUND, "", "Nothing is known under this name.")
                              : rc;
}

enum rc public_meta_get(struct ledger *l, struct arena *a, struct public_meta *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_R_META, &q, err, ""));
    TRY(one_row(l, &q, err));
    *ret = (struct public_meta){.generation = col_i64(&q, 0),
                                .changed_at = col_i64(&q, 1),
                                .last_seq = col_i64(&q, 2),
                                .first_seq = col_i64(&q, 3),
                                .policy_version = col_text(a, &q, 4)};
    return ret->policy_version ? RC_OK : err_set(err, RC_NOMEM, "", "no memory");
}

static enum rc read_doc(struct ledger *l, struct arena *a, struct query *q, struct public_doc *ret,
                        struct err *err)
{
    TRY(one_row(l, q, err));
    struct public_doc d = {.doc = col_str(a, q, 0), .gen = col_i64(q, 1), .at = col_i64(q, 2)};
    if (!d.doc.p)
        return err_set(err, RC_NOMEM, "", "no memory for a document");
    *ret = d;
    return RC_OK;
}

static enum rc get_doc(struct ledger *l, struct arena *a, enum stmt_id id, struct str key,
                       struct public_doc *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, id, &q, err, "s", key));
    return read_doc(l, a, &q, ret, err);
}

enum rc public_prov_get(struct ledger *l, struct arena *a, struct str run_id,
                        struct public_doc *ret, struct err *err)
{
    return get_doc(l, a, Q_R_PROV, run_id, ret, err);
}

enum rc public_prov_each(struct ledger *l, struct str source_id, struct str before, int64_t limit,
                         public_prov_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_R_PROV_OF, &q, err, "ssi", source_id, before, limit));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct public_doc d = {.doc = col_view(&q, 1), .gen = col_i64(&q, 2), .at = col_i64(&q, 3)};
        TRY(fn(ctx, col_view(&q, 0), &d, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc public_delta_get(struct ledger *l, struct arena *a, struct str delta_id,
                         struct public_doc *ret, struct err *err)
{
    return get_doc(l, a, Q_R_DELTA, delta_id, ret, err);
}

/* ---- feed ------------------------------------------------------------------------------------ */

enum rc public_change_get(struct ledger *l, struct arena *a, struct str event_id,
                          struct public_change *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_R_CHANGE, &q, err, "s", event_id));
    TRY(one_row(l, &q, err));
    struct public_change c = {.seq = col_i64(&q, 0),
                              .finalized_at = col_i64(&q, 1),
                              .gen = col_i64(&q, 2),
                              .doc = col_str(a, &q, 3)};
    if (!c.doc.p)
        return err_set(err, RC_NOMEM, "", "no memory for a document");
    *ret = c;
    return RC_OK;
}

/* Hands out rows as views: the page is rendered without a copy in between. */
static enum rc hand_out(struct ledger *l, struct query *q, public_change_fn *fn, void *ctx,
                        int64_t *last, struct err *err)
{
    enum rc rc;
    while ((rc = query_next(l, q, err)) == RC_OK) {
        struct public_change c = {.seq = col_i64(q, 0),
                                  .finalized_at = col_i64(q, 1),
                                  .gen = col_i64(q, 2),
                                  .doc = col_view(q, 3)};
        TRY(fn(ctx, &c, err));
        *last = c.seq;
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* Along which index: rows up, rows down, left above, left below. */
static const enum stmt_id by_source[] = {Q_R_CHANGES_UP_OF, Q_R_CHANGES_DOWN_OF, Q_R_PENDING_UP_OF,
                                         Q_R_PENDING_DOWN_OF},
                          by_collection[] = {Q_R_CHANGES_UP_IN, Q_R_CHANGES_DOWN_IN,
                                             Q_R_PENDING_UP_IN, Q_R_PENDING_DOWN_IN},
                          by_none[] = {Q_R_CHANGES_UP_LIKE, Q_R_CHANGES_DOWN_LIKE,
                                       Q_R_PENDING_UP_LIKE, Q_R_PENDING_DOWN_LIKE};

static enum rc open_filtered(struct ledger *l, const struct public_change_query *q, bool count,
                             int64_t after, struct query *ret, struct err *err)
{
    static const struct public_change_filter none = {
        .from = PUBLIC_OPEN, .until = PUBLIC_OPEN, .unexpected = -1};
    const struct public_change_filter *f = q->filter ? q->filter : &none;
    const enum stmt_id *by = q->n_sources ? by_source : q->n_collections ? by_collection : by_none;
    bool bounded = by == by_none && !count && !q->descending;
    double box[4];
    for (int i = 0; i < 4; i++)
        box[i] = f->has_bbox ? f->bbox[i] : NAN; /* which SQLite takes for NULL */
    TRY(query_open(l, by[2 * count + q->descending], ret, err,
                   bounded ? "imttttoomddddi" : "imttttoomdddd", after, count ? -1 : q->limit,
                   q->n_sources ? f->collections : NULL, f->types, f->classes, f->detectors,
                   f->from, f->until, (int64_t)f->unexpected, box[0], box[1], box[2], box[3],
                   q->until ? q->until : INT64_MAX));
    if (q->n_sources)
        query_bind_list(ret, CHANGE_LIST_FIRST, PUBLIC_LIST_MAX, q->sources, q->n_sources);
    else if (q->n_collections)
        query_bind_list(ret, CHANGE_LIST_FIRST, PUBLIC_LIST_MAX, q->collections, q->n_collections);
    return RC_OK;
}

static enum rc changes_filtered(struct ledger *l, const struct public_change_query *q,
                                public_change_fn *fn, void *ctx, int64_t *ret_pending,
                                struct err *err)
{
    int64_t last = q->after;
    if (q->n_sources > PUBLIC_LIST_MAX || q->n_collections > PUBLIC_LIST_MAX)
        return err_set(err, RC_INVALID, q->n_sources > PUBLIC_LIST_MAX ? "source" : "collection",
                       "takes at most %d ids", PUBLIC_LIST_MAX);
    {
        CLEANUP(query_close) struct query rows = {0};
        TRY(open_filtered(l, q, false, q->after, &rows, err));
        TRY(hand_out(l, &rows, fn, ctx, &last, err));
    }
    if (!ret_pending)
        return RC_OK;
    CLEANUP(query_close) struct query left = {0};
    TRY(open_filtered(l, q, true, last, &left, err));
    TRY(query_next(l, &left, err));
    *ret_pending = col_i64(&left, 0);
    return RC_OK;
}

enum rc public_changes(struct ledger *l, const struct public_change_query *q, public_change_fn *fn,
                       void *ctx, int64_t *ret_pending, struct err *err)
{
    int64_t last = q->after;
    if (q->n_sources || q->n_collections || q->filter)
        return changes_filtered(l, q, fn, ctx, ret_pending, err);
    {
        CLEANUP(query_close) struct query rows = {0};
        TRY(query_open(l, q->descending ? Q_R_CHANGES_DOWN : Q_R_CHANGES_UP, &rows, err, "ii",
                       q->after, q->limit));
        TRY(hand_out(l, &rows, fn, ctx, &last, err));
    }
    if (!ret_pending)
        return RC_OK;
    return query_i64(l, q->descending ? Q_R_PENDING_DOWN : Q_R_PENDING_UP, ret_pending, err, "i",
                     last);
}

/* Columns of TAIL. */
static struct public_change_facts view_facts(const struct query *q)
{
    return (struct public_change_facts){
        .source_id = col_view(q, 4),
        .collection = col_view(q, 5),
        .type = col_view(q, 6),
        .class = col_view(q, 7),
        .detector = col_view(q, 8),
        .finalized_at = col_i64(q, 1),
        .unexpected = col_null(q, 9) ? -1 : (int)col_i64(q, 9),
        .has_bbox = !col_null(q, 10),
        .bbox = {col_num(q, 10), col_num(q, 11), col_num(q, 12), col_num(q, 13)}};
}

enum rc public_tail(struct ledger *l, int64_t after, int64_t limit, public_tail_fn *fn, void *ctx,
                    struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_R_TAIL, &q, err, "ii", after, limit));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct public_change c = {.seq = col_i64(&q, 0),
                                  .finalized_at = col_i64(&q, 1),
                                  .gen = col_i64(&q, 2),
                                  .doc = col_view(&q, 3)};
        struct public_change_facts f = view_facts(&q);
        TRY(fn(ctx, &c, &f, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc public_tail_gens(struct ledger *l, int64_t after, int64_t until, public_tail_gen_fn *fn,
                         void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_R_TAIL_GENS, &q, err, "ii", after, until));
    while ((rc = query_next(l, &q, err)) == RC_OK)
        TRY(fn(ctx, col_i64(&q, 0), col_i64(&q, 1), err));
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* ---- freshness and sources ------------------------------------------------------------------- */

static enum rc read_fresh(struct arena *a, const struct query *q, struct public_fresh *ret,
                          struct err *err)
{
    struct public_fresh f = {.source_id = col_text(a, q, 0),
                             .title = col_text(a, q, 1),
                             .collection = col_text(a, q, 2),
                             .level = col_text(a, q, 3),
                             .window = col_text(a, q, 4),
                             .run_id = col_text(a, q, 5),
                             .identity = col_text(a, q, 6),
                             .delta_id = col_text(a, q, 7),
                             .qa_status = col_text(a, q, 8),
                             .qa_note = col_text(a, q, 9),
                             .held = col_i64(q, 10) != 0,
                             .retired = col_i64(q, 11) != 0,
                             .freshness_days = col_i64(q, 12),
                             .updated_at = col_time(q, 13),
                             .checked_at = col_time(q, 14),
                             .reached_at = col_time(q, 15),
                             .failures = col_i64(q, 16),
                             .next_check_at = col_time(q, 17),
                             .gen = col_i64(q, 18),
                             .removed_at = col_time(q, 19)};
    const char *const texts[] = {f.source_id, f.title,    f.collection, f.level,     f.window,
                                 f.run_id,    f.identity, f.delta_id,   f.qa_status, f.qa_note};
    for (size_t n = 0; n < ARRAY_LEN(texts); n++)
        if (!texts[n])
            return err_set(err, RC_NOMEM, "", "no memory for the facts of a source");
    *ret = f;
    return RC_OK;
}

enum rc public_fresh_get(struct ledger *l, struct arena *a, struct str source_id,
                         struct public_fresh *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_R_FRESH, &q, err, "s", source_id));
    TRY(one_row(l, &q, err));
    return read_fresh(a, &q, ret, err);
}

enum rc public_fresh_each(struct ledger *l, struct str after, int64_t limit, public_fresh_fn *fn,
                          void *ctx, struct err *err)
{
    struct arena a;
    struct public_fresh f;
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_R_FRESHES, &q, err, "si", after, limit));
    arena_init(&a, ROW_ARENA);
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        arena_reset(&a);
        rc = read_fresh(&a, &q, &f, err);
        if (rc == RC_OK)
            rc = fn(ctx, &f, err);
        if (rc != RC_OK)
            break;
    }
    arena_release(&a);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static const char *level_of(const struct query *q, int i)
{
    static const char *const levels[] = {"public", "generalized"};
    for (size_t n = 0; n < ARRAY_LEN(levels); n++)
        if (str_is(col_view(q, i), levels[n]))
            return levels[n];
    return "restricted";
}

enum rc public_fresh_facts(struct ledger *l, struct str collection, public_fresh_fn *fn, void *ctx,
                           struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(collection.n ? query_open(l, Q_R_FRESH_FACTS_IN, &q, err, "s", collection)
                     : query_open(l, Q_R_FRESH_FACTS, &q, err, ""));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct public_fresh f = {.source_id = "",
                                 .title = "",
                                 .collection = "",
                                 .level = level_of(&q, 0),
                                 .window = "",
                                 .run_id = "",
                                 .identity = "",
                                 .delta_id = "",
                                 .qa_status = "",
                                 .qa_note = "",
                                 .held = col_i64(&q, 1) != 0,
                                 .retired = col_i64(&q, 2) != 0,
                                 .freshness_days = col_i64(&q, 3),
                                 .updated_at = col_time(&q, 4),
                                 .checked_at = col_time(&q, 5),
                                 .failures = col_i64(&q, 6),
                                 .removed_at = col_time(&q, 7),
                                 .template = col_i64(&q, 8) != 0};
        TRY(fn(ctx, &f, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static struct public_source_row view_source(const struct query *q)
{
    return (struct public_source_row){
        .source_id = col_view(q, 0),
        .d = {.doc = col_view(q, 1), .gen = col_i64(q, 2), .at = col_i64(q, 3)},
        .shown = col_i64(q, 4) != 0,
        .checked_at = col_time(q, 5),
        .reached_at = col_time(q, 6),
        .failures = col_i64(q, 7),
        .next_check_at = col_time(q, 8),
        .last_outcome = col_view(q, 9),
        .verified_at = col_time(q, 10),
        .retired = col_i64(q, 11) != 0,
        .removed_at = col_time(q, 12),
        .stream_down_at = col_time(q, 13),
        .refused = col_view(q, 14)};
}

enum rc public_source_get(struct ledger *l, struct arena *a, struct str id,
                          struct public_source_row *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_R_SOURCE, &q, err, "s", id));
    TRY(one_row(l, &q, err));
    struct public_source_row s = view_source(&q);
    s.source_id = col_str(a, &q, 0);
    s.d.doc = col_str(a, &q, 1);
    s.last_outcome = col_str(a, &q, 9);
    s.refused = col_str(a, &q, 14);
    if (!s.source_id.p || !s.d.doc.p || !s.refused.p || !s.last_outcome.p)
        return err_set(err, RC_NOMEM, "", "no memory for a document");
    *ret = s;
    return RC_OK;
}

enum rc public_source_each(struct ledger *l, struct str after, int64_t limit, public_source_fn *fn,
                           void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    enum rc rc;
    TRY(query_open(l, Q_R_SOURCES, &q, err, "si", after, limit));
    while ((rc = query_next(l, &q, err)) == RC_OK) {
        struct public_source_row s = view_source(&q);
        TRY(fn(ctx, &s, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc public_asset_get(struct ledger *l, struct arena *a, const struct sha256 *sha,
                         struct public_asset *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_R_ASSET, &q, err, "h", sha));
    TRY(one_row(l, &q, err));
    *ret = (struct public_asset){.size = col_i64(&q, 0),
                                 .at = col_i64(&q, 1),
                                 .media_type = col_text(a, &q, 2),
                                 .run_id = col_text(a, &q, 3)};
    return RC_OK;
}

enum rc public_heartbeat_get(struct ledger *l, const char *role, int64_t *ret, struct err *err)
{
    int64_t at = -1;
    enum rc rc = query_i64(l, Q_R_HEARTBEAT, &at, err, "t", role);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret = at;
    return RC_OK;
}
