/* inspect_archive: a zip with geodata in it: all its shapefiles, or else all its KML, or its
 * first GeoJSON.
 *
 * Invariants
 *   1. Nothing is inflated before the table of contents was judged (inspect_zip.h).
 *   2. What is neither read nor an index or a description of it is content all the same: its names
 *      and bytes, sorted by name, are the unread digest. How the archive was packed does not count.
 * Called by inspect_gdal.
 */
#ifndef FRESHET_HANDLER_INSPECT_ARCHIVE_H
#define FRESHET_HANDLER_INSPECT_ARCHIVE_H

#include "handler/inspect.h"

/* path: where GDAL finds the archive. Fails with RC_NOMEM; what is wrong with it is told as
 * a problem. */
MUST_CHECK enum rc inspect_archive(struct inspect *in, const char *path, struct err *err);

#endif
