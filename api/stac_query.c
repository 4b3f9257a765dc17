/* stac_query: parameters of searches, from a query string or a JSON body, into one struct.
 *
 * Invariants
 *   1. Whatever is wrong is a 400 that names the parameter. */
#include "api/stac.h"

#include <stdlib.h>

#include "core/clock.h"

#define FIELD_NAME_MAX 128

/* ---- single parameters ----------------------------------------------------------------------- */

static enum rc read_instant(struct arena *a, struct str v, int64_t *ret_at, struct str *ret,
                            struct err *err)
{
    char text[TIME_MAX];
    if (time_parse(v, ret_at) != RC_OK)
        return err_set(
            err, RC_INVALID, "datetime",
            "must be RFC 3339 with a zone, as 2026-07-02T10:00:00Z, or an interval of such "
            "with / between and .. for an open end");
    time_format(*ret_at, text);
    *ret = str_of(arena_strdup(a, text));
    return ret->n ? RC_OK : err_set(err, RC_NOMEM, "", "no memory for a parameter");
}

enum rc stac_datetime(struct arena *a, struct str v, struct str *ret_from, struct str *ret_until,
                      struct err *err)
{
    const char *slash = memchr(v.p, '/', v.n);
    struct str from = v, until = v, none = {"", 0};
    int64_t start = INT64_MIN, end = INT64_MAX;
    if (slash) {
        from.n = (size_t)(slash - v.p);
        until = (struct str){slash + 1, v.n - from.n - 1};
    }
    bool open_from = slash && (from.n == 0 || str_is(from, ".."));
    bool open_until = slash && (until.n == 0 || str_is(until, ".."));
    if (open_from && open_until)
        return err_set(err, RC_INVALID, "datetime", "an interval has at least one end");
    *ret_from = *ret_until = none;
    if (!open_from)
        TRY(read_instant(a, from, &start, ret_from, err));
    if (!open_until)
        TRY(read_instant(a, until, &end, ret_until, err));
    if (start > end)
        return err_set(err, RC_INVALID, "datetime", "starts after its end");
    return RC_OK;
}

static bool to_number(struct str s, double *ret)
{
    char text[64];
    char *end;
    s = str_trim(s);
    if (s.n == 0 || s.n >= sizeof text || strspn(s.p, "0123456789.eE+-") < s.n)
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = 0;
    *ret = strtod(text, &end);
    return *end == 0;
}

enum rc stac_bbox(struct arena *a, struct str v, struct place **ret, struct err *err)
{
    double box[6];
    size_t n = 0;
    struct str item;
    bool tail = v.n > 0 && v.p[v.n - 1] == ',';
    while (str_next(&v, ',', &item)) {
        if (n == ARRAY_LEN(box) || !to_number(item, &box[n]))
            return err_set(err, RC_INVALID, "bbox", "must be 4 or 6 numbers with commas between");
        n++;
    }
    return place_from_bbox(a, box, tail ? 0 : n, ret, err);
}

enum rc stac_list(struct arena *a, const char *what, struct str v, size_t max, struct str **ret,
                  size_t *ret_n, struct err *err)
{
    size_t n = 1;
    struct str item;
    for (size_t i = 0; i < v.n; i++)
        n += v.p[i] == ',';
    if (n > max)
        return err_set(err, RC_INVALID, what, "takes at most %zu", max);
    struct str *list = arena_alloc(a, n * sizeof *list);
    if (!list)
        return err_set(err, RC_NOMEM, "", "no memory for a parameter");
    for (n = 0; str_next(&v, ',', &item);)
        if (str_trim(item).n)
            list[n++] = str_trim(item);
    if (n == 0)
        return err_set(err, RC_INVALID, what, "is empty");
    *ret = list;
    *ret_n = n;
    return RC_OK;
}

static bool is_field(struct str s)
{
    return s.n > 0 && s.n <= FIELD_NAME_MAX && str_is_clean(s);
}

