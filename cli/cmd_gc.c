/* gc: removes what nothing refers to (handler/gc.h), and says what.
 *
 * Invariants
 *   1. One row per file; names in the store are digests and tell nothing.
 * Called by main_freshet.c. */
#include "cli/cli.h"
#include "cli/human.h"
#include "core/clock.h"
#include "handler/gc.h"

struct report {
    struct table table;
    yyjson_mut_doc *doc;
    yyjson_mut_val *rows;
    bool json;
};

static void take_file(void *ctx, enum gc_kind k, const char *path, int64_t bytes)
{
    struct report *r = ctx;
    if (!r->json) {
        table_cell(&r->table, gc_kind_name(k));
        table_cell_i64(&r->table, bytes);
        table_cell(&r->table, path);
        return;
    }
    yyjson_mut_val *o = yyjson_mut_arr_add_obj(r->doc, r->rows);
    json_add_str(r->doc, o, "kind", gc_kind_name(k));
    json_add_str(r->doc, o, "path", path);
    yyjson_mut_obj_add_int(r->doc, o, "bytes", bytes);
}

static int print_json(struct cli *c, struct report *r, const struct gc_counts *n, bool dry)
{
    yyjson_mut_doc *d = r->doc;
    yyjson_mut_val *root = yyjson_mut_obj(d);
    int64_t files = 0, bytes = 0;
    for (int k = 0; k < GC_KINDS; k++) {
        files += n->files[k];
        bytes += n->bytes[k];
    }
    yyjson_mut_doc_set_root(d, root);
    yyjson_mut_obj_add_bool(d, root, "dry_run", dry);
    yyjson_mut_obj_add_int(d, root, "files", files);
    yyjson_mut_obj_add_int(d, root, "bytes", bytes);
    yyjson_mut_obj_add_int(d, root, "rows", n->rows);
    yyjson_mut_obj_add_int(d, root, "feed", n->feed);
    yyjson_mut_obj_add_int(d, root, "young", n->young);
    yyjson_mut_obj_add_val(d, root, "removed", r->rows);
    return cli_print_json(c, d);
}

static int print_text(struct cli *c, struct report *r, const struct gc_counts *n, bool dry)
{
    char size[HUMAN_MAX];
    if (!table_end(&r->table))
        return cli_error(c, "gc", "no memory");
    for (int k = 0; k < GC_KINDS; k++)
        cli_note(c, "%s %lld %s files, %s\n", dry ? "would remove" : "removed",
                 (long long)n->files[k], gc_kind_name((enum gc_kind)k),
                 human_bytes(n->bytes[k], size));
    if (n->feed)
        cli_note(c, "removed %lld entries of the feed, older than feed_retention_days\n",
                 (long long)n->feed);
    if (n->young)
        cli_note(c, "%lld objects without a row are younger than an hour: they stay until then\n",
                 (long long)n->young);
    return CLI_DONE;
}

int cmd_gc(struct cli *c)
{
    bool dry = cli_has(c, "dry-run");
    struct gc_counts n = {0};
    struct report r = {.json = c->json};
    if (!cli_ledger(c))
        return CLI_FAILED;
    r.doc = json_doc(&c->arena);
    r.rows = yyjson_mut_arr(r.doc);
    table_begin(&r.table, c, "kind|bytes|path");
    if (gc(c->ledger, &c->inst, clock_now(), dry, take_file, &r, &n, &c->err) != RC_OK)
        return cli_fail(c);
    return c->json ? print_json(c, &r, &n, dry) : print_text(c, &r, &n, dry);
}
