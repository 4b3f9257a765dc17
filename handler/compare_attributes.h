/* compare_attributes: the attributes of one feature, old and new, as a comparison lists them.
 *
 * Invariants
 *   1. (I9) Pure: in the order of names as the two objects have them, old ones first.
 *   2. All are counted, COMPARE_CHANGES_MAX listed; texts are cut at COMPARE_TEXT_MAX bytes, where
 *      a character begins.
 * Called by compare.c. */
#ifndef FRESHET_HANDLER_COMPARE_ATTRIBUTES_H
#define FRESHET_HANDLER_COMPARE_ATTRIBUTES_H

#include <yyjson.h>

/* Adds "attributes": {changed, listed} to o; old and now are objects. */
void compare_attributes(yyjson_mut_doc *d, yyjson_mut_val *o, yyjson_val *old, yyjson_val *now);

#endif
