/* job_gate: the policy gate as a step of a run, and its record in the transaction that acts
 * on it. */
#include "core/clock.h"
#include "core/json.h"
#include "handler/job_internal.h"
#include "ledger/approval.h"

/* What the person who approved a held change saw of it, and whether that person may still decide:
 * since then the level may have been raised, the stewards named anew, or the declaration be the
 * reviewer's own. What is done again (env->again) was decided when it was done first. */
static enum rc read_approval(struct job *j, struct gate_view *v, struct err *err)
{
    const struct held_run *h = &j->held;
    struct err why;
    yyjson_val *doc = NULL;
    v->expected = &h->sha;
    v->reviewer = h->reviewer;
    if (h->seen.n)
        TRY(json_parse(j->env->arena, h->seen, 0, "a decision", &doc, err));
    v->seen = yyjson_obj_get(doc, "findings");
    v->rightful = true;
    if (j->env->again)
        return RC_OK;
    enum rc rc = approval_person(j->env->ledger, j->env->policy, &j->source, h->reviewer, &why);
    v->rightful = rc == RC_OK;
    if (rc != RC_OK && rc != RC_WRONG_PERSON)
        *err = why;
    return rc == RC_WRONG_PERSON ? RC_OK : rc;
}

enum rc job_gate(struct job *j, struct err *err)
{
    const struct facts *f = &j->facts;
    struct gate_waivers waivers;
    struct gate_view v = {.policy = j->env->policy,
                          .source = &j->source,
                          .cand = &j->claim->cand,
                          .tags = &j->claim->tags,
                          .deletes = job_claims_gone(j),
                          .sha = &j->bytes.sha,
                          .qa = f->qa.report.n ? &f->qa : NULL,
                          .waivers = &waivers};
    if (j->claim->resumed)
        TRY(read_approval(j, &v, err));
    TRY(gate_waivers(j->env->ledger, j->source.no, clock_now(), &waivers, err));
    TRY(gate_decide(j->env->arena, &v, &j->gate, err));
    j->facts.gate = &j->gate;
    return RC_OK;
}

enum rc job_record_gate(void *ctx, struct ledger *l, struct err *err)
{
    const struct job *j = ctx;
    const struct decision d = {.run_id = j->claim->run_id,
                               .policy_version = j->claim->tags.policy_version,
                               .verdict = gate_verdict_name(j->gate.verdict),
                               .reason = j->gate.reason,
                               .doc = j->gate.doc,
                               .at = j->facts.finalized_at};
    return j->facts.gate ? decision_add(l, &d, err) : RC_OK;
}
