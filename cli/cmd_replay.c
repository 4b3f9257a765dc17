/* replay: the replay log through the handler again (handler/replay.h).
 *
 * Invariants
 *   1. A long window needs the name of somebody else who approved it (ledger/replays.h); it
 *      is kept.
 *   2. Rows that the ledger lacks are done only while nothing else works on it.
 *   3. Exit 0: every row of the window is there, with its effect.
 * Called by main_freshet.c. */
#include <unistd.h>
#include "cli/cli.h"
#include "cli/find.h"
#include "cli/progress.h"
#include "core/clock.h"
#include "handler/outbox.h"
#include "handler/replay.h"
#include "ledger/policy.h"
#include "ledger/replays.h"

static int export(struct cli *c, const char *path)
{
    int64_t rows = 0;
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (replay_export(c->ledger, path, &rows, &c->err) != RC_OK)
        return cli_fail(c);
    if (!c->json) {
        printf("%lld rows\n", (long long)rows);
        return CLI_DONE;
    }
    return cli_print_number(c, "rows", rows);
}

/* *ret < 0: what to exit with. */
static bool read_times(struct cli *c, struct replay_ask *ask)
{
    const char *since = cli_opt(c, "since"), *until = cli_opt(c, "until");
    ask->until = clock_now() + 1;
    if (!since || time_parse(str_of(since), &ask->since) != RC_OK) {
        (void)cli_usage(c, "--since TIME is needed, as in 2026-07-02T10:00:00Z");
        return false;
    }
    if (until && time_parse(str_of(until), &ask->until) != RC_OK) {
        (void)cli_usage(c, "--until must be a time like 2026-07-02T10:00:00Z");
        return false;
    }
    return true;
}

static const char *who_asks(const struct cli *c)
{
    const char *by = cli_opt(c, "by");
    return by ? by : "operator";
}

static enum rc allowed(struct cli *c, const struct replay_ask *ask, const char *approved)
{
    TRY(policy_check_text("by", who_asks(c), PERSON_MAX, &c->err));
    TRY(replays_check(ask->since, ask->until, who_asks(c), approved, &c->err));
    if (ask->log && !ask->dry && find_lock_held(c, "run/up.lock"))
        return err_set(&c->err, RC_BUSY, "",
                       "this instance is running: stop `freshet up` before rows are done again");
    return RC_OK;
}

static int print(struct cli *c, const struct replay_counts *n, bool dry)
{
    if (!c->json) {
        printf("%lld rows: %lld no-ops, %lld %s, %lld without their effect\n", (long long)n->rows,
               (long long)n->noop, (long long)n->applied, dry ? "to do" : "done",
               (long long)n->failed);
        return n->failed ? CLI_FAILED : CLI_DONE;
    }
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    yyjson_mut_obj_add_bool(d, o, "dry_run", dry);
    yyjson_mut_obj_add_int(d, o, "rows", n->rows);
    yyjson_mut_obj_add_int(d, o, "noop", n->noop);
    yyjson_mut_obj_add_int(d, o, "applied", n->applied);
    yyjson_mut_obj_add_int(d, o, "failed", n->failed);
    int rc = cli_print_json(c, d);
    return rc == CLI_DONE && n->failed ? CLI_FAILED : rc;
}

/* Where the ledger was lost, a new one is filled. */
static bool make_ledger(struct cli *c)
{
    if (!cli_instance(c))
        return false;
    const char *path = instance_path(&c->arena, &c->inst, "ledger.db");
    if (path && access(path, F_OK) == 0)
        return true;
    if (path && ledger_create(c->inst.dir, digest_sha256, &c->err) == RC_OK)
        return true;
    (void)cli_fail(c);
    return false;
}

static enum rc keep(struct cli *c, const struct replay_ask *ask, const char *approved,
                    const struct replay_counts *n, enum rc rc)
{
    const struct replay_done done = {.since = ask->since,
                                     .until = ask->until,
                                     .src_no = ask->src_no,
                                     .by = who_asks(c),
                                     .approved_by = approved,
                                     .own = !ask->log,
                                     .good = rc == RC_OK && n->failed == 0,
                                     .rows = n->rows,
                                     .noop = n->noop,
                                     .applied = n->applied,
                                     .failed = n->failed,
                                     .detail = rc == RC_OK ? NULL : c->err.msg};
    struct err why = c->err;
    enum rc kept = replays_done(c->ledger, &done, clock_now(), &c->err);
    if (rc != RC_OK)
        c->err = why;
    return rc == RC_OK ? kept : rc;
}

int cmd_replay(struct cli *c)
{
    struct replay_ask ask = {.dry = cli_has(c, "dry-run"), .log = cli_opt(c, "log")};
    struct replay_counts n = {0};
    struct outbox_counts told = {0};
    struct progress line = {.c = c, .what = "replaying"};
    struct source s;
    const char *id = cli_opt(c, "source"), *approved = cli_opt(c, "approved-by");
    if (cli_opt(c, "export"))
        return export(c, cli_opt(c, "export"));
    if (!read_times(c, &ask))
        return CLI_USAGE;
    if ((ask.log && !make_ledger(c)) || !cli_ledger(c))
        return CLI_FAILED;
    if (allowed(c, &ask, approved) != RC_OK ||
        (id && source_by_id(c->ledger, &c->arena, id, &s, &c->err) != RC_OK))
        return cli_fail(c);
    ask.src_no = id ? s.no : 0;
    enum rc rc = replay_run(c->ledger, &c->inst, &ask, progress_watch, &line, &n, &c->err);
    progress_end(&line);
    if (!ask.dry)
        rc = keep(c, &ask, approved, &n, rc);
    if (rc == RC_OK && n.applied && !ask.dry)
        rc = outbox_drain(c->ledger, &c->inst, &told, &c->err);
    return rc == RC_OK ? print(c, &n, ask.dry) : cli_fail(c);
}
