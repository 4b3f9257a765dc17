/* inspect_crs: what GDAL knows about a coordinate reference system, as the report tells it. */
#ifndef FRESHET_HANDLER_INSPECT_CRS_H
#define FRESHET_HANDLER_INSPECT_CRS_H

#include <gdal/ogr_srs_api.h>
#include "handler/inspect.h"

/* srs NULL: none is given. crs_release *ret, or give it to a layer. */
void crs_of(OGRSpatialReferenceH srs, struct crs *ret);
/* The "crs" member that GeoJSON had before RFC 7946: only EPSG codes are taken, as other forms name
 * files and addresses. */
enum rc crs_of_geojson(struct inspect *in, yyjson_val *member, struct crs *ret, struct err *err);

#endif
