/* export_links: a STAC document of the api as a file of the tree. */
#ifndef FRESHET_CLI_EXPORT_LINKS_H
#define FRESHET_CLI_EXPORT_LINKS_H

#include "core/json.h"

/* Told every address of the instance that stays in the document and has a file of its own. */
typedef enum rc export_ref_fn(void *ctx, struct str rel, struct str path, struct err *err);

/* Appends doc with relative links, as a file at `file`: addresses below base that have a file
 * become relative, links to others of the api go, and so do `self` and what only a server
 * can promise. */
MUST_CHECK enum rc export_links(struct arena *a, struct str doc, struct str base, const char *file,
                                struct buf *out, export_ref_fn *fn, void *ctx, struct err *err);

#endif
