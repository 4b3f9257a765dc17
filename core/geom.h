/* geom: a geometry as clients send it (GeoJSON, WKT, a box), and whether it meets a box. Plane geometry
 * in degrees; heights are read and not used.
 *
 * Invariants
 *   1. Positions are finite; there is at least one and at most GEOM_POSITIONS_MAX.
 *   2. geom_meets_box is exact for the numbers given; borders belong to both sides.
 * Pure. Called by cql2, by the ledger's search and by the api.
 */
#ifndef FRESHET_CORE_GEOM_H
#define FRESHET_CORE_GEOM_H

#include "core/json.h"

#define GEOM_POSITIONS_MAX 10000 /* a coast line; each one is met with each item of its box */
#define GEOM_DEPTH_MAX 8         /* collections inside collections */

enum geom_kind { GEOM_POINT, GEOM_LINE, GEOM_RING, GEOM_HOLE };
struct geom_part {
    enum geom_kind kind; /* a HOLE belongs to the RING before it */
    size_t first, n;
};
struct geom {
    double *xy; /* 2 per position */
    size_t n;
    struct geom_part *parts;
    size_t n_parts;
    double box[4]; /* west, south, east, north */
};

/* Building, for the parsers. Memory is the arena's. */
struct geom *geom_new(struct arena *a); /* NULL: no memory */
MUST_CHECK enum rc geom_part(struct arena *a, struct geom *g, enum geom_kind kind, struct err *err);
MUST_CHECK enum rc geom_add(struct arena *a, struct geom *g, double x, double y, struct err *err);
/* Checks what was built and computes the box. */
MUST_CHECK enum rc geom_done(struct geom *g, struct err *err);

/* Any of the seven types of GeoJSON. RC_INVALID says what is wrong. */
MUST_CHECK enum rc geom_from_json(struct arena *a, yyjson_val *v, struct geom **ret,
                                  struct err *err);
/* From 4 or 6 numbers: west > east crosses the antimeridian and makes two boxes; south > north and
 * what is off the globe is RC_INVALID. */
MUST_CHECK enum rc geom_from_bbox(struct arena *a, const double *v, size_t n, struct geom **ret,
                                  struct err *err);
/* Does it meet this box (west, south, east, north; west <= east)? */
bool geom_meets_box(const struct geom *g, const double box[4]);

#endif
