/* public_items: searches over public_items and public_collections. Conditions are composed from
 * what was asked for; the page starts behind a row given by its sort keys. What is searched are
 * narrow columns; documents are read of the rows that the page shows. */
#include "ledger/public_items.h"

#include "ledger/item_filter.h"

static enum rc missing(enum rc rc, struct err *err)
{
    return rc == RC_NOT_FOUND ? err_set(err, rc, "", "Nothing is known under this name.") : rc;
}

static struct public_item view_item(const struct query *q)
{
    return (struct public_item){.doc = col_view(q, 0),
                                .gen = col_i64(q, 1),
                                .at = col_i64(q, 2),
                                .id = col_view(q, 3),
                                .collection = col_view(q, 4),
                                .latest = col_view(q, 5),
                                .next = col_view(q, 6)};
}

enum rc public_item_get(struct ledger *l, struct arena *a, struct str collection,
                        struct str item_id, struct public_item *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_R_ITEM, &q, err, "ss", collection, item_id));
    TRY(missing(query_next(l, &q, err), err));
    struct public_item i = view_item(&q);
    struct str *texts[] = {&i.doc, &i.id, &i.collection, &i.latest, &i.next};
    for (size_t n = 0; n < ARRAY_LEN(texts); n++) {
        texts[n]->p = arena_str(a, *texts[n]);
        if (!texts[n]->p)
            return err_set(err, RC_NOMEM, "", "no memory for a document");
    }
    *ret = i;
    return RC_OK;
}

/* ---- conditions of a search ------------------------------------------------------------------ */

static void one_of(struct compose *c, const char *column, const struct str *list, size_t n)
{
    if (n == 0)
        return;
    compose_sql(c, " AND ");
    compose_sql(c, column);
    compose_sql(c, " IN (");
    for (size_t i = 0; i < n; i++) {
        compose_sql(c, i ? "," : "");
        compose_text(c, list[i]);
    }
    compose_sql(c, ")");
}

static void any_word(struct compose *c, const char *text, const struct str *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        compose_sql(c, i ? " OR has_words(" : " AND (has_words(");
        compose_sql(c, text);
        compose_sql(c, ", ");
        compose_text(c, words[i]);
        compose_sql(c, ")");
    }
    if (n)
        compose_sql(c, ")");
}

