/* approve, reject: a person's decision on a held change.
 *
 * Invariants
 *   1. A decision names who made it and why; it is kept append-only.
 *   2. After a rejection the public rows no longer say that something is held.
 * Called by main_freshet.c. */
#include "cli/event.h"
#include "core/clock.h"
#include "handler/project.h"

/* The source as it is now, for the public. */
static enum rc project(struct cli *c, int64_t src_no)
{
    struct source s;
    TRY(source_by_no(c->ledger, &c->arena, src_no, &s, &c->err));
    TRY(ledger_begin(c->ledger, &c->err));
    enum rc rc = project_source(c->ledger, &c->inst, &s, clock_now(), &c->err);
    if (rc != RC_OK) {
        ledger_abort(c->ledger);
        return rc;
    }
    return ledger_commit(c->ledger, &c->err);
}

static enum rc decide(struct cli *c, bool approve)
{
    struct candidate cand;
    TRY(event_candidate(c, c->args[0], &cand));
    if (strcmp(cand.state, "held") != 0)
        return err_set(&c->err, RC_CONFLICT, "",
                       "%s is %s, not held: there is nothing to decide. See: freshet queue show %s",
                       cand.event_id, cand.state, cand.event_id);
    TRY(inbox_decide(c->ledger, cand.event_id, approve, cli_opt(c, "reviewer"), cli_opt(c, "note"),
                     clock_now(), &c->err));
    return project(c, cand.src_no);
}

static int run(struct cli *c, bool approve)
{
    const char *reviewer = cli_opt(c, "reviewer"), *note = cli_opt(c, "note");
    if (!reviewer || !*reviewer)
        return cli_usage(c, "--reviewer NAME is needed: a decision is somebody's");
    if (!note || !*note)
        return cli_usage(c, "--note TEXT is needed: a decision has a reason");
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (decide(c, approve) != RC_OK)
        return cli_fail(c, c->command->name);
    if (!c->json) {
        cli_hint(c, approve ? "Approved. A handler promotes it next (or: freshet work).\n"
                            : "Rejected. Nothing was promoted.\n");
        return CLI_DONE;
    }
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "change_event_id", c->args[0]);
    json_add_str(d, o, "decision", approve ? "approve" : "reject");
    json_add_str(d, o, "reviewer", reviewer);
    return cli_print_json(c, d);
}

int cmd_approve(struct cli *c)
{
    return run(c, true);
}

int cmd_reject(struct cli *c)
{
    return run(c, false);
}
