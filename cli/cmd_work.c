/* work: a handler in this process: promotes what is ready in the inbox, then ends.
 *
 * Invariants
 *   1. A candidate that fails, is held or waits for a retry is a result, not an error of the
 *      command: exit 0 says that the inbox was worked off.
 * Called by main_freshet.c. */
#include "cli/cli.h"
#include "handler/outbox.h"
#include "handler/work.h"

static void count(struct work_counts *n, enum work_result r)
{
    switch (r) {
    case WORK_PROMOTED: n->done++; break;
    case WORK_NOOP: n->noop++; break;
    case WORK_FAILED: n->failed++; break;
    case WORK_HELD: n->held++; break;
    case WORK_RETRY: n->retry++; break;
    case WORK_DEAD: n->dead++; break;
    }
}

static enum rc run(struct cli *c, struct work_counts *ret)
{
    CLEANUP(worker_free) struct worker *w = NULL;
    enum work_result one;
    TRY(worker_new(c->ledger, &c->inst, &w, &c->err));
    if (!cli_has(c, "once"))
        return work_drain(w, ret, &c->err);
    enum rc rc = work_one(w, &one, &c->err);
    if (rc == RC_OK)
        count(ret, one);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static int print_json(struct cli *c, const struct work_counts *n)
{
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    yyjson_mut_obj_add_int(d, o, "done", n->done);
    yyjson_mut_obj_add_int(d, o, "noop", n->noop);
    yyjson_mut_obj_add_int(d, o, "failed", n->failed);
    yyjson_mut_obj_add_int(d, o, "held", n->held);
    yyjson_mut_obj_add_int(d, o, "dead", n->dead);
    return cli_print_json(c, d);
}

int cmd_work(struct cli *c)
{
    struct work_counts n = {0};
    struct outbox_counts told = {0};
    if (cli_has(c, "once") && cli_has(c, "drain"))
        return cli_usage(c, "--once and --drain exclude each other");
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (run(c, &n) != RC_OK || outbox_drain(c->ledger, &c->inst, &told, &c->err) != RC_OK)
        return cli_fail(c);
    if (c->json)
        return print_json(c, &n);
    printf("promoted %lld, no-op %lld, failed %lld, held %lld, to retry %lld, dead %lld\n",
           (long long)n.done, (long long)n.noop, (long long)n.failed, (long long)n.held,
           (long long)n.retry, (long long)n.dead);
    if (n.held)
        cli_hint(c, "Held changes wait for a decision. See: freshet queue list --state held\n");
    return CLI_DONE;
}
