/* deadletter: candidates that were given up: tried too often, or poison. They stay until a person
 * decides: once more, or never.
 *
 * Invariants
 *   1. A retry starts anew, with no attempts used; it is refused when a newer candidate of the
 *      source was promoted since, as its news would be late.
 *   2. Both decisions are in the replay log, with who made them.
 * INBOX role: intake decides by itself, as nothing is promoted here. Called by api and cli.
 */
#ifndef FRESHET_LEDGER_DEADLETTER_H
#define FRESHET_LEDGER_DEADLETTER_H

#include "ledger/inbox.h"
#include "ledger/request.h"

#define DEAD_REASON_MAX 1000 /* bytes of why one is dropped; kept forever */

/* By its event. RC_NOT_FOUND, or RC_CONFLICT when it is not dead. */
MUST_CHECK enum rc dead_get(struct ledger *l, struct arena *a, const char *event_id,
                            struct candidate *ret, struct err *err);
/* The source of an event, whatever its state; RC_NOT_FOUND. */
MUST_CHECK enum rc dead_source(struct ledger *l, const char *event_id, int64_t *ret_src,
                               struct err *err);
/* Its runs, oldest first. */
struct dead_run {
    const char *run_id, *reason;
    int64_t started_at, ended_at;
};
typedef enum rc dead_run_fn(void *ctx, const struct dead_run *r, struct err *err);
MUST_CHECK enum rc dead_each_run(struct ledger *l, int64_t cand_no, dead_run_fn *fn, void *ctx,
                                 struct err *err);

struct dead_decision {
    const char *event_id, *by;
    const char *drop;       /* why it is dropped; NULL: it is retried */
    struct request_key key; /* empty: none */
};
/* Own transaction. RC_NOT_FOUND, RC_CONFLICT, RC_INVALID as above. */
MUST_CHECK enum rc dead_decide(struct ledger *l, const struct dead_decision *d, int64_t now,
                               struct err *err);

#endif
