/* verify: proves that ledger, store and public rows agree (ledger/verify.h), and says where not.
 *
 * Invariants
 *   1. Exit 0 means that everything was looked at and agrees; anything else is exit 1.
 * Called by main_freshet.c. */
#include "cli/cli.h"
#include "core/clock.h"
#include "handler/artifacts.h"
#include "handler/rebuild.h"
#include "ledger/verify.h"

struct findings {
    struct cli *c;
    yyjson_mut_doc *doc;
    yyjson_mut_val *rows;
    int64_t n, public_alone; /* that a rebuild mends */
};

static void take_problem(void *ctx, const char *sentence)
{
    struct findings *f = ctx;
    f->n++;
    f->public_alone += strstr(sentence, "freshet rebuild") != NULL;
    if (f->c->json)
        yyjson_mut_arr_add_strcpy(f->doc, f->rows, sentence);
    else
        printf("%sproblem%s  %s\n", cli_on(f->c, CLI_BAD), cli_off(f->c), sentence);
}

static int print_json(struct findings *f, const struct verify_counts *n)
{
    yyjson_mut_doc *d = f->doc;
    yyjson_mut_val *root = yyjson_mut_obj(d), *o;
    yyjson_mut_doc_set_root(d, root);
    yyjson_mut_obj_add_bool(d, root, "ok", f->n == 0);
    o = yyjson_mut_obj_add_obj(d, root, "checked");
    yyjson_mut_obj_add_int(d, o, "replay_rows", n->replay_rows);
    yyjson_mut_obj_add_int(d, o, "artifacts", n->artifacts);
    yyjson_mut_obj_add_int(d, o, "bytes", n->bytes);
    yyjson_mut_obj_add_int(d, o, "changes", n->changes);
    yyjson_mut_obj_add_int(d, o, "heads", n->heads);
    yyjson_mut_obj_add_int(d, o, "items", n->items);
    yyjson_mut_obj_add_int(d, o, "prov", n->prov);
    yyjson_mut_obj_add_int(d, o, "deltas", n->deltas);
    yyjson_mut_obj_add_int(d, o, "public_rows", n->public_rows);
    yyjson_mut_obj_add_val(d, root, "problems", f->rows);
    return cli_print_json(f->c, d);
}

static void print_text(const struct findings *f, const struct verify_counts *n, bool deep)
{
    const struct cli *c = f->c;
    printf("%s%s%s  ", cli_on(c, f->n ? CLI_BAD : CLI_GOOD), f->n ? "not ok" : "ok", cli_off(c));
    printf("%lld replay rows, %lld objects (%lld bytes, %s), %lld changes, %lld heads, %lld items, "
           "%lld provenance bundles, %lld deltas, %lld public rows\n",
           (long long)n->replay_rows, (long long)n->artifacts, (long long)n->bytes,
           deep ? "digested" : "sizes only", (long long)n->changes, (long long)n->heads,
           (long long)n->items, (long long)n->prov, (long long)n->deltas,
           (long long)n->public_rows);
    if (f->n && f->n == f->public_alone)
        cli_error(c, "verify",
                  "%lld problem%s found, all in what is made of the ledger, which is whole: run "
                  "`freshet rebuild`",
                  (long long)f->n, f->n == 1 ? "" : "s");
    else if (f->n)
        cli_error(c, "verify",
                  "%lld problem%s found. Stop `freshet up`, keep a copy of the folder, and bring "
                  "back what is damaged from a backup; `freshet rebuild` mends public rows alone",
                  (long long)f->n, f->n == 1 ? "" : "s");
}

int cmd_verify(struct cli *c)
{
    bool deep = !cli_has(c, "quick");
    struct verify_counts n = {0};
    int64_t runs = 0;
    if (cli_has(c, "quick") && cli_has(c, "deep"))
        return cli_usage(c, "--quick and --deep exclude each other");
    if (!cli_ledger(c))
        return CLI_FAILED;
    struct findings f = {.c = c, .doc = json_doc(&c->arena)};
    f.rows = yyjson_mut_arr(f.doc);
    char *store = instance_path(&c->arena, &c->inst, "store");
    if (!store)
        return cli_error(c, "verify", "no memory");
    if (ledger_verify(c->ledger, store, deep, take_problem, &f, &n, &c->err) != RC_OK)
        return cli_fail(c);
    if (deep && rebuild_check(c->ledger, &c->inst, clock_now(), take_problem, &f, &c->err) != RC_OK)
        return cli_fail(c);
    if (artifacts_check(c->ledger, &c->inst, clock_now(), take_problem, &f, &runs, &c->err) !=
        RC_OK)
        return cli_fail(c);
    if (!c->json)
        print_text(&f, &n, deep);
    else if (print_json(&f, &n) != CLI_DONE)
        return CLI_FAILED;
    return f.n ? CLI_FAILED : CLI_DONE;
}
