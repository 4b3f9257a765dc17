/* policy check, policy sample: is policy.json right, and what would it decide?
 *
 * Invariants
 *   1. It changes nothing. A file that is wrong is exit 1, with the field and the fix.
 *   2. The decision shown is that of the gate itself (handler/gate.h), for a change whose bytes
 *      are well.
 * Called by main_freshet.c. */
#include "cli/source_put.h"
#include "core/clock.h"
#include "core/file.h"
#include "handler/gate.h"

#define POLICY_BYTES_MAX (1u << 20)

struct look {
    struct cli *c;
    struct policy policy;
    struct table table;
    yyjson_mut_doc *doc;
    yyjson_mut_val *rows;
    int64_t counts[3];
    int64_t licenseless;
};

static enum rc read_policy(struct cli *c, struct policy *ret)
{
    CLEANUP(buf_release) struct buf text = {0};
    if (!c->n_args)
        return policy_load(&c->arena, c->inst.dir, digest_sha256, ret, &c->err);
    buf_init(&text, POLICY_BYTES_MAX);
    TRY(file_read(c->args[0], &text, &c->err));
    char *copy = arena_str(&c->arena, buf_view(&text));
    if (!copy)
        return err_set(&c->err, RC_NOMEM, "", "no memory for the policy");
    return policy_parse(&c->arena, (struct str){copy, buf_view(&text).n}, digest_sha256, ret,
                        &c->err);
}

static void add_json(struct look *k, const struct source *s, const struct gate *g)
{
    yyjson_mut_val *o = yyjson_mut_arr_add_obj(k->doc, k->rows);
    json_add_str(k->doc, o, "source_id", s->id);
    json_add_str(k->doc, o, "level", level_name(s->level));
    json_add_str(k->doc, o, "verdict", gate_verdict_name(g->verdict));
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(k->doc, o, "reasons");
    for (size_t i = 0; i < g->n; i++) {
        const struct gate_finding *f = &g->findings[i];
        yyjson_mut_val *x = yyjson_mut_arr_add_obj(k->doc, list);
        json_add_str(k->doc, x, "reason", f->reason);
        json_add_str(k->doc, x, "detail", f->detail);
        json_add_str(k->doc, x, "verdict", gate_verdict_name(f->verdict));
        if (f->waiver)
            yyjson_mut_obj_add_int(k->doc, x, "waiver", f->waiver);
    }
}

static void add_row(struct look *k, const struct source *s, const struct gate *g)
{
    CLEANUP(buf_release) struct buf why = {0};
    buf_init(&why, 4096);
    for (size_t i = 0; i < g->n; i++)
        buf_printf(&why, "%s%s: %s%s", i ? "; " : "", g->findings[i].reason, g->findings[i].detail,
                   g->findings[i].waiver ? " (waived)" : "");
    table_cell(&k->table, s->id);
    table_cell(&k->table, level_name(s->level));
    table_cell(&k->table, gate_verdict_name(g->verdict));
    table_cell(&k->table, arena_str(&k->c->arena, buf_view(&why)));
}

static enum rc decide(void *ctx, const struct source *s, struct err *err)
{
    struct look *k = ctx;
    CLEANUP(arena_release) struct arena a = {0};
    struct gate_waivers waivers;
    struct gate g;
    const struct gate_view v = {.policy = &k->policy, .source = s, .waivers = &waivers};
    if (s->retired_at >= 0)
        return RC_OK;
    arena_init(&a, 1u << 20);
    TRY(gate_waivers(k->c->ledger, s->no, clock_now(), &waivers, err));
    TRY(gate_decide(&a, &v, &g, err));
    k->counts[g.verdict]++;
    k->licenseless += !*s->license;
    if (k->c->json)
        add_json(k, s, &g);
    else
        add_row(k, s, &g);
    return RC_OK;
}

static enum rc decide_all(struct look *k)
{
    struct cli *c = k->c;
    struct source s;
    const char *id = cli_opt(c, "source");
    if (!id)
        return source_each(c->ledger, 0, decide, k, &c->err);
    TRY(source_find(c, id, &s));
    return decide(k, &s, &c->err);
}

static int print_json(struct look *k)
{
    yyjson_mut_val *root = yyjson_mut_obj(k->doc);
    yyjson_mut_doc_set_root(k->doc, root);
    yyjson_mut_obj_add_bool(k->doc, root, "ok", true);
    json_add_str(k->doc, root, "version", k->policy.version);
    json_add_str(k->doc, root, "tag", k->policy.tag);
    yyjson_mut_val *n = yyjson_mut_obj_add_obj(k->doc, root, "counts");
    for (int v = 0; v < 3; v++)
        yyjson_mut_obj_add_int(k->doc, n, gate_verdict_name((enum gate_verdict)v), k->counts[v]);
    yyjson_mut_obj_add_val(k->doc, root, "sources", k->rows);
    return cli_print_json(k->c, k->doc);
}

int cmd_policy_check(struct cli *c)
{
    struct look k = {.c = c, .doc = json_doc(&c->arena)};
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (read_policy(c, &k.policy) != RC_OK)
        return cli_fail_at(c, c->n_args ? c->args[0] : POLICY_FILE);
    k.rows = yyjson_mut_arr(k.doc);
    table_begin(&k.table, c, "source|level|verdict|why");
    if (decide_all(&k) != RC_OK)
        return cli_fail(c);
    if (c->json)
        return print_json(&k);
    cli_hint(c, "Version %s (%s) is valid: %lld sources allowed, %lld held, %lld denied.\n",
             k.policy.version, k.policy.tag, (long long)k.counts[GATE_ALLOW],
             (long long)k.counts[GATE_HOLD], (long long)k.counts[GATE_DENY]);
    if (k.licenseless)
        cli_hint(c, "%lld declare no licence; \"require\": [\"license\"] would hold them.\n",
                 (long long)k.licenseless);
    return table_end(&k.table) ? CLI_DONE : cli_error(c, c->command->name, "no memory");
}

int cmd_policy_sample(struct cli *c)
{
    fputs(policy_sample, stdout);
    return cli_flush(c, CLI_DONE);
}
