/* source_put: stores declarations and projects them.
 *
 * Invariants
 *   1. A source and its public rows move in one transaction; a raised level takes back at once what
 *      was public before, of its children too (handler/children.h). A lowered one waits for a second
 *      person (ledger/approval.h).
 * Called by the source commands. */
#include "cli/source_put.h"

#include "api/hook.h"
#include "core/clock.h"
#include "handler/children.h"
#include "handler/levels.h"
#include "handler/project.h"

#define BEFORE_MEMORY (8u << 20) /* the longest declaration, several times over */

enum rc source_decl(struct cli *c, const yyjson_mut_doc *d, const char *what, yyjson_val **ret)
{
    struct str text;
    TRY(json_write(&c->arena, d, 0, &text, &c->err));
    return json_parse(&c->arena, text, 0, what, ret, &c->err);
}

enum rc source_check_adapter(const struct source *s, struct err *err)
{
    if (*s->adapter)
        return hook_check_options(s->adapter, s->adapter_options, yyjson_arr_size(s->secrets), err);
    if (yyjson_obj_size(s->adapter_options) > 0)
        return err_set(err, RC_INVALID, "adapter_options",
                       "needs an adapter: name one, or leave it out");
    return RC_OK;
}

enum rc source_secret_usable(struct cli *c, const char *name)
{
    const char *value = NULL;
    TRY(instance_secret(&c->arena, &c->inst, name, &value, &c->err));
    if (strlen(value) >= HOOK_SECRET_MIN)
        return RC_OK;
    return err_set(
        &c->err, RC_INVALID, name,
        "shorter than %d bytes, so it can be guessed and signs nothing: put a longer one "
        "into secrets/%s",
        HOOK_SECRET_MIN, name);
}

enum rc source_find(struct cli *c, const char *id, struct source *ret)
{
    enum rc rc = source_by_id(c->ledger, &c->arena, id, ret, &c->err);
    if (rc == RC_NOT_FOUND)
        return err_set(&c->err, rc, "", "no source '%.80s'. See: freshet source list", id);
    return rc;
}

/* What was withheld is shown only when a second person agrees. Until then s keeps the level it has. */
static enum rc ask_to_lower(struct cli *c, const struct source *before, struct source *s,
                            int64_t now)
{
    struct source kept;
    char id[LEVEL_ID_MAX];
    const char *by = cli_opt(c, "by"), *note = cli_opt(c, "note");
    TRY(level_ask(c->ledger, before->no, before->level, s->level, by ? by : "operator",
                  note ? note : "no reason was given", now, id, &c->err));
    fprintf(
        stderr,
        "freshet: %s: %s stays %s until a second person says yes: freshet approve %s --reviewer "
        "NAME --note TEXT\n",
        c->command->name, s->id, level_name(before->level), id);
    TRY(levels_declare(&c->arena, s, before->level, &kept, &c->err));
    *s = kept;
    return RC_OK;
}

enum rc source_store(struct cli *c, struct source *s, struct str doc, bool update,
                     bool *ret_updated)
{
    CLEANUP(arena_release) struct arena a; /* of its own: an import stores a million */
    struct source before;
    int64_t now = clock_now();
    arena_init(&a, BEFORE_MEMORY);
    enum rc rc = update ? source_by_id(c->ledger, &a, s->id, &before, &c->err) : RC_NOT_FOUND;
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    if (rc == RC_OK && s->level < before.level)
        TRY(ask_to_lower(c, &before, s, now));
    if (rc == RC_OK) {
        TRY(children_allow(c->ledger, &a, &before, s, &c->err));
        s->no = before.no;
        s->created_at = before.created_at;
        s->retired_at = before.retired_at;
        s->updated_at = now;
        s->parent_no = before.parent_no;
        s->entry = before.entry;
        s->unlisted_at = before.unlisted_at;
        TRY(source_put(c->ledger, s, now, &c->err));
        TRY(project_all_of_source(c->ledger, &c->inst, s, now, &c->err));
        TRY(children_set(c->ledger, &c->inst, s, before.level, now, &c->err));
    } else {
        TRY(source_add(c->ledger, s, now, &c->err));
        TRY(project_added(c->ledger, &a, &c->inst, s, doc, now, &c->err));
    }
    if (cli_opt(c, "by"))
        TRY(source_declared_by(c->ledger, s->no, cli_opt(c, "by"), &c->err));
    *ret_updated = rc == RC_OK;
    return RC_OK;
}

yyjson_mut_val *source_json(struct cli *c, yyjson_mut_doc *d, const struct source *s)
{
    yyjson_val *spec = NULL;
    struct err ignored;
    /* The ledger stores only what was checked, so this parses. */
    if (json_parse(&c->arena, s->spec, 0, "the declaration", &spec, &ignored) != RC_OK)
        return yyjson_mut_null(d);
    yyjson_mut_val *o = yyjson_val_mut_copy(d, spec);
    if (s->no == 0)
        return o;
    json_add_time(d, o, "created_at", s->created_at);
    json_add_time(d, o, "updated_at", s->updated_at);
    json_add_time(d, o, "retired_at", s->retired_at);
    return o;
}
