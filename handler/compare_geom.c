/* compare_geom: GEOS's differences into patches, distances of vertices from the other's border. */
#include "handler/compare_geom.h"

#include <math.h>
#include "handler/inspect_geos.h"

#define RING_LEAST 4

/* ---- shapes ---------------------------------------------------------------------------------- */

static void *copy_of(struct arena *a, const void *from, size_t n, bool *ok)
{
    void *to = n > 0 ? arena_alloc(a, n) : NULL;
    if (to)
        memcpy(to, from, n);
    *ok = *ok && (to || n == 0);
    return to;
}

bool compare_copy(struct arena *a, const struct geom *g, struct geom *ret)
{
    bool ok = true;
    *ret = (struct geom){.n = g->n,
                         .n_rings = g->n_rings,
                         .n_parts = g->n_parts,
                         .has_z = g->has_z,
                         .x = copy_of(a, g->x, g->n * sizeof *g->x, &ok),
                         .y = copy_of(a, g->y, g->n * sizeof *g->y, &ok),
                         .z = g->has_z ? copy_of(a, g->z, g->n * sizeof *g->z, &ok) : NULL,
                         .rings = copy_of(a, g->rings, g->n_rings * sizeof *g->rings, &ok),
                         .parts = copy_of(a, g->parts, g->n_parts * sizeof *g->parts, &ok)};
    return ok;
}

static bool only_polygons(const struct geom *g)
{
    for (size_t i = 0; i < g->n_parts; i++)
        if (g->parts[i].kind != GEOM_POLYGON)
            return false;
    return g->n_parts > 0;
}

static bool can_build(const struct geom *g)
{
    for (size_t i = 0; i < g->n_rings; i++) {
        struct geom_ring r = g->rings[i];
        size_t last = r.at + r.n - 1;
        if (r.n > 0 && (r.n < RING_LEAST || g->x[r.at] != g->x[last] || g->y[r.at] != g->y[last]))
            return false;
    }
    return true;
}

/* Valid, as overlays need it; NULL: cannot be had. */
static GEOSGeometry *valid_polygons(struct valid *v, const struct geom *g)
{
    GEOSGeometry *p = can_build(g) ? geos_polygons(v, g) : NULL;
    if (!p || GEOSisValid_r(v->geos, p) == 1)
        return p;
    GEOSGeometry *mended = GEOSMakeValid_r(v->geos, p);
    GEOSGeom_destroy_r(v->geos, p);
    return mended;
}

/* ---- back from GEOS -------------------------------------------------------------------------- */

/* Room for a polygon of n vertices in `rings` rings. */
static bool new_polygon(struct arena *a, size_t n, size_t rings, struct geom *g)
{
    *g = (struct geom){.n_parts = 1, .n_rings = rings};
    g->x = arena_alloc(a, n * sizeof *g->x);
    g->y = arena_alloc(a, n * sizeof *g->y);
    g->rings = arena_alloc(a, rings * sizeof *g->rings);
    g->parts = arena_alloc(a, sizeof *g->parts);
    if (!g->x || !g->y || !g->rings || !g->parts)
        return false;
    g->parts[0] = (struct geom_part){GEOM_POLYGON, 0, rings};
    return true;
}

static bool take_ring(struct valid *v, const GEOSGeometry *ring, struct geom *g, size_t at)
{
    const GEOSCoordSequence *s = GEOSGeom_getCoordSeq_r(v->geos, ring);
    int n = GEOSGeomGetNumPoints_r(v->geos, ring);
    if (!s || n < 0 ||
        !GEOSCoordSeq_copyToArrays_r(v->geos, s, g->x + g->n, g->y + g->n, NULL, NULL))
        return false;
    g->rings[at] = (struct geom_ring){g->n, (size_t)n};
    g->n += (size_t)n;
    return true;
}

static bool take_polygon(struct valid *v, struct arena *a, const GEOSGeometry *p, struct geom *g)
{
    int holes = GEOSGetNumInteriorRings_r(v->geos, p), n = GEOSGetNumCoordinates_r(v->geos, p);
    if (holes < 0 || n < RING_LEAST || !new_polygon(a, (size_t)n, (size_t)holes + 1, g))
        return false;
    bool ok = take_ring(v, GEOSGetExteriorRing_r(v->geos, p), g, 0);
    for (int i = 0; ok && i < holes; i++)
        ok = take_ring(v, GEOSGetInteriorRingN_r(v->geos, p, i), g, (size_t)i + 1);
    return ok;
}

/* ---- metres ---------------------------------------------------------------------------------- */

struct scale {
    double x, y; /* metres of a degree */
};

