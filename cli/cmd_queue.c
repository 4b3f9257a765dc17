/* queue: what is in the inbox.
 * Called by main_freshet.c. */
#include "cli/event.h"
#include "cli/rows.h"

#define SHOWN 50

static enum rc add_one(void *ctx, const struct candidate *cand, struct err *err)
{
    return event_row(ctx, cand, cand->state, err);
}

static void add_counts(struct rows *l, const struct inbox_stats *n)
{
    yyjson_mut_val *o = yyjson_mut_obj_add_obj(l->doc, l->root, "counts");
    yyjson_mut_obj_add_int(l->doc, o, "ready", n->ready);
    yyjson_mut_obj_add_int(l->doc, o, "leased", n->leased);
    yyjson_mut_obj_add_int(l->doc, o, "held", n->held);
    yyjson_mut_obj_add_int(l->doc, o, "done", n->done);
    yyjson_mut_obj_add_int(l->doc, o, "dead", n->dead);
    json_add_time(l->doc, l->root, "oldest_ready_at", n->oldest_ready_at);
}

static int list(struct cli *c, const struct inbox_stats *n, const char *state, int64_t limit)
{
    struct rows l;
    rows_begin(&l, c, NULL, "event|source|state|why|found|detected|tries");
    if (c->json)
        add_counts(&l, n);
    rows_list(&l, "candidates");
    int code = rows_end(&l, inbox_each(c->ledger, state, limit, add_one, &l, &c->err));
    if (code == CLI_DONE)
        cli_hint(c, "%s%lld ready, %lld running, %lld held, %lld done, %lld dead\n",
                 rows_shown(&l) ? "\n" : "", (long long)n->ready, (long long)n->leased,
                 (long long)n->held, (long long)n->done, (long long)n->dead);
    return code;
}

int cmd_queue_list(struct cli *c)
{
    static const char *const states[] = {"ready", "leased", "held", "done", "dead"};
    const char *state = cli_opt(c, "state");
    struct inbox_stats n;
    int64_t limit = SHOWN;
    bool known = !state;
    for (size_t i = 0; i < ARRAY_LEN(states) && state; i++)
        known |= strcmp(states[i], state) == 0;
    if (!known)
        return cli_usage(c, "--state must be ready, leased, held, done or dead, not '%s'", state);
    if (!cli_opt_i64(c, "limit", 1, 1000000, &limit))
        return CLI_USAGE;
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (inbox_stats(c->ledger, &n, &c->err) != RC_OK)
        return cli_fail(c);
    return list(c, &n, state ? state : "", limit);
}

static int show_text(struct cli *c, const struct candidate *cand, const struct source *s)
{
    char attempts[24];
    snprintf(attempts, sizeof attempts, "%lld", (long long)cand->attempts);
    event_line(c, "event", cand->event_id);
    event_line(c, "source", s->id);
    event_line(c, "state", cand->state);
    event_line(c, "result", cand->result);
    event_line(c, "why", cand->reason);
    event_line(c, "found", cand->outcome);
    event_line(c, "detector", cand->detector);
    event_line(c, "detected", cli_time(c, cand->detected_at));
    event_line(c, "received", cli_time(c, cand->received_at));
    event_line(c, "tries", attempts);
    if (strcmp(cand->state, "ready") == 0)
        event_line(c, "next try", cli_time(c, cand->next_attempt_at));
    if (strcmp(cand->state, "held") == 0)
        cli_hint(c, "\nDecide with: freshet approve %s --reviewer NAME --note TEXT   (or reject)\n",
                 cand->event_id);
    return CLI_DONE;
}

int cmd_queue_show(struct cli *c)
{
    struct candidate cand;
    struct source s;
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (event_candidate(c, c->args[0], &cand) != RC_OK ||
        source_by_no(c->ledger, &c->arena, cand.src_no, &s, &c->err) != RC_OK)
        return cli_fail(c);
    if (!c->json)
        return show_text(c, &cand, &s);
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_doc_set_root(d, event_candidate_json(d, &cand, s.id));
    return cli_print_json(c, d);
}
