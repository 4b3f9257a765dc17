/* rows: see the header. */
#include "cli/rows.h"

void rows_begin(struct rows *r, struct cli *c, const char *key, const char *headings)
{
    *r = (struct rows){.c = c};
    if (!c->json) {
        table_begin(&r->table, c, headings);
        return;
    }
    r->doc = json_doc(&c->arena);
    r->root = yyjson_mut_obj(r->doc);
    yyjson_mut_doc_set_root(r->doc, r->root);
    if (key)
        rows_list(r, key);
}

void rows_list(struct rows *r, const char *key)
{
    if (r->c->json)
        r->list = yyjson_mut_obj_add_arr(r->doc, r->root, key);
}

yyjson_mut_val *rows_object(struct rows *r)
{
    return yyjson_mut_arr_add_obj(r->doc, r->list);
}

bool rows_shown(const struct rows *r)
{
    return r->table.rows > r->table.columns;
}

int rows_end(struct rows *r, enum rc rc)
{
    struct cli *c = r->c;
    if (rc != RC_OK)
        return cli_fail(c);
    if (c->json)
        return cli_print_json(c, r->doc);
    return table_end(&r->table) ? CLI_DONE : cli_error(c, c->command->name, "no memory");
}
