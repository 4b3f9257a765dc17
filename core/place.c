/* place: building, reading GeoJSON, meeting a box. Parts lie in one list; a polygon is a ring and
 * the holes after it, and a position is inside when a ray crosses an odd number of their edges. */
#include "core/place.h"

#include <math.h>

#define FIELD "geometry"

struct place *place_new(struct arena *a)
{
    return ARENA_NEW(a, struct place);
}

/* Room for one more: sizes double, so that a long list is copied a few times only. */
static void *grow(struct arena *a, void *p, size_t n, size_t each)
{
    bool full = n == 0 || (n >= 8 && (n & (n - 1)) == 0);
    if (!full)
        return p;
    return arena_resize(a, p, n * each, (n < 8 ? 8 : 2 * n) * each);
}

enum rc place_part(struct arena *a, struct place *g, enum place_kind kind, struct err *err)
{
    struct place_part *parts = grow(a, g->parts, g->n_parts, sizeof *parts);
    if (!parts)
        return err_set(err, RC_NOMEM, "", "no memory for a geometry");
    g->parts = parts;
    g->parts[g->n_parts++] = (struct place_part){kind, g->n, 0};
    return RC_OK;
}

enum rc place_add(struct arena *a, struct place *g, double x, double y, struct err *err)
{
    if (!isfinite(x) || !isfinite(y))
        return err_set(err, RC_INVALID, FIELD, "a position is not a pair of numbers");
    if (g->n == PLACE_POSITIONS_MAX)
        return err_set(err, RC_INVALID, FIELD, "has more than %d positions", PLACE_POSITIONS_MAX);
    double *xy = grow(a, g->xy, g->n, 2 * sizeof *xy);
    if (!xy)
        return err_set(err, RC_NOMEM, "", "no memory for a geometry");
    g->xy = xy;
    g->xy[2 * g->n] = x;
    g->xy[2 * g->n + 1] = y;
    g->n++;
    g->parts[g->n_parts - 1].n++;
    return RC_OK;
}

static enum rc check_part(const struct place *g, const struct place_part *p, struct err *err)
{
    const double *first = g->xy + 2 * p->first, *last = first + 2 * (p->n ? p->n - 1 : 0);
    if (p->n == 0)
        return err_set(err, RC_INVALID, FIELD, "has a part without positions");
    if (p->kind == PLACE_LINE && p->n < 2)
        return err_set(err, RC_INVALID, FIELD, "a line needs two positions");
    if (p->kind != PLACE_RING && p->kind != PLACE_HOLE)
        return RC_OK;
    if (p->n < 4 || first[0] != last[0] || first[1] != last[1])
        return err_set(err, RC_INVALID, FIELD,
                       "a ring needs four positions, of which the last is the first");
    return RC_OK;
}

enum rc place_done(struct place *g, struct err *err)
{
    if (g->n == 0)
        return err_set(err, RC_INVALID, FIELD, "is empty");
    for (size_t i = 0; i < g->n_parts; i++)
        TRY(check_part(g, &g->parts[i], err));
    double *b = g->box;
    b[0] = b[2] = g->xy[0];
    b[1] = b[3] = g->xy[1];
    for (size_t i = 1; i < g->n; i++) {
        b[0] = fmin(b[0], g->xy[2 * i]);
        b[1] = fmin(b[1], g->xy[2 * i + 1]);
        b[2] = fmax(b[2], g->xy[2 * i]);
        b[3] = fmax(b[3], g->xy[2 * i + 1]);
    }
    return RC_OK;
}

/* ---- GeoJSON --------------------------------------------------------------------------------- */

static enum rc add_position(struct arena *a, struct place *g, yyjson_val *v, struct err *err)
{
    yyjson_val *x = yyjson_arr_get(v, 0), *y = yyjson_arr_get(v, 1);
    if (!yyjson_is_num(x) || !yyjson_is_num(y) || yyjson_arr_size(v) > 3)
        return err_set(err, RC_INVALID, FIELD, "a position is not a list of 2 or 3 numbers");
    return place_add(a, g, yyjson_get_num(x), yyjson_get_num(y), err);
}

/* One list of positions as one part. */
static enum rc add_list(struct arena *a, struct place *g, yyjson_val *v, enum place_kind kind,
                        struct err *err)
{
    size_t i, n;
    yyjson_val *p;
    if (!yyjson_is_arr(v))
        return err_set(err, RC_INVALID, FIELD, "coordinates are not nested as the type wants");
    TRY(place_part(a, g, kind, err));
    yyjson_arr_foreach(v, i, n, p)
    {
        TRY(add_position(a, g, p, err));
    }
    return RC_OK;
}

