/* outbox: what is still to be told about changes, and to whom (handler/outbox.def).
 * Called by main_freshet.c. */
#include "cli/rows.h"
#include "core/clock.h"
#include "ledger/outbox.h"

struct told {
    struct rows rows;
    int64_t dead;
};

static enum rc add_one(void *ctx, const struct outbox_stats *s, struct err *err)
{
    struct told *told = ctx;
    struct rows *l = &told->rows;
    (void)err;
    told->dead += s->dead;
    if (l->c->json) {
        yyjson_mut_val *o = rows_object(l);
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
    struct told told = {0};
    if (!cli_ledger(c))
        return CLI_FAILED;
    rows_begin(&told.rows, c, "consumers", "consumer|waiting|dead|oldest|why");
    int code = rows_end(&told.rows, outbox_each(c->ledger, add_one, &told, &c->err));
    if (code == CLI_DONE && told.dead)
        cli_hint(c, "\nMend the receiver, then: freshet outbox retry\n");
    return code;
}

int cmd_outbox_retry(struct cli *c)
{
    int64_t n;
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (outbox_revive(c->ledger, clock_now(), &n, &c->err) != RC_OK)
        return cli_fail(c);
    if (!c->json) {
        cli_hint(c, "%lld will be told again, by `freshet up` or `freshet work`.\n", (long long)n);
        return CLI_DONE;
    }
    return cli_print_number(c, "revived", n);
}
