/* declare: stores the declaration of a source, with everything that must follow in the same
 * transaction: public rows, children, the request to lower a level.
 *
 * Invariants
 *   1. A source and its public rows move in one transaction; a raised level takes back at once what
 *      was public before, of its children too (children.h). A lowered one waits for a second person
 *      (ledger/approval.h); until then the source keeps the level it has.
 * Called by orders and the source commands.
 */
#ifndef FRESHET_HANDLER_DECLARE_H
#define FRESHET_HANDLER_DECLARE_H

#include "core/instance.h"
#include "ledger/level.h"

struct declare {
    struct ledger *ledger;
    const struct instance *inst;
    struct arena *arena;   /* of the declaration */
    const char *by, *note; /* NULL: nobody is named, nothing is said */
    bool update;           /* a source of that id is changed; else it must not be there */
    struct str doc;        /* the source as project_describe has it, or empty */
};
struct declared {
    bool updated;                /* it was there before */
    char level_id[LEVEL_ID_MAX]; /* what waits for a second person; "" when nothing does */
    enum level level;            /* that it keeps meanwhile */
};
/* Inside the caller's transaction. s becomes what was stored. */
MUST_CHECK enum rc declare_source(const struct declare *d, struct source *s, int64_t now,
                                  struct declared *ret, struct err *err);
/* Retires it and what it names. RC_CONFLICT when it is retired. Inside the caller's transaction. */
MUST_CHECK enum rc declare_retired(const struct declare *d, const char *id, int64_t now,
                                   struct err *err);

#endif
