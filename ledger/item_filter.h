/* item_filter: a CQL2 tree as a condition over public_items. Private to ledger/.
 *
 * Answered: comparisons, arithmetic (+ - * /), LIKE, BETWEEN, IN, IS NULL, S_INTERSECTS, T_*. Anything else is
 * RC_INVALID with its name. A property that no item has is NULL, and so matches nothing.
 */
#ifndef FRESHET_LEDGER_ITEM_FILTER_H
#define FRESHET_LEDGER_ITEM_FILTER_H

#include "core/cql2.h"
#include "ledger/compose.h"

MUST_CHECK enum rc item_filter(struct compose *c, const struct cql2 *q, struct err *err);
/* The value of a property: a column, or read from the document. */
MUST_CHECK enum rc item_property(struct compose *c, struct str name, struct err *err);
/* " … AND place meets area" */
void item_meets(struct compose *c, const struct place *g);

#endif
