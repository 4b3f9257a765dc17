/* inspect_geom: a geometry as readers hand it over, its normal form and its measures. Pure;
 * no GDAL.
 *
 * A geometry is a flat list of parts (points, lines, polygons); multi-geometries and collections
 * are just several parts, so a polygon and a multi-polygon that holds only it are the same.
 *
 * The normal form, of which the digest is taken:
 *   - coordinates are multiples of a decimal step, the largest power of ten of the CRS's unit that
 *     is at most twice precision_m: no coordinate moves by more than precision_m, and numbers that
 *     were only rounded to fewer digits meet again. (0.01 m gives 7 decimals of a degree.) Steps
 *     have edges: a coordinate that lies on one, and moves ever so little, is another. Data that
 *     was written with that many digits or fewer lies in the middle; for the rest, a comparison
 *     says what is the same (compare_same).
 *   - repeated vertices count once; rings have no closing vertex, begin at their smallest vertex,
 *     shells turn left and holes right; holes and parts are sorted. Lines keep their direction.
 *
 * Invariants
 *   1. Same shape, same digest: whatever the order of parts, holes, the start and turn of rings.
 *   2. A geometry with a coordinate that is not finite or beyond 2^49 steps has no digest.
 *   3. Memory is bounded by GEOM_VERTICES_MAX; the first failure sticks (bad).
 */
#ifndef FRESHET_HANDLER_INSPECT_GEOM_H
#define FRESHET_HANDLER_INSPECT_GEOM_H

#include "core/buf.h"
#include "core/digest.h"

#define GEOM_VERTICES_MAX (1u << 25) /* of one feature; the coast of a continent has a million */

enum geom_kind { GEOM_POINT, GEOM_LINE, GEOM_POLYGON };
/* Why a geometry cannot be used, in the order in which it is told. */
enum geom_bad { GEOM_FINE, GEOM_MALFORMED, GEOM_NOT_FINITE, GEOM_TOO_LARGE, GEOM_NO_MEMORY };

struct geom_ring {
    size_t at, n; /* vertices */
};
struct geom_part {
    enum geom_kind kind;
    size_t at, n; /* rings; points and lines have one */
};
struct geom {
    double *x, *y, *z; /* z is 0 where a vertex has none */
    size_t n, room;
    struct geom_ring *rings;
    size_t n_rings, rings_room;
    struct geom_part *parts;
    size_t n_parts, parts_room;
    bool has_z;
    enum geom_bad bad;
};

/* Empty again, memory kept. A zeroed struct geom is empty. */
void geom_clear(struct geom *g);
void geom_release(struct geom *g);
/* Building: a part, then its rings, then their vertices. */
void geom_part(struct geom *g, enum geom_kind kind);
void geom_ring(struct geom *g);
void geom_vertex(struct geom *g, double x, double y, double z);
/* Room for n vertices of the current ring, for readers that copy: returns the place of the first,
 * or SIZE_MAX. */
size_t geom_vertices(struct geom *g, size_t n);

/* Steps of the normal form. */
struct geom_snap {
    double xy, z; /* a coordinate times this, rounded, is the snapped one */
};
/* unit_m: metres of one unit of x and y. */
struct geom_snap geom_snap_of(double precision_m, double unit_m);

/* Memory that digesting needs again and again. */
struct geom_scratch {
    struct buf ring, part, all;
    int64_t *snapped;
    size_t room;
    struct digest *sha;
};
MUST_CHECK enum rc geom_scratch_init(struct geom_scratch *s);
void geom_scratch_release(struct geom_scratch *s);
/* False: there is none (invariant 2), or memory ran out; g->bad says which. */
bool geom_digest(struct geom *g, struct geom_snap snap, struct geom_scratch *s, struct sha256 *ret);

/* west, south, east, north of all vertices; false when there are none. */
bool geom_bounds(const struct geom *g, double ret[4]);
/* Area of all polygons in km2, x and y being degrees on the ellipsoid of WGS84: that of the rings
 * drawn with straight sides in the cylindrical equal-area projection. Exact for the ellipsoid up to
 * the bow between two vertices. */
double geom_area_km2(const struct geom *g);

#endif
