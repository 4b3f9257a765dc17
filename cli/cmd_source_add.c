/* source add, source set: a declaration from options (source_flags.def) or a file.
 *
 * Invariants
 *   1. Options only build JSON; source_parse alone decides what is valid.
 *   2. What no option names stays as the file or the stored declaration has it.
 * Called by main_freshet.c. */
#include "cli/source_put.h"
#include "core/fetch.h"

enum kind { KIND_TEXT, KIND_JSON, KIND_LIST, KIND_HEADER, KIND_LIMIT, KIND_NAMES };

static const struct flag {
    const char *flag, *field;
    enum kind kind;
    const char *argument;
} flags[] = {
#define FLAG(flag, field, kind, argument, help) {flag, field, KIND_##kind, argument},
#include "cli/source_flags.def"
#undef FLAG
};

struct decl {
    struct cli *c;
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;
    bool given[ARRAY_LEN(flags)]; /* a list given again grows, the first time it starts anew */
};

/* ---- options to JSON ------------------------------------------------------------------------- */

static void put(struct decl *d, yyjson_mut_val *obj, const char *key, yyjson_mut_val *val)
{
    yyjson_mut_obj_put(obj, yyjson_mut_strcpy(d->doc, key), val);
}

/* The member, made when it is missing or of another type. */
static yyjson_mut_val *member(struct decl *d, const char *key, bool fresh, bool list)
{
    yyjson_mut_val *v = fresh ? NULL : yyjson_mut_obj_get(d->root, key);
    if (list ? yyjson_mut_is_arr(v) : yyjson_mut_is_obj(v))
        return v;
    v = list ? yyjson_mut_arr(d->doc) : yyjson_mut_obj(d->doc);
    put(d, d->root, key, v);
    return v;
}

static yyjson_mut_val *json_value(struct decl *d, const struct flag *f, const char *text)
{
    yyjson_val *v = NULL;
    struct err ignored;
    if (json_parse(&d->c->arena, str_of(text), 0, f->flag, &v, &ignored) == RC_OK)
        return yyjson_val_mut_copy(d->doc, v);
    /* Without the quotes a shell takes braces and quotation marks away. */
    const char *needed = *f->argument == 'N'    ? "a number"
                         : f->kind == KIND_LIST ? "JSON, e.g. '{\"type\":\"annual\",\"month\":7}'"
                                                : "JSON, e.g. '[-102.1,36.9,-94.5,40.1]'";
    cli_usage(d->c, "--%s needs %s, not '%s'", f->flag, needed, text);
    return NULL;
}

static int put_header(struct decl *d, const struct flag *f, const char *text)
{
    struct str rest = str_of(text), name;
    if (!str_next(&rest, ':', &name) || rest.n == 0)
        return cli_usage(d->c, "--%s needs 'Name: value', not '%s'", f->flag, text);
    char *key = arena_str(&d->c->arena, str_trim(name));
    struct str value = str_trim(rest);
    if (!key)
        return cli_error(d->c, d->c->command->name, "no memory");
    put(d, member(d, f->field, false, false), key, yyjson_mut_strncpy(d->doc, value.p, value.n));
    return CLI_DONE;
}

static int put_flag(struct decl *d, size_t i, const char *text)
{
    const struct flag *f = &flags[i];
    bool first = !d->given[i];
    yyjson_mut_val *v = NULL;
    d->given[i] = true;
    if (f->kind == KIND_HEADER)
        return put_header(d, f, text);
    if (f->kind == KIND_TEXT || f->kind == KIND_NAMES)
        v = yyjson_mut_strcpy(d->doc, text);
    else if (!(v = json_value(d, f, text)))
        return CLI_USAGE;
    if (f->kind == KIND_LIST || f->kind == KIND_NAMES)
        yyjson_mut_arr_append(member(d, f->field, first, true), v);
    else
        put(d, f->kind == KIND_LIMIT ? member(d, "limits", false, false) : d->root, f->field, v);
    return CLI_DONE;
}

