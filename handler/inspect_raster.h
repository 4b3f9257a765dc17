/* inspect_raster: size, bands, place and pixels of an open GDAL data set. */
#ifndef FRESHET_HANDLER_INSPECT_RASTER_H
#define FRESHET_HANDLER_INSPECT_RASTER_H

#include <gdal/gdal.h>
#include "handler/inspect.h"

#define RASTER_BANDS_MAX 1024
#define RASTER_PIXELS_MAX (1LL << 31) /* of all bands: some 20 s of reading */

/* Fills in->raster. The digest of a band is sha256 over its pixels as doubles, row by row, whatever
 * their compression, tiling and byte order; over the real parts of complex pixels. */
MUST_CHECK enum rc inspect_raster(struct inspect *in, GDALDatasetH set);

#endif
