/* queue conflicts, queue settle: event ids that came a second time with another body
 * (ledger/push.h). They were put aside and are applied by nobody; a person finds out from the
 * provider which is right. Called by main_freshet.c. */
#include "cli/rows.h"
#include "ledger/push.h"

#define SHOWN 50
#define DIGEST_SHOWN 12 /* digits in the table; JSON has all */

static void add_json(struct rows *l, const struct push_conflict *k, const char *source)
{
    char first[SHA256_HEX], sha[SHA256_HEX];
    yyjson_mut_val *o = rows_object(l);
    sha256_hex(&k->first_sha, first);
    sha256_hex(&k->sha, sha);
    yyjson_mut_obj_add_int(l->doc, o, "number", k->no);
    json_add_str(l->doc, o, "source_id", source);
    yyjson_mut_obj_add_strncpy(l->doc, o, "event_id", k->event_id.p, k->event_id.n);
    json_add_str(l->doc, o, "first_sha256", first);
    json_add_str(l->doc, o, "sha256", sha);
    json_add_time(l->doc, o, "at", k->at);
    json_add_time(l->doc, o, "last_at", k->last_at);
    yyjson_mut_obj_add_int(l->doc, o, "times", k->times);
}

static enum rc add_one(void *ctx, const struct push_conflict *k, struct err *err)
{
    struct rows *l = ctx;
    struct source s;
    char sha[SHA256_HEX];
    const char *id = arena_str(&l->c->arena, k->event_id);
    TRY(source_by_no(l->c->ledger, &l->c->arena, k->src_no, &s, err));
    if (l->c->json) {
        add_json(l, k, s.id);
        return RC_OK;
    }
    sha256_hex(&k->sha, sha);
    sha[DIGEST_SHOWN] = 0;
    table_cell_i64(&l->table, k->no);
    table_cell(&l->table, s.id);
    table_cell(&l->table, id ? id : "");
    table_cell(&l->table, cli_time(l->c, k->at));
    table_cell_i64(&l->table, k->times);
    table_cell(&l->table, sha);
    return RC_OK;
}

int cmd_queue_conflicts(struct cli *c)
{
    struct rows l;
    int64_t limit = SHOWN;
    if (!cli_opt_i64(c, "limit", 1, 1000000, &limit))
        return CLI_USAGE;
    if (!cli_ledger(c))
        return CLI_FAILED;
    rows_begin(&l, c, "conflicts",
               "number|source|event id|first seen|times|sha256 of the other body");
    int code = rows_end(&l, push_conflicts(c->ledger, 0, limit, add_one, &l, &c->err));
    if (code == CLI_DONE && rows_shown(&l))
        cli_hint(c, "\nAsk the provider which body is right; then: freshet queue settle NUMBER\n");
    return code;
}

int cmd_queue_settle(struct cli *c)
{
    int64_t no = 0;
    if (str_to_i64(str_of(c->args[0]), &no) != RC_OK || no < 1)
        return cli_usage(c, "a conflict has a number, not '%s'. See: freshet queue conflicts",
                         c->args[0]);
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (push_conflict_drop(c->ledger, no, &c->err) != RC_OK)
        return cli_fail(c);
    if (c->json)
        return cli_print_number(c, "settled", no);
    cli_hint(c, "Settled %lld. Its event id stays known: the other body is refused again.\n",
             (long long)no);
    return CLI_DONE;
}
