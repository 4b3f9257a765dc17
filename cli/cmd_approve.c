/* approve, reject: a person's decision on what waits: a held change, or a level to be lowered.
 *
 * Invariants
 *   1. A decision names who made it and why; it is kept append-only, and is not the author's own.
 *   2. What it decides is done when the command returns, but for a promotion, which a handler does.
 * Called by main_freshet.c. */
#include "cli/cli.h"
#include "core/clock.h"
#include "handler/levels.h"
#include "handler/project.h"
#include "ledger/approval.h"
#include "ledger/inbox.h"

/* A rejected run ends here and now, with the public rows that told of it. */
static enum rc end_rejected(struct cli *c, const char *event, int64_t now)
{
    int64_t src_no;
    struct source s;
    TRY(approval_source(c->ledger, event, &src_no, &c->err));
    TRY(ledger_begin(c->ledger, &c->err));
    enum rc rc = inbox_end_rejected(c->ledger, event, now, &c->err);
    if (rc == RC_OK)
        rc = source_by_no(c->ledger, &c->arena, src_no, &s, &c->err);
    if (rc == RC_OK)
        rc = project_source(c->ledger, &c->inst, &s, now, &c->err);
    return ledger_end(c->ledger, rc, &c->err);
}

static bool is_level(const char *id)
{
    return str_starts(str_of(id), STR("lvl_"));
}

static enum rc decide(struct cli *c, bool approve)
{
    struct policy policy;
    int64_t now = clock_now();
    const char *id = c->args[0];
    TRY(policy_load(&c->arena, c->inst.dir, digest_sha256, &policy, &c->err));
    const struct approval_ask ask = {.id = id,
                                     .approve = approve,
                                     .reviewer = cli_opt(c, "reviewer"),
                                     .note = cli_opt(c, "note"),
                                     .policy = &policy};
    TRY(approval_decide(c->ledger, &ask, now, &c->err));
    if (is_level(id))
        return levels_apply(c->ledger, &c->inst, now, &c->err);
    return approve ? RC_OK : end_rejected(c, id, now);
}

static const char *words(const char *id, bool approve)
{
    if (is_level(id))
        return approve ? "Approved. The level is lowered.\n" : "Rejected. The level stays.\n";
    return approve ? "Approved. A handler promotes it next (or: freshet work).\n"
                   : "Rejected. Nothing was promoted.\n";
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
        return cli_fail(c);
    if (!c->json) {
        cli_hint(c, "%s", words(c->args[0], approve));
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
