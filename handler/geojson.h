/* geojson: what a parsed GeoJSON document covers. Pure; called by validate.
 *
 * Only coordinates of geometries count, wherever RFC 7946 allows a geometry: a member that happens
 * to be called "coordinates" inside properties does not.
 */
#ifndef FRESHET_HANDLER_GEOJSON_H
#define FRESHET_HANDLER_GEOJSON_H

#include "core/json.h"

struct geojson {
    bool is_geojson;   /* the root is an object of one of the nine types */
    int64_t features;  /* of a FeatureCollection; 1 for a Feature, 0 for a bare geometry */
    int64_t positions; /* met in geometries */
    bool malformed;    /* a geometry without proper positions */
    bool outside;      /* a position is not longitude and latitude in degrees */
    double bbox[4];    /* west, south, east, north, when positions > 0 */
};

/* root is at most JSON_DEPTH_MAX deep (json_parse sees to it). */
void geojson_scan(yyjson_val *root, struct geojson *ret);

#endif
