/* rebuild: makes the public projections anew from the enduring rows (handler/rebuild.h).
 *
 * Invariants
 *   1. All or nothing: Ctrl-C or an error leaves every row as it was.
 * Called by main_freshet.c. */
#include "cli/cli.h"
#include "cli/progress.h"
#include "core/clock.h"
#include "handler/artifacts.h"
#include "handler/rebuild.h"

static int print_json(struct cli *c, const struct rebuild_counts *n, int64_t runs)
{
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    yyjson_mut_obj_add_int(d, o, "sources", n->sources);
    yyjson_mut_obj_add_int(d, o, "sources_mended", n->sources_mended);
    yyjson_mut_obj_add_int(d, o, "changes", n->changes);
    yyjson_mut_obj_add_int(d, o, "changes_mended", n->changes_mended);
    yyjson_mut_obj_add_int(d, o, "rows_removed", n->removed);
    yyjson_mut_obj_add_bool(d, o, "tip_mended", n->tip);
    yyjson_mut_obj_add_int(d, o, "runs_written", runs);
    return cli_print_json(c, d);
}

int cmd_rebuild(struct cli *c)
{
    struct rebuild_counts n = {0};
    struct progress line = {.c = c, .what = "rebuilding"};
    int64_t runs = 0;
    if (!cli_ledger(c))
        return CLI_FAILED;
    enum rc rc = rebuild(c->ledger, &c->inst, clock_now(), progress_watch, &line, &n, &c->err);
    progress_end(&line);
    if (rc == RC_OK)
        rc = artifacts_mend(c->ledger, &c->inst, clock_now(), &runs, &c->err);
    if (rc != RC_OK)
        return cli_fail(c);
    if (c->json)
        return print_json(c, &n, runs);
    if (runs)
        printf("%lld folders of runs written\n", (long long)runs);
    printf("%lld sources, %lld mended; %lld changes, %lld mended; %lld stray rows removed\n",
           (long long)n.sources, (long long)n.sources_mended, (long long)n.changes,
           (long long)n.changes_mended, (long long)n.removed);
    return CLI_DONE;
}
