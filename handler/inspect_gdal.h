/* inspect_gdal: GDAL held on a short rein. Only the drivers of inspect_formats.def exist, each file
 * is opened with the one driver its bytes ask for, from memory, under a name of ours.
 *
 * Invariants
 *   1. No GDALAllRegister, no plug-ins, no configuration from outside, no network, no grids, no
 *      side files: whatever a file asks for, only its own bytes are there.
 *   2. Everything that is read from disk (PROJ's database, character tables) is open before the
 *      sandbox is entered.
 * Linked into freshet-inspect-gdal alone.
 */
#ifndef FRESHET_HANDLER_INSPECT_GDAL_H
#define FRESHET_HANDLER_INSPECT_GDAL_H

#include "handler/inspect.h"

/* Once per process, before the first file. */
MUST_CHECK enum rc inspect_gdal_warm(struct err *err);
/* Hands the features, or the picture, of the file at GDAL's path to `in`. */
MUST_CHECK enum rc inspect_gdal_set(struct inspect *in, enum inspect_format f, const char *path);
/* Reads every format that has an engine. */
inspect_reader inspect_gdal;

#endif
