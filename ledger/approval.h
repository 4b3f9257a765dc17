/* approval: what waits for a person, and the person's decision: a held change (by its event), or a
 * request to lower the level of a source (lvl_...).
 *
 *   held change    approve --> ready, and its run goes on where it stopped; reject --> ready, and its run
 *                  ends as REJECTED. A handler does either; who may write ends a rejected run at once.
 *   level request  approve --> a writer lowers the level (handler/levels.h); reject --> it is over.
 *
 * Invariants
 *   1. Who decides is not who asked for the check, declared the source or asked for the level. Where the
 *      policy wants a steward, only one that it names for the source or its collection decides.
 *   2. One decision per hold; a second is RC_CONFLICT, and so is one that came too late.
 *   3. Decision, state and replay row are one transaction.
 * INBOX role: intake decides too. Called by api and cli.
 */
#ifndef FRESHET_LEDGER_APPROVAL_H
#define FRESHET_LEDGER_APPROVAL_H

#include "ledger/policy.h"
#include "ledger/request.h"

#define LEVEL_ID_MAX 48

struct approval_ask {
    const char *id; /* of an event, or of a level request */
    bool approve;
    const char *reviewer, *note;
    const struct policy *policy;
    struct request_key key; /* empty: none */
};
/* RC_NOT_FOUND, RC_INVALID, RC_FORBIDDEN (the wrong person), RC_CONFLICT. Own transaction. */
MUST_CHECK enum rc approval_decide(struct ledger *l, const struct approval_ask *ask, int64_t now,
                                   struct err *err);
/* The source that an id is about, whatever its state; RC_NOT_FOUND. */
MUST_CHECK enum rc approval_source(struct ledger *l, const char *id, int64_t *ret_src,
                                   struct err *err);

struct waiting {
    const char *id, *kind;       /* "change" or "level" */
    const char *reason, *detail; /* detail: of a level what it shall become, else "" */
    const char *author;          /* "" when nobody is known */
    int64_t src_no, since;
};
/* Oldest first. */
typedef enum rc waiting_fn(void *ctx, const struct waiting *w, struct err *err);
MUST_CHECK enum rc approval_each(struct ledger *l, int64_t max, waiting_fn *fn, void *ctx,
                                 struct err *err);

/* Was the newest decision about a run that goes on after a hold a rejection? */
MUST_CHECK enum rc approval_rejected(struct ledger *l, const char *run_id, bool *ret,
                                     struct err *err);

/* A request to lower a level; replaces one of the same source that waits. Inside the caller's
 * transaction, WRITE role. */
MUST_CHECK enum rc level_ask(struct ledger *l, int64_t src_no, enum level old, enum level to,
                             const char *by, const char *note, int64_t now,
                             char ret_id[LEVEL_ID_MAX], struct err *err);
/* Approved and not carried out; RC_NOT_FOUND when there is none. */
struct level_order {
    int64_t no, src_no;
    enum level to;
};
MUST_CHECK enum rc level_next(struct ledger *l, struct level_order *ret, struct err *err);
/* Inside the caller's transaction. */
MUST_CHECK enum rc level_applied(struct ledger *l, const struct level_order *o, int64_t now,
                                 struct err *err);
/* Who declared a source; inside the caller's transaction. */
MUST_CHECK enum rc source_declared_by(struct ledger *l, int64_t src_no, const char *by,
                                      struct err *err);

#endif
