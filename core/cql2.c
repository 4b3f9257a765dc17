/* cql2: the tree: nodes, times, checks, and the form that tests and cache keys compare. */
#include "core/cql2.h"

#include "core/clock.h"

enum rc cql2_node(struct cql2_build *b, enum cql2_kind kind, const char *name, struct cql2 **ret)
{
    if (++b->nodes > CQL2_NODES_MAX)
        return err_set(b->err, RC_INVALID, CQL2_FIELD, "has more than %d parts", CQL2_NODES_MAX);
    struct cql2 *q = ARENA_NEW(b->a, struct cql2);
    if (!q)
        return err_set(b->err, RC_NOMEM, "", "no memory for a filter");
    q->kind = kind;
    q->name = name ? name : "";
    *ret = q;
    return RC_OK;
}

enum rc cql2_arg(struct cql2_build *b, struct cql2 *to, struct cql2 *arg)
{
    bool full = to->n == 0 || (to->n >= 4 && (to->n & (to->n - 1)) == 0);
    if (full) {
        size_t room = to->n < 4 ? 4 : 2 * to->n;
        struct cql2 **args =
            arena_resize(b->a, to->args, to->n * sizeof *args, room * sizeof *args);
        if (!args)
            return err_set(b->err, RC_NOMEM, "", "no memory for a filter");
        to->args = args;
    }
    to->args[to->n++] = arg;
    return RC_OK;
}

/* ---- times ----------------------------------------------------------------------------------- */

static bool read_date(struct arena *a, struct str s, int64_t *ret)
{
    char *whole = s.n == 10 ? arena_printf(a, "%.*sT00:00:00Z", STR_FMT(s)) : NULL;
    return whole && time_parse(str_of(whole), ret) == RC_OK;
}

enum rc cql2_time(struct cql2_build *b, struct str s, enum cql2_kind kind, struct cql2 **ret)
{
    int64_t at = 0;
    struct cql2 *q;
    bool good = kind == CQL2_DATE ? read_date(b->a, s, &at) : time_parse(s, &at) == RC_OK;
    if (!good)
        return err_set(b->err, RC_INVALID, CQL2_FIELD, "'%.*s' is not a %s",
                       STR_FMT(str_cut(s, 40)),
                       kind == CQL2_DATE ? "date such as 2026-07-02"
                                         : "timestamp such as 2026-07-02T10:00:00Z");
    TRY(cql2_node(b, kind, NULL, &q));
    q->at = at;
    *ret = q;
    return RC_OK;
}

enum rc cql2_interval_end(struct cql2_build *b, struct str s, struct cql2 **ret)
{
    if (str_is(s, ".."))
        return cql2_node(b, CQL2_OPEN, NULL, ret);
    return cql2_time(b, s, s.n == 10 ? CQL2_DATE : CQL2_TIMESTAMP, ret);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t min, max;
    bool truth;     /* gives true or false */
    bool of_truths; /* and is made of such */
} ops[] = {
    {"and", 2, SIZE_MAX, true, true}, {"or", 2, SIZE_MAX, true, true}, {"not", 1, 1, true, true},
    {"=", 2, 2, true, false},         {"<>", 2, 2, true, false},       {"<", 2, 2, true, false},
    {">", 2, 2, true, false},         {"<=", 2, 2, true, false},       {">=", 2, 2, true, false},
    {"like", 2, 2, true, false},      {"between", 3, 3, true, false},  {"in", 2, 2, true, false},
    {"isnull", 1, 1, true, false},    {"+", 2, 2, false, false},       {"-", 2, 2, false, false},
    {"*", 2, 2, false, false},        {"/", 2, 2, false, false},       {"%", 2, 2, false, false},
    {"^", 2, 2, false, false},        {"div", 2, 2, false, false}};

static int op_index(const struct cql2 *q)
{
    for (size_t i = 0; q->kind == CQL2_OP && i < ARRAY_LEN(ops); i++)
        if (strcmp(q->name, ops[i].name) == 0)
            return (int)i;
    return -1;
}

static enum rc check(const struct cql2 *q, bool truth, struct err *err)
{
    int op = op_index(q);
    bool maybe = q->kind == CQL2_BOOL || q->kind == CQL2_FUNCTION || q->kind == CQL2_PROPERTY;
    if (truth && !maybe && (op < 0 || !ops[op].truth))
        return err_set(err, RC_INVALID, CQL2_FIELD,
                       "a part that must be true or false is a plain value");
    if (op >= 0 && (q->n < ops[op].min || q->n > ops[op].max))
        return err_set(err, RC_INVALID, CQL2_FIELD, "'%s' has the wrong number of arguments",
                       q->name);
    if (op >= 0 && strcmp(q->name, "in") == 0 && (q->args[1]->kind != CQL2_LIST || !q->args[1]->n))
        return err_set(err, RC_INVALID, CQL2_FIELD, "'in' needs a list of values");
    for (size_t i = 0; i < q->n; i++)
        TRY(check(q->args[i], op >= 0 && ops[op].of_truths, err));
    return RC_OK;
}

enum rc cql2_check(const struct cql2 *q, struct err *err)
{
    return check(q, true, err);
}

bool cql2_is(const struct cql2 *q, const char *name)
{
    return (q->kind == CQL2_OP || q->kind == CQL2_FUNCTION) && strcmp(q->name, name) == 0;
}

/* ---- one form -------------------------------------------------------------------------------- */

static void put_number(struct buf *out, double v)
{
    char text[32] = "?";
    (void)json_number(v, text);
    buf_puts(out, text);
}

static void put_geometry(struct buf *out, const struct place *g)
{
    static const char *const kinds[] = {"point", "line", "ring", "hole"};
    buf_puts(out, "(geometry");
    for (size_t i = 0; i < g->n_parts; i++) {
        buf_printf(out, " %s", kinds[g->parts[i].kind]);
        for (size_t k = 0; k < 2 * g->parts[i].n; k++) {
            buf_byte(out, ' ');
            put_number(out, g->xy[2 * g->parts[i].first + k]);
        }
    }
    buf_byte(out, ')');
}

static void put_args(struct buf *out, const char *head, const struct cql2 *q)
{
    buf_printf(out, "(%s", head);
    for (size_t i = 0; i < q->n; i++) {
        buf_byte(out, ' ');
        cql2_put(out, q->args[i]);
    }
    buf_byte(out, ')');
}

void cql2_put(struct buf *out, const struct cql2 *q)
{
    char text[TIME_MAX];
    switch (q->kind) {
    case CQL2_OP:
    case CQL2_FUNCTION: put_args(out, q->name, q); break;
    case CQL2_INTERVAL: put_args(out, "interval", q); break;
    case CQL2_LIST: put_args(out, "list", q); break;
    case CQL2_PROPERTY: buf_str(out, q->text); break;
    case CQL2_TEXT: json_put_str(out, q->text); break;
    case CQL2_NUMBER: put_number(out, q->number); break;
    case CQL2_BOOL: buf_puts(out, q->flag ? "true" : "false"); break;
    case CQL2_OPEN: buf_puts(out, ".."); break;
    case CQL2_GEOMETRY: put_geometry(out, q->geom); break;
    case CQL2_TIMESTAMP:
    case CQL2_DATE:
        time_format(q->at, text);
        buf_puts(out, text);
        break;
    }
}
