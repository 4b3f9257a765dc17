/* cql2_json: CQL2 JSON to the tree. The depth of the JSON itself is bounded by json_parse. */
#include "core/cql2.h"

static enum rc read(struct cql2_build *b, yyjson_val *v, int depth, struct cql2 **ret);

static enum rc bad(struct cql2_build *b, const char *what)
{
    return err_set(b->err, RC_INVALID, CQL2_FIELD, "%s", what);
}

static const char *lower(struct arena *a, const char *name)
{
    char *out = arena_strdup(a, name);
    for (char *p = out; p && *p; p++)
        *p = *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p;
    return out;
}

static bool is_operator(const char *name)
{
    static const char *const names[] = {"and", "or", "not",  "=",       "<>", "<",      ">",
                                        "<=",  ">=", "like", "between", "in", "isnull", "+",
                                        "-",   "*",  "/",    "%",       "^",  "div"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static enum rc read_all(struct cql2_build *b, yyjson_val *list, int depth, struct cql2 *to)
{
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(list, i, n, v)
    {
        struct cql2 *arg;
        TRY(read(b, v, depth + 1, &arg));
        TRY(cql2_arg(b, to, arg));
    }
    return RC_OK;
}

static enum rc read_op(struct cql2_build *b, yyjson_val *v, int depth, struct cql2 **ret)
{
    const char *name = yyjson_get_str(yyjson_obj_get(v, "op"));
    yyjson_val *args = yyjson_obj_get(v, "args");
    struct cql2 *q;
    if (!name || !*name || !str_is_clean(str_of(name)))
        return bad(b, "\"op\" must be the name of an operator or function");
    if (args && !yyjson_is_arr(args))
        return bad(b, "\"args\" must be a list");
    name = lower(b->a, name);
    if (!name)
        return err_set(b->err, RC_NOMEM, "", "no memory for a filter");
    TRY(cql2_node(b, is_operator(name) ? CQL2_OP : CQL2_FUNCTION, name, &q));
    TRY(read_all(b, args, depth, q));
    if (q->kind == CQL2_OP && strcmp(name, "-") == 0 && q->n == 1)
        return bad(b, "'-' has the wrong number of arguments");
    *ret = q;
    return RC_OK;
}

static enum rc read_interval(struct cql2_build *b, yyjson_val *list, int depth, struct cql2 **ret)
{
    struct cql2 *q;
    size_t i, n;
    yyjson_val *v;
    if (yyjson_arr_size(list) != 2)
        return bad(b, "an interval has two ends");
    TRY(cql2_node(b, CQL2_INTERVAL, NULL, &q));
    yyjson_arr_foreach(list, i, n, v)
    {
        struct cql2 *end;
        if (yyjson_is_str(v))
            TRY(cql2_interval_end(b, (struct str){yyjson_get_str(v), yyjson_get_len(v)}, &end));
        else
            TRY(read(b, v, depth + 1, &end));
        TRY(cql2_arg(b, q, end));
    }
    *ret = q;
    return RC_OK;
}

static enum rc read_bbox(struct cql2_build *b, yyjson_val *list, struct cql2 **ret)
{
    double box[6];
    size_t i, n;
    yyjson_val *v;
    struct place *g;
    struct cql2 *q;
    if (yyjson_arr_size(list) != 4 && yyjson_arr_size(list) != 6)
        return bad(b, "a bbox has 4 or 6 numbers");
    yyjson_arr_foreach(list, i, n, v)
    {
        if (!yyjson_is_num(v))
            return bad(b, "a bbox has 4 or 6 numbers");
        box[i] = yyjson_get_num(v);
    }
    TRY(place_from_bbox(b->a, box, yyjson_arr_size(list), &g, b->err));
    TRY(cql2_node(b, CQL2_GEOMETRY, NULL, &q));
    q->geom = g;
    *ret = q;
    return RC_OK;
}

static enum rc read_geometry(struct cql2_build *b, yyjson_val *v, struct cql2 **ret)
{
    struct place *g;
    struct cql2 *q;
    TRY(place_from_json(b->a, v, &g, b->err));
    TRY(cql2_node(b, CQL2_GEOMETRY, NULL, &q));
    q->geom = g;
    *ret = q;
    return RC_OK;
}

static enum rc read_text(struct cql2_build *b, yyjson_val *v, enum cql2_kind kind,
                         struct cql2 **ret)
{
    struct str s = {yyjson_get_str(v), yyjson_get_len(v)};
    struct cql2 *q;
    if (!yyjson_is_str(v) || memchr(s.p, 0, s.n))
        return bad(b, "a name or text must be a string without NUL");
    if (kind == CQL2_DATE || kind == CQL2_TIMESTAMP)
        return cql2_time(b, s, kind, ret);
    TRY(cql2_node(b, kind, NULL, &q));
    q->text = s;
    *ret = q;
    return RC_OK;
}

static enum rc read_object(struct cql2_build *b, yyjson_val *v, int depth, struct cql2 **ret)
{
    yyjson_val *m;
    if (yyjson_obj_get(v, "op"))
        return read_op(b, v, depth, ret);
    if ((m = yyjson_obj_get(v, "property")))
        return read_text(b, m, CQL2_PROPERTY, ret);
    if ((m = yyjson_obj_get(v, "timestamp")))
        return read_text(b, m, CQL2_TIMESTAMP, ret);
    if ((m = yyjson_obj_get(v, "date")))
        return read_text(b, m, CQL2_DATE, ret);
    if ((m = yyjson_obj_get(v, "interval")))
        return read_interval(b, m, depth, ret);
    if (yyjson_obj_get(v, "type"))
        return read_geometry(b, v, ret);
    if ((m = yyjson_obj_get(v, "bbox")))
        return read_bbox(b, m, ret);
    return bad(b, "an object is none of op, property, timestamp, date, interval, bbox, geometry");
}

static enum rc read(struct cql2_build *b, yyjson_val *v, int depth, struct cql2 **ret)
{
    struct cql2 *q;
    if (depth > CQL2_DEPTH_MAX)
        return err_set(b->err, RC_INVALID, CQL2_FIELD, "is nested more than %d deep",
                       CQL2_DEPTH_MAX);
    if (yyjson_is_obj(v))
        return read_object(b, v, depth, ret);
    if (yyjson_is_str(v))
        return read_text(b, v, CQL2_TEXT, ret);
    if (!yyjson_is_arr(v) && !yyjson_is_num(v) && !yyjson_is_bool(v))
        return bad(b, "null is not a value; use isNull");
    TRY(cql2_node(b,
                  yyjson_is_arr(v)   ? CQL2_LIST
                  : yyjson_is_num(v) ? CQL2_NUMBER
                                     : CQL2_BOOL,
                  NULL, &q));
    q->number = yyjson_get_num(v);
    q->flag = yyjson_get_bool(v);
    if (yyjson_is_arr(v))
        TRY(read_all(b, v, depth, q));
    *ret = q;
    return RC_OK;
}

enum rc cql2_from_json(struct arena *a, yyjson_val *v, struct cql2 **ret, struct err *err)
{
    struct cql2_build b = {.a = a, .err = err};
    struct cql2 *q;
    TRY(read(&b, v, 0, &q));
    TRY(cql2_check(q, err));
    *ret = q;
    return RC_OK;
}