/* Of the ellipsoid of WGS84 at a latitude. */
static struct scale scale_at(double degrees)
{
    const double a = 6378137, e2 = 0.0066943799901413165, rad = M_PI / 180;
    double s = sin(degrees * rad), w = 1 - e2 * s * s;
    return (struct scale){a / sqrt(w) * cos(degrees * rad) * rad,
                          a * (1 - e2) / (w * sqrt(w)) * rad};
}

static double perimeter_m(const struct geom *g, struct scale k)
{
    double sum = 0;
    for (size_t r = 0; r < g->n_rings; r++)
        for (size_t i = g->rings[r].at + 1; i < g->rings[r].at + g->rings[r].n; i++)
            sum += hypot((g->x[i] - g->x[i - 1]) * k.x, (g->y[i] - g->y[i - 1]) * k.y);
    return sum;
}

/* ---- patches --------------------------------------------------------------------------------- */

/* Kept in the order of size, the smallest falls out. */
static void keep_patch(struct patches *to, const struct patch *p)
{
    size_t i = to->n;
    if (i == COMPARE_PATCHES_MAX && to->list[i - 1].area_km2 >= p->area_km2)
        return;
    i -= i == COMPARE_PATCHES_MAX;
    for (; i > 0 && to->list[i - 1].area_km2 < p->area_km2; i--)
        to->list[i] = to->list[i - 1];
    to->list[i] = *p;
    to->n += to->n < COMPARE_PATCHES_MAX;
}

static bool add_patch(struct valid *v, struct arena *a, const GEOSGeometry *g, struct scale k,
                      struct patches *to)
{
    struct patch p;
    if (GEOSGeomTypeId_r(v->geos, g) != GEOS_POLYGON || GEOSisEmpty_r(v->geos, g) != 0)
        return true; /* where borders only touch */
    if (!take_polygon(v, a, g, &p.shape) || !geom_bounds(&p.shape, p.bbox))
        return false;
    double around = perimeter_m(&p.shape, k);
    p.area_km2 = geom_area_km2(&p.shape);
    p.width_m = around > 0 ? p.area_km2 * 1e6 / around : 0;
    to->area_km2 += p.area_km2;
    if (p.width_m < COMPARE_SLIVER_M) {
        to->slivers++;
        to->slivers_km2 += p.area_km2;
        return true;
    }
    to->total++;
    keep_patch(to, &p);
    return true;
}

/* What x has and y has not. */
static bool patches_of(struct valid *v, struct arena *a, const GEOSGeometry *x,
                       const GEOSGeometry *y, struct scale k, struct patches *ret)
{
    GEOSGeometry *rest = GEOSDifference_r(v->geos, x, y);
    int n = rest ? GEOSGetNumGeometries_r(v->geos, rest) : -1;
    bool ok = n >= 0;
    for (int i = 0; ok && i < n; i++)
        ok = add_patch(v, a, GEOSGetGeometryN_r(v->geos, rest, i), k, ret);
    GEOSGeom_destroy_r(v->geos, rest);
    return ok;
}

static bool compare_areas(struct valid *v, struct arena *a, const struct geom *old,
                          const struct geom *now, struct scale k, struct movement *m)
{
    GEOSGeometry *x = valid_polygons(v, old), *y = valid_polygons(v, now);
    bool ok =
        x && y && patches_of(v, a, y, x, k, &m->gained) && patches_of(v, a, x, y, k, &m->lost);
    GEOSGeom_destroy_r(v->geos, x);
    GEOSGeom_destroy_r(v->geos, y);
    return ok;
}

/* ---- distances ------------------------------------------------------------------------------- */

static GEOSGeometry *line_of(struct valid *v, const struct geom *g, struct geom_ring r)
{
    GEOSCoordSequence *s =
        GEOSCoordSeq_copyFromArrays_r(v->geos, g->x + r.at, g->y + r.at, NULL, NULL, (unsigned)r.n);
    if (!s)
        return NULL;
    return r.n == 1 ? GEOSGeom_createPoint_r(v->geos, s) : GEOSGeom_createLineString_r(v->geos, s);
}

/* All rings, lines and points. */
static GEOSGeometry *lines_of(struct valid *v, const struct geom *g)
{
    GEOSGeometry **list = calloc(g->n_rings + 1, sizeof *list), *all = NULL;
    size_t n = 0;
    for (size_t i = 0; list && g->rings && i < g->n_rings; i++)
        if (g->rings[i].n > 0 && (list[n] = line_of(v, g, g->rings[i])))
            n++;
    if (list)
        all = GEOSGeom_createCollection_r(v->geos, GEOS_GEOMETRYCOLLECTION, list, (unsigned)n);
    free(list);
    return all;
}

