/* compare_geom: what lies between two shapes of one feature: patches gained and lost, and how far
 * the border moved. GEOS; only ever inside the sandbox.
 *
 * Shapes are in degrees of longitude and latitude. Areas are on the ellipsoid (inspect_geom);
 * lengths in metres, by the scale at the middle latitude of both shapes: right to a hundredth for
 * anything of the size of a state.
 *
 * A redrawn border leaves thousands of slivers. A patch counts when its area divided by its
 * perimeter is at least COMPARE_SLIVER_M: half of its width, when it is long. A strip of ten
 * metres, a lane, is the narrowest that is told; map borders are known no better.
 *
 * Invariants
 *   1. Sums of area hold slivers too; counts of patches do not.
 *   2. The patches kept are the largest COMPARE_PATCHES_MAX, in the order of their size.
 * Called by compare. */
#ifndef FRESHET_HANDLER_COMPARE_GEOM_H
#define FRESHET_HANDLER_COMPARE_GEOM_H

#include "core/arena.h"
#include "handler/inspect_valid.h"

#define COMPARE_SLIVER_M 5.0
#define COMPARE_PATCHES_MAX 20       /* of one kind of one feature: more than a person looks at */
#define COMPARE_PAIR_VERTICES 200000 /* of one pair: a second of GEOS; beyond, it is not measured */

struct patch {
    struct geom shape; /* one polygon, in the arena */
    double area_km2, width_m, bbox[4];
};
struct patches {
    struct patch list[COMPARE_PATCHES_MAX];
    size_t n;
    int64_t total, slivers;
    double area_km2, slivers_km2;
};
struct movement {
    bool has_area; /* both shapes are made of polygons alone */
    struct patches gained, lost;
    double moved_m; /* -1: one of them is empty */
};

/* A copy in the arena, with heights if it has any, for as long as that lives; false: no memory. */
bool compare_copy(struct arena *a, const struct geom *g, struct geom *ret);
/* The same with fewer vertices, told apart at no more than `across` steps of its extent; itself
 * when it cannot be made simpler. */
struct geom compare_simpler(struct valid *v, struct arena *a, const struct geom *g, double across);
/* The same parts and rings of the same vertices, wherever they begin, each coordinate within
 * precision_m of the old one. False also when there are too many ways to try. */
bool compare_same(struct arena *a, const struct geom *old, const struct geom *now,
                  double precision_m);
/* False: too many vertices, or GEOS or memory gave up; then ret tells nothing. */
bool compare_shapes(struct valid *v, struct arena *a, const struct geom *old,
                    const struct geom *now, struct movement *ret);

#endif
