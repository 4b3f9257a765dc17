/* stac: the STAC 1.1.0 documents of a change: one item per promoted version, and the collection
 * they belong to. Whole; redact makes the public form. Pure; called by job and project.
 *
 * Invariants
 *   1. geometry is null exactly when there is no bbox; otherwise bbox are the geometry's bounds.
 *   2. links is the last member of an item, and holds none that a later version would move
 *      (latest-version, successor-version): the api adds those on reading.
 */
#ifndef FRESHET_HANDLER_STAC_H
#define FRESHET_HANDLER_STAC_H

#include "handler/facts.h"

MUST_CHECK enum rc stac_item(struct arena *a, const struct facts *f, struct str *ret,
                             struct err *err);
/* A stored item whose bytes this change removed or, as a rollback, replaced: the
 * same, deprecated. */
MUST_CHECK enum rc stac_item_gone(struct arena *a, struct str item, const struct facts *f,
                                  struct str *ret, struct err *err);
/* Says only what the id says: what a collection holds is told by its items, each at its level.
 * Extent and links are added by the api, of public items alone. */
MUST_CHECK enum rc stac_collection(struct arena *a, const char *collection, struct str *ret,
                                   struct err *err);
/* The geometry that covers a box: a polygon, or less where the box has no width or no height. */
yyjson_mut_val *stac_box_geometry(yyjson_mut_doc *d, const double bbox[4]);

#endif