static enum rc add_polygon(struct arena *a, struct place *g, yyjson_val *v, struct err *err)
{
    size_t i, n;
    yyjson_val *ring;
    if (!yyjson_is_arr(v) || yyjson_arr_size(v) == 0)
        return err_set(err, RC_INVALID, FIELD, "coordinates are not nested as the type wants");
    yyjson_arr_foreach(v, i, n, ring)
    {
        TRY(add_list(a, g, ring, i ? PLACE_HOLE : PLACE_RING, err));
    }
    return RC_OK;
}

static enum rc add_point(struct arena *a, struct place *g, yyjson_val *v, struct err *err)
{
    TRY(place_part(a, g, PLACE_POINT, err));
    return add_position(a, g, v, err);
}

static enum rc add_line(struct arena *a, struct place *g, yyjson_val *v, struct err *err)
{
    return add_list(a, g, v, PLACE_LINE, err);
}

typedef enum rc add_fn(struct arena *a, struct place *g, yyjson_val *v, struct err *err);

static const struct {
    const char *type;
    bool many;
    add_fn *add;
} types[] = {{"Point", false, add_point},     {"MultiPoint", true, add_point},
             {"LineString", false, add_line}, {"MultiLineString", true, add_line},
             {"Polygon", false, add_polygon}, {"MultiPolygon", true, add_polygon}};

static enum rc add_geometry(struct arena *a, struct place *g, yyjson_val *v, int depth,
                            struct err *err)
{
    const char *type = yyjson_get_str(yyjson_obj_get(v, "type"));
    size_t i, n;
    yyjson_val *c = yyjson_obj_get(v, "coordinates"), *each;
    if (!type)
        return err_set(err, RC_INVALID, FIELD, "is not a GeoJSON geometry");
    for (size_t t = 0; t < ARRAY_LEN(types); t++) {
        if (strcmp(type, types[t].type) != 0)
            continue;
        if (!types[t].many)
            return types[t].add(a, g, c, err);
        if (!yyjson_is_arr(c))
            return err_set(err, RC_INVALID, FIELD, "has no coordinates");
        yyjson_arr_foreach(c, i, n, each)
        {
            TRY(types[t].add(a, g, each, err));
        }
        return RC_OK;
    }
    c = yyjson_obj_get(v, "geometries");
    if (strcmp(type, "GeometryCollection") != 0 || !yyjson_is_arr(c))
        return err_set(err, RC_INVALID, FIELD, "is not one of the seven types of GeoJSON");
    if (depth == PLACE_DEPTH_MAX)
        return err_set(err, RC_INVALID, FIELD, "is nested more than %d deep", PLACE_DEPTH_MAX);
    yyjson_arr_foreach(c, i, n, each)
    {
        TRY(add_geometry(a, g, each, depth + 1, err));
    }
    return RC_OK;
}

enum rc place_from_json(struct arena *a, yyjson_val *v, struct place **ret, struct err *err)
{
    struct place *g = place_new(a);
    if (!g)
        return err_set(err, RC_NOMEM, "", "no memory for a geometry");
    TRY(add_geometry(a, g, v, 0, err));
    TRY(place_done(g, err));
    *ret = g;
    return RC_OK;
}

/* ---- boxes ----------------------------------------------------------------------------------- */

static enum rc add_box(struct arena *a, struct place *g, double w, double s, double e, double n,
                       struct err *err)
{
    TRY(place_part(a, g, PLACE_RING, err));
    TRY(place_add(a, g, w, s, err));
    TRY(place_add(a, g, e, s, err));
    TRY(place_add(a, g, e, n, err));
    TRY(place_add(a, g, w, n, err));
    return place_add(a, g, w, s, err);
}

