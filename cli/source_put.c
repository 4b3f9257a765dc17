/* source_put: stores declarations (handler/declare.h) as the options say. Called by the
 * source commands. */
#include "cli/source_put.h"

#include "api/hook.h"
#include "core/clock.h"
#include "handler/declare.h"

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

enum rc source_store(struct cli *c, struct source *s, struct str doc, bool update,
                     bool *ret_updated)
{
    struct declared done;
    const char *by = cli_opt(c, "by");
    const struct declare d = {.ledger = c->ledger,
                              .inst = &c->inst,
                              .arena = &c->arena,
                              .by = by ? by : "operator",
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

int source_warn_query(const struct cli *c, const struct source *s)
{
    const char *const fields[] = {"url", "probe.url", "sse.url"};
    const char *const urls[] = {s->url, s->probe_url, s->sse_url};
    char name[SOURCE_PARAM_MAX];
    int n = 0;
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        if (!source_url_secret(urls[i], name))
            continue;
        n++;
        fprintf(
            stderr,
            "freshet: %s: %s: %s: the value of %s is kept for good with the declaration. If it is a "
            "credential, send it as one of `headers` with \"secret:name\".\n",
            c->command->name, s->id, fields[i], name);
    }
    return n;
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
