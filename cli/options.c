/* options: from argv to struct cli, by the tables commands.def and options.def; and the texts that
 * are printed from the same tables: --help, usage errors, the nearest name.
 *
 * Invariants
 *   1. An option is taken only where options.def gives it; everything else is a usage error that
 *      names the nearest one.
 *   2. `--name value`, `--name=value`, `--` (what follows are arguments), -C DIR, -o FORM (for
 *      --output, where there is one) and -h are the whole syntax.
 *   3. --help wins over everything that is wrong on the same line.
 * Called by main_freshet.c. */
#include "cli/cli.h"

#include <unistd.h>

#include "core/clock.h"
#include "core/version.h"

const struct command cli_commands[] = {
#define GROUP(heading) {.help = heading},
#define COMMAND(name, fn, min, max, usage, help, more)                                             \
    {name, fn, min, max, usage, help, more, false},
#define HIDDEN(name, fn, min, max, usage, help, more) {name, fn, min, max, usage, help, more, true},
#include "cli/commands.def"
#undef GROUP
#undef COMMAND
#undef HIDDEN
    {0},
};

const struct option_row cli_options[] = {
#define OPTION(commands, name, argument, help) {commands, name, argument, help},
#include "cli/options.def"
#undef OPTION
    {0},
};

#define N_COMMANDS (ARRAY_LEN(cli_commands) - 1)
#define N_OPTIONS (ARRAY_LEN(cli_options) - 1)

/* ---- tables ---------------------------------------------------------------------------------- */

bool cli_takes(const struct command *cmd, const struct option_row *row)
{
    struct str list = str_of(row->commands), one;
    while (str_next(&list, '|', &one))
        if (str_is(one, "*") || (cmd && str_is(one, cmd->name)))
            return true;
    return false;
}

static const struct option_row *find_option(const struct command *cmd, struct str name)
{
    for (const struct option_row *o = cli_options; o->name; o++)
        if (str_is(name, o->name) && cli_takes(cmd, o))
            return o;
    return NULL;
}

static const struct command *find_command(const char *first, const char *second)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const struct command *cmd = &cli_commands[i];
        if (!cmd->name)
            continue;
        const char *space = strchr(cmd->name, ' ');
        if (!space
                ? strcmp(cmd->name, first) == 0
                : second && str_is((struct str){cmd->name, (size_t)(space - cmd->name)}, first) &&
                      strcmp(space + 1, second) == 0)
            return cmd;
    }
    return NULL;
}

/* Is `word` the first of two-word commands? */
static bool is_family(const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const char *name = cli_commands[i].name;
        if (name && strncmp(name, word, n) == 0 && name[n] == ' ')
            return true;
    }
    return false;
}

/* ---- the nearest name ------------------------------------------------------------------------ */

#define WORD_MAX 32 /* no word of a command is longer */

static const char *nearest_option(const struct command *cmd, const char *word)
{
    const char *names[N_OPTIONS];
    size_t n = 0;
    for (const struct option_row *o = cli_options; o->name; o++)
        if (cli_takes(cmd, o))
            names[n++] = o->name;
    return str_nearest(str_of(word), names, n);
}

/* first NULL: among first words and one-word commands; else among its verbs. */
static const char *nearest_command(const char *first, const char *word)
{
    static char heads[N_COMMANDS][WORD_MAX + 1];
    const char *names[N_COMMANDS];
    size_t n = 0;
    for (size_t i = 0; i < N_COMMANDS; i++) {
        struct str rest = str_of(cli_commands[i].name), head;
        if (cli_commands[i].hidden || !str_next(&rest, ' ', &head))
            continue;
        if (first && (!str_is(head, first) || rest.n == 0))
            continue;
        struct str shown = first ? rest : head;
        snprintf(heads[n], sizeof heads[n], "%.*s", STR_FMT(shown));
        names[n] = heads[n];
        n++;
    }
    return str_nearest(str_of(word), names, n);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void print_wrapped(const char *text, size_t indent, size_t width)
{
    struct str rest = str_of(text), word;
    size_t column = 0;
    while (str_next(&rest, ' ', &word)) {
        if (column && column + 1 + word.n > width) {
            printf("\n%*s", (int)indent, "");
            column = 0;
        }
        printf("%s%.*s", column ? " " : "", STR_FMT(word));
        column += word.n + (column ? 1 : 0);
    }
    putchar('\n');
}

static void print_option(const struct option_row *o)
{
    char left[64];
    snprintf(left, sizeof left, "%s--%s%s%s", strcmp(o->name, "dir") == 0 ? "-C, " : "", o->name,
             *o->argument ? " " : "", o->argument);
    if (strlen(left) > 26)
        printf("  %s\n%28s", left, "");
    else
        printf("  %-26s", left);
    print_wrapped(o->help, 28, 70);
}

static void print_command_help(const struct command *cmd)
{
    char sentence[160];
    printf("Usage: freshet [-C DIR] %s%s%s\n\n", cmd->name, *cmd->usage ? " " : "", cmd->usage);
    snprintf(sentence, sizeof sentence, "%s.", cmd->help);
    if (sentence[0] >= 'a' && sentence[0] <= 'z')
        sentence[0] = (char)(sentence[0] - 'a' + 'A');
    print_wrapped(sentence, 0, 98);
    if (*cmd->more) {
        putchar('\n');
        print_wrapped(cmd->more, 0, 98);
    }
    puts("\nOptions:");
    for (const struct option_row *o = cli_options; o->name; o++)
        if (cli_takes(cmd, o))
            print_option(o);
}

static void print_row(const struct command *cmd)
{
    printf("  %-17s", cmd->name);
    print_wrapped(cmd->help, 18, 80);
}

static void print_family_help(const char *family)
{
    size_t n = strlen(family);
    printf("Usage: freshet [-C DIR] %s COMMAND [OPTION...]\n\n", family);
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const char *name = cli_commands[i].name;
        if (name && strncmp(name, family, n) == 0 && name[n] == ' ')
            print_row(&cli_commands[i]);
    }
    printf("\nMore: freshet %s COMMAND --help\n", family);
}

