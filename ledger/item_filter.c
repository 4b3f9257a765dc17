/* item_filter: from the tree to SQL with bound values. Times in items have one fixed width, so they
 * are compared as text; a time of the filter is bound in the same form. */
#include "ledger/item_filter.h"

#include "core/clock.h"

#define LIKE_MAX 256  /* bytes of a pattern */
#define NAME_MAX_ 128 /* bytes of a property's name */

static enum rc refuse(struct err *err, const char *what)
{
    return err_set(err, RC_INVALID, CQL2_FIELD, "%s is not supported here", what);
}

/* ---- values ---------------------------------------------------------------------------------- */

static struct str plain_name(struct str name)
{
    struct str prefix = STR("properties.");
    if (str_starts(name, prefix))
        name = (struct str){name.p + prefix.n, name.n - prefix.n};
    return name;
}

enum rc item_property(struct compose *c, struct str name, struct err *err)
{
    static const struct {
        const char *name, *column;
    } columns[] = {{"id", "item_id"},
                   {"collection", "collection"},
                   {"datetime", "datetime"},
                   {"title", "title"}};
    name = plain_name(name);
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        if (str_is(name, columns[i].name)) {
            compose_sql(c, columns[i].column);
            return RC_OK;
        }
    if (name.n == 0 || name.n > NAME_MAX_)
        return err_set(err, RC_INVALID, CQL2_FIELD, "a name has 1 to %d bytes", NAME_MAX_);
    if (memchr(name.p, '"', name.n) || !str_is_clean(name)) {
        compose_sql(c, "NULL"); /* no item has a property with such a name */
        return RC_OK;
    }
    char *path = arena_printf(c->a, "$.properties.\"%.*s\"", STR_FMT(name));
    if (!path)
        return err_set(err, RC_NOMEM, "", "no memory for a filter");
    compose_sql(c, "(doc ->> ");
    compose_text(c, str_of(path));
    compose_sql(c, ")");
    return RC_OK;
}

static enum rc put_time(struct compose *c, int64_t at, struct err *err)
{
    char text[TIME_MAX];
    time_format(at, text);
    char *kept = arena_strdup(c->a, text);
    if (!kept)
        return err_set(err, RC_NOMEM, "", "no memory for a filter");
    compose_text(c, str_of(kept));
    return RC_OK;
}

static enum rc value(struct compose *c, const struct cql2 *q, struct err *err);

static enum rc put_pair(struct compose *c, const struct cql2 *q, const char *sign, struct err *err)
{
    compose_sql(c, "(");
    TRY(value(c, q->args[0], err));
    compose_sql(c, sign);
    TRY(value(c, q->args[1], err));
    compose_sql(c, ")");
    return RC_OK;
}

static enum rc arithmetic(struct compose *c, const struct cql2 *q, struct err *err)
{
    static const char *const signs[] = {"+", "-", "*", "/"};
    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (strcmp(q->name, signs[i]) == 0)
            return put_pair(c, q, signs[i], err);
    return refuse(err, q->name);
}

static enum rc value(struct compose *c, const struct cql2 *q, struct err *err)
{
    switch (q->kind) {
    case CQL2_PROPERTY:
        if (str_is(q->text, "geometry") || str_is(q->text, "bbox"))
            return err_set(err, RC_INVALID, CQL2_FIELD,
                           "geometry goes with S_INTERSECTS and IS NULL");
        return item_property(c, q->text, err);
    case CQL2_TEXT: compose_text(c, q->text); return RC_OK;
    case CQL2_NUMBER: compose_real(c, q->number); return RC_OK;
    case CQL2_BOOL: compose_int(c, q->flag); return RC_OK;
    case CQL2_TIMESTAMP:
    case CQL2_DATE: return put_time(c, q->at, err);
    case CQL2_OP: return arithmetic(c, q, err);
    case CQL2_FUNCTION: return refuse(err, q->name);
    case CQL2_LIST: return refuse(err, "a list as a value");
    case CQL2_INTERVAL:
    case CQL2_OPEN: return refuse(err, "an interval outside of T_ functions");
    case CQL2_GEOMETRY: return refuse(err, "a geometry outside of S_INTERSECTS");
    }
    return RC_INTERNAL;
}

/* ---- conditions ------------------------------------------------------------------------------ */