/* The largest distance of a vertex of g from the lines behind p. */
static bool farthest(struct valid *v, const struct geom *g, const GEOSPreparedGeometry *p,
                     double *ret)
{
    const double *x = g->x, *y = g->y;
    for (size_t i = 0; x && y && i < g->n; i++) {
        double d = 0;
        GEOSGeometry *at = GEOSGeom_createPointFromXY_r(v->geos, x[i], y[i]);
        bool ok = at && GEOSPreparedDistance_r(v->geos, p, at, &d) == 1 && isfinite(d);
        GEOSGeom_destroy_r(v->geos, at);
        if (!ok)
            return false;
        *ret = fmax(*ret, d);
    }
    return true;
}

static bool far_from(struct valid *v, const struct geom *from, const struct geom *g, double *ret)
{
    GEOSGeometry *lines = lines_of(v, from);
    const GEOSPreparedGeometry *p = lines ? GEOSPrepare_r(v->geos, lines) : NULL;
    bool ok = p && farthest(v, g, p, ret);
    GEOSPreparedGeom_destroy_r(v->geos, p);
    GEOSGeom_destroy_r(v->geos, lines);
    return ok;
}

static bool in_metres(struct arena *a, const struct geom *g, struct scale k, struct geom *ret)
{
    if (!compare_copy(a, g, ret))
        return false;
    for (size_t i = 0; ret->x && ret->y && i < ret->n; i++) {
        ret->x[i] *= k.x;
        ret->y[i] *= k.y;
    }
    return true;
}

/* ---- the same, within a distance ------------------------------------------------------------- */

/* Vertices looked at for one pair; then it counts as another shape. */
#define SAME_STEPS_MAX (1u << 24)

/* Two shapes, and how far apart their vertices may be. */
struct close {
    const struct geom *old, *now;
    double x, y, z; /* in degrees, and metres of height */
    size_t steps;
};

static bool near_to(struct close *c, size_t i, size_t k)
{
    c->steps++;
    return fabs(c->old->x[i] - c->now->x[k]) <= c->x && fabs(c->old->y[i] - c->now->y[k]) <= c->y &&
           (!c->old->has_z || fabs(c->old->z[i] - c->now->z[k]) <= c->z);
}

/* n vertices, one by one; those of now from its k-th on, round and round, forward or back. */
static bool same_from(struct close *c, struct geom_ring r, struct geom_ring q, size_t n, size_t k,
                      bool back)
{
    for (size_t i = 0; i < n; i++)
        if (!near_to(c, r.at + i, q.at + (back ? k + n - i : k + i) % n))
            return false;
    return true;
}

static bool is_closed(const struct geom *g, struct geom_ring r)
{
    size_t last = r.at + r.n - 1;
    return r.n > 1 && g->x[r.at] == g->x[last] && g->y[r.at] == g->y[last];
}

/* A line begins where it begins; a ring, whose last vertex is its first again, anywhere. */
static bool same_ring(struct close *c, struct geom_ring r, struct geom_ring q, bool polygon)
{
    if (r.n != q.n)
        return false;
    if (!polygon || !is_closed(c->old, r) || !is_closed(c->now, q))
        return same_from(c, r, q, r.n, 0, false);
    for (size_t k = 0; k < r.n - 1 && c->steps < SAME_STEPS_MAX; k++)
        if (same_from(c, r, q, r.n - 1, k, false) || same_from(c, r, q, r.n - 1, k, true))
            return true;
    return false;
}

/* Rings in their order first; then holes in any. used: rings of now that have their partner. */
static bool same_part(struct close *c, const struct geom_part *p, const struct geom_part *q,
                      bool *used)
{
    bool polygon = p->kind == GEOM_POLYGON;
    if (p->kind != q->kind || p->n != q->n)
        return false;
    memset(used, 0, p->n * sizeof *used);
    for (size_t i = 0; i < p->n; i++) {
        bool found = false;
        for (size_t t = 0; t < p->n && !found && c->steps < SAME_STEPS_MAX; t++) {
            size_t k = (i + t) % p->n;
            if (used[k] || (i == 0) != (k == 0)) /* the shell is no hole */
                continue;
            found = used[k] =
                same_ring(c, c->old->rings[p->at + i], c->now->rings[q->at + k], polygon);
        }
        if (!found)
            return false;
    }
    return true;
}

