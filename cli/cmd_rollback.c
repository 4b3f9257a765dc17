/* rollback: takes a change back, here and now; or lifts what an earlier one blocked.
 *
 * Invariants
 *   1. Exit 0 says that the head is back. While a handler has the source, or has taken the rollback
 *      itself, it is waited for.
 * Called by main_freshet.c. */
#include <time.h>
#include "cli/cli.h"
#include "core/clock.h"
#include "handler/work.h"
#include "ledger/rollback.h"

#define WAIT_MS 30000 /* for a handler that works on the source: as long as a large file may take */
#define LOOK_MS 50

static void nap(void)
{
    const struct timespec t = {.tv_nsec = LOOK_MS * 1000000L};
    nanosleep(&t, NULL);
}

/* The request as /admin/rollbacks takes it, for the audit. */
static enum rc ask(struct cli *c, char id[ROLLBACK_ID_MAX])
{
    CLEANUP(buf_release) struct buf body;
    const char *by = cli_opt(c, "by");
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    struct rollback_ask x = {
        .delta_id = c->args[0], .reason = cli_opt(c, "reason"), .by = by ? by : "operator"};
    buf_init(&body, JSON_MAX);
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "delta", x.delta_id);
    json_add_str(d, o, "reason", x.reason);
    TRY(json_doc_rc(d));
    TRY(json_canon_mut(&body, o, &c->err));
    x.body = buf_view(&body);
    return rollback_ask(c->ledger, &x, clock_now(), id, &c->err);
}

/* Works on it until it is over, whoever does it. */
static enum rc carry_out(struct cli *c, const char *id, struct rollback *ret)
{
    CLEANUP(worker_free) struct worker *w = NULL;
    int64_t until = clock_mono() + WAIT_MS;
    TRY(worker_new(c->ledger, &c->inst, &w, &c->err));
    for (;;) {
        enum work_result r;
        enum rc rc = work_rollback(w, id, &r, &c->err);
        if (rc != RC_OK && rc != RC_NOT_FOUND)
            return rc;
        TRY(rollback_get(c->ledger, &c->arena, id, ret, &c->err));
        bool over = strcmp(ret->state, "done") == 0 || strcmp(ret->state, "failed") == 0;
        if (over || clock_mono() > until)
            return RC_OK;
        nap();
    }
}

static int print_done(struct cli *c, const struct rollback *r)
{
    struct source s;
    if (source_by_no(c->ledger, &c->arena, r->src_no, &s, &c->err) != RC_OK)
        return cli_fail(c, "rollback");
    if (!c->json) {
        printf("%s taken back as %s\n", r->delta_id, r->event_id);
        cli_hint(c,
                 "Its bytes do not come again until they change, or: freshet rollback --lift %s\n",
                 s.id);
        return CLI_DONE;
    }
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "rollback_id", r->id);
    json_add_str(d, o, "state", r->state);
    json_add_str(d, o, "source_id", s.id);
    json_add_str(d, o, "delta", r->delta_id);
    json_add_str(d, o, "change_event_id", r->event_id);
    return cli_print_json(c, d);
}

static int take_back(struct cli *c)
{
    char id[ROLLBACK_ID_MAX];
    struct rollback r;
    if (ask(c, id) != RC_OK || carry_out(c, id, &r) != RC_OK)
        return cli_fail(c, "rollback");
    if (strcmp(r.state, "done") == 0)
        return print_done(c, &r);
    if (strcmp(r.state, "failed") == 0)
        return cli_error(c, "rollback", "%s", r.detail);
    return cli_error(c, "rollback",
                     "not done yet; a handler carries %s out when its source is free", r.id);
}

static int lift(struct cli *c, const char *source)
{
    struct source s;
    int64_t n = 0;
    if (source_by_id(c->ledger, &c->arena, source, &s, &c->err) != RC_OK ||
        rollback_lift(c->ledger, s.no, clock_now(), &n, &c->err) != RC_OK)
        return cli_fail(c, "rollback");
    if (!c->json) {
        printf("%lld lifted\n", (long long)n);
        return CLI_DONE;
    }
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "source_id", s.id);
    yyjson_mut_obj_add_int(d, o, "lifted", n);
    return cli_print_json(c, d);
}

int cmd_rollback(struct cli *c)
{
    const char *source = cli_opt(c, "lift"), *reason = cli_opt(c, "reason");
    if ((source != NULL) == (c->n_args == 1))
        return cli_usage(c, "give a DELTA, or --lift SOURCE");
    if (!source && (!reason || !*reason))
        return cli_usage(c, "--reason TEXT is needed: it is kept with the rollback");
    if (!cli_ledger(c))
        return CLI_FAILED;
    return source ? lift(c, source) : take_back(c);
}
