/* job_gate: the policy gate as a step of a run, and its record in the transaction that acts on it. */
#include "core/clock.h"
#include "handler/job_internal.h"

enum rc job_gate(struct job *j, struct err *err)
{
    const struct facts *f = &j->facts;
    struct gate_waivers waivers;
    const struct gate_view v = {.policy = j->env->policy,
                                .source = &j->source,
                                .cand = &j->claim->cand,
                                .tags = &j->claim->tags,
                                .deletes = job_claims_gone(j),
                                .sha = &j->bytes.sha,
                                .expected = j->claim->resumed ? &j->held.sha : NULL,
                                .qa = f->qa.report.n ? &f->qa : NULL,
                                .reviewer = j->claim->resumed ? j->held.reviewer : NULL,
                                .waivers = &waivers};
    TRY(gate_waivers(j->env->ledger, j->source.no, clock_now(), &waivers, err));
    TRY(gate_decide(j->env->arena, &v, &j->gate, err));
    j->facts.gate = &j->gate;
    return RC_OK;
}

enum rc job_record_gate(const struct job *j, struct ledger *l, struct err *err)
{
    const struct decision d = {.run_id = j->claim->run_id,
                               .policy_version = j->claim->tags.policy_version,
                               .verdict = gate_verdict_name(j->gate.verdict),
                               .reason = j->gate.reason,
                               .doc = j->gate.doc,
                               .at = j->facts.finalized_at};
    return j->facts.gate ? decision_add(l, &d, err) : RC_OK;
}