/* Which items are meant; every part begins with AND. */
static enum rc conditions(struct compose *c, const struct item_query *q, struct err *err)
{
    one_of(c, "collection", q->collections, q->n_collections);
    one_of(c, "item_id", q->ids, q->n_ids);
    any_word(c, "title || ' ' || collection || ' ' || item_id", q->words, q->n_words);
    if (q->from.n) {
        compose_sql(c, " AND datetime >= ");
        compose_text(c, q->from);
    }
    if (q->until.n) {
        compose_sql(c, " AND datetime <= ");
        compose_text(c, q->until);
    }
    if (!q->filter)
        return RC_OK;
    compose_sql(c, " AND ");
    return item_filter(c, q->filter, err);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* What a page is sorted by, the id last; the default is datetime, newest first. */
struct order {
    struct sort_by by[ITEM_SORT_MAX + 1];
    size_t n;
    bool one_way; /* all up or all down */
};

static struct order order_of(const struct item_query *q)
{
    struct order o = {.one_way = true};
    for (size_t i = 0; i < q->n_sort; i++)
        o.by[o.n++] = q->sort[i];
    if (o.n == 0)
        o.by[o.n++] = (struct sort_by){STR("datetime"), true};
    o.by[o.n] = (struct sort_by){STR("id"), o.by[o.n - 1].down};
    o.n++;
    for (size_t i = 0; i < o.n; i++) {
        o.by[i].down ^= q->backward;
        o.one_way = o.one_way && o.by[i].down == o.by[0].down;
    }
    return o;
}

static void put_value(struct compose *c, const struct sort_value *v)
{
    if (v->kind == SORT_INT)
        compose_int(c, v->i);
    else if (v->kind == SORT_REAL)
        compose_real(c, v->d);
    else if (v->kind == SORT_TEXT)
        compose_text(c, v->s);
    else
        compose_sql(c, "NULL");
}

/* "key follows v": NULL comes first on the way up, last on the way down. */
static enum rc follows(struct compose *c, const struct sort_by *by, const struct sort_value *v,
                       struct err *err)
{
    bool null = v->kind == SORT_NULL;
    compose_sql(c, "(");
    if (null && by->down)
        compose_sql(c, "0");
    else
        TRY(item_property(c, by->field, err));
    if (null && !by->down)
        compose_sql(c, " IS NOT NULL");
    if (!null) {
        compose_sql(c, by->down ? " < " : " > ");
        put_value(c, v);
    }
    if (!null && by->down) {
        compose_sql(c, " OR ");
        TRY(item_property(c, by->field, err));
        compose_sql(c, " IS NULL");
    }
    compose_sql(c, ")");
    return RC_OK;
}

/* (k1 follows) OR (k1 same AND k2 follows) OR ... */
static enum rc beyond_mixed(struct compose *c, const struct order *o, const struct sort_value *v,
                            struct err *err)
{
    for (size_t i = 0; i < o->n; i++) {
        compose_sql(c, i ? " OR (" : " AND ((");
        for (size_t k = 0; k < i; k++) {
            TRY(item_property(c, o->by[k].field, err));
            compose_sql(c, " IS ");
            put_value(c, &v[k]);
            compose_sql(c, " AND ");
        }
        TRY(follows(c, &o->by[i], &v[i], err));
        compose_sql(c, ")");
    }
    compose_sql(c, ")");
    return RC_OK;
}

/* One comparison of rows, which an index can answer; for columns that are never NULL. */
static enum rc beyond(struct compose *c, const struct order *o, const struct item_query *q,
                      struct err *err)
{
    const struct sort_value *v = q->beyond;
    if (!o->one_way || q->n_sort)
        return beyond_mixed(c, o, v, err);
    compose_sql(c, " AND (");
    for (size_t i = 0; i < o->n; i++) {
        compose_sql(c, i ? ", " : "");
        TRY(item_property(c, o->by[i].field, err));
    }
    compose_sql(c, o->by[0].down ? ") < (" : ") > (");
    for (size_t i = 0; i < o->n; i++) {
        compose_sql(c, i ? ", " : "");
        put_value(c, &v[i]);
    }
    compose_sql(c, ")");
    return RC_OK;
}

/* Which rows: those that are meant, and on a page those beyond its edge. Few are in an area, so it
 * is where a search begins, and all of them are looked at: they are counted by the way. The cases
 * keep the planner from counting what is not meant, or only what is beyond. */
static enum rc compose_rows(struct compose *c, const struct item_query *q, const struct order *o,
                            int64_t *counter, struct err *err)
{
    if (!q->area) {
        compose_sql(c, " FROM public_items i WHERE 1");
        TRY(conditions(c, q, err));
        return q->beyond ? beyond(c, o, q, err) : RC_OK;
    }
    compose_sql(c, " FROM public_items_box b CROSS JOIN public_items i USING (item_no) WHERE ");
    item_near(c, q->area);
    compose_sql(c, " AND CASE WHEN ");
    item_meets(c, q->area, ITEM_IS_JOINED);
    TRY(conditions(c, q, err));
    compose_sql(c, " THEN CASE WHEN tally(");
    compose_counter(c, counter);
    compose_sql(c, ", i.item_no) THEN 1");
    if (q->beyond)
        TRY(beyond(c, o, q, err));
    compose_sql(c, " END END");
    return RC_OK;
}

/* The numbers of the page in its order, then what they stand for: CROSS JOIN keeps that order,
 * since what stands left is the outer loop. */
static enum rc compose_page(struct compose *c, const struct item_query *q, const struct order *o,
                            int64_t *counter, struct err *err)
{
    compose_sql(c, ITEM_COLUMNS ", p.* FROM (SELECT i.item_no AS page_no");
    for (size_t i = 0; i < o->n; i++) {
        compose_sql(c, ", ");
        TRY(item_property(c, o->by[i].field, err));
    }
    TRY(compose_rows(c, q, o, counter, err));
    for (size_t i = 0; i < o->n; i++) {
        static const char *const places[] = {"2", "3", "4", "5", "6", "7", "8"};
        compose_sql(c, i ? ", " : " ORDER BY ");
        compose_sql(c, places[i]);
        compose_sql(c, o->by[i].down ? " DESC" : "");
    }
    compose_sql(c, " LIMIT ");
    compose_int(c, q->limit);
    compose_sql(c, ") p CROSS JOIN public_items i ON i.item_no = p.page_no" ITEM_HEAD);
    return RC_OK;
}

static struct sort_value key_of(const struct query *q, int i)
{
    struct sort_value v = {.kind = SORT_NULL};
    switch (sqlite3_column_type(q->s, i)) {
    case SQLITE_INTEGER: v.kind = SORT_INT, v.i = col_i64(q, i); break;
    case SQLITE_FLOAT: v.kind = SORT_REAL, v.d = col_num(q, i); break;
    case SQLITE_TEXT: v.kind = SORT_TEXT, v.s = col_view(q, i); break;
    default: break;
    }
    return v;
}

static enum rc count(struct ledger *l, const struct compose *c, int64_t *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(compose_open(l, c, &q, err));
    TRY(query_next(l, &q, err));
    *ret = col_i64(&q, 0);
    return RC_OK;
}

enum rc public_item_count(struct ledger *l, struct arena *a, const struct item_query *q,
                          int64_t *ret, struct err *err)
{
    struct item_query all = *q;
    struct compose c;
    bool plain = !q->n_ids && !q->n_words && !q->from.n && !q->until.n && !q->filter;
    int64_t ignored = 0;
    all.beyond = NULL;
    compose_init(&c, a);
    if (plain && !q->area) { /* sums are kept */
        compose_sql(&c, "SELECT coalesce(sum(items), 0) FROM public_extents WHERE 1");
        one_of(&c, "collection", q->collections, q->n_collections);
    } else if (plain && !q->n_collections) { /* the R*Tree alone knows nearly all */
        compose_sql(&c, "SELECT count(*) FROM public_items_box b WHERE ");
        item_near(&c, q->area);
        compose_sql(&c, " AND ");
        item_meets(&c, q->area, ITEM_IS_FETCHED);
    } else {
        compose_sql(&c, "SELECT count(*)");
        TRY(compose_rows(&c, &all, NULL, &ignored, err));
    }
    return count(l, &c, ret, err);
}

enum rc public_item_search(struct ledger *l, struct arena *a, const struct item_query *q,
                           public_item_fn *fn, void *ctx, int64_t *ret_matched, struct err *err)
{
    CLEANUP(query_close) struct query rows = {0};
    struct compose c;
    struct order o = order_of(q);
    struct sort_value keys[ITEM_SORT_MAX + 1];
    int64_t met = 0, n = 0;
    enum rc rc;
    compose_init(&c, a);
    TRY(compose_page(&c, q, &o, &met, err));
    TRY(compose_open(l, &c, &rows, err));
    while ((rc = query_next(l, &rows, err)) == RC_OK) {
        struct public_item i = view_item(&rows);
        for (size_t k = 0; k < o.n; k++)
            keys[k] = key_of(&rows, 8 + (int)k);
        TRY(fn(ctx, &i, keys, o.n, err));
        n++;
    }
    if (rc != RC_NOT_FOUND)
        return rc;
    bool holds_all = !q->beyond && n < q->limit;
    if (!q->area && !holds_all)
        return public_item_count(l, a, q, ret_matched, err);
    *ret_matched = q->area ? met : n;
    return RC_OK;
}

/* ---- collections ----------------------------------------------------------------------------- */

static struct public_collection view_collection(const struct query *q)
{
    struct public_collection c = {.id = col_view(q, 0),
                                  .doc = col_view(q, 1),
                                  .gen = col_i64(q, 2),
                                  .items = col_i64(q, 3),
                                  .first = col_view(q, 4),
                                  .last = col_view(q, 5),
                                  .has_box = !col_null(q, 6),
                                  .at = col_time(q, 10)};
    for (int i = 0; i < 4; i++)
        c.box[i] = col_num(q, 6 + i);
    return c;
}

static enum rc hand_out(struct ledger *l, struct query *q, public_collection_fn *fn, void *ctx,
                        struct err *err)
{
    enum rc rc;
    while ((rc = query_next(l, q, err)) == RC_OK) {
        struct public_collection c = view_collection(q);
        TRY(fn(ctx, &c, err));
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc public_collection_get(struct ledger *l, struct str id, public_collection_fn *fn, void *ctx,
                              struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_R_COLLECTION, &q, err, "s", id));
    TRY(missing(query_next(l, &q, err), err));
    struct public_collection c = view_collection(&q);
    return fn(ctx, &c, err);
}

enum rc public_collection_from(struct ledger *l, int64_t offset, int64_t limit,
                               public_collection_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_R_COLLECTIONS_FROM, &q, err, "ii", limit, offset));
    return hand_out(l, &q, fn, ctx, err);
}