static enum rc add_field(struct str name, struct str *list, size_t *n, struct err *err)
{
    if (!is_field(name))
        return err_set(err, RC_INVALID, "fields",
                       "must be names with commas between, - in front of "
                       "those to leave out");
    if (*n == STAC_FIELDS_MAX)
        return err_set(err, RC_INVALID, "fields", "takes at most %d names", STAC_FIELDS_MAX);
    list[(*n)++] = name;
    return RC_OK;
}

enum rc stac_fields_read(struct arena *a, struct str v, struct stac_fields *ret, struct err *err)
{
    struct str item;
    (void)a;
    while (str_next(&v, ',', &item)) {
        bool minus = item.n && item.p[0] == '-';
        bool sign = minus || (item.n && (item.p[0] == '+' || item.p[0] == ' '));
        item = (struct str){item.p + sign, item.n - sign};
        TRY(minus ? add_field(item, ret->exclude, &ret->n_exclude, err)
                  : add_field(item, ret->include, &ret->n_include, err));
    }
    return RC_OK;
}

static enum rc add_sort(struct str name, bool down, struct sort_by *list, size_t *n,
                        struct err *err)
{
    if (!is_field(name))
        return err_set(err, RC_INVALID, "sortby",
                       "must be names of properties, - in front for the "
                       "other way round");
    if (*n == ITEM_SORT_MAX)
        return err_set(err, RC_INVALID, "sortby", "takes at most %d names", ITEM_SORT_MAX);
    list[(*n)++] = (struct sort_by){name, down};
    return RC_OK;
}

enum rc stac_sortby(struct arena *a, struct str v, struct sort_by *ret, size_t *ret_n,
                    struct err *err)
{
    struct str item;
    (void)a;
    *ret_n = 0;
    if (v.n == 0)
        return err_set(err, RC_INVALID, "sortby", "is empty");
    while (str_next(&v, ',', &item)) {
        bool down = item.n && item.p[0] == '-';
        bool sign = down || (item.n && (item.p[0] == '+' || item.p[0] == ' '));
        TRY(add_sort((struct str){item.p + sign, item.n - sign}, down, ret, ret_n, err));
    }
    return RC_OK;
}

static enum rc check_crs(struct str v, struct err *err)
{
    if (!v.p || str_is(v, "http://www.opengis.net/def/crs/OGC/1.3/CRS84"))
        return RC_OK;
    return err_set(err, RC_INVALID, "filter-crs",
                   "must be http://www.opengis.net/def/crs/OGC/1.3/CRS84");
}

/* The filter, text or JSON in a text. */
static enum rc read_filter(struct arena *a, struct str v, struct str lang, struct stac_query *q,
                           struct err *err)
{
    struct cql2 *tree;
    yyjson_val *json;
    bool as_json = str_is(lang, "cql2-json");
    if (lang.p && !as_json && !str_is(lang, "cql2-text"))
        return err_set(err, RC_INVALID, "filter-lang", "must be cql2-text or cql2-json");
    if (!v.p)
        return RC_OK;
    if (as_json) {
        if (json_parse(a, v, 0, "filter", &json, err) != RC_OK)
            return err_set(err, RC_INVALID, "filter", "is not JSON");
        TRY(cql2_from_json(a, json, &tree, err));
    } else {
        TRY(cql2_from_text(a, v, &tree, err));
    }
    q->q.filter = tree;
    return RC_OK;
}

static enum rc read_intersects(struct arena *a, yyjson_val *v, struct stac_query *q,
                               struct err *err)
{
    struct place *g;
    if (q->q.area)
        return err_set(err, RC_INVALID, "intersects", "goes without bbox: give one of them");
    struct err why = {0};
    if (place_from_json(a, v, &g, &why) != RC_OK)
        return err_set(err, why.rc, "intersects", "%s", why.msg);
    q->q.area = g;
    return RC_OK;
}

/* ---- a query string -------------------------------------------------------------------------- */

