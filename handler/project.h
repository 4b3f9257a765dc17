/* project: from the enduring rows to the public ones, redacted on the way (I8). The only place that
 * decides what the public may see of a source; levels are a table in redact.c.
 */
#ifndef FRESHET_HANDLER_PROJECT_H
#define FRESHET_HANDLER_PROJECT_H

#include "core/instance.h"
#include "ledger/publish.h"

/* Writes the public rows that describe s as it is now (description, freshness facts, collection):
 * after it was added, changed, checked by hand or promoted. Inside a transaction. */
MUST_CHECK enum rc project_source(struct ledger *l, const struct instance *inst,
                                  const struct source *s, int64_t now, struct err *err);
/* The same for a source that was added in this transaction: it has no head and no rows yet. doc:
 * its description, when it was made before; empty: it is made here. */
MUST_CHECK enum rc project_added(struct ledger *l, struct arena *a, const struct instance *inst,
                                 const struct source *s, struct str doc, int64_t now,
                                 struct err *err);
/* The public description of a source that is to be added, and has no parent. Pure. */
MUST_CHECK enum rc project_describe(struct arena *a, const struct instance *inst,
                                    const struct source *s, struct str *ret, struct err *err);
/* All rows of s anew, also its changes: after its level or title moved. Inside a transaction. */
MUST_CHECK enum rc project_all_of_source(struct ledger *l, const struct instance *inst,
                                         const struct source *s, int64_t now, struct err *err);
/* For rebuild: writes what differs from what the rows must be, and nothing else. */
MUST_CHECK enum rc project_mend_source(struct ledger *l, const struct instance *inst,
                                       const struct source *s, struct err *err);
/* The same for one change of s; a is of the caller and is reset. */
MUST_CHECK enum rc project_mend_change(struct ledger *l, struct arena *a, const struct source *s,
                                       const struct change *c, int64_t now, struct err *err);

#endif
