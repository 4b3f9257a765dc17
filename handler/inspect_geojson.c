/* inspect_geojson: the text into members and features, a feature into geometry and attributes. */
#include "handler/inspect_geojson.h"

#include "handler/inspect_attributes.h"

#define FEATURE_MEMORY_MAX ((size_t)1 << 30) /* yyjson needs up to 24 times the text */

struct reader {
    struct inspect *in;
    struct layer *layer;
    struct arena feature; /* what lives as long as one feature */
    struct geom geom;
    struct attributes attributes;
    struct err *err;
};

/* Stop reading, with a problem told. */
static enum rc broken(struct reader *r, enum inspect_problem p)
{
    inspect_problem(r->in, p);
    return RC_INVALID;
}

/* ---- cutting --------------------------------------------------------------------------------- */

static void skip_space(struct str *s)
{
    while (s->n > 0 && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r' || *s->p == '\n'))
        s->p++, s->n--;
}

static bool take(struct str *s, char c)
{
    skip_space(s);
    if (s->n == 0 || *s->p != c)
        return false;
    s->p++, s->n--;
    return true;
}

/* The length of the string that s begins with, quotes included; 0 when it does not end. */
static size_t string_len(struct str s)
{
    for (size_t i = 1; i < s.n; i++) {
        if (s.p[i] == '\\')
            i++;
        else if (s.p[i] == '"')
            return i + 1;
    }
    return 0;
}

/* Cuts the value that *s begins with: to the bracket that closes it, or to what ends a scalar. What
 * is inside is checked when it is parsed. */
static bool cut_value(struct str *s, struct str *value)
{
    size_t depth = 0, i = 0;
    skip_space(s);
    while (i < s->n) {
        char c = s->p[i];
        if (c == '"') {
            size_t n = string_len((struct str){s->p + i, s->n - i});
            if (n == 0)
                return false;
            i += n - 1;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
        } else if (depth == 0 && (c == ',' || c == '}' || c == ']' || (i > 0 && c == '\n'))) {
            break;
        }
        i++;
        if (depth == 0 && (c == '}' || c == ']' || c == '"'))
            break;
    }
    *value = (struct str){s->p, i};
    s->p += i, s->n -= i;
    return i > 0 && depth == 0;
}

static enum rc parse(struct reader *r, struct str text, yyjson_val **ret)
{
    struct err why;
    if (text.n > JSON_MAX)
        return broken(r, PROBLEM_TOO_LARGE);
    enum rc rc = json_parse(&r->feature, text, 0, "the data", ret, &why);
    if (rc == RC_NOMEM)
        return broken(r, PROBLEM_TOO_LARGE);
    return rc == RC_OK ? RC_OK : broken(r, PROBLEM_PARSE_ERROR);
}

/* ---- geometries ------------------------------------------------------------------------------ */

static void read_position(struct geom *g, yyjson_val *p)
{
    yyjson_val *x = yyjson_arr_get_first(p), *y = yyjson_arr_get(p, 1), *z = yyjson_arr_get(p, 2);
    if (!yyjson_is_num(x) || !yyjson_is_num(y) || (z && !yyjson_is_num(z))) {
        g->bad = g->bad ? g->bad : GEOM_MALFORMED;
        return;
    }
    g->has_z = g->has_z || z;
    geom_vertex(g, yyjson_get_num(x), yyjson_get_num(y), yyjson_get_num(z));
}

static void read_line(struct geom *g, yyjson_val *positions)
{
    size_t i, n;
    yyjson_val *p;
    geom_ring(g);
    if (!yyjson_is_arr(positions))
        g->bad = g->bad ? g->bad : GEOM_MALFORMED;
    yyjson_arr_foreach(positions, i, n, p) read_position(g, p);
}

static void read_part(struct geom *g, enum geom_kind kind, yyjson_val *c)
{
    size_t i, n;
    yyjson_val *ring;
    if (!yyjson_is_arr(c))
        g->bad = g->bad ? g->bad : GEOM_MALFORMED;
    if (yyjson_arr_size(c) == 0)
        return; /* an empty geometry */
    geom_part(g, kind);
    if (kind == GEOM_POINT) {
        geom_ring(g);
        read_position(g, c);
    } else if (kind == GEOM_LINE) {
        read_line(g, c);
    } else {
        yyjson_arr_foreach(c, i, n, ring) read_line(g, ring);
    }
}

static const struct {
    const char *type;
    enum geom_kind kind;
    bool multi;
} types[] = {{"Polygon", GEOM_POLYGON, false}, {"MultiPolygon", GEOM_POLYGON, true},
             {"Point", GEOM_POINT, false},     {"MultiPoint", GEOM_POINT, true},
             {"LineString", GEOM_LINE, false}, {"MultiLineString", GEOM_LINE, true}};

/* False: no geometry type of RFC 7946. The depth of the JSON bounds that of collections. */
static bool read_geometry(struct geom *g, yyjson_val *v)
{
    size_t i, n;
    yyjson_val *item, *c = yyjson_obj_get(v, "coordinates");
    yyjson_val *type = yyjson_obj_get(v, "type");
    if (yyjson_equals_str(type, "GeometryCollection")) {
        yyjson_arr_foreach(yyjson_obj_get(v, "geometries"), i, n, item)
        {
            if (!read_geometry(g, item))
                g->bad = g->bad ? g->bad : GEOM_MALFORMED;
        }
        return true;
    }
    for (size_t t = 0; t < ARRAY_LEN(types); t++) {
        if (!yyjson_equals_str(type, types[t].type))
            continue;
        if (!types[t].multi)
            read_part(g, types[t].kind, c);
        else if (!yyjson_is_arr(c))
            g->bad = g->bad ? g->bad : GEOM_MALFORMED;
        else
            yyjson_arr_foreach(c, i, n, item) read_part(g, types[t].kind, item);
        return true;
    }
    return false;
}

/* ---- features -------------------------------------------------------------------------------- */

static unsigned type_of(yyjson_val *v)
{
    switch (yyjson_get_type(v)) {
    case YYJSON_TYPE_BOOL: return FIELD_boolean;
    case YYJSON_TYPE_NUM: return yyjson_is_int(v) ? FIELD_integer : FIELD_number;
    case YYJSON_TYPE_STR: return FIELD_string;
    case YYJSON_TYPE_ARR: return FIELD_list;
    case YYJSON_TYPE_OBJ: return FIELD_object;
    default: return FIELD_null;
    }
}

static enum rc read_properties(struct reader *r, yyjson_val *properties)
{
    size_t i, n;
    yyjson_val *name, *value;
    struct err why;
    yyjson_obj_foreach(properties, i, n, name, value)
    {
        struct str s = {yyjson_get_str(name), yyjson_get_len(name)};
        bool filled =
            yyjson_is_str(value) ? layer_text_fills(json_text(value)) : !yyjson_is_null(value);
        enum rc rc = layer_field(r->layer, r->in->arena, s, type_of(value), filled);
        if (rc != RC_OK)
            return broken(r, PROBLEM_TOO_LARGE);
        if (attributes_json(&r->attributes, s, value, &why) != RC_OK)
            return broken(r, PROBLEM_PARSE_ERROR);
    }
    return RC_OK;
}

static enum rc add_feature(struct reader *r, yyjson_val *geometry, yyjson_val *properties,
                           yyjson_val *id)
{
    const char *key_name = r->in->options->feature_key;
    bool none = !geometry || yyjson_is_null(geometry);
    char key[INSPECT_KEY_MAX + 1];
    struct str attributes;
    geom_clear(&r->geom);
    attributes_clear(&r->attributes);
    if (!none && !read_geometry(&r->geom, geometry))
        r->geom.bad = GEOM_MALFORMED;
    TRY(read_properties(r, properties));
    yyjson_val *key_value = *key_name ? yyjson_obj_get(properties, key_name) : NULL;
    if (!key_value && strcmp(key_name, "id") == 0)
        key_value = id;
    bool keyed = key_value && attributes_key(key_value, key);
    if (++r->in->features > INSPECT_FEATURES_MAX || !attributes_finish(&r->attributes, &attributes))
        return broken(r, PROBLEM_TOO_LARGE);
    enum rc rc = layer_add(r->layer, r->in->arena, &r->in->tools, none ? NULL : &r->geom,
                           attributes, keyed ? key : NULL);
    return rc == RC_OK ? RC_OK : broken(r, PROBLEM_TOO_LARGE);
}

/* A feature, or a bare geometry, which counts as a feature without attributes. */
static enum rc read_object(struct reader *r, yyjson_val *v)
{
    if (!yyjson_is_obj(v))
        return broken(r, PROBLEM_WRONG_SHAPE);
    if (yyjson_equals_str(yyjson_obj_get(v, "type"), "Feature"))
        return add_feature(r, yyjson_obj_get(v, "geometry"), yyjson_obj_get(v, "properties"),
                           yyjson_obj_get(v, "id"));
    if (!yyjson_obj_get(v, "coordinates") && !yyjson_obj_get(v, "geometries"))
        return broken(r, PROBLEM_WRONG_SHAPE);
    return add_feature(r, v, NULL, NULL);
}

static enum rc read_text(struct reader *r, struct str text)
{
    yyjson_val *v;
    arena_reset(&r->feature);
    TRY(parse(r, text, &v));
    return read_object(r, v);
}

static enum rc read_features(struct reader *r, struct str list)
{
    struct str value;
    if (!take(&list, '['))
        return broken(r, PROBLEM_WRONG_SHAPE);
    if (take(&list, ']'))
        return RC_OK;
    do {
        if (!cut_value(&list, &value))
            return broken(r, PROBLEM_PARSE_ERROR);
        TRY(read_text(r, value));
    } while (take(&list, ','));
    return take(&list, ']') ? RC_OK : broken(r, PROBLEM_PARSE_ERROR);
}

/* ---- documents ------------------------------------------------------------------------------- */

/* The members of the root that matter, as text. */
struct members {
    struct str type, features, crs;
};

static enum rc cut_member(struct reader *r, struct str *s, struct members *m)
{
    struct str name, value;
    yyjson_val *checked;
    bool ok = cut_value(s, &name) && *name.p == '"' && take(s, ':') && cut_value(s, &value);
    if (!ok)
        return broken(r, PROBLEM_PARSE_ERROR);
    if (str_is(name, "\"features\"")) {
        if (m->features.n > 0)
            return broken(r, PROBLEM_PARSE_ERROR);
        m->features = value;
        return RC_OK;
    }
    if (str_is(name, "\"type\""))
        m->type = str_trim(value);
    else if (str_is(name, "\"crs\""))
        m->crs = value;
    arena_reset(&r->feature);
    TRY(parse(r, name, &checked));
    return parse(r, value, &checked);
}

static enum rc cut_members(struct reader *r, struct str s, struct members *m)
{
    if (!take(&s, '{'))
        return broken(r, PROBLEM_WRONG_SHAPE);
    if (!take(&s, '}')) {
        do
            TRY(cut_member(r, &s, m));
        while (take(&s, ','));
        if (!take(&s, '}'))
            return broken(r, PROBLEM_PARSE_ERROR);
    }
    skip_space(&s);
    return s.n == 0 ? RC_OK : broken(r, PROBLEM_PARSE_ERROR);
}

static enum rc open_layer(struct reader *r, struct str crs_text, geojson_crs *of)
{
    struct crs crs = crs_wgs84;
    yyjson_val *v;
    if (of && crs_text.n > 0) {
        TRY(parse(r, crs_text, &v));
        TRY(of(r->in, v, &crs, r->err));
    }
    r->layer = inspect_layer(r->in, "features", &crs);
    return r->layer ? RC_OK : RC_INVALID;
}

static enum rc read_document(struct reader *r, struct str text, geojson_crs *of)
{
    struct members m = {0};
    TRY(cut_members(r, text, &m));
    TRY(open_layer(r, m.crs, of));
    if (m.features.n > 0 && str_is(m.type, "\"FeatureCollection\""))
        return read_features(r, m.features);
    return read_text(r, text);
}

static enum rc read_sequence(struct reader *r, struct str text)
{
    struct str value;
    TRY(open_layer(r, STR(""), NULL));
    for (;;) {
        while (take(&text, '\x1e'))
            ;
        if (text.n == 0)
            return RC_OK;
        if (!cut_value(&text, &value))
            return broken(r, PROBLEM_PARSE_ERROR);
        TRY(read_text(r, value));
    }
}

enum rc inspect_geojson_with(struct inspect *in, geojson_crs *of, struct err *err)
{
    struct reader r = {.in = in, .err = err};
    struct str text = str_skip_bom(in->bytes);
    arena_init(&r.feature, FEATURE_MEMORY_MAX);
    attributes_init(&r.attributes);
    enum rc rc =
        in->format == FORMAT_geojsonseq ? read_sequence(&r, text) : read_document(&r, text, of);
    attributes_release(&r.attributes);
    geom_release(&r.geom);
    arena_release(&r.feature);
    return rc == RC_INVALID ? RC_OK : rc; /* told as a problem */
}

enum rc inspect_geojson(struct inspect *in, struct err *err)
{
    return inspect_geojson_with(in, NULL, err);
}