static enum rc get_place(struct req *r, struct stac_query *q, struct err *err)
{
    struct str bbox = req_param(r, "bbox"), shape = req_param(r, "intersects"),
               when = req_param(r, "datetime");
    struct place *box;
    yyjson_val *json;
    if (bbox.p) {
        TRY(stac_bbox(r->arena, bbox, &box, err));
        q->q.area = box;
    }
    if (shape.p && json_parse(r->arena, shape, 0, "intersects", &json, err) != RC_OK)
        return err_set(err, RC_INVALID, "intersects", "is not JSON");
    if (shape.p)
        TRY(read_intersects(r->arena, json, q, err));
    return when.p ? stac_datetime(r->arena, when, &q->q.from, &q->q.until, err) : RC_OK;
}

static enum rc get_lists(struct req *r, struct stac_query *q, struct err *err)
{
    struct {
        const char *name;
        const struct str **list;
        size_t *n, max;
    } lists[] = {{"collections", &q->q.collections, &q->q.n_collections, STAC_LIST_MAX},
                 {"ids", &q->q.ids, &q->q.n_ids, STAC_LIST_MAX},
                 {"q", &q->q.words, &q->q.n_words, STAC_WORDS_MAX}};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct str v = req_param(r, lists[i].name), *got;
        if (!v.p)
            continue;
        TRY(stac_list(r->arena, lists[i].name, v, lists[i].max, &got, lists[i].n, err));
        *lists[i].list = got;
    }
    return RC_OK;
}

enum rc stac_query_get(struct req *r, struct stac_query *ret, struct err *err)
{
    struct str fields = req_param(r, "fields"), sortby = req_param(r, "sortby");
    *ret = (struct stac_query){.token = req_param(r, "token")};
    TRY(param_limit(req_param(r, "limit"), STAC_LIMIT_DEFAULT, STAC_LIMIT_MAX, &ret->q.limit, err));
    TRY(get_place(r, ret, err));
    TRY(get_lists(r, ret, err));
    if (fields.p)
        TRY(stac_fields_read(r->arena, fields, &ret->fields, err));
    if (sortby.p)
        TRY(stac_sortby(r->arena, sortby, ret->q.sort, &ret->q.n_sort, err));
    TRY(check_crs(req_param(r, "filter-crs"), err));
    TRY(read_filter(r->arena, req_param(r, "filter"), req_param(r, "filter-lang"), ret, err));
    ret->has_token = ret->token.p != NULL;
    return ret->has_token ? stac_token_read(r->arena, ret->token, &ret->q, err) : RC_OK;
}

/* ---- a JSON body ----------------------------------------------------------------------------- */

static struct str str_val(yyjson_val *v)
{
    return yyjson_is_str(v) ? (struct str){yyjson_get_str(v), yyjson_get_len(v)}
                            : (struct str){NULL, 0};
}

/* A list of strings, or one string alone. */
static enum rc body_list(struct arena *a, const char *name, yyjson_val *v, size_t max,
                         const struct str **ret, size_t *ret_n, struct err *err)
{
    size_t i, n = yyjson_is_str(v) ? 1 : yyjson_arr_size(v);
    yyjson_val *each;
    struct str *list = arena_alloc(a, (n + 1) * sizeof *list);
    if (!list)
        return err_set(err, RC_NOMEM, "", "no memory for a parameter");
    if (n > max)
        return err_set(err, RC_INVALID, name, "takes at most %zu", max);
    if (yyjson_is_str(v))
        list[0] = str_val(v);
    else if (!yyjson_is_arr(v))
        return err_set(err, RC_INVALID, name, "must be a list of strings");
    yyjson_arr_foreach(v, i, n, each)
    {
        list[i] = str_val(each);
        if (!list[i].p)
            return err_set(err, RC_INVALID, name, "must be a list of strings");
    }
    *ret = list;
    *ret_n = yyjson_is_str(v) ? 1 : yyjson_arr_size(v);
    return RC_OK;
}

static enum rc body_bbox(struct arena *a, yyjson_val *v, struct stac_query *q, struct err *err)
{
    double box[6];
    size_t i, n;
    yyjson_val *each;
    struct place *g;
    if (!yyjson_is_arr(v) || yyjson_arr_size(v) > ARRAY_LEN(box))
        return err_set(err, RC_INVALID, "bbox", "must be a list of 4 or 6 numbers");
    yyjson_arr_foreach(v, i, n, each)
    {
        if (!yyjson_is_num(each))
            return err_set(err, RC_INVALID, "bbox", "must be a list of 4 or 6 numbers");
        box[i] = yyjson_get_num(each);
    }
    TRY(place_from_bbox(a, box, yyjson_arr_size(v), &g, err));
    q->q.area = g;
    return RC_OK;
}