static void print_help(void)
{
    puts("Freshet watches published datasets and turns what changes into a feed with evidence.\n\n"
         "Usage: freshet [-C DIR] COMMAND [OPTION...]");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (!cli_commands[i].name)
            printf("\n%s\n", cli_commands[i].help);
        else if (!cli_commands[i].hidden)
            print_row(&cli_commands[i]);
    }
    puts(
        "\nDIR is the instance; default: FRESHET_DIR, else the current folder.\n"
        "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 changes were found and --exit-code asked.\n"
        "More: freshet COMMAND --help");
}

/* ---- parsing --------------------------------------------------------------------------------- */

struct line {
    int argc, at;
    char **argv;
    const char *first; /* first word of a two-word command, while the second is awaited */
    bool help, version, only_args;
};

static int unknown_option(const struct cli *c, const char *word)
{
    struct str rest = str_of(word), name;
    char bare[WORD_MAX + 1];
    (void)str_next(&rest, '=', &name);
    snprintf(bare, sizeof bare, "%.*s", STR_FMT(name));
    const char *near = nearest_option(c->command, bare + strspn(bare, "-"));
    if (near)
        return cli_usage(c, "no option %.*s here. Did you mean --%s?", STR_FMT(name), near);
    return cli_usage(c, "no option %.*s here", STR_FMT(name));
}

static int unknown_command(const struct cli *c, const char *first, const char *word)
{
    const char *near = nearest_command(first, word);
    if (first && near)
        return cli_usage(c, "no command '%s %s'. Did you mean '%s %s'?", first, word, first, near);
    if (first)
        return cli_usage(c, "no command '%s %s'. See: freshet %s --help", first, word, first);
    if (near)
        return cli_usage(c, "no command '%s'. Did you mean '%s'?", word, near);
    return cli_usage(c, "no command '%s'. See: freshet --help", word);
}

/* A value that need not be there, and is not. */
static bool is_left_out(const struct option_row *o, const struct line *l)
{
    bool may = o->argument[strlen(o->argument) - 1] == '?';
    return may && (l->at >= l->argc || *l->argv[l->at] == '-');
}

/* One option word, with its value taken from the line where it has one. */
static int take_option(struct cli *c, struct line *l, const char *word)
{
    struct str rest = str_of(word + 2), name;
    bool joined = strchr(word, '=') != NULL;
    if (!str_next(&rest, '=', &name))
        return unknown_option(c, word);
    const struct option_row *o = find_option(c->command, name);
    if (!o)
        return unknown_option(c, word);
    if (!*o->argument && joined)
        return cli_usage(c, "--%s takes no value", o->name);
    const char *value = joined ? rest.p : "";
    if (*o->argument && !joined && !is_left_out(o, l)) {
        if (l->at >= l->argc)
            return cli_usage(c, "--%s needs a value: --%s %s", o->name, o->name, o->argument);
        value = l->argv[l->at++];
    }
    if (strcmp(o->name, "help") == 0)
        l->help = true;
    else if (strcmp(o->name, "json") == 0)
        c->json = true;
    else if (strcmp(o->name, "dir") == 0)
        c->dir = value;
    if (c->n_opts == CLI_OPTS_MAX)
        return cli_usage(c, "more than %d options", CLI_OPTS_MAX);
    c->opts[c->n_opts].row = o;
    c->opts[c->n_opts++].value = value;
    return CLI_DONE;
}

