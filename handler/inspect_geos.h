/* inspect_geos: the GEOS side of geometries, shared by inspect_valid and compare_geom; nobody else
 * includes it, so that those who only render reports need no GEOS. */
#ifndef FRESHET_HANDLER_INSPECT_GEOS_H
#define FRESHET_HANDLER_INSPECT_GEOS_H

#define GEOS_USE_ONLY_R_API
#include <geos_c.h>
#include "handler/inspect_valid.h"

struct valid {
    GEOSContextHandle_t geos;
};

/* All polygons of g as one; its rings must be closed and of four vertices at least. NULL: GEOS
 * would not take them. */
GEOSGeometry *geos_polygons(struct valid *v, const struct geom *g);

#endif