/* % and _ as GLOB has them, which minds case; a backslash takes the meaning of the next. */
static enum rc like(struct compose *c, const struct cql2 *q, struct err *err)
{
    struct str p = q->args[1]->text;
    char *out = arena_alloc(c->a, 3 * p.n + 1);
    size_t n = 0;
    if (q->args[1]->kind != CQL2_TEXT)
        return refuse(err, "LIKE with a pattern that is not a text");
    if (p.n > LIKE_MAX)
        return err_set(err, RC_INVALID, CQL2_FIELD, "a LIKE pattern has at most %d bytes",
                       LIKE_MAX);
    if (!out)
        return err_set(err, RC_NOMEM, "", "no memory for a filter");
    for (size_t i = 0; i < p.n; i++) {
        char ch = p.p[i];
        bool escaped = ch == '\\' && i + 1 < p.n;
        if (escaped)
            ch = p.p[++i];
        if (ch == '%' && !escaped) {
            if (n == 0 || out[n - 1] != '*' || (n > 1 && out[n - 2] == '['))
                out[n++] = '*';
        } else if (ch == '_' && !escaped) {
            out[n++] = '?';
        } else if (ch == '*' || ch == '?' || ch == '[') {
            out[n++] = '[';
            out[n++] = ch;
            out[n++] = ']';
        } else {
            out[n++] = ch;
        }
    }
    compose_sql(c, "(");
    TRY(value(c, q->args[0], err));
    compose_sql(c, " GLOB ");
    compose_text(c, (struct str){out, n});
    compose_sql(c, ")");
    return RC_OK;
}

static enum rc between(struct compose *c, const struct cql2 *q, struct err *err)
{
    compose_sql(c, "(");
    TRY(value(c, q->args[0], err));
    compose_sql(c, " BETWEEN ");
    TRY(value(c, q->args[1], err));
    compose_sql(c, " AND ");
    TRY(value(c, q->args[2], err));
    compose_sql(c, ")");
    return RC_OK;
}

static enum rc in(struct compose *c, const struct cql2 *q, struct err *err)
{
    compose_sql(c, "(");
    TRY(value(c, q->args[0], err));
    compose_sql(c, " IN (");
    for (size_t i = 0; i < q->args[1]->n; i++) {
        compose_sql(c, i ? "," : "");
        TRY(value(c, q->args[1]->args[i], err));
    }
    compose_sql(c, "))");
    return RC_OK;
}

static enum rc is_null(struct compose *c, const struct cql2 *q, struct err *err)
{
    const struct cql2 *x = q->args[0];
    bool place =
        x->kind == CQL2_PROPERTY && (str_is(x->text, "geometry") || str_is(x->text, "bbox"));
    compose_sql(c, "(");
    if (place)
        compose_sql(c, "i.west");
    else
        TRY(value(c, x, err));
    compose_sql(c, " IS NULL)");
    return RC_OK;
}

static enum rc joined(struct compose *c, const struct cql2 *q, const char *word, struct err *err)
{
    compose_sql(c, "(");
    for (size_t i = 0; i < q->n; i++) {
        compose_sql(c, i ? word : "");
        TRY(item_filter(c, q->args[i], err));
    }
    compose_sql(c, ")");
    return RC_OK;
}

/* ---- place ----------------------------------------------------------------------------------- */

#define ROUNDED 0.0001 /* degrees: more than the 32-bit numbers of the R*Tree are off */

static void overlaps(struct compose *c, const struct place *g, double less)
{
    compose_sql(c, "b.east >= ");
    compose_real(c, g->box[0] + less);
    compose_sql(c, " AND b.west <= ");
    compose_real(c, g->box[2] - less);
    compose_sql(c, " AND b.north >= ");
    compose_real(c, g->box[1] + less);
    compose_sql(c, " AND b.south <= ");
    compose_real(c, g->box[3] - less);
}

static void meets(struct compose *c, const struct place *g)
{
    compose_sql(c, "geom_meets(i.west, i.south, i.east, i.north, ");
    compose_geom(c, g);
    compose_sql(c, ")");
}

void item_near(struct compose *c, const struct place *g)
{
    overlaps(c, g, 0);
}

void item_meets(struct compose *c, const struct place *g, enum item_at at)
{
    compose_sql(c, "(");
    if (place_is_box(g)) {
        overlaps(c, g, ROUNDED);
        compose_sql(c, " OR ");
    }
    if (at == ITEM_IS_FETCHED)
        compose_sql(c, "(SELECT ");
    meets(c, g);
    if (at == ITEM_IS_FETCHED)
        compose_sql(c, " FROM public_items i WHERE i.item_no = b.item_no)");
    compose_sql(c, ")");
}

static void intersecting(struct compose *c, const struct place *g)
{
    compose_sql(c, "(i.item_no IN (SELECT b.item_no FROM public_items_box b WHERE ");
    item_near(c, g);
    compose_sql(c, ") AND ");
    meets(c, g);
    compose_sql(c, ")");
}

