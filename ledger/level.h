/* level: requests to show more of a source than before. approval.h decides on them,
 * handler/levels.h carries out what was approved.
 *
 * Invariants
 *   1. A request is decided once, by somebody else than who asked; the database refuses
 *      anything else.
 *   2. At most one of a source waits: a newer one takes its place, and none outlives the level that
 *      it was asked for (source_put).
 * WRITE role. Called by handler and cli.
 */
#ifndef FRESHET_LEDGER_LEVEL_H
#define FRESHET_LEDGER_LEVEL_H

#include "ledger/policy.h"

#define LEVEL_ID_MAX 48

/* A request to lower a level; replaces one of the same source that waits. Inside the caller's
 * transaction, WRITE role. */
MUST_CHECK enum rc level_ask(struct ledger *l, int64_t src_no, enum level old, enum level to,
                             const char *by, const char *note, int64_t now,
                             char ret_id[LEVEL_ID_MAX], struct err *err);
/* The same under the id it had. */
MUST_CHECK enum rc level_ask_again(struct ledger *l, int64_t src_no, const char *id, enum level old,
                                   enum level to, const char *by, const char *note, int64_t now,
                                   struct err *err);
/* Approved and not carried out; RC_NOT_FOUND when there is none. */
struct level_order {
    int64_t no, src_no;
    enum level old, to;
};
MUST_CHECK enum rc level_next(struct ledger *l, struct level_order *ret, struct err *err);
/* Inside the caller's transaction. */
MUST_CHECK enum rc level_applied(struct ledger *l, const struct level_order *o, int64_t now,
                                 struct err *err);

#endif
