/* approval: what waits for a person, and the person's decision: a held change (by its event), or a
 * request to lower the level of a source (lvl_...).
 *
 *   held change    approve --> ready, and its run goes on where it stopped; reject --> ready,
 *                  and its run ends as REJECTED. A handler does either; who may write ends a
 *                  rejected run at once.
 *                  Nobody decides in time --> a later look ends it as SUPERSEDED (overtake.h).
 *   level request  approve --> a writer lowers the level (handler/levels.h); reject --> it is over.
 *
 * Invariants
 *   1. Who decides is not who asked for the check, declared or changed the source since its last
 *      promotion, or asked for the level. Where the policy wants a steward, only one that it names
 *      for the source or its collection decides. handler/job_gate.c asks again before the decision
 *      is acted on.
 *   2. One decision per hold; a second is RC_CONFLICT, and so is one that came too late.
 *   3. Decision, state and replay row are one transaction.
 * INBOX role: intake decides too. Called by api and cli.
 */
#ifndef FRESHET_LEDGER_APPROVAL_H
#define FRESHET_LEDGER_APPROVAL_H

#include "ledger/policy.h"
#include "ledger/request.h"

struct approval_ask {
    const char *id; /* of an event, or of a level request */
    bool approve;
    const char *reviewer, *note;
    const struct policy *policy; /* NULL: it was decided before, and is taken from the log */
    struct request_key key;      /* empty: none */
};
/* RC_NOT_FOUND, RC_INVALID, RC_WRONG_PERSON, RC_CONFLICT. Own transaction. */
MUST_CHECK enum rc approval_decide(struct ledger *l, const struct approval_ask *ask, int64_t now,
                                   struct err *err);
/* May the reviewer decide on changes of s, as source and policy are now? RC_WRONG_PERSON: who
 * declared or changed it since its last promotion, or no steward where one must. */
MUST_CHECK enum rc approval_person(struct ledger *l, const struct policy *policy,
                                   const struct source *s, const char *reviewer, struct err *err);
/* The replay row of a person's decision, from which it can be made again. Inside a transaction. */
MUST_CHECK enum rc approval_log(struct ledger *l, const char *word, int64_t src, const char *id,
                                const char *reviewer, const char *note, int64_t now,
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

#endif