static bool same_parts(struct close *c, bool *used, bool *rings)
{
    const struct geom *x = c->old, *y = c->now;
    for (size_t i = 0; i < x->n_parts; i++) {
        bool found = false;
        for (size_t t = 0; t < x->n_parts && !found && c->steps < SAME_STEPS_MAX; t++) {
            size_t k = (i + t) % x->n_parts;
            c->steps++;
            if (!used[k])
                found = used[k] = same_part(c, &x->parts[i], &y->parts[k], rings);
        }
        if (!found)
            return false;
    }
    return true;
}

bool compare_same(struct arena *a, const struct geom *old, const struct geom *now,
                  double precision_m)
{
    double x[4], y[4];
    if (old->n != now->n || old->n_parts != now->n_parts || old->n_rings != now->n_rings ||
        old->has_z != now->has_z || !geom_bounds(old, x) || !geom_bounds(now, y))
        return false;
    struct scale k = scale_at((fmin(x[1], y[1]) + fmax(x[3], y[3])) / 2);
    if (k.x <= 0 || k.y <= 0)
        return false;
    struct close c = {old, now, precision_m / k.x, precision_m / k.y, precision_m, 0};
    bool *used = arena_zalloc(a, old->n_parts * sizeof *used),
         *rings = arena_zalloc(a, old->n_rings * sizeof *rings);
    return used && rings && same_parts(&c, used, rings);
}

/* ---- both ------------------------------------------------------------------------------------ */

bool compare_shapes(struct valid *v, struct arena *a, const struct geom *old,
                    const struct geom *now, struct movement *ret)
{
    double x[4], y[4];
    struct geom from, to;
    *ret = (struct movement){.moved_m = -1};
    if (old->n + now->n > COMPARE_PAIR_VERTICES)
        return false;
    if (!geom_bounds(old, x) || !geom_bounds(now, y))
        return true; /* one of them is empty: nothing moved, and areas say the rest */
    struct scale k = scale_at((fmin(x[1], y[1]) + fmax(x[3], y[3])) / 2);
    ret->has_area = only_polygons(old) && only_polygons(now);
    if (ret->has_area && !compare_areas(v, a, old, now, k, ret))
        return false;
    ret->moved_m = 0;
    return in_metres(a, old, k, &from) && in_metres(a, now, k, &to) &&
           far_from(v, &from, &to, &ret->moved_m) && far_from(v, &to, &from, &ret->moved_m);
}

static struct geom joined(struct valid *v, struct arena *a, const GEOSGeometry *many)
{
    struct geom all = {0};
    int n = GEOSGetNumGeometries_r(v->geos, many),
        vertices = GEOSGetNumCoordinates_r(v->geos, many);
    size_t rings = 0;
    for (int i = 0; i < n; i++)
        rings +=
            (size_t)GEOSGetNumInteriorRings_r(v->geos, GEOSGetGeometryN_r(v->geos, many, i)) + 1;
    if (n <= 0 || vertices <= 0 || !new_polygon(a, (size_t)vertices, rings, &all))
        return (struct geom){0};
    all.parts = arena_alloc(a, (size_t)n * sizeof *all.parts);
    all.n_parts = all.n_rings = 0;
    bool ok = all.parts != NULL;
    for (int i = 0; ok && i < n; i++) {
        const GEOSGeometry *p = GEOSGetGeometryN_r(v->geos, many, i);
        int holes = GEOSGetNumInteriorRings_r(v->geos, p);
        all.parts[all.n_parts++] = (struct geom_part){GEOM_POLYGON, all.n_rings, (size_t)holes + 1};
        ok = take_ring(v, GEOSGetExteriorRing_r(v->geos, p), &all, all.n_rings++);
        for (int h = 0; ok && h < holes; h++)
            ok = take_ring(v, GEOSGetInteriorRingN_r(v->geos, p, h), &all, all.n_rings++);
    }
    return ok ? all : (struct geom){0};
}

struct geom compare_simpler(struct valid *v, struct arena *a, const struct geom *g, double across)
{
    double b[4];
    struct geom ret = *g;
    if (!only_polygons(g) || !geom_bounds(g, b))
        return ret;
    GEOSGeometry *p = valid_polygons(v, g);
    double step = fmax(b[2] - b[0], b[3] - b[1]) / across;
    GEOSGeometry *s = p ? GEOSTopologyPreserveSimplify_r(v->geos, p, step) : NULL;
    int type = s ? GEOSGeomTypeId_r(v->geos, s) : -1;
    if (type == GEOS_POLYGON || type == GEOS_MULTIPOLYGON) {
        struct geom less = joined(v, a, s);
        if (less.n > 0)
            ret = less;
    }
    GEOSGeom_destroy_r(v->geos, s);
    GEOSGeom_destroy_r(v->geos, p);
    return ret;
}
