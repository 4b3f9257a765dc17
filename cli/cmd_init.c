/* init: makes the folder of an instance.
 *
 * Invariants
 *   1. freshet.json is written last, and all before it is on disk by then: a folder that holds one
 *      is a whole instance, also after a power cut.
 *   2. An existing instance is never touched.
 *   3. (I12) The token is printed and forgotten; the ledger keeps its digest.
 * Called by main_freshet.c. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/clock.h"
#include "core/fd.h"
#include "core/file.h"
#include "ledger/policy.h"
#include "ledger/request.h"

#define SETTINGS_MAX (1u << 20)

/* Folders of an instance, parents first. */
static const struct {
    const char *name;
    mode_t mode;
} folders[] = {
    {"secrets", 0700},
    {"store", 0750},
    {"store/public", 0750},
    {"store/restricted", 0700},
    {"runs", 0750},
    {"run", 0750},
    {"log", 0750},
    {"spool", 0700},
    {"runs/change-detection", 0750},
};

static enum rc make_folder(const char *path, mode_t mode, struct err *err)
{
    if (mkdir(path, mode) == 0 || errno == EEXIST)
        return RC_OK;
    return err_set(err, RC_IO, "", "cannot make %s: %s", path, strerror(errno));
}

static enum rc sync_folder(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;
    int why = errno;
    fd_close(&fd);
    return ok ? RC_OK : err_set(err, RC_IO, "", "cannot sync %s: %s", path, strerror(why));
}

/* The folder itself, with the parents it lacks. */
static enum rc make_path(const char *dir, struct err *err)
{
    char path[PATH_MAX];
    if (strlen(dir) >= sizeof path)
        return err_set(err, RC_INVALID, "", "the path is too long");
    memcpy(path, dir, strlen(dir) + 1);
    for (char *p = path + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        TRY(make_folder(path, 0755, err));
        *p = '/';
    }
    return make_folder(path, 0750, err);
}

/* RC_CONFLICT when something of an instance is there already. */
static enum rc look_for_instance(struct arena *a, const struct instance *at, struct err *err)
{
    const char *settings = instance_path(a, at, "freshet.json");
    const char *ledger = instance_path(a, at, "ledger.db");
    if (!settings || !ledger)
        return err_set(err, RC_NOMEM, "", "no memory for a path");
    if (access(settings, F_OK) == 0)
        return err_set(err, RC_CONFLICT, "",
                       "%s is an instance already, nothing was changed. Use it with: freshet -C %s",
                       at->dir, at->dir);
    if (access(ledger, F_OK) == 0)
        return err_set(err, RC_CONFLICT, "",
                       "%s holds a ledger but no freshet.json: an earlier init broke off. "
                       "Remove %s* and try again",
                       at->dir, ledger);
    return RC_OK;
}

static enum rc make_folders(struct arena *a, const struct instance *at, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        char *path = instance_path(a, at, folders[i].name);
        if (!path)
            return err_set(err, RC_NOMEM, "", "no memory for a path");
        TRY(make_folder(path, folders[i].mode, err));
        TRY(sync_folder(path, err));
    }
    return sync_folder(at->dir, err);
}

struct first_token {
    int64_t no;
    char plain[TOKEN_PLAIN_MAX];
};

static enum rc make_ledger(struct arena *a, const char *dir, struct first_token *ret,
                           struct err *err)
{
    struct policy policy;
    CLEANUP(ledger_close) struct ledger *l = NULL;
    unsigned all = 0;
    TRY(scopes_parse(STR("all"), &all, err));
    TRY(ledger_create(dir, digest_sha256, err));
    TRY(ledger_open(dir, LEDGER_WRITE, digest_sha256, &l, err));
    TRY(policy_parse(a, str_of(policy_sample), digest_sha256, &policy, err));
    TRY(policy_publish(l, a, policy.tag, clock_now(), err));
    return token_create(l, "first admin", all, -1, clock_now(), ret->plain, &ret->no, err);
}

static enum rc write_settings(struct arena *a, const struct instance *at, struct err *err)
{
    struct buf sample;
    const char *settings = instance_path(a, at, "freshet.json");
    const char *rules = instance_path(a, at, "policy.json");
    if (!settings || !rules)
        return err_set(err, RC_NOMEM, "", "no memory for a path");
    buf_init(&sample, SETTINGS_MAX);
    conf_sample(&sample);
    enum rc rc = buf_rc(&sample);
    if (rc != RC_OK)
        rc = err_set(err, rc, "", "no memory for the settings");
    else if ((rc = file_replace(rules, str_of(policy_sample), 0640, err)) == RC_OK)
        rc = file_replace(settings, buf_view(&sample), 0640, err);
    buf_release(&sample);
    return rc;
}

static enum rc make_instance(struct cli *c, const char *dir, struct first_token *ret)
{
    char real[PATH_MAX];
    TRY(make_path(dir, &c->err));
    if (!realpath(dir, real))
        return err_set(&c->err, RC_IO, "", "cannot enter %s: %s", dir, strerror(errno));
    c->inst.dir = arena_strdup(&c->arena, real);
    if (!c->inst.dir)
        return err_set(&c->err, RC_NOMEM, "", "no memory for a path");
    TRY(look_for_instance(&c->arena, &c->inst, &c->err));
    TRY(make_folders(&c->arena, &c->inst, &c->err));
    TRY(make_ledger(&c->arena, c->inst.dir, ret, &c->err));
    return write_settings(&c->arena, &c->inst, &c->err);
}

static int print_made_json(struct cli *c, const struct first_token *token)
{
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "dir", c->inst.dir);
    json_add_str(d, o, "token", token->plain);
    yyjson_mut_obj_add_int(d, o, "token_no", token->no);
    return cli_print_json(c, d);
}

int cmd_init(struct cli *c)
{
    struct first_token token = {0};
    const char *dir = c->n_args ? c->args[0] : c->dir;
    if (!*dir)
        return cli_usage(c, "the folder has no name. Usage: freshet init DIR");
    if (make_instance(c, dir, &token) != RC_OK)
        return cli_fail(c);
    if (c->json)
        return print_made_json(c, &token);
    cli_hint(c,
             "Made an instance in %s.\n\n"
             "The admin token, shown this once (only its digest is kept):\n\n    ",
             c->inst.dir);
    puts(token.plain);
    cli_hint(
        c,
        "\nNext: say who you are, watch something, and start.\n"
        "    freshet -C %s config set operator_name \"Your name\"\n"
        "    freshet -C %s source add --id counties --url https://example.org/counties.geojson\n"
        "    freshet -C %s up\n",
        dir, dir, dir);
    return CLI_DONE;
}