static enum rc body_limit(yyjson_val *v, struct stac_query *q, struct err *err)
{
    if (!yyjson_is_int(v) || yyjson_get_sint(v) < 1)
        return err_set(err, RC_INVALID, "limit", "must be a whole number of at least 1");
    q->q.limit = yyjson_get_uint(v) > STAC_LIMIT_MAX ? STAC_LIMIT_MAX : yyjson_get_sint(v);
    return RC_OK;
}

static enum rc body_sort(yyjson_val *v, struct stac_query *q, struct arena *a, struct err *err)
{
    size_t i, n;
    yyjson_val *each;
    if (yyjson_is_str(v))
        return stac_sortby(a, str_val(v), q->q.sort, &q->q.n_sort, err);
    if (!yyjson_is_arr(v))
        return err_set(err, RC_INVALID, "sortby", "must be a list of {field, direction}");
    yyjson_arr_foreach(v, i, n, each)
    {
        struct str way = str_val(yyjson_obj_get(each, "direction"));
        struct str name = str_val(yyjson_obj_get(each, "field"));
        if (way.p && !str_is(way, "asc") && !str_is(way, "desc"))
            return err_set(err, RC_INVALID, "sortby", "direction must be asc or desc");
        TRY(add_sort(name, way.p && str_is(way, "desc"), q->q.sort, &q->q.n_sort, err));
    }
    return RC_OK;
}

static enum rc body_names(yyjson_val *v, struct str *list, size_t *count, struct err *err)
{
    size_t i, n;
    yyjson_val *each;
    if (v && !yyjson_is_arr(v) && !yyjson_is_null(v))
        return err_set(err, RC_INVALID, "fields", "include and exclude are lists of names");
    yyjson_arr_foreach(v, i, n, each)
    {
        TRY(add_field(str_val(each), list, count, err));
    }
    return RC_OK;
}

static enum rc body_fields(struct arena *a, yyjson_val *v, struct stac_query *q, struct err *err)
{
    if (yyjson_is_str(v))
        return stac_fields_read(a, str_val(v), &q->fields, err);
    if (!yyjson_is_obj(v))
        return err_set(err, RC_INVALID, "fields", "must be {\"include\":[…],\"exclude\":[…]}");
    TRY(body_names(yyjson_obj_get(v, "include"), q->fields.include, &q->fields.n_include, err));
    return body_names(yyjson_obj_get(v, "exclude"), q->fields.exclude, &q->fields.n_exclude, err);
}

static enum rc body_filter(struct arena *a, yyjson_val *v, yyjson_val *body, struct stac_query *q,
                           struct err *err)
{
    struct str lang = str_val(yyjson_obj_get(body, "filter-lang"));
    struct cql2 *tree;
    if (yyjson_is_str(v))
        return read_filter(a, str_val(v), lang, q, err);
    if (lang.p && !str_is(lang, "cql2-json"))
        return err_set(err, RC_INVALID, "filter-lang", "is not that of a filter in JSON");
    TRY(cql2_from_json(a, v, &tree, err));
    q->q.filter = tree;
    return RC_OK;
}

static enum rc body_text(const char *name, yyjson_val *v, struct str *ret, struct err *err)
{
    *ret = str_val(v);
    return ret->p ? RC_OK : err_set(err, RC_INVALID, name, "must be a string");
}

