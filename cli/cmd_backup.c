/* backup: a consistent copy of the instance into a new folder (handler/backup.h).
 *
 * Invariants
 *   1. Nothing is overwritten, and an unfinished copy never has the name that was asked for.
 * Called by main_freshet.c. */
#include "cli/cli.h"
#include "cli/human.h"
#include "cli/progress.h"
#include "handler/backup.h"

struct watch {
    struct progress line;
    const struct cli *c;
    bool begun;
};

static void watch(void *ctx, int64_t done, int64_t total)
{
    struct watch *w = ctx;
    if (!w->begun)
        progress_begin(&w->line, w->c, "copying", total);
    w->begun = true;
    progress_show(&w->line, done, NULL, 0);
}

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

/* "backup/" and "backup" are the same folder. */
static char *without_slash(struct cli *c, const char *path)
{
    char *dir = arena_strdup(&c->arena, path);
    for (size_t n = dir ? strlen(dir) : 0; n > 1 && dir[n - 1] == '/'; n--)
        dir[n - 1] = '\0';
    return dir;
}

int cmd_backup(struct cli *c)
{
    struct backup_counts n = {0};
    struct watch w = {.c = c};
    char size[HUMAN_MAX];
    if (!*c->args[0])
        return cli_usage(c, "the name of the new folder is empty");
    if (!cli_ledger(c))
        return CLI_FAILED;
    const char *dir = without_slash(c, c->args[0]);
    if (!dir)
        return cli_error(c, "backup", "no memory");
    enum rc rc = backup(c->ledger, &c->inst, dir, watch, &w, &n, &c->err);
    if (w.begun)
        progress_end(&w.line);
    if (rc != RC_OK)
        return cli_fail(c, "backup");
    if (c->json)
        return print_json(c, dir, &n);
    printf("%s  %lld objects, %s, %lld of them as links\n", dir, (long long)n.objects,
           human_bytes(n.bytes, size), (long long)n.linked);
    cli_hint(c, "Prove it with: freshet -C %s verify\n", dir);
    return CLI_DONE;
}
