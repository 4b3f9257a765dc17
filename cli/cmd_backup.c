/* backup: a consistent copy of the instance into a new folder (handler/backup.h).
 *
 * Invariants
 *   1. Nothing is overwritten, and an unfinished copy never has the name that was asked for.
 * Called by main_freshet.c. */
#include "cli/cli.h"
#include "cli/human.h"
#include "cli/progress.h"
#include "handler/backup.h"

static int print_json(struct cli *c, const char *dir, const struct backup_counts *n)
{
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "backup", dir);
    yyjson_mut_obj_add_int(d, o, "objects", n->objects);
    yyjson_mut_obj_add_int(d, o, "bytes", n->bytes);
    yyjson_mut_obj_add_int(d, o, "linked", n->linked);
    return cli_print_json(c, d);
}

int cmd_backup(struct cli *c)
{
    struct backup_counts n = {0};
    struct progress line = {.c = c, .what = "copying"};
    char size[HUMAN_MAX];
    if (!*c->args[0])
        return cli_usage(c, "the name of the new folder is empty");
    if (!cli_ledger(c))
        return CLI_FAILED;
    const char *dir = cli_path(c, c->args[0]);
    if (!dir)
        return cli_error(c, "backup", "no memory");
    enum rc rc = backup(c->ledger, &c->inst, dir, progress_watch, &line, &n, &c->err);
    progress_end(&line);
    if (rc != RC_OK)
        return cli_fail(c);
    if (c->json)
        return print_json(c, dir, &n);
    printf("%s  %lld objects, %s, %lld of them as links\n", dir, (long long)n.objects,
           human_bytes(n.bytes, size), (long long)n.linked);
    cli_hint(c, "Prove it with: freshet -C %s verify\n", dir);
    return CLI_DONE;
}
