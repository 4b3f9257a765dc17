/* inspect_sniff: which format do these bytes have, and who can read them? Pure, no GDAL, cheap
 * enough for every file; called by the inspector and by its client, which thus spares files that
 * are no geodata the way into another process.
 *
 * Invariants
 *   1. Only the bytes decide: no name, no declared type.
 *   2. JSON counts as geodata only when it spells out the name of a GeoJSON or TopoJSON type, as
 *      RFC 7946 wants it in every such document. So plain JSON needs no parser to be told apart.
 */
#ifndef FRESHET_HANDLER_INSPECT_SNIFF_H
#define FRESHET_HANDLER_INSPECT_SNIFF_H

#include "core/str.h"

enum inspect_format {
#define X(name, type, engine, driver, fn, ending) FORMAT_##name,
#include "handler/inspect_formats.def"
#undef X
    FORMAT_COUNT
};
enum inspect_engine { ENGINE_NONE, ENGINE_OWN, ENGINE_GDAL };

struct inspect_format_row {
    const char *name, *media_type;
    enum inspect_engine engine;
    const char *driver, *ending;
};
extern const struct inspect_format_row inspect_formats[FORMAT_COUNT];

/* bytes is the whole file. */
enum inspect_format inspect_sniff(struct str bytes);
/* A geometry column of a CSV header by its name: "wkt", "x", "y" or NULL. Case does not count. */
const char *inspect_csv_role(struct str column);

#endif
