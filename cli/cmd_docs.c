/* docs: the reference pages of docs/, printed from the tables they describe. tests/00-arch compares
 * the committed pages with this output, so they cannot drift.
 * Called by main_freshet.c. */
#include "api/openapi.h"
#include "cli/cli.h"
#include "cli/docs_sources.h"
#include "handler/gate.h"
#include "ledger/check.h"

#define OPENAPI_ARENA_MAX (16u << 20) /* the schemas, parsed */

/* ---- settings -------------------------------------------------------------------------------- */

static void print_bounds_int(const char *name, long long def, long long min, long long max,
                             const char *help)
{
    printf("| `%s` | %lld | %lld to %lld | %s |\n", name, def, min, max, help);
}

static void print_settings(void)
{
    puts(
        "# Settings\n\n"
        "Every setting of `freshet.json` (JSON with comments). Printed from `core/settings.def` by "
        "`freshet docs settings`.\n"
        "Read with `freshet config list`, changed with `freshet config set NAME VALUE`; programs "
        "read them at their start.\n\n"
        "| setting | default | bounds | what it does |\n|---|---|---|---|");
#define SETTING_INT(name, def, min, max, help) print_bounds_int(#name, def, min, max, help);
#define SETTING_STR(name, def, help) printf("| `%s` | `\"%s\"` | text | %s |\n", #name, def, help);
#define SETTING_LIST(name, help) printf("| `%s` | `[]` | list of text | %s |\n", #name, help);
#include "core/settings.def"
#undef SETTING_INT
#undef SETTING_STR
#undef SETTING_LIST
}

/* ---- command line ---------------------------------------------------------------------------- */

/* A cell of a Markdown table must not hold a bar. */
static void print_cell(const char *text)
{
    for (; *text; text++)
        if (*text == '|')
            fputs("\\|", stdout);
        else
            putchar(*text);
}

static void print_options(const struct command *cmd)
{
    bool any = false;
    for (const struct option_row *o = cli_options; o->name; o++) {
        if (strcmp(o->commands, "*") == 0 || !cli_takes(cmd, o))
            continue;
        if (!any)
            puts("\n| option | what it does |\n|---|---|");
        any = true;
        printf("| `--%s%s", o->name, *o->argument ? " " : "");
        print_cell(o->argument);
        fputs("` | ", stdout);
        print_cell(o->help);
        puts(" |");
    }
}

static void print_command(const struct command *cmd)
{
    printf("\n### freshet %s\n\n`freshet %s%s%s`\n\n", cmd->name, cmd->name, *cmd->usage ? " " : "",
           cmd->usage);
    bool lower = cmd->help[0] >= 'a' && cmd->help[0] <= 'z';
    printf("%c%s.\n", lower ? cmd->help[0] - 'a' + 'A' : cmd->help[0], cmd->help + 1);
    if (*cmd->more)
        printf("%s\n", cmd->more);
    print_options(cmd);
}

static void print_cli(void)
{
    puts(
        "# Command line\n\n"
        "Printed from `cli/commands.def` and `cli/options.def` by `freshet docs cli`.\n\n"
        "`freshet [-C DIR] COMMAND [OPTION...]`. DIR is the instance; default: `FRESHET_DIR`, else "
        "the current folder.\n"
        "Data goes to standard output, everything else to standard error, one line "
        "`freshet: what: why. fix` per error.\n"
        "A person at a terminal gets aligned tables and hints; a pipe gets rows separated by tabs "
        "and nothing else.\n"
        "`NO_COLOR` switches colours off, `FRESHET_NOW` (RFC 3339) sets the clock.\n\n"
        "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 changes were found and `--exit-code` "
        "asked.\n\n"
        "Options of every command:\n\n| option | what it does |\n|---|---|");
    for (const struct option_row *o = cli_options; o->name; o++)
        if (strcmp(o->commands, "*") == 0)
            printf("| %s`--%s%s%s` | %s |\n", strcmp(o->name, "dir") == 0 ? "`-C`, " : "", o->name,
                   *o->argument ? " " : "", o->argument, o->help);
    for (const struct command *cmd = cli_commands; cmd->name || cmd->help; cmd++) {
        if (!cmd->name)
            printf("\n## %s\n", cmd->help);
        else if (!cmd->hidden)
            print_command(cmd);
    }
}

/* ---- outcomes -------------------------------------------------------------------------------- */

static void print_outcome(enum outcome o)
{
    printf("| `%s` | %s | %s | %s |\n", outcome_name(o), outcome_failure(o) ? "yes" : "no",
           outcome_candidate(o) ? "yes" : "no", outcome_help(o));
}

static void print_outcomes(void)
{
    puts(
        "# Outcomes of a check\n\n"
        "Exactly one is recorded per check, also when nothing is new. Printed from "
        "`ledger/outcomes.def` by `freshet docs outcomes`.\n"
        "A failure could not tell, which is never \"no change\"; a candidate goes to the inbox.\n\n"
        "| outcome | failure | candidate | meaning |\n|---|---|---|---|");
    for (int o = 0; o < OUTCOME_COUNT; o++)
        print_outcome((enum outcome)o);
}

/* ---- policies -------------------------------------------------------------------------------- */

static void print_policy(const char *name, enum gate_verdict v, const char *code, bool waivable,
                         const char *help)
{
    printf("| `%s` | %s | `%s` | %s | %s |\n", name, gate_verdict_name(v), code,
           waivable ? "yes" : "no", help);
}

static void print_policies(void)
{
    puts(
        "# Policies\n\n"
        "Before a change is promoted it meets every policy below; what each asks is said per level in "
        "`policy.json`\n"
        "(schema: `schemas/policy.schema.json`). Printed from `handler/policies.def` by `freshet docs "
        "policy`.\n"
        "A broken one holds the change until a person decides, or denies it; the worst counts. "
        "Without a\n"
        "valid `policy.json` nothing is promoted. Rules about the bytes that hold a change "
        "(`handler/rules.def`) can be waived too.\n"
        "A waiver counts for what comes after it. What is held stays held until a person approves it; "
        "`freshet waiver add` names it.\n\n"
        "| policy | when broken | reason | waivable | asks that |\n|---|---|---|---|---|");
    gate_each_policy(print_policy);
    printf("\n## policy.json as `freshet init` writes it\n\n```jsonc\n%s```\n", policy_sample);
}

/* ---- HTTP ------------------------------------------------------------------------------------ */

/* The description of all addresses, for a server that is not running. */
static void print_openapi(void)
{
    struct arena a;
    struct err err = {0};
    CLEANUP(buf_release) struct buf b = {0};
    arena_init(&a, OPENAPI_ARENA_MAX);
    buf_init(&b, RESP_BODY_MAX);
    if (openapi_write(&b, &a, STR(""), &err) == RC_OK)
        printf("%.*s\n", STR_FMT(buf_view(&b)));
    else
        fprintf(stderr, "freshet: docs openapi: %s\n", err.msg);
    arena_release(&a);
}

int cmd_docs(struct cli *c)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } pages[] = {{"settings", print_settings}, {"cli", print_cli},
                 {"outcomes", print_outcomes}, {"sources", docs_sources},
                 {"policy", print_policies},   {"openapi", print_openapi}};
    for (size_t i = 0; i < ARRAY_LEN(pages); i++)
        if (strcmp(pages[i].name, c->args[0]) == 0) {
            pages[i].print();
            return CLI_DONE;
        }
    return cli_usage(c, "no page '%s'. There are: %s", c->args[0], c->command->usage);
}