static enum rc body_member(struct req *r, yyjson_val *name, yyjson_val *v, yyjson_val *body,
                           struct stac_query *q, struct err *err)
{
    struct arena *a = r->arena;
    struct str key = str_val(name), text;
    if (str_is(key, "collections"))
        return body_list(a, "collections", v, STAC_LIST_MAX, &q->q.collections, &q->q.n_collections,
                         err);
    if (str_is(key, "ids"))
        return body_list(a, "ids", v, STAC_LIST_MAX, &q->q.ids, &q->q.n_ids, err);
    if (str_is(key, "q"))
        return body_list(a, "q", v, STAC_WORDS_MAX, &q->q.words, &q->q.n_words, err);
    if (str_is(key, "bbox"))
        return body_bbox(a, v, q, err);
    if (str_is(key, "intersects"))
        return RC_OK; /* after bbox, whatever the order */
    if (str_is(key, "limit"))
        return body_limit(v, q, err);
    if (str_is(key, "sortby"))
        return body_sort(v, q, a, err);
    if (str_is(key, "fields"))
        return body_fields(a, v, q, err);
    if (str_is(key, "filter"))
        return body_filter(a, v, body, q, err);
    if (str_is(key, "filter-lang"))
        return read_filter(a, (struct str){NULL, 0}, str_val(v), q, err);
    if (str_is(key, "filter-crs"))
        return check_crs(str_val(v), err);
    if (str_is(key, "token"))
        return body_text("token", v, &q->token, err);
    if (!str_is(key, "datetime"))
        return err_set(err, RC_INVALID, str_is_clean(key) ? yyjson_get_str(name) : "",
                       "is not a member of a search");
    TRY(body_text("datetime", v, &text, err));
    return stac_datetime(a, text, &q->q.from, &q->q.until, err);
}

/* A member that is there twice means two things; which, each reader would settle in its own way. */
static enum rc check_once(struct arena *a, yyjson_val *v, const char *above, struct err *err)
{
    yyjson_obj_iter members = yyjson_obj_iter_with(v);
    yyjson_arr_iter items = yyjson_arr_iter_with(v);
    yyjson_val *key, *one;
    while ((key = yyjson_obj_iter_next(&members))) {
        const char *name = yyjson_get_str(key);
        char *path = arena_printf(a, "%s%s%s", above, *above ? "." : "", name);
        one = yyjson_obj_iter_get_val(key);
        if (!path)
            return err_set(err, RC_NOMEM, "", "no memory for a search");
        if (yyjson_obj_getn(v, name, yyjson_get_len(key)) != one)
            return err_set(err, RC_INVALID, str_is_clean(str_of(path)) ? path : "",
                           "is given more than once");
        TRY(check_once(a, one, path, err));
    }
    while ((one = yyjson_arr_iter_next(&items)))
        TRY(check_once(a, one, above, err));
    return RC_OK;
}

static enum rc body_of(struct req *r, yyjson_val **ret, struct err *err)
{
    if (r->body_too_large)
        return err_set(err, RC_TOO_LARGE, "", "a search has at most %u bytes", STAC_BODY_MAX);
    struct str type = r->content_type, head;
    if (!str_next(&type, ';', &head) || !str_ieq(str_trim(head), STR("application/json")))
        return err_set(err, RC_MEDIA_TYPE, "Content-Type", "must be application/json");
    TRY(json_parse(r->arena, r->body, 0, "the body", ret, err));
    if (!yyjson_is_obj(*ret))
        return err_set(err, RC_INVALID, "", "the body is not a JSON object");
    return check_once(r->arena, *ret, "", err);
}

enum rc stac_query_post(struct req *r, struct stac_query *ret, yyjson_val **ret_body,
                        struct err *err)
{
    yyjson_val *body, *key, *v;
    size_t i, n;
    TRY(body_of(r, &body, err));
    *ret = (struct stac_query){.q = {.limit = STAC_LIMIT_DEFAULT}};
    yyjson_obj_foreach(body, i, n, key, v)
    {
        bool null = yyjson_is_null(v) && strcmp(yyjson_get_str(key), "fields") != 0;
        if (!null)
            TRY(body_member(r, key, v, body, ret, err));
    }
    v = yyjson_obj_get(body, "intersects");
    if (v && !yyjson_is_null(v))
        TRY(read_intersects(r->arena, v, ret, err));
    ret->has_token = ret->token.p != NULL;
    if (ret->has_token)
        TRY(stac_token_read(r->arena, ret->token, &ret->q, err));
    *ret_body = body;
    return RC_OK;
}
