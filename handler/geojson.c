/* geojson: a walk over features, geometries and positions. */
#include "handler/geojson.h"

#include <math.h>

static const char *const geometry_types[] = {"Point",           "MultiPoint", "LineString",
                                             "MultiLineString", "Polygon",    "MultiPolygon"};

static bool type_is(yyjson_val *obj, const char *type)
{
    return yyjson_equals_str(yyjson_obj_get(obj, "type"), type);
}

static bool is_geometry(yyjson_val *obj)
{
    for (size_t i = 0; i < ARRAY_LEN(geometry_types); i++)
        if (type_is(obj, geometry_types[i]))
            return true;
    return type_is(obj, "GeometryCollection");
}

static void add_position(yyjson_val *pos, struct geojson *g)
{
    yyjson_val *first = yyjson_arr_get(pos, 0), *second = yyjson_arr_get(pos, 1);
    if (!yyjson_is_num(first) || !yyjson_is_num(second)) {
        g->malformed = true;
        return;
    }
    double x = yyjson_get_num(first), y = yyjson_get_num(second);
    if (fabs(x) > 180 || fabs(y) > 90)
        g->outside = true;
    if (g->positions++ == 0) {
        g->bbox[0] = g->bbox[2] = x;
        g->bbox[1] = g->bbox[3] = y;
        return;
    }
    g->bbox[0] = fmin(g->bbox[0], x);
    g->bbox[1] = fmin(g->bbox[1], y);
    g->bbox[2] = fmax(g->bbox[2], x);
    g->bbox[3] = fmax(g->bbox[3], y);
}

/* Arrays of arrays down to positions; empty arrays are allowed and cover nothing. */
static void add_coordinates(yyjson_val *v, struct geojson *g)
{
    size_t i, n;
    yyjson_val *item;
    if (!yyjson_is_arr(v)) {
        g->malformed = true;
        return;
    }
    if (yyjson_arr_size(v) > 0 && !yyjson_is_arr(yyjson_arr_get_first(v))) {
        add_position(v, g);
        return;
    }
    yyjson_arr_foreach(v, i, n, item)
    {
        add_coordinates(item, g);
    }
}

static void add_geometry(yyjson_val *v, struct geojson *g)
{
    size_t i, n;
    yyjson_val *part;
    if (!v || yyjson_is_null(v))
        return; /* an unlocated feature */
    if (!is_geometry(v)) {
        g->malformed = true;
        return;
    }
    if (!type_is(v, "GeometryCollection")) {
        add_coordinates(yyjson_obj_get(v, "coordinates"), g);
        return;
    }
    yyjson_arr_foreach(yyjson_obj_get(v, "geometries"), i, n, part)
    {
        add_geometry(part, g);
    }
}

static void add_collection(yyjson_val *root, struct geojson *g)
{
    size_t i, n;
    yyjson_val *feature, *features = yyjson_obj_get(root, "features");
    if (!yyjson_is_arr(features))
        g->malformed = true;
    g->features = (int64_t)yyjson_arr_size(features);
    yyjson_arr_foreach(features, i, n, feature)
    {
        add_geometry(yyjson_obj_get(feature, "geometry"), g);
    }
}

void geojson_scan(yyjson_val *root, struct geojson *ret)
{
    struct geojson g = {.is_geojson = true};
    if (type_is(root, "FeatureCollection")) {
        add_collection(root, &g);
    } else if (type_is(root, "Feature")) {
        g.features = 1;
        add_geometry(yyjson_obj_get(root, "geometry"), &g);
    } else if (is_geometry(root)) {
        add_geometry(root, &g);
    } else {
        g.is_geojson = false;
    }
    *ret = g;
}
