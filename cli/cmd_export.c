/* export: the public catalog as a folder of files (cli/export.h).
 *
 * Invariants
 *   1. The folder is the old one or the new one, whole, at every moment.
 * Called by main_freshet.c. */
#include "cli/export.h"
#include "cli/human.h"
#include "cli/progress.h"

static int print_json(struct cli *c, const char *dir, const struct export_counts *n)
{
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "export", dir);
    yyjson_mut_obj_add_int(d, o, "collections", n->collections);
    yyjson_mut_obj_add_int(d, o, "items", n->items);
    yyjson_mut_obj_add_int(d, o, "provenance", n->provenance);
    yyjson_mut_obj_add_int(d, o, "deltas", n->deltas);
    yyjson_mut_obj_add_int(d, o, "changes", n->changes);
    yyjson_mut_obj_add_int(d, o, "files", n->files);
    yyjson_mut_obj_add_int(d, o, "bytes", n->bytes);
    return cli_print_json(c, d);
}

/* scheme://host[/path] without a slash at its end. */
static bool base_of(struct cli *c, struct str *ret)
{
    const char *given = cli_opt(c, "base-url");
    struct str s = given ? str_of(given) : instance_base(&c->arena, &c->inst);
    while (s.n && s.p[s.n - 1] == '/')
        s.n--;
    *ret = s;
    return (str_starts(s, STR("https://")) && s.n > 8) ||
           (str_starts(s, STR("http://")) && s.n > 7);
}

int cmd_export(struct cli *c)
{
    struct export_counts n = {0};
    struct progress line = {.c = c, .what = "exporting"};
    struct str base;
    char size[HUMAN_MAX];
    if (!*c->args[0])
        return cli_usage(c, "the name of the folder is empty");
    if (!cli_instance(c))
        return CLI_FAILED;
    if (!base_of(c, &base))
        return cli_usage(c, "--base-url must begin with https:// or http://");
    const char *dir = cli_path(c, c->args[0]);
    if (!dir)
        return cli_error(c, "export", "no memory");
    enum rc rc = export_tree(&c->inst, dir, base, progress_watch, &line, &n, &c->err);
    progress_end(&line);
    if (rc != RC_OK)
        return cli_fail(c);
    if (c->json)
        return print_json(c, dir, &n);
    printf("%s  %lld collections, %lld items, %lld changes: %lld files, %s\n", dir,
           (long long)n.collections, (long long)n.items, (long long)n.changes, (long long)n.files,
           human_bytes(n.bytes, size));
    return CLI_DONE;
}
