/* source_put: stores declarations (handler/declare.h) as the options say. Called by the source commands. */
#include "cli/source_put.h"

#include "core/clock.h"
#include "handler/declare.h"

enum rc source_decl(struct cli *c, const yyjson_mut_doc *d, const char *what, yyjson_val **ret)
{
    struct str text;
    TRY(json_write(&c->arena, d, 0, &text, &c->err));
    return json_parse(&c->arena, text, 0, what, ret, &c->err);
}

enum rc source_find(struct cli *c, const char *id, struct source *ret)
{
    enum rc rc = source_by_id(c->ledger, &c->arena, id, ret, &c->err);
    if (rc == RC_NOT_FOUND)
        return err_set(&c->err, rc, "", "no source '%.80s'. See: freshet source list", id);
    return rc;
}

enum rc source_store(struct cli *c, struct source *s, struct str doc, bool update,
                     bool *ret_updated)
{
    struct declared done;
    const struct declare d = {.ledger = c->ledger,
                              .inst = &c->inst,
                              .arena = &c->arena,
                              .by = cli_opt(c, "by"),
                              .note = update ? cli_opt(c, "note") : NULL,
                              .update = update,
                              .doc = doc};
    TRY(declare_source(&d, s, clock_now(), &done, &c->err));
    if (*done.level_id)
        fprintf(stderr,
                "freshet: %s: %s stays %s until a second person says yes: freshet approve %s "
                "--reviewer NAME --note TEXT\n",
                c->command->name, s->id, level_name(done.level), done.level_id);
    *ret_updated = done.updated;
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