static int take_word(struct cli *c, struct line *l, const char *word)
{
    if (c->command) {
        if (c->n_args == c->command->max)
            return cli_usage(c, "one argument too many: %s. Usage: freshet %s %s", word,
                             c->command->name, c->command->usage);
        c->args[c->n_args++] = word;
        return CLI_DONE;
    }
    if (!l->first && strcmp(word, "help") == 0) {
        l->help = true;
        return CLI_DONE;
    }
    c->command = l->first ? find_command(l->first, word) : find_command(word, NULL);
    if (c->command)
        return CLI_DONE;
    if (l->first || !is_family(word))
        return unknown_command(c, l->first, word);
    l->first = word;
    return CLI_DONE;
}

static int take_next(struct cli *c, struct line *l)
{
    const char *word = l->argv[l->at++];
    if (l->only_args || word[0] != '-' || word[1] == '\0')
        return take_word(c, l, word);
    if (strcmp(word, "--") == 0) {
        l->only_args = true;
        return CLI_DONE;
    }
    if (strcmp(word, "-h") == 0)
        word = "--help";
    if (strcmp(word, "--version") == 0) {
        l->version = true;
        return CLI_DONE;
    }
    if (strncmp(word, "-C", 2) == 0) {
        if (!word[2] && l->at >= l->argc)
            return cli_usage(c, "-C needs a folder: -C DIR");
        c->dir = word[2] ? word + 2 : l->argv[l->at++];
        return CLI_DONE;
    }
    if (word[1] == 'o' && find_option(c->command, STR("output")))
        return take_option(c, l,
                           word[2] ? arena_printf(&c->arena, "--output=%s", word + 2) : "--output");
    return word[1] == '-' ? take_option(c, l, word) : unknown_option(c, word);
}

static int say_help(const struct cli *c, const struct line *l)
{
    if (c->command)
        print_command_help(c->command);
    else if (l->first)
        print_family_help(l->first);
    else
        print_help();
    return cli_flush(c, CLI_DONE);
}

static bool asks_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* With --help only the command matters; what else is wrong is not worth a word. */
static int skip_option(struct line *l)
{
    const char *word = l->argv[l->at++];
    if (strcmp(word, "-C") == 0 || strcmp(word, "--dir") == 0)
        l->at++;
    return CLI_DONE;
}

static void look_around(struct cli *c)
{
    const char *dir = env_get("FRESHET_DIR"), *term = env_get("TERM");
    c->dir = dir ? dir : ".";
    c->tty = isatty(STDOUT_FILENO) == 1;
    bool wanted = !env_get("NO_COLOR") && term && strcmp(term, "dumb") != 0;
    c->color = c->tty && wanted;
    c->color_err = isatty(STDERR_FILENO) == 1 && wanted;
}

bool cli_parse(struct cli *c, int argc, char **argv, int *ret_exit)
{
    struct line l = {.argc = argc, .at = 1, .argv = argv, .help = asks_help(argc, argv)};
    look_around(c);
    *ret_exit = CLI_DONE;
    while (l.at < argc && *ret_exit == CLI_DONE && !(l.help && c->command))
        *ret_exit = l.help && argv[l.at][0] == '-' ? skip_option(&l) : take_next(c, &l);
    if (*ret_exit != CLI_DONE)
        return false;
    if (l.help)
        *ret_exit = say_help(c, &l);
    else if (l.version)
        printf("freshet %s (%s)\n", freshet_version, freshet_commit);
    else if (!c->command && l.first)
        *ret_exit =
            cli_usage(c, "'%s' needs a second word. See: freshet %s --help", l.first, l.first);
    else if (!c->command)
        *ret_exit = cli_usage(c, "no command given");
    else if (c->n_args < c->command->min)
        *ret_exit = cli_usage(c, "an argument is missing. Usage: freshet %s %s", c->command->name,
                              c->command->usage);
    else
        return true;
    return false;
}

/* ---- asking ---------------------------------------------------------------------------------- */

const char *cli_opt(const struct cli *c, const char *name)
{
    const char *value = NULL;
    if (!find_option(c->command, str_of(name)))
        abort(); /* a mistake of ours, not of the user */
    for (size_t i = 0; i < c->n_opts; i++)
        if (strcmp(c->opts[i].row->name, name) == 0)
            value = c->opts[i].value;
    return value;
}

bool cli_has(const struct cli *c, const char *name)
{
    return cli_opt(c, name) != NULL;
}

bool cli_opt_i64(struct cli *c, const char *name, int64_t min, int64_t max, int64_t *ret)
{
    const char *text = cli_opt(c, name);
    int64_t n = 0;
    if (!text)
        return true;
    if (str_to_i64(str_of(text), &n) != RC_OK || n < min || n > max) {
        cli_usage(c, "--%s must be a whole number from %lld to %lld, not '%s'", name,
                  (long long)min, (long long)max, text);
        return false;
    }
    *ret = n;
    return true;
}
