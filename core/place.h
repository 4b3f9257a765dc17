/* place: a geometry as clients send it (GeoJSON, WKT, a box), and whether it meets a box. Plane
 * geometry in degrees; heights are read and not used.
 *
 * Invariants
 *   1. Positions are finite; there is at least one and at most PLACE_POSITIONS_MAX.
 *   2. place_meets_box is exact for the numbers given; borders belong to both sides.
 * Pure. Called by cql2, by the ledger's search and by the api.
 */
#ifndef FRESHET_CORE_PLACE_H
#define FRESHET_CORE_PLACE_H

#include "core/json.h"

#define PLACE_POSITIONS_MAX 10000 /* a coast line; each one is met with each item of its box */
#define PLACE_DEPTH_MAX 8         /* collections inside collections */

enum place_kind { PLACE_POINT, PLACE_LINE, PLACE_RING, PLACE_HOLE };
struct place_part {
    enum place_kind kind; /* a HOLE belongs to the RING before it */
    size_t first, n;
};
struct place {
    double *xy; /* 2 per position */
    size_t n;
    struct place_part *parts;
    size_t n_parts;
    double box[4]; /* west, south, east, north */
};

/* Building, for the parsers. Memory is the arena's. */
struct place *place_new(struct arena *a); /* NULL: no memory */
MUST_CHECK enum rc place_part(struct arena *a, struct place *g, enum place_kind kind,
                              struct err *err);
MUST_CHECK enum rc place_add(struct arena *a, struct place *g, double x, double y, struct err *err);
/* Checks what was built and computes the box. */
MUST_CHECK enum rc place_done(struct place *g, struct err *err);

/* Any of the seven types of GeoJSON. RC_INVALID says what is wrong. */
MUST_CHECK enum rc place_from_json(struct arena *a, yyjson_val *v, struct place **ret,
                                   struct err *err);
/* From 4 or 6 numbers: west > east crosses the antimeridian and makes two boxes; south > north and
 * what is off the globe is RC_INVALID. */
MUST_CHECK enum rc place_from_bbox(struct arena *a, const double *v, size_t n, struct place **ret,
                                   struct err *err);
/* Does it meet this box (west, south, east, north; west <= east)? */
bool place_meets_box(const struct place *g, const double box[4]);
/* Is it nothing but its box, which has a width and a height? */
bool place_is_box(const struct place *g);

#endif
