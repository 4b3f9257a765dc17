/* order: sources that were declared, changed or retired over HTTP. Intake stores the wish; a
 * handler carries it out (handler/orders.h), as only it may write public rows.
 *
 * Invariants
 *   1. A wish is durable before it is answered, and carried out once, in the order of asking.
 *   2. What cannot be done when its turn comes is `failed`, with the reason; nothing of it
 *      was done.
 */
#ifndef FRESHET_LEDGER_ORDER_H
#define FRESHET_LEDGER_ORDER_H

#include "ledger/request.h"
#include "ledger/source.h"

#define ORDER_ID_MAX 48
#define ORDER_CREATE "create"
#define ORDER_REPLACE "replace"
#define ORDER_RETIRE "retire"

struct order_ask {
    const char *kind, *source_id;
    const struct source *source; /* as declared; NULL: retire */
    const struct token *by;
    struct str key, body; /* idempotency; body in canonical form */
};
/* Own transaction, with its audit row. INBOX role. */
MUST_CHECK enum rc order_add(struct ledger *l, const struct order_ask *ask, int64_t now,
                             char ret_id[ORDER_ID_MAX], struct err *err);

struct order {
    int64_t no, created_at, finished_at;
    const char *id, *kind, *source_id, *by;
    const char *state;  /* open, done, failed */
    const char *detail; /* "" when there is nothing to say */
    struct str spec;
    enum level level; /* of spec; public without one */
};
/* The newest of a source; RC_NOT_FOUND. INBOX role. */
MUST_CHECK enum rc order_of(struct ledger *l, struct arena *a, const char *source_id,
                            struct order *ret, struct err *err);
/* The oldest open one; RC_NOT_FOUND. WRITE role. */
MUST_CHECK enum rc order_next(struct ledger *l, struct arena *a, struct order *ret,
                              struct err *err);
/* Inside the caller's transaction; detail NULL or "": nothing to say. WRITE role. */
MUST_CHECK enum rc order_end(struct ledger *l, int64_t no, bool good, const char *detail,
                             int64_t now, struct err *err);

#endif
