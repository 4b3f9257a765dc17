/* outbox: what is still to be told about changes, and to whom (handler/outbox.def).
 * Called by main_freshet.c. */
#include "cli/cli.h"
#include "core/clock.h"
#include "ledger/outbox.h"

struct listing {
    struct cli *c;
    struct table table;
    yyjson_mut_doc *doc;
    yyjson_mut_val *rows;
    int64_t dead;
};

static enum rc add_one(void *ctx, const struct outbox_stats *s, struct err *err)
{
    struct listing *l = ctx;
    (void)err;
    l->dead += s->dead;
    if (l->c->json) {
        yyjson_mut_val *o = yyjson_mut_arr_add_obj(l->doc, l->rows);
        json_add_str(l->doc, o, "consumer", s->kind);
        yyjson_mut_obj_add_int(l->doc, o, "waiting", s->open);
        yyjson_mut_obj_add_int(l->doc, o, "dead", s->dead);
        json_add_time(l->doc, o, "oldest_at", s->oldest_at);
        json_add_str(l->doc, o, "why", s->why);
        return RC_OK;
    }
    table_cell(&l->table, s->kind);
    table_cell_i64(&l->table, s->open);
    table_cell_i64(&l->table, s->dead);
    table_cell(&l->table, cli_time(l->c, s->oldest_at));
    table_cell(&l->table, s->why);
    return RC_OK;
}

int cmd_outbox_list(struct cli *c)
{
    struct listing l = {.c = c, .doc = json_doc(&c->arena)};
    yyjson_mut_val *root = yyjson_mut_obj(l.doc);
    if (!cli_ledger(c))
        return CLI_FAILED;
    yyjson_mut_doc_set_root(l.doc, root);
    l.rows = yyjson_mut_obj_add_arr(l.doc, root, "consumers");
    table_begin(&l.table, c, "consumer|waiting|dead|oldest|why");
    if (outbox_each(c->ledger, add_one, &l, &c->err) != RC_OK)
        return cli_fail(c, c->command->name);
    if (c->json)
        return cli_print_json(c, l.doc);
    if (!table_end(&l.table))
        return cli_error(c, c->command->name, "no memory");
    if (l.dead)
        cli_hint(c, "\nMend the receiver, then: freshet outbox retry\n");
    return CLI_DONE;
}

int cmd_outbox_retry(struct cli *c)
{
    int64_t n;
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (outbox_revive(c->ledger, clock_now(), &n, &c->err) != RC_OK)
        return cli_fail(c, c->command->name);
    if (!c->json) {
        cli_hint(c, "%lld will be told again, by `freshet up` or `freshet work`.\n", (long long)n);
        return CLI_DONE;
    }
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    yyjson_mut_obj_add_int(d, o, "revived", n);
    return cli_print_json(c, d);
}