static int put_options(struct decl *d)
{
    const struct cli *c = d->c;
    for (size_t k = 0; k < c->n_opts; k++)
        for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
            if (strcmp(c->opts[k].row->name, flags[i].flag) != 0)
                continue;
            int code = put_flag(d, i, c->opts[k].value);
            if (code != CLI_DONE)
                return code;
        }
    return CLI_DONE;
}

/* Did any option name a field? */
static bool is_given(const struct decl *d)
{
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        any = any || d->given[i];
    return any;
}

/* What the object holds replaces what is there; null takes a member away. */
static void put_members(struct decl *d, yyjson_val *members)
{
    size_t i, n;
    yyjson_val *key, *val;
    yyjson_obj_foreach(members, i, n, key, val)
    {
        const char *name = unsafe_yyjson_get_str(key); /* a key is a text */
        if (yyjson_is_null(val))
            yyjson_mut_obj_remove_str(d->root, name);
        else
            put(d, d->root, name, yyjson_val_mut_copy(d->doc, val));
    }
}

/* Begins with a copy of base (or nothing), then the members of a file (or none), then
 * the options. */
static int begin(struct decl *d, struct cli *c, yyjson_val *base, yyjson_val *members)
{
    *d = (struct decl){.c = c, .doc = json_doc(&c->arena)};
    d->root = base ? yyjson_val_mut_copy(d->doc, base) : yyjson_mut_obj(d->doc);
    yyjson_mut_doc_set_root(d->doc, d->root);
    if (members)
        put_members(d, members);
    return put_options(d);
}

/* The object in --file, NULL without that option. */
static enum rc read_file(struct cli *c, yyjson_val **ret)
{
    const char *file = cli_opt(c, "file");
    if (!file)
        return RC_OK;
    TRY(json_parse_file(&c->arena, file, JSON_RELAXED, ret, &c->err));
    if (!yyjson_is_obj(*ret))
        return err_set(&c->err, RC_INVALID, "",
                       "%s: one declaration is a JSON object. For many use: freshet source import",
                       file);
    return RC_OK;
}

/* ---- storing --------------------------------------------------------------------------------- */

static enum rc parse_and_store(struct decl *d, bool update, struct source *ret)
{
    struct cli *c = d->c;
    yyjson_val *decl = NULL;
    bool ignored;
    TRY(source_decl(c, d->doc, "the declaration", &decl));
    TRY(source_parse(&c->arena, decl, ret, &c->err));
    TRY(source_check_adapter(ret, &c->err));
    TRY(ledger_begin(c->ledger, &c->err));
    return ledger_end(c->ledger, source_store(c, ret, (struct str){0}, update, &ignored), &c->err);
}

/* Said on standard error also when piped: every check of this source would end as blocked. */
static void warn_blocked(const struct cli *c, const struct source *s)
{
    char host[256];
    fetch_url_host(s->url, host, sizeof host);
    struct str authority = str_of(strstr(s->url, "://") + 3);
    const char *colon = memchr(authority.p, ':', strcspn(authority.p, "/?#"));
    int port = colon ? (int)strtol(colon + 1, NULL, 10) : 80;
    if (str_starts(str_of(s->url), STR("https://")) ||
        fetch_host_allowed(&c->inst.conf.allow_hosts, str_of(host), port))
        return;
    fprintf(stderr,
            "freshet: %s: http is fetched only from hosts in allow_hosts, and %s is not there."
            " See: freshet config get allow_hosts\n",
            c->command->name, host);
}

/* A secret may be put there before the first check, or delivery: what is left to do, and
 * no failure. */
static void note_secret(struct cli *c, enum rc rc, const char *of, const char *name)
{
    if (rc == RC_NOT_FOUND)
        fprintf(stderr, "Next: put the secret of its %s into the file secrets/%s\n", of, name);
    else if (rc != RC_OK)
        fprintf(stderr, "Next: mend the secret %s of its %s: %s\n", name, of, c->err.msg);
}