enum rc place_from_bbox(struct arena *a, const double *v, size_t n, struct place **ret,
                        struct err *err)
{
    if (n != 4 && n != 6)
        return err_set(err, RC_INVALID, "bbox", "must be 4 numbers, or 6 with heights");
    double w = v[0], s = v[1], e = v[n / 2], t = v[n / 2 + 1];
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i]))
            return err_set(err, RC_INVALID, "bbox", "must be numbers");
    if (s > t)
        return err_set(err, RC_INVALID, "bbox", "its south lies north of its north");
    if (n == 6 && v[2] > v[5])
        return err_set(err, RC_INVALID, "bbox", "its lower height lies above its upper height");
    if (fabs(w) > 180 || fabs(e) > 180 || fabs(s) > 90 || fabs(t) > 90)
        return err_set(err, RC_INVALID, "bbox",
                       "must lie within -180, -90, 180, 90: west, south, east, north");
    struct place *g = place_new(a);
    if (!g)
        return err_set(err, RC_NOMEM, "", "no memory for a geometry");
    if (w <= e) {
        TRY(add_box(a, g, w, s, e, t, err));
    } else {
        TRY(add_box(a, g, w, s, 180, t, err));
        TRY(add_box(a, g, -180, s, e, t, err));
    }
    TRY(place_done(g, err));
    *ret = g;
    return RC_OK;
}

/* ---- meeting --------------------------------------------------------------------------------- */

static bool in_box(const double *p, const double b[4])
{
    return p[0] >= b[0] && p[0] <= b[2] && p[1] >= b[1] && p[1] <= b[3];
}

/* On which side of the line through a and b lies the corner? */
static double side(const double *a, const double *b, double x, double y)
{
    return (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
}

/* A segment misses a box when both ends lie beyond one of its edges, or all corners lie on
 * one side. */
static bool segment_meets(const double *p, const double *q, const double b[4])
{
    if (fmax(p[0], q[0]) < b[0] || fmin(p[0], q[0]) > b[2] || fmax(p[1], q[1]) < b[1] ||
        fmin(p[1], q[1]) > b[3])
        return false;
    double s[4] = {side(p, q, b[0], b[1]), side(p, q, b[2], b[1]), side(p, q, b[2], b[3]),
                   side(p, q, b[0], b[3])};
    bool left = s[0] > 0 && s[1] > 0 && s[2] > 0 && s[3] > 0;
    bool right = s[0] < 0 && s[1] < 0 && s[2] < 0 && s[3] < 0;
    return !left && !right;
}

static bool line_meets(const struct place *g, const struct place_part *p, const double b[4])
{
    const double *at = g->xy + 2 * p->first;
    for (size_t i = 0; i + 1 < p->n; i++, at += 2)
        if (segment_meets(at, at + 2, b))
            return true;
    return false;
}

/* Edges of one ring that a ray from (x, y) to the east crosses, odd or even. */
static bool ring_odd(const struct place *g, const struct place_part *p, double x, double y)
{
    const double *at = g->xy + 2 * p->first;
    bool odd = false;
    for (size_t i = 0; i + 1 < p->n; i++, at += 2) {
        bool crosses = (at[1] > y) != (at[3] > y);
        if (crosses && x < (at[2] - at[0]) * (y - at[1]) / (at[3] - at[1]) + at[0])
            odd = !odd;
    }
    return odd;
}

/* A polygon from parts[i] on: an edge meets the box, or the box lies inside. */
static bool polygon_meets(const struct place *g, size_t i, const double b[4])
{
    bool inside = false;
    size_t first = i;
    for (; i < g->n_parts && (i == first || g->parts[i].kind == PLACE_HOLE); i++) {
        if (line_meets(g, &g->parts[i], b))
            return true;
        inside ^= ring_odd(g, &g->parts[i], b[0], b[1]);
    }
    return inside;
}

/* All positions are corners, each the opposite of the one after the next. */
bool place_is_box(const struct place *g)
{
    if (g->n_parts != 1 || g->parts[0].kind != PLACE_RING || g->n != 5)
        return false;
    for (size_t i = 0; i < g->n; i++) {
        const double *p = g->xy + 2 * i, *q = g->xy + 2 * ((i + 2) % 4);
        bool corner =
            (p[0] == g->box[0] || p[0] == g->box[2]) && (p[1] == g->box[1] || p[1] == g->box[3]);
        if (!corner || p[0] == q[0] || p[1] == q[1])
            return false;
    }
    return true;
}

bool place_meets_box(const struct place *g, const double b[4])
{
    for (size_t i = 0; i < g->n_parts; i++) {
        const struct place_part *p = &g->parts[i];
        bool meets = p->kind == PLACE_POINT  ? in_box(g->xy + 2 * p->first, b)
                     : p->kind == PLACE_LINE ? line_meets(g, p, b)
                     : p->kind == PLACE_RING ? polygon_meets(g, i, b)
                                             : false;
        if (meets)
            return true;
    }
    return false;
}
