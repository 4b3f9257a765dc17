/* gate: may this change be promoted? The policies (policies.def) over what is known of a change, by
 * what policy.json says about the level of its source.
 *
 * Invariants
 *   1. Default deny: without a policy there is no decision, and a level it does not name is denied.
 *   2. The verdict is the worst of any policy or rule that is neither waived nor, where it holds
 *      only, approved. A denial is never approved; what policies.def does not let waive never is.
 *      An approval counts for what it was given for, and while the reviewer may decide on the
 *      source as it is now.
 *   3. Pure: the same view gives the same decision, byte for byte. Details quote no data.
 *   4. What a waiver let pass is in the decision, with the waiver's number.
 * Called by job and, for `freshet policy check`, by cli.
 */
#ifndef FRESHET_HANDLER_GATE_H
#define FRESHET_HANDLER_GATE_H

#include "handler/validate.h"
#include "ledger/decision.h"
#include "ledger/inbox.h"

enum gate_verdict { GATE_ALLOW, GATE_HOLD, GATE_DENY };
const char *gate_verdict_name(enum gate_verdict v);

#define GATE_WAIVERS_MAX 64 /* in force for one source; more are not looked at */
struct gate_waivers {
    struct {
        int64_t no;
        char rule[64];
    } list[GATE_WAIVERS_MAX];
    size_t n;
};

/* What the policies look at. */
struct gate_view {
    const struct policy *policy;
    const struct source *source;
    const struct candidate *cand; /* NULL: before there is one */
    const struct run_tags *tags;
    bool deletes;
    const struct sha256 *sha, *expected; /* expected NULL: nothing to compare with */
    const struct validation *qa;         /* NULL: not validated */
    const char *reviewer;                /* who approved it; NULL: nobody */
    bool rightful;                       /* may the reviewer decide on it as it is now? */
    yyjson_val *seen;                    /* findings of the decision that was approved */
    const struct gate_waivers *waivers;
};

#define GATE_FINDINGS_MAX (VALIDATE_REASONS_MAX + 16)
struct gate_finding {
    const char *policy, *reason, *detail;
    enum gate_verdict verdict; /* of the policy that is broken */
    int64_t waiver;            /* 0: none */
    bool approved;
};
struct gate {
    enum gate_verdict verdict;
    const char *reason; /* of the verdict, "" when allowed */
    struct gate_finding findings[GATE_FINDINGS_MAX];
    size_t n;
    struct str doc; /* JSON of it all */
};

MUST_CHECK enum rc gate_decide(struct arena *a, const struct gate_view *v, struct gate *ret,
                               struct err *err);
/* The waivers of a source that are in force. */
MUST_CHECK enum rc gate_waivers(struct ledger *l, int64_t src_no, int64_t now,
                                struct gate_waivers *ret, struct err *err);
/* Would what a stored decision held pass by these waivers alone, and is this rule one that held it?
 * So it is with a waiver that came after: what is held stays so until a person decides. */
MUST_CHECK enum rc gate_freed(struct arena *a, struct str doc, const struct gate_waivers *waivers,
                              const char *rule, bool *ret, struct err *err);
/* May this reason code be waived at all? Policies say so in their row; of the rules (rules.def)
 * those that hold may. */
bool gate_waivable(const char *code);
/* One row per policy, for docs. */
typedef void gate_row_fn(const char *name, enum gate_verdict v, const char *code, bool waivable,
                         const char *help);
void gate_each_policy(gate_row_fn *fn);

#endif
