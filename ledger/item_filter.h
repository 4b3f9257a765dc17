/* item_filter: a CQL2 tree as a condition over public_items i. Private to ledger/.
 *
 * Answered: comparisons, arithmetic (+ - * /), LIKE, BETWEEN, IN, IS NULL, S_INTERSECTS, T_*.
 * Anything else is RC_INVALID with its name. A property that no item has is NULL, and so
 * matches nothing.
 */
#ifndef FRESHET_LEDGER_ITEM_FILTER_H
#define FRESHET_LEDGER_ITEM_FILTER_H

#include "core/cql2.h"
#include "ledger/compose.h"

MUST_CHECK enum rc item_filter(struct compose *c, const struct cql2 *q, struct err *err);
/* The value of a property: a column, or read from the document. */
MUST_CHECK enum rc item_property(struct compose *c, struct str name, struct err *err);
/* Whether the item i meets an area takes both: the R*Tree b finds who is near, the exact box
 * decides; where the area is a box itself, only near its edges. `at`: i stands beside b, or is read
 * when it is needed. */
enum item_at { ITEM_IS_JOINED, ITEM_IS_FETCHED };
void item_near(struct compose *c, const struct place *g);
void item_meets(struct compose *c, const struct place *g, enum item_at at);

#endif
