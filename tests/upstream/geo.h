/* geo: invented geography. A layer divides a box into cells; each cell is one feature: the cell
 * itself (neighbours share their corners, so the layer has no gaps and no overlaps), a small
 * settlement inside it, or a point. A state tells how far each corner, attribute and feature has
 * been edited since the beginning.
 *
 * Invariants
 *   1. Pure: layer and state alone decide every byte, so a state that comes back brings the
 *      earlier bytes back.
 *   2. Every ring is simple, closed and counter-clockwise (RFC 7946); coordinates are whole
 *      micro-degrees, so that no rounding depends on the machine.
 *
 * Called by demo.c and generate.c.
 */
#ifndef FRESHET_UPSTREAM_GEO_H
#define FRESHET_UPSTREAM_GEO_H

#include "core/buf.h"

#define GEO_CELLS_MAX 64 /* features (and corners) that a state can tell apart */
#define GEO_RING_MAX 16

enum geo_shape { GEO_CELL, GEO_TOWN, GEO_POINT };

struct geo_layer {
    const char *name;   /* "counties" */
    const char *kind;   /* "County": the last word of every name */
    const char *prefix; /* of every GEOID */
    enum geo_shape shape;
    int cols, rows, count; /* count <= cols * rows */
    uint64_t seed;
    const char *remark; /* a property of every feature, or NULL */
};

struct geo_state {
    uint16_t moved[GEO_CELLS_MAX];   /* corners (GEO_CELL) or features: how often moved */
    uint16_t renewed[GEO_CELLS_MAX]; /* features: how often their numbers changed */
    uint64_t hidden;                 /* features that are not there, a bit each */
};

struct geo_xy {
    int32_t x, y; /* micro-degrees east and north */
};

struct geo_feature {
    char geoid[16], name[64];
    int64_t pop;
    size_t n;                         /* points; 1 for GEO_POINT */
    struct geo_xy ring[GEO_RING_MAX]; /* closed: the last is the first */
};

/* Fills *ret with feature i; false when it is hidden. state NULL is the beginning. */
bool geo_feature(const struct geo_layer *l, const struct geo_state *state, int i,
                 struct geo_feature *ret);
/* Square kilometres of a ring, good to a few percent at these latitudes. */
double geo_area(const struct geo_feature *f);

void geo_write_geojson(struct buf *out, const struct geo_layer *l, const struct geo_state *state);
/* Stream gauges: a row per feature with position and readings. */
void geo_write_csv(struct buf *out, const struct geo_layer *l, const struct geo_state *state);
/* A zip with base.shp, .shx, .dbf, .prj and .cpg (shape.c). */
void geo_write_shapefile(struct buf *out, const struct geo_layer *l, const struct geo_state *state,
                         const char *base);

#endif
