/* inspect_zip: the table of contents of a zip, read before anybody inflates anything. Pure.
 *
 * Invariants
 *   1. What passes is honest on paper: no name leads out of the archive, no links, no encryption,
 *      no entry twice, compressed parts do not overlap, and neither the sum nor the ratio of the
 *      claimed sizes is that of a bomb. (What it inflates to is bounded again by the sandbox.)
 *   2. All entries are judged, also those that no format would read.
 */
#ifndef FRESHET_HANDLER_INSPECT_ZIP_H
#define FRESHET_HANDLER_INSPECT_ZIP_H

#include "core/arena.h"
#include "core/str.h"

#define ZIP_ENTRIES_MAX 10000 /* a data set has a handful; listing more is itself an attack */
#define ZIP_INFLATED_MAX (4LL << 30) /* the shapefile format itself ends here */
#define ZIP_RATIO_MAX 100            /* deflate gives 1032; text tables and borders stay below 30 */
#define ZIP_RATIO_FREE (16LL << 20)  /* what small archives may inflate to whatever the ratio */
#define ZIP_NAME_MAX 1024

enum zip_verdict { ZIP_OK, ZIP_BROKEN, ZIP_TOO_LARGE, ZIP_UNSAFE };

struct zip_entry {
    struct str name;
    int64_t inflated;
};
struct zip {
    struct zip_entry *entries; /* files only; in the order of the table of contents */
    size_t n;
};

/* RC_NOMEM, else RC_OK and the verdict; *ret is filled for ZIP_OK, its names point into bytes. */
MUST_CHECK enum rc zip_read(struct arena *a, struct str bytes, enum zip_verdict *verdict,
                            struct zip *ret);

#endif
