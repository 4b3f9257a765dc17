/* inspect_valid: polygons handed to GEOS, its reason and place handed back. */
#include "handler/inspect_geos.h"

#define RING_LEAST 4 /* a triangle, closed */

struct valid *valid_new(void)
{
    struct valid *v = calloc(1, sizeof *v);
    if (v)
        v->geos = GEOS_init_r();
    if (v && !v->geos)
        valid_free(&v);
    return v;
}

void valid_free(struct valid **v)
{
    if (*v && (*v)->geos)
        GEOS_finish_r((*v)->geos);
    free(*v);
    *v = NULL;
}

static bool fault(struct valid_fault *f, const char *reason)
{
    snprintf(f->reason, sizeof f->reason, "%s", reason);
    f->has_at = false;
    return false;
}

/* ---- what needs no GEOS ---------------------------------------------------------------------- */

static bool check_ring(const struct geom *g, struct geom_ring r, struct valid_fault *ret)
{
    size_t last = r.at + r.n - 1;
    if (r.n < RING_LEAST)
        return fault(ret, "Too few points in geometry component");
    if (g->x[r.at] != g->x[last] || g->y[r.at] != g->y[last])
        return fault(ret, "Ring is not closed");
    return true;
}

static bool check_form(const struct geom *g, struct valid_fault *ret)
{
    if (g->bad == GEOM_MALFORMED)
        return fault(ret, "Malformed geometry");
    if (g->bad == GEOM_NOT_FINITE)
        return fault(ret, "Invalid Coordinate");
    for (size_t i = 0; i < g->n_parts; i++) {
        const struct geom_part *p = &g->parts[i];
        for (size_t k = p->at; k < p->at + p->n; k++) {
            if (p->kind == GEOM_LINE && g->rings[k].n == 1)
                return fault(ret, "Too few points in geometry component");
            if (p->kind == GEOM_POLYGON && g->rings[k].n > 0 && !check_ring(g, g->rings[k], ret))
                return false;
        }
    }
    return true;
}

/* ---- GEOS ------------------------------------------------------------------------------------ */

static GEOSGeometry *ring_of(struct valid *v, const struct geom *g, struct geom_ring r)
{
    GEOSCoordSequence *s =
        GEOSCoordSeq_copyFromArrays_r(v->geos, g->x + r.at, g->y + r.at, NULL, NULL, (unsigned)r.n);
    return s ? GEOSGeom_createLinearRing_r(v->geos, s) : NULL;
}

static void drop_all(struct valid *v, GEOSGeometry **list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        GEOSGeom_destroy_r(v->geos, list[i]);
    free(list);
}

static GEOSGeometry *polygon_of(struct valid *v, const struct geom *g, const struct geom_part *p)
{
    GEOSGeometry **rings = calloc(p->n, sizeof *rings), *polygon = NULL;
    size_t n = 0;
    while (rings && n < p->n && (rings[n] = ring_of(v, g, g->rings[p->at + n])))
        n++;
    if (n == p->n)
        polygon = GEOSGeom_createPolygon_r(v->geos, rings[0], rings + 1, (unsigned)(n - 1));
    if (rings && n < p->n)
        drop_all(v, rings, n);
    else
        free(rings); /* GEOS owns them, also when it made nothing of them */
    return polygon;
}

GEOSGeometry *geos_polygons(struct valid *v, const struct geom *g)
{
    GEOSGeometry **list = calloc(g->n_parts, sizeof *list), *all = NULL;
    size_t n = 0;
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < g->n_parts; i++) {
        const struct geom_part *p = &g->parts[i];
        if (p->kind != GEOM_POLYGON || p->n == 0 || g->rings[p->at].n == 0)
            continue;
        list[n] = polygon_of(v, g, p);
        ok = list[n] != NULL;
        n += ok;
    }
    if (ok)
        all = GEOSGeom_createCollection_r(v->geos, GEOS_MULTIPOLYGON, list, (unsigned)n);
    if (list && !ok)
        drop_all(v, list, n);
    else
        free(list);
    return all;
}

static void read_place(struct valid *v, const GEOSGeometry *at, struct valid_fault *ret)
{
    ret->has_at = at && GEOSGeomGetX_r(v->geos, at, &ret->at[0]) == 1 &&
                  GEOSGeomGetY_r(v->geos, at, &ret->at[1]) == 1;
}

static bool check_polygons(struct valid *v, const struct geom *g, struct valid_fault *ret)
{
    char *reason = NULL;
    GEOSGeometry *at = NULL, *all = geos_polygons(v, g);
    if (!all)
        return fault(ret, "Malformed geometry");
    char valid = GEOSisValidDetail_r(v->geos, all, 0, &reason, &at);
    if (valid != 1) {
        (void)fault(ret, reason ? reason : "Malformed geometry");
        read_place(v, at, ret);
    }
    GEOSFree_r(v->geos, reason);
    GEOSGeom_destroy_r(v->geos, at);
    GEOSGeom_destroy_r(v->geos, all);
    return valid == 1;
}

bool valid_check(struct valid *v, const struct geom *g, struct valid_fault *ret)
{
    bool polygons = false;
    if (!check_form(g, ret))
        return false;
    for (size_t i = 0; i < g->n_parts && !polygons; i++)
        polygons = g->parts[i].kind == GEOM_POLYGON;
    return !polygons || check_polygons(v, g, ret);
}