/* Items without a place may be anywhere; where there are no items, nothing is anywhere, at
 * no time. */
static void collection_conditions(struct compose *c, const struct collection_query *q)
{
    compose_sql(c,
                " FROM public_collections c LEFT JOIN public_extents e USING (collection) WHERE 1");
    any_word(c, "(doc ->> '$.title') || ' ' || (doc ->> '$.description') || ' ' || c.collection",
             q->words, q->n_words);
    if (q->area || q->from.n || q->until.n)
        compose_sql(c, " AND items > 0");
    if (q->area) {
        compose_sql(
            c, " AND geom_meets(coalesce(west, -180), coalesce(south, -90), coalesce(east, 180),"
               " coalesce(north, 90), ");
        compose_geom(c, q->area);
        compose_sql(c, ")");
    }
    if (q->from.n) {
        compose_sql(c, " AND last >= ");
        compose_text(c, q->from);
    }
    if (q->until.n) {
        compose_sql(c, " AND first <= ");
        compose_text(c, q->until);
    }
}

enum rc public_collection_search(struct ledger *l, struct arena *a,
                                 const struct collection_query *q, public_collection_fn *fn,
                                 void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query rows = {0};
    struct compose c;
    struct str edge = q->after.n ? q->after : q->before;
    bool down = q->down != (q->before.n > 0);
    compose_init(&c, a);
    compose_sql(&c,
                "SELECT c.collection, doc, gen, items, first, last, west, south, east, north, at");
    collection_conditions(&c, q);
    if (edge.n) {
        compose_sql(&c, down ? " AND c.collection < " : " AND c.collection > ");
        compose_text(&c, edge);
    }
    compose_sql(&c, down ? " ORDER BY c.collection DESC LIMIT " : " ORDER BY c.collection LIMIT ");
    compose_int(&c, q->limit);
    TRY(compose_open(l, &c, &rows, err));
    return hand_out(l, &rows, fn, ctx, err);
}

