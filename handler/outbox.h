/* outbox: delivers what promotions left to be told (ledger/outbox.h) to the consumers
 * of outbox.def.
 *
 * Invariants
 *   1. Nothing here is waited for by a handler: freshet-outbox is a process of its own, one
 *      per instance.
 *   2. At least once: a row goes after its consumer succeeded. Consumers are idempotent, or tell
 *      an id.
 *   3. What failed is tried again after a random wait below 1 s, 2 s, 4 s … an hour, and is dead
 *      after OUTBOX_TRIES_MAX tries.
 * Called by freshet-outbox, `freshet work` and `freshet replay`.
 */
#ifndef FRESHET_HANDLER_OUTBOX_H
#define FRESHET_HANDLER_OUTBOX_H

#include "core/fetch.h"
#include "core/instance.h"
#include "ledger/outbox.h"

#define OUTBOX_ARTIFACTS "artifacts"     /* artifacts.h */
#define OUTBOX_OPENLINEAGE "openlineage" /* openlineage.h */

struct outbox_env {
    struct ledger *ledger;
    const struct instance *inst;
    struct arena *arena;   /* of one row */
    struct fetch **engine; /* made when the first one needs it */
};
/* Tells one consumer about one run. */
typedef enum rc outbox_tell_fn(const struct outbox_env *env, const char *run_id, struct err *err);

typedef enum rc outbox_settle_fn(const struct instance *inst, struct err *err);

struct outbox_counts {
    int64_t told, failed, dead;
};
/* Some rows of each kind that is due (outbox.def); *ret_more: there may be others. */
MUST_CHECK enum rc outbox_turn(const struct outbox_env *env, struct outbox_counts *n,
                               bool *ret_more, struct err *err);
/* Until nothing is due, also to subscribers (notify.h). */
MUST_CHECK enum rc outbox_drain(struct ledger *l, const struct instance *inst,
                                struct outbox_counts *ret, struct err *err);
/* A word to freshet-stream, if it listens on run/wake.sock, that the feed has grown. Only a hint,
 * as it reads by sequence; never waits. */
void outbox_wake(const struct instance *inst);

#endif
