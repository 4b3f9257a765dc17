/* rollback: takes a change back, here and now, or all that came after one; or lifts what an earlier
 * one blocked.
 *
 * Invariants
 *   1. Exit 0 says that the head is back. While a handler has the source, or has taken the rollback
 *      itself, it is waited for.
 *   2. --to takes the newest change in force back until the wanted one is that. Each is a rollback
 *      of its own; who is interrupted gives the command again.
 * Called by main_freshet.c. */
#include <time.h>
#include "cli/cli.h"
#include "core/clock.h"
#include "handler/work.h"
#include "ledger/rollback.h"

#define WAIT_MS 30000 /* for a handler that works on the source: as long as a large file may take */
#define LOOK_MS 50
#define STEPS_MAX 1000              /* of --to */
#define WAY_MEMORY_MAX (256u << 10) /* of ROLLBACK_FIRST_MAX deltas */

static void nap(void)
{
    const struct timespec t = {.tv_nsec = LOOK_MS * 1000000L};
    nanosleep(&t, NULL);
}

/* The request as /admin/rollbacks takes it, for the audit. */
static enum rc ask(struct cli *c, const char *delta, char id[ROLLBACK_ID_MAX])
{
    CLEANUP(buf_release) struct buf body = {0};
    const char *by = cli_opt(c, "by");
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    struct rollback_ask x = {
        .delta_id = delta, .reason = cli_opt(c, "reason"), .by = by ? by : "operator"};
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
        return cli_fail(c);
    if (!c->json) {
        printf("%s taken back as %s\n", r->delta_id, r->event_id);
        cli_hint(
            c, "Its content does not come again until it changes, or: freshet rollback --lift %s\n",
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

/* RC_OK: it is done. */
static enum rc take_back(struct cli *c, const char *delta, struct rollback *ret)
{
    char id[ROLLBACK_ID_MAX];
    TRY(ask(c, delta, id));
    TRY(carry_out(c, id, ret));
    if (strcmp(ret->state, "done") == 0)
        return RC_OK;
    if (strcmp(ret->state, "failed") == 0)
        return err_set(&c->err, RC_CONFLICT, "", "%s", ret->detail);
    return err_set(&c->err, RC_BUSY, "",
                   "not done yet; a handler carries %s out when its source is free", ret->id);
}

/* ---- refused --------------------------------------------------------------------------------- */

static int print_first_json(struct cli *c, const struct rollback_list *first)
{
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d), *list;
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "error", c->err.msg);
    list = yyjson_mut_obj_add_arr(d, o, "first");
    for (size_t i = 0; i < first->n; i++)
        yyjson_mut_arr_add_str(d, list, first->ids[i]);
    yyjson_mut_obj_add_bool(d, o, "more", first->more);
    (void)cli_print_json(c, d);
    return cli_fail(c);
}

/* The sentence has room for a few; whoever takes them back needs all. */
static int refused(struct cli *c, const char *delta)
{
    struct rollback_list first;
    struct err own;
    bool behind = c->err.rc == RC_CONFLICT && strcmp(c->err.field, "delta") == 0 &&
                  rollback_first(c->ledger, &c->arena, delta, &first, &own) == RC_OK && first.n;
    if (behind && c->json)
        return print_first_json(c, &first);
    if (!behind || first.n == 1)
        return cli_fail(c);
    (void)cli_error(c, "rollback",
                    "delta: the head has moved on; first take back these %zu, in this order",
                    first.n);
    for (size_t i = 0; i < first.n; i++)
        fprintf(stderr, "%s\n", first.ids[i]);
    if (first.more)
        fprintf(stderr, "and more than these %d\n", ROLLBACK_FIRST_MAX);
    return CLI_FAILED;
}

static int take_back_one(struct cli *c)
{
    struct rollback r;
    const char *id = cli_ref(c, c->args[0]);
    const char *delta = id ? rollback_delta(&c->arena, id) : NULL;
    if (!delta)
        return cli_error(c, "rollback", "no memory for a delta");
    return take_back(c, delta, &r) == RC_OK ? print_done(c, &r) : refused(c, delta);
}

/* ---- to a state ------------------------------------------------------------------------------ */

static int go_to(struct cli *c, const char *manifest)
{
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d), *list;
    const char *delta = rollback_delta(&c->arena, manifest);
    CLEANUP(arena_release) struct arena a = {0};
    struct rollback_list way;
    arena_init(&a, WAY_MEMORY_MAX);
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "to", delta);
    list = yyjson_mut_obj_add_arr(d, o, "taken_back");
    for (int i = 0; i <= STEPS_MAX; i++) {
        struct rollback r;
        arena_reset(&a);
        if (!delta || rollback_way(c->ledger, &a, delta, &way, &c->err) != RC_OK)
            return cli_fail(c);
        if (way.n == 0)
            break;
        if (i == STEPS_MAX)
            return cli_error(c, "rollback",
                             "%d changes were taken back, and there are more. "
                             "Give the command again",
                             STEPS_MAX);
        if (take_back(c, way.ids[0], &r) != RC_OK)
            return cli_fail(c);
        yyjson_mut_val *one = yyjson_mut_arr_add_obj(d, list);
        yyjson_mut_obj_add_strcpy(d, one, "delta", way.ids[0]);
        json_add_str(d, one, "change_event_id", r.event_id);
        if (!c->json)
            printf("%s taken back as %s\n", way.ids[0], r.event_id);
    }
    if (c->json)
        return cli_print_json(c, d);
    printf("the head is what %s made it\n", delta);
    return CLI_DONE;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static int lift(struct cli *c, const char *source)
{
    const char *by = cli_opt(c, "by");
    struct rollback_lift ask = {.by = by ? by : "operator", .reason = cli_opt(c, "reason")};
    struct source s;
    int64_t n = 0;
    if (source_by_id(c->ledger, &c->arena, source, &s, &c->err) != RC_OK)
        return cli_fail(c);
    ask.src_no = s.no;
    if (rollback_lift(c->ledger, &ask, clock_now(), &n, &c->err) != RC_OK)
        return cli_fail(c);
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
    const char *source = cli_opt(c, "lift"), *to = cli_opt(c, "to"), *reason = cli_opt(c, "reason");
    to = to ? cli_ref(c, to) : NULL;
    if ((source != NULL) + (to != NULL) + (c->n_args == 1) != 1)
        return cli_usage(c, "give a DELTA, --to MANIFEST or --lift SOURCE");
    if (!source && (!reason || !*reason))
        return cli_usage(c, "--reason TEXT is needed: it is kept with the rollback");
    if (!cli_ledger(c))
        return CLI_FAILED;
    return source ? lift(c, source) : to ? go_to(c, to) : take_back_one(c);
}
