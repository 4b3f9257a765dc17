/* dlq: candidates that were given up, and what a person decides on them.
 * Called by main_freshet.c. */
#include "cli/event.h"
#include "cli/rows.h"
#include "core/clock.h"
#include "ledger/deadletter.h"

#define SHOWN 50

/* ---- list ------------------------------------------------------------------------------------ */

static enum rc add_one(void *ctx, const struct candidate *cand, struct err *err)
{
    return event_row(ctx, cand, NULL, err);
}

int cmd_dlq_list(struct cli *c)
{
    struct rows l;
    int64_t limit = SHOWN;
    if (!cli_opt_i64(c, "limit", 1, 1000000, &limit))
        return CLI_USAGE;
    if (!cli_ledger(c))
        return CLI_FAILED;
    rows_begin(&l, c, "dead_letters", "event|source|why|found|detected|tries");
    return rows_end(&l, inbox_each(c->ledger, "dead", limit, add_one, &l, &c->err));
}

/* ---- show ------------------------------------------------------------------------------------ */

static enum rc add_run(void *ctx, const struct dead_run *r, struct err *err)
{
    struct rows *l = ctx;
    (void)err;
    if (!l->c->json) {
        printf("  %s  %-20s %s\n", cli_time(l->c, r->started_at), r->reason, r->run_id);
        return RC_OK;
    }
    yyjson_mut_val *o = rows_object(l);
    json_add_str(l->doc, o, "run_id", r->run_id);
    json_add_str(l->doc, o, "reason", r->reason);
    json_add_time(l->doc, o, "started_at", r->started_at);
    json_add_time(l->doc, o, "ended_at", r->ended_at);
    return RC_OK;
}

static void print_letter(struct cli *c, const struct candidate *cand, const struct source *s)
{
    event_line(c, "event", cand->event_id);
    event_line(c, "source", s->id);
    event_line(c, "why", cand->reason);
    event_line(c, "found", cand->outcome);
    event_line(c, "detected", cli_time(c, cand->detected_at));
    event_line(c, "received", cli_time(c, cand->received_at));
    printf("%sruns%s\n", cli_on(c, CLI_BOLD), cli_off(c));
}

int cmd_dlq_show(struct cli *c)
{
    struct rows l = {.c = c, .doc = json_doc(&c->arena)};
    struct candidate cand;
    struct source s;
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (dead_get(c->ledger, &c->arena, c->args[0], &cand, &c->err) != RC_OK ||
        source_by_no(c->ledger, &c->arena, cand.src_no, &s, &c->err) != RC_OK)
        return cli_fail(c);
    l.root = event_candidate_json(l.doc, &cand, s.id);
    yyjson_mut_doc_set_root(l.doc, l.root);
    rows_list(&l, "runs");
    if (!c->json)
        print_letter(c, &cand, &s);
    if (dead_each_run(c->ledger, cand.no, add_run, &l, &c->err) != RC_OK)
        return cli_fail(c);
    return c->json ? cli_print_json(c, l.doc) : CLI_DONE;
}

/* ---- decisions ------------------------------------------------------------------------------- */

static int decide(struct cli *c, const char *drop)
{
    const char *by = cli_opt(c, "by");
    const struct dead_decision d = {
        .event_id = c->args[0], .by = by ? by : "operator", .drop = drop};
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (dead_decide(c->ledger, &d, clock_now(), &c->err) != RC_OK)
        return cli_fail(c);
    if (!c->json) {
        cli_hint(c, drop ? "Dropped. It is not tried again.\n"
                         : "Ready again. A handler runs it next (or: freshet work).\n");
        return CLI_DONE;
    }
    yyjson_mut_doc *doc = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, o);
    json_add_str(doc, o, "change_event_id", d.event_id);
    json_add_str(doc, o, "decision", drop ? "drop" : "retry");
    return cli_print_json(c, doc);
}

int cmd_dlq_retry(struct cli *c)
{
    return decide(c, NULL);
}

int cmd_dlq_drop(struct cli *c)
{
    const char *reason = cli_opt(c, "reason");
    if (!reason || !*reason)
        return cli_usage(c, "--reason TEXT is needed: it is kept with the decision");
    return decide(c, reason);
}
