/* event: candidates of the inbox, for the commands that name one.
 *
 * Invariants
 *   1. What is returned lives in the arena of the command, not in the statement that read it.
 * Called by cmd_show.c, cmd_queue.c, cmd_dlq.c and cmd_approve.c. */
#include "cli/event.h"

#define LOOK_MAX 100000000 /* all there are; inbox_max bounds the open ones */

struct look {
    struct cli *c;
    const char *event_id;
    struct candidate *found;
    bool hit, no_memory;
};

static const char *keep(struct look *k, const char *s)
{
    char *copy = arena_strdup(&k->c->arena, s ? s : "");
    if (!copy)
        k->no_memory = true;
    return copy;
}

static enum rc see(void *ctx, const struct candidate *cand, struct err *err)
{
    struct look *k = ctx;
    if (k->hit || strcmp(cand->event_id, k->event_id) != 0)
        return RC_OK;
    struct candidate copy = *cand;
    copy.event_id = keep(k, cand->event_id);
    copy.detector = keep(k, cand->detector);
    copy.outcome = keep(k, cand->outcome);
    copy.version_hint = keep(k, cand->version_hint);
    copy.etag = keep(k, cand->etag);
    copy.state = keep(k, cand->state);
    copy.reason = keep(k, cand->reason);
    copy.result = keep(k, cand->result);
    if (k->no_memory)
        return err_set(err, RC_NOMEM, "", "no memory for the event");
    *k->found = copy;
    k->hit = true;
    return RC_OK;
}

enum rc event_candidate(struct cli *c, const char *event_id, struct candidate *ret)
{
    struct candidate found;
    struct look k = {.c = c, .event_id = event_id, .found = &found};
    TRY(inbox_each(c->ledger, "", LOOK_MAX, see, &k, &c->err));
    if (!k.hit)
        return err_set(&c->err, RC_NOT_FOUND, "", "no event %s. See: freshet queue list", event_id);
    *ret = found;
    return RC_OK;
}

yyjson_mut_val *event_candidate_json(yyjson_mut_doc *d, const struct candidate *cand,
                                     const char *source_id)
{
    yyjson_mut_val *o = yyjson_mut_obj(d);
    json_add_str(d, o, "change_event_id", cand->event_id);
    json_add_str(d, o, "source_id", source_id);
    json_add_str(d, o, "state", cand->state);
    json_add_str(d, o, "result", *cand->result ? cand->result : NULL);
    json_add_str(d, o, "reason", *cand->reason ? cand->reason : NULL);
    json_add_str(d, o, "outcome", cand->outcome);
    json_add_str(d, o, "detector", cand->detector);
    json_add_time(d, o, "detected_at", cand->detected_at);
    json_add_time(d, o, "received_at", cand->received_at);
    json_add_time(d, o, "next_attempt_at", cand->next_attempt_at);
    yyjson_mut_obj_add_int(d, o, "attempts", cand->attempts);
    yyjson_mut_obj_add_int(d, o, "absorbed", cand->absorbed);
    yyjson_mut_obj_add_bool(d, o, "unexpected", cand->unexpected);
    return o;
}

enum rc event_row(struct rows *r, const struct candidate *cand, const char *state, struct err *err)
{
    struct source s;
    TRY(source_by_no(r->c->ledger, &r->c->arena, cand->src_no, &s, err));
    if (r->c->json) {
        yyjson_mut_arr_append(r->list, event_candidate_json(r->doc, cand, s.id));
        return RC_OK;
    }
    table_cell(&r->table, cand->event_id);
    table_cell(&r->table, s.id);
    if (state)
        table_cell(&r->table, state);
    table_cell(&r->table, *cand->reason ? cand->reason : cand->result);
    table_cell(&r->table, cand->outcome);
    table_cell(&r->table, cli_time(r->c, cand->detected_at));
    table_cell_i64(&r->table, cand->attempts);
    return RC_OK;
}

void event_line(const struct cli *c, const char *name, const char *value)
{
    if (value && *value)
        printf("%s%-12s%s %s\n", cli_on(c, CLI_BOLD), name, cli_off(c), value);
}