static void note_push_secrets(struct cli *c, const struct source *s)
{
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(s->secrets, i, n, v)
    {
        const char *name = yyjson_get_str(v);
        note_secret(c, source_secret_usable(c, name), "deliveries", name);
    }
}

static void note_header_secrets(struct cli *c, const struct source *s)
{
    const char *value;
    char of[80];
    for (size_t i = 0; i < s->n_headers; i++) {
        const char *name = source_header_secret(&s->headers[i]);
        snprintf(of, sizeof of, "header %.60s", s->headers[i].name);
        if (name)
            note_secret(c, instance_secret(&c->arena, &c->inst, name, &value, &c->err), of, name);
    }
}

static int print_declared(struct cli *c, const struct source *s, const char *verb)
{
    warn_blocked(c, s);
    source_warn_query(c, s);
    if (!c->json && source_is_pushed(s)) {
        cli_hint(c, "%s %s. Deliveries go to /hooks/%s\n", verb, s->id, s->id);
        return CLI_DONE;
    }
    if (!c->json) {
        cli_hint(c, "%s %s. Look at it now with: freshet -C %s check source %s --wait\n", verb,
                 s->id, c->dir, s->id);
        return CLI_DONE;
    }
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_doc_set_root(d, source_json(c, d, s));
    return cli_print_json(c, d);
}

static int print_source(struct cli *c, const struct source *s, const char *verb)
{
    int code = print_declared(c, s, verb);
    note_header_secrets(c, s);
    note_push_secrets(c, s);
    return code;
}

static int say_taken(struct cli *c, const char *id)
{
    struct source there;
    if (source_find(c, id, &there) == RC_OK && there.retired_at >= 0)
        return cli_error(c, c->command->name, "%s is retired: freshet source resume %s", id, id);
    return cli_error(c, c->command->name,
                     "%s is there already. Change it with: freshet source set %s", id, id);
}

int cmd_source_add(struct cli *c)
{
    yyjson_val *base = NULL;
    struct source s = {0};
    struct decl d;
    if (!cli_has(c, "file") && (!cli_has(c, "id") || !cli_has(c, "url")))
        return cli_usage(c, "--id and --url are needed, or --file. Usage: freshet source add %s",
                         c->command->usage);
    if (read_file(c, &base) != RC_OK)
        return cli_fail(c);
    int code = begin(&d, c, base, NULL);
    if (code != CLI_DONE)
        return code;
    if (!cli_ledger(c))
        return CLI_FAILED;
    enum rc rc = parse_and_store(&d, false, &s);
    if (rc == RC_CONFLICT)
        return say_taken(c, s.id);
    return rc == RC_OK ? print_source(c, &s, "Added") : cli_fail(c);
}

int cmd_source_set(struct cli *c)
{
    struct source s = {0};
    struct decl d;
    yyjson_val *base = NULL, *members = NULL;
    if (read_file(c, &members) != RC_OK)
        return cli_fail(c);
    const char *in_file = yyjson_get_str(yyjson_obj_get(members, "id"));
    const char *id = cli_has(c, "id") ? cli_opt(c, "id") : in_file;
    if (id && strcmp(id, c->args[0]) != 0)
        return cli_usage(c, "an id never changes: add a new source and retire this one");
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (source_find(c, c->args[0], &s) != RC_OK ||
        json_parse(&c->arena, s.spec, 0, "the declaration", &base, &c->err) != RC_OK)
        return cli_fail(c);
    int code = begin(&d, c, base, members);
    if (code != CLI_DONE)
        return code;
    if (!members && !is_given(&d))
        return cli_usage(c, "nothing to change was named. Usage: freshet source set %s",
                         c->command->usage);
    if (parse_and_store(&d, true, &s) != RC_OK)
        return cli_fail(c);
    return print_source(c, &s, "Changed");
}