enum rc public_collection_count(struct ledger *l, struct arena *a, const struct collection_query *q,
                                int64_t *ret, struct err *err)
{
    struct compose c;
    compose_init(&c, a);
    compose_sql(&c, "SELECT count(*)");
    collection_conditions(&c, q);
    return count(l, &c, ret, err);
}

/* ---- years ----------------------------------------------------------------------------------- */

static struct str year_text(int year, char out[16])
{
    snprintf(out, 16, "%04d-", year);
    return str_of(out);
}

enum rc public_item_year(struct ledger *l, struct str collection, int year, int *ret,
                         struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    char from[16], found[5];
    int64_t value = 0;
    TRY(query_open(l, Q_R_ITEM_FROM, &q, err, "ss", collection, year_text(year, from)));
    enum rc rc = query_next(l, &q, err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    if (rc == RC_OK)
        col_copy(&q, 0, found, sizeof found);
    *ret = rc == RC_OK && str_to_i64(str_of(found), &value) == RC_OK ? (int)value : 0;
    return RC_OK;
}

enum rc public_item_year_count(struct ledger *l, struct str collection, int year, int64_t *ret,
                               struct err *err)
{
    char from[16], until[16];
    return query_i64(l, Q_R_ITEM_SPAN_COUNT, ret, err, "sss", collection, year_text(year, from),
                     year_text(year + 1, until));
}

enum rc public_item_year_ids(struct ledger *l, struct str collection, int year, int64_t offset,
                             int64_t limit, public_id_fn *fn, void *ctx, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    char from[16], until[16];
    enum rc rc;
    TRY(query_open(l, Q_R_ITEM_SPAN, &q, err, "sssii", collection, year_text(year, from),
                   year_text(year + 1, until), limit, offset));
    while ((rc = query_next(l, &q, err)) == RC_OK)
        TRY(fn(ctx, col_view(&q, 0), err));
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}
