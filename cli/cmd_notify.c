/* notify: who is told what happened (notify.json), how it stands with them, and what was given up.
 * Called by main_freshet.c. */
#include "cli/rows.h"
#include "core/clock.h"
#include "handler/notify.h"

#define DEAD_MAX 1000

/* Instance, ledger and the subscribers that notify.json names. */
static struct subscribers *load(struct cli *c)
{
    struct subscribers *all = ARENA_NEW(&c->arena, struct subscribers);
    if (!cli_ledger(c))
        return NULL;
    if (all && subscribers_load(&c->arena, &c->inst, all, &c->err) == RC_OK)
        return all;
    if (!all)
        (void)cli_error(c, c->command->name, "no memory");
    else
        (void)cli_fail(c);
    return NULL;
}

/* The one that is named on the command line; NULL: said why. *ret_any: none was. */
static const struct subscriber *named(struct cli *c, const struct subscribers *all, bool *ret_any)
{
    *ret_any = c->n_args == 0;
    const struct subscriber *s = *ret_any ? NULL : subscribers_find(all, c->args[0]);
    if (!s && !*ret_any)
        (void)cli_error(c, c->command->name,
                        NOTIFY_FILE " names no subscriber '%.60s'. See: freshet notify list",
                        c->args[0]);
    return s;
}

/* ---- list ------------------------------------------------------------------------------------ */

struct standing {
    struct cli *c;
    const char *name;
    struct delivery_stats stats;
};

static enum rc find_stats(void *ctx, const struct delivery_stats *s, struct err *err)
{
    struct standing *x = ctx;
    if (strcmp(x->name, s->subscriber) != 0)
        return RC_OK;
    x->stats = *s;
    x->stats.why = arena_strdup(&x->c->arena, s->why);
    return x->stats.why ? RC_OK : err_set(err, RC_NOMEM, "", "no memory for a subscriber");
}

static void list_json(struct rows *l, const struct subscriber *s, const char *events,
                      const struct delivery_stats *n)
{
    yyjson_mut_val *o = rows_object(l);
    json_add_str(l->doc, o, "name", s->name);
    json_add_str(l->doc, o, "format", subscriber_format_name(s->format));
    json_add_str(l->doc, o, "events", events);
    json_add_str(l->doc, o, "audience", s->stewards ? "stewards" : "public");
    yyjson_mut_obj_add_bool(l->doc, o, "enabled", s->enabled);
    yyjson_mut_obj_add_int(l->doc, o, "waiting", n->waiting);
    yyjson_mut_obj_add_int(l->doc, o, "dead", n->dead);
    json_add_time(l->doc, o, "oldest_at", n->oldest_at);
    json_add_str(l->doc, o, "why", n->why);
}

static enum rc list_one(struct rows *l, const struct subscriber *s, struct err *err)
{
    struct standing x = {.c = l->c, .name = s->name, .stats = {.why = "", .oldest_at = -1}};
    char events[128];
    TRY(delivery_each(l->c->ledger, find_stats, &x, err));
    subscriber_events(s, events, sizeof events);
    if (l->c->json) {
        list_json(l, s, events, &x.stats);
        return RC_OK;
    }
    table_cell(&l->table, s->name);
    table_cell(&l->table, s->enabled ? subscriber_format_name(s->format) : "disabled");
    table_cell(&l->table, events);
    table_cell_i64(&l->table, x.stats.waiting);
    table_cell_i64(&l->table, x.stats.dead);
    table_cell(&l->table, cli_time(l->c, x.stats.oldest_at));
    table_cell(&l->table, x.stats.why);
    return RC_OK;
}

int cmd_notify_list(struct cli *c)
{
    struct rows l;
    const struct subscribers *all = load(c);
    if (!all)
        return CLI_FAILED;
    enum rc rc = RC_OK;
    rows_begin(&l, c, "subscribers", "subscriber|format|events|waiting|dead|oldest|why");
    for (size_t i = 0; i < all->n && rc == RC_OK; i++)
        rc = list_one(&l, &all->list[i], &c->err);
    int code = rows_end(&l, rc);
    if (code == CLI_DONE && !all->n)
        cli_hint(c, "Nobody is told: write " NOTIFY_FILE " (docs/NOTIFICATIONS.md).\n");
    return code;
}

