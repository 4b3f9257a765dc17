/* config: reads and changes the settings of an instance (core/settings.def).
 *
 * Invariants
 *   1. A value out of its bounds never reaches the file (conf_set_file checks first).
 * Called by main_freshet.c. */
#include "cli/rows.h"

static const char *const setting_names[] = {
#define SETTING_INT(name, def, min, max, help) #name,
#define SETTING_STR(name, def, help) #name,
#define SETTING_LIST(name, help) #name,
#include "core/settings.def"
#undef SETTING_INT
#undef SETTING_STR
#undef SETTING_LIST
};

static int unknown_setting(const struct cli *c, const char *name)
{
    const char *near = str_nearest(str_of(name), setting_names, ARRAY_LEN(setting_names));
    if (near)
        return cli_error(c, c->command->name, "no setting '%s'. Did you mean '%s'?", name, near);
    return cli_error(c, c->command->name, "no setting '%s'. See: freshet config list", name);
}

static bool is_setting(const char *name)
{
    return str_is_one_of(str_of(name), setting_names, ARRAY_LEN(setting_names));
}

/* A text setting without its quotes, for people and shells. */
static int print_plain(struct cli *c, const char *json)
{
    yyjson_val *v = NULL;
    if (json_parse(&c->arena, str_of(json), 0, "the setting", &v, &c->err) != RC_OK)
        return cli_fail(c);
    puts(yyjson_is_str(v) ? yyjson_get_str(v) : json);
    return CLI_DONE;
}

int cmd_config_get(struct cli *c)
{
    const char *value = NULL;
    if (!is_setting(c->args[0]))
        return unknown_setting(c, c->args[0]);
    if (!cli_instance(c))
        return CLI_FAILED;
    if (conf_get(&c->arena, &c->inst.conf, c->args[0], &value, &c->err) != RC_OK)
        return cli_fail(c);
    if (!c->json)
        return print_plain(c, value);
    puts(value);
    return CLI_DONE;
}

int cmd_config_set(struct cli *c)
{
    if (!is_setting(c->args[0]))
        return unknown_setting(c, c->args[0]);
    if (!cli_instance(c))
        return CLI_FAILED;
    char *path = instance_path(&c->arena, &c->inst, "freshet.json");
    if (!path)
        return cli_error(c, c->command->name, "no memory");
    if (conf_set_file(path, c->args[0], c->args[1], &c->err) != RC_OK)
        return cli_fail(c);
    if (!c->json) {
        cli_hint(c, "%s is set. What runs already sees it after a restart of `freshet up`.\n",
                 c->args[0]);
        return CLI_DONE;
    }
    return cmd_config_get(c);
}

static void add_table_row(void *ctx, const char *name, const char *value, const char *def,
                          const char *help)
{
    struct rows *l = ctx;
    table_cell(&l->table, name);
    table_cell(&l->table, value);
    table_cell(&l->table, def);
    table_cell(&l->table, help);
}

static void add_json_row(void *ctx, const char *name, const char *value, const char *def,
                         const char *help)
{
    struct rows *l = ctx;
    yyjson_mut_val *o = rows_object(l);
    json_add_str(l->doc, o, "name", name);
    json_add_raw(l->doc, o, "value", str_of(value));
    json_add_raw(l->doc, o, "default", str_of(def));
    json_add_str(l->doc, o, "help", help);
}

int cmd_config_list(struct cli *c)
{
    struct rows l;
    if (!cli_instance(c))
        return CLI_FAILED;
    rows_begin(&l, c, "settings", "setting|value|default|what it does");
    if (conf_each(&c->arena, &c->inst.conf, c->json ? add_json_row : add_table_row, &l) != RC_OK)
        return cli_error(c, c->command->name, "no memory");
    return rows_end(&l, RC_OK);
}
