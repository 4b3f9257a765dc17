/* token: bearer tokens for /admin.
 *
 * Invariants
 *   1. (I12) The text of a token is printed once, at creation; nobody can read it afterwards.
 * Called by main_freshet.c. */
#include "cli/rows.h"
#include "core/clock.h"
#include "ledger/request.h"

/* "30d", "12h" or an RFC 3339 time. */
static bool parse_expiry(const char *text, int64_t now, int64_t *ret)
{
    struct str s = str_of(text);
    int64_t n = 0;
    if (time_parse(s, ret) == RC_OK)
        return *ret > now;
    if (s.n < 2)
        return false;
    char unit = s.p[s.n - 1];
    s.n--;
    if (str_to_i64(s, &n) != RC_OK || n < 1 || n > 36500 || (unit != 'd' && unit != 'h'))
        return false;
    *ret = now + n * (unit == 'd' ? DAY_MS : DAY_MS / 24);
    return true;
}

static void add_token(yyjson_mut_doc *d, yyjson_mut_val *o, const struct token *t)
{
    char scopes[128];
    scopes_format(t->scopes, scopes);
    yyjson_mut_obj_add_int(d, o, "number", t->no);
    json_add_str(d, o, "name", t->name);
    json_add_str(d, o, "scopes", scopes);
    json_add_time(d, o, "created_at", t->created_at);
    json_add_time(d, o, "expires_at", t->expires_at);
    json_add_time(d, o, "revoked_at", t->revoked_at);
}

static int print_new(struct cli *c, const struct token *t, const char *plain)
{
    if (!c->json) {
        cli_hint(c, "Token %lld, shown this once (only its digest is kept):\n\n    ",
                 (long long)t->no);
        puts(plain);
        return CLI_DONE;
    }
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "token", plain);
    add_token(d, o, t);
    return cli_print_json(c, d);
}

int cmd_token_create(struct cli *c)
{
    const char *name = cli_opt(c, "name"), *scope = cli_opt(c, "scope");
    const char *expires = cli_opt(c, "expires");
    int64_t now = clock_now();
    struct token t = {.name = name, .created_at = now, .expires_at = -1, .revoked_at = -1};
    char plain[TOKEN_PLAIN_MAX];
    if (!name || !*name || !scope)
        return cli_usage(c, "--name and --scope are needed. Usage: freshet token create %s",
                         c->command->usage);
    if (scopes_parse(str_of(scope), &t.scopes, &c->err) != RC_OK)
        return cli_usage(c, "--scope: %s", c->err.msg);
    if (expires && !parse_expiry(expires, now, &t.expires_at))
        return cli_usage(c,
                         "--expires must be a time to come like 2027-01-31T00:00:00Z, or 30d, "
                         "12h; not '%s'",
                         expires);
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (token_create(c->ledger, name, t.scopes, t.expires_at, now, plain, &t.no, &c->err) != RC_OK)
        return cli_fail(c);
    return print_new(c, &t, plain);
}

static enum rc add_one(void *ctx, const struct token *t, struct err *err)
{
    struct rows *l = ctx;
    char scopes[128];
    (void)err;
    if (l->c->json) {
        add_token(l->doc, rows_object(l), t);
        return RC_OK;
    }
    scopes_format(t->scopes, scopes);
    table_cell_i64(&l->table, t->no);
    table_cell(&l->table, t->name);
    table_cell(&l->table, scopes);
    table_cell(&l->table, cli_time(l->c, t->created_at));
    table_cell(&l->table, cli_time(l->c, t->expires_at));
    table_cell(&l->table, cli_time(l->c, t->revoked_at));
    return RC_OK;
}

int cmd_token_list(struct cli *c)
{
    struct rows l;
    if (!cli_ledger(c))
        return CLI_FAILED;
    rows_begin(&l, c, "tokens", "number|name|scopes|created|expires|revoked");
    return rows_end(&l, token_each(c->ledger, add_one, &l, &c->err));
}

int cmd_token_revoke(struct cli *c)
{
    int64_t no = 0;
    if (str_to_i64(str_of(c->args[0]), &no) != RC_OK || no < 1)
        return cli_usage(c, "a token is revoked by its number, not '%s'. See: freshet token list",
                         c->args[0]);
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (token_revoke(c->ledger, no, clock_now(), &c->err) != RC_OK)
        return cli_fail(c);
    if (c->json)
        return cli_print_number(c, "revoked", no);
    cli_hint(c, "Token %lld is worthless now.\n", (long long)no);
    return CLI_DONE;
}
