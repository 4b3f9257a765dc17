/* inspect_geojson: GeoJSON and GeoJSON text sequences, on yyjson.
 *
 * The text is cut into its members first, features are parsed one by one: memory goes with the
 * largest feature, not with the file. A feature's own "id" is no attribute (publishers number
 * anew), but serves as the feature key when that is "id" and no property has this name.
 *
 * Invariants
 *   1. Every byte is looked at: what is not JSON to the last byte is a PARSE_ERROR, and so are
 *      nesting beyond JSON_DEPTH_MAX and a single feature beyond JSON_MAX.
 *   2. Integers beyond 2^53 keep all digits: they go into the digest as text.
 */
#ifndef FRESHET_HANDLER_INSPECT_GEOJSON_H
#define FRESHET_HANDLER_INSPECT_GEOJSON_H

#include "handler/inspect.h"

/* Fills ret from the value of the old "crs" member; RC_OK also when it cannot (ret->known). */
typedef enum rc geojson_crs(struct inspect *in, yyjson_val *crs, struct crs *ret, struct err *err);

/* Longitude and latitude only. */
inspect_reader inspect_geojson;
/* Any CRS that `of` knows. */
MUST_CHECK enum rc inspect_geojson_with(struct inspect *in, geojson_crs *of, struct err *err);

#endif