/* ---- test ------------------------------------------------------------------------------------ */

int cmd_notify_test(struct cli *c)
{
    struct notify_answer a;
    bool any;
    const struct subscribers *all = load(c);
    const struct subscriber *s = all ? named(c, all, &any) : NULL;
    if (!s)
        return CLI_FAILED;
    if (notify_test(&c->inst, s, &a, &c->err) != RC_OK)
        return cli_fail(c);
    bool good = a.end == FETCH_OK && a.http >= 200 && a.http < 300;
    if (c->json) {
        yyjson_mut_doc *d = json_doc(&c->arena);
        yyjson_mut_val *o = yyjson_mut_obj(d);
        yyjson_mut_doc_set_root(d, o);
        yyjson_mut_obj_add_bool(d, o, "ok", good);
        json_add_str(d, o, "id", a.id);
        yyjson_mut_obj_add_int(d, o, "status", a.http);
        json_add_str(d, o, "end", fetch_end_name(a.end));
        yyjson_mut_obj_add_int(d, o, "elapsed_ms", a.elapsed_ms);
        json_add_str(d, o, "answer", a.text);
        int rc = cli_print_json(c, d);
        return good ? rc : CLI_FAILED;
    }
    if (a.http)
        printf("%s: answered %d after %lld ms%s%s\n", s->name, a.http, (long long)a.elapsed_ms,
               *a.text ? ": " : "", a.text);
    else
        printf("%s: no answer: %s\n", s->name, fetch_end_text(a.end));
    return good ? CLI_DONE : CLI_FAILED;
}

/* ---- dead letters ---------------------------------------------------------------------------- */

static enum rc add_dead(void *ctx, const char *subscriber, const struct delivery *d,
                        struct err *err)
{
    struct rows *l = ctx;
    struct cli *c = l->c;
    (void)err;
    if (c->json) {
        yyjson_mut_val *o = rows_object(l);
        json_add_str(l->doc, o, "subscriber", subscriber);
        json_add_str(l->doc, o, "id", d->notice.id);
        json_add_str(l->doc, o, "type", notice_word(d->notice.kind));
        json_add_str(l->doc, o, "change_event_id", *d->notice.event_id ? d->notice.event_id : NULL);
        json_add_time(l->doc, o, "at", d->notice.at);
        json_add_time(l->doc, o, "dead_at", d->dead_at);
        yyjson_mut_obj_add_int(l->doc, o, "attempts", d->attempts);
        json_add_str(l->doc, o, "why", d->detail);
        return RC_OK;
    }
    table_cell(&l->table, subscriber);
    table_cell(&l->table, notice_word(d->notice.kind));
    table_cell(&l->table, *d->notice.event_id ? d->notice.event_id : NULL);
    table_cell(&l->table, cli_time(c, d->notice.at));
    table_cell_i64(&l->table, d->attempts);
    table_cell(&l->table, d->detail);
    return RC_OK;
}

int cmd_notify_dlq(struct cli *c)
{
    struct rows l;
    bool any = true;
    const struct subscribers *all = load(c);
    const struct subscriber *s = all ? named(c, all, &any) : NULL;
    if (!all || (!s && !any))
        return CLI_FAILED;
    rows_begin(&l, c, "dead", "subscriber|type|event|at|attempts|why");
    return rows_end(
        &l, delivery_each_dead(c->ledger, s ? s->name : NULL, DEAD_MAX, add_dead, &l, &c->err));
}

int cmd_notify_retry(struct cli *c)
{
    int64_t n = 0;
    bool any = true;
    const struct subscribers *all = load(c);
    const struct subscriber *s = all ? named(c, all, &any) : NULL;
    if (!all || (!s && !any))
        return CLI_FAILED;
    if (delivery_revive(c->ledger, s ? s->name : NULL, clock_now(), &n, &c->err) != RC_OK)
        return cli_fail(c);
    if (!c->json) {
        cli_hint(c, "%lld will be told again, by `freshet up` or `freshet work`.\n", (long long)n);
        return CLI_DONE;
    }
    return cli_print_number(c, "revived", n);
}
