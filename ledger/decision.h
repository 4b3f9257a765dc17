/* decision: what the policy gate decided about a run, and the waivers that let something pass.
 *
 * Invariants
 *   1. Decisions, waivers and revocations are append-only; the database refuses anything else.
 *   2. A waiver counts from when it was given until it expires or is revoked; reviewer and
 *      requester are two people.
 *   3. A decision is written in the transaction that acts on it.
 * WRITE role. Called by handler (gate) and cli.
 */
#ifndef FRESHET_LEDGER_DECISION_H
#define FRESHET_LEDGER_DECISION_H

#include "ledger/policy.h"

struct decision {
    int64_t no, at;
    const char *run_id, *policy_version, *verdict, *reason;
    struct str doc;
};
/* Inside the caller's transaction. no is not read. */
MUST_CHECK enum rc decision_add(struct ledger *l, const struct decision *d, struct err *err);
/* Those of a run, oldest first. */
typedef enum rc decision_fn(void *ctx, const struct decision *d, struct err *err);
MUST_CHECK enum rc decision_each(struct ledger *l, const char *run_id, decision_fn *fn, void *ctx,
                                 struct err *err);
/* What of a source is held now, oldest first, each with the document of its newest decision. */
#define DECISION_HELD_MAX 1000 /* as many as a list of what waits has */
typedef enum rc held_fn(void *ctx, const char *event_id, struct str doc, struct err *err);
MUST_CHECK enum rc decision_held_each(struct ledger *l, int64_t src_no, held_fn *fn, void *ctx,
                                      struct err *err);

struct waiver {
    int64_t no, src_no, at, expires_at, revoked_at; /* revoked_at -1: it is not */
    const char *rule, *requester, *reviewer, *note;
};
#define WAIVER_LONGEST_MS (366 * 86400000LL) /* what shall hold longer belongs into the policy */
/* Own transaction. RC_INVALID names the field. no 0: the next number; else the one it had. Whether
 * the rule may be waived at all is the caller's to know (handler/gate.h). */
MUST_CHECK enum rc waiver_add(struct ledger *l, const struct waiver *w, int64_t now,
                              int64_t *ret_no, struct err *err);
/* Own transaction. RC_NOT_FOUND, or RC_CONFLICT when it is over. */
MUST_CHECK enum rc waiver_revoke(struct ledger *l, int64_t no, const char *by, const char *note,
                                 int64_t now, struct err *err);
/* src_no 0: of all sources; newest first. live_at >= 0: only those in force then. */
typedef enum rc waiver_fn(void *ctx, const struct waiver *w, struct err *err);
MUST_CHECK enum rc waiver_each(struct ledger *l, int64_t src_no, int64_t live_at, waiver_fn *fn,
                               void *ctx, struct err *err);

#endif