static enum rc intersects(struct compose *c, const struct cql2 *q, struct err *err)
{
    size_t g = q->n == 2 && q->args[0]->kind == CQL2_GEOMETRY ? 0 : 1;
    if (q->n != 2 || q->args[g]->kind != CQL2_GEOMETRY || q->args[1 - g]->kind != CQL2_PROPERTY ||
        !str_is(q->args[1 - g]->text, "geometry"))
        return err_set(err, RC_INVALID, CQL2_FIELD, "S_INTERSECTS takes geometry and a literal");
    intersecting(c, q->args[g]->geom);
    return RC_OK;
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Allen's relations: A and B are start and end of the first argument, C and D of the second. */
static const struct {
    const char *name, *rule;
} relations[] = {{"t_after", "A>D"},
                 {"t_before", "B<C"},
                 {"t_contains", "A<C&B>D"},
                 {"t_disjoint", "B<C|A>D"},
                 {"t_during", "A>C&B<D"},
                 {"t_equals", "A=C&B=D"},
                 {"t_finishedby", "A<C&B=D"},
                 {"t_finishes", "A>C&B=D"},
                 {"t_intersects", "A{D&B}C"},
                 {"t_meets", "B=C"},
                 {"t_metby", "A=D"},
                 {"t_overlappedby", "A>C&A<D&B>D"},
                 {"t_overlaps", "A<C&B>C&B<D"},
                 {"t_startedby", "A=C&B>D"},
                 {"t_starts", "A=C&B<D"}};

/* One end of an instant or interval. A day ends with its last millisecond; open ends are below and
 * above every time. */
static enum rc time_end(struct compose *c, const struct cql2 *q, bool last, struct err *err)
{
    switch (q->kind) {
    case CQL2_INTERVAL: return time_end(c, q->args[last], last, err);
    case CQL2_OPEN: compose_sql(c, last ? "'~'" : "''"); return RC_OK;
    case CQL2_DATE: return put_time(c, q->at + (last ? DAY_MS - 1 : 0), err);
    case CQL2_TIMESTAMP: return put_time(c, q->at, err);
    case CQL2_PROPERTY: return value(c, q, err);
    default: break;
    }
    return err_set(err, RC_INVALID, CQL2_FIELD,
                   "T_ functions take times, intervals and properties");
}

static enum rc relation(struct compose *c, const struct cql2 *q, const char *rule, struct err *err)
{
    static const struct {
        char mark;
        const char *sql;
    } signs[] = {{'<', " < "},  {'>', " > "},   {'=', " = "}, {'{', " <= "},
                 {'}', " >= "}, {'&', " AND "}, {'|', " OR "}};
    if (q->n != 2)
        return err_set(err, RC_INVALID, CQL2_FIELD, "%s takes two arguments", q->name);
    compose_sql(c, "(");
    for (; *rule; rule++) {
        if (*rule >= 'A' && *rule <= 'D')
            TRY(time_end(c, q->args[(*rule - 'A') / 2], (*rule - 'A') % 2, err));
        for (size_t i = 0; i < ARRAY_LEN(signs); i++)
            if (*rule == signs[i].mark)
                compose_sql(c, signs[i].sql);
    }
    compose_sql(c, ")");
    return RC_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static enum rc function(struct compose *c, const struct cql2 *q, struct err *err)
{
    if (cql2_is(q, "s_intersects"))
        return intersects(c, q, err);
    for (size_t i = 0; i < ARRAY_LEN(relations); i++)
        if (cql2_is(q, relations[i].name))
            return relation(c, q, relations[i].rule, err);
    return refuse(err, q->name);
}

enum rc item_filter(struct compose *c, const struct cql2 *q, struct err *err)
{
    static const char *const comparisons[] = {"=", "<>", "<", ">", "<=", ">="};
    if (q->kind == CQL2_FUNCTION)
        return function(c, q, err);
    if (q->kind != CQL2_OP) {
        compose_sql(c, "(");
        TRY(value(c, q, err));
        compose_sql(c, ")");
        return RC_OK;
    }
    for (size_t i = 0; i < ARRAY_LEN(comparisons); i++)
        if (cql2_is(q, comparisons[i]))
            return put_pair(c, q, comparisons[i], err);
    if (cql2_is(q, "and"))
        return joined(c, q, " AND ", err);
    if (cql2_is(q, "or"))
        return joined(c, q, " OR ", err);
    if (cql2_is(q, "like"))
        return like(c, q, err);
    if (cql2_is(q, "between"))
        return between(c, q, err);
    if (cql2_is(q, "in"))
        return in(c, q, err);
    if (cql2_is(q, "isnull"))
        return is_null(c, q, err);
    if (!cql2_is(q, "not"))
        return refuse(err, q->name);
    compose_sql(c, "(NOT ");
    TRY(item_filter(c, q->args[0], err));
    compose_sql(c, ")");
    return RC_OK;
}
