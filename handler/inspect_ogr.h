/* inspect_ogr: the layers of an open GDAL data set, feature by feature. */
#ifndef FRESHET_HANDLER_INSPECT_OGR_H
#define FRESHET_HANDLER_INSPECT_OGR_H

#include <gdal/gdal.h>
#include "handler/inspect.h"

/* assume_wgs84: for formats whose coordinates are longitude and latitude by definition. */
MUST_CHECK enum rc inspect_ogr_layers(struct inspect *in, GDALDatasetH set, bool assume_wgs84);

#endif
