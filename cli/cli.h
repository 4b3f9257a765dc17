/* cli: what every command of `freshet` is given: its arguments, the instance, the ways to speak.
 *
 *   argv ──▶ options.c (tables: commands.def, options.def) ──▶ struct cli ──▶ cmd_*.c ──▶ exit code
 *
 * Invariants
 *   1. Data goes to standard output, everything else to standard error.
 *   2. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 changes were found and --exit-code asked, 130
 *      ended by Ctrl-C with part of the work done.
 *   3. Every error is one line `freshet: <what>: <why>. <fix>`.
 *   4. A command sees only options that options.def gives it; asking for another one aborts.
 * Called by main_freshet.c and the command files of this room only. */
#ifndef FRESHET_CLI_CLI_H
#define FRESHET_CLI_CLI_H

#include "core/arena.h"
#include "core/instance.h"
#include "core/json.h"
#include "ledger/ledger.h"

#define CLI_OPTS_MAX 128          /* options on one command line */
#define CLI_ARGS_MAX 2            /* no command takes more */
#define CLI_MEMORY_MAX (1u << 30) /* results of a check of some million sources fit */

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_CHANGED = 3, CLI_INTERRUPTED = 130 };

struct cli;
typedef int cli_fn(struct cli *c);

struct command {
    const char *name; /* NULL: a group, whose heading is `help` */
    cli_fn *run;
    size_t min, max;
    const char *usage, *help, *more;
    bool hidden;
};
struct option_row {
    const char *commands, *name, *argument, *help;
};
extern const struct command cli_commands[]; /* ends with run and name NULL and help NULL */
extern const struct option_row cli_options[];

struct cli {
    struct arena arena;
    const struct command *command;
    const char *dir; /* as given; not yet opened */
    const char *args[CLI_ARGS_MAX];
    size_t n_args;
    struct {
        const struct option_row *row;
        const char *value;
    } opts[CLI_OPTS_MAX];
    size_t n_opts;
    bool json;
    bool tty;       /* a person reads standard output */
    bool color;     /* and may see colours (NO_COLOR) */
    bool color_err; /* and on standard error, which may go elsewhere */
    struct instance inst;
    struct ledger *ledger;
    struct err err;
};

/* ---- options.c --------------------------------------------------------------------------- */

/* Fills c from the command line. Returns true when a command shall run; else *ret_exit is the exit
 * code, and what had to be said (help, version, a usage error) has been said. */
bool cli_parse(struct cli *c, int argc, char **argv, int *ret_exit);
/* Does options.def give this command this option? */
bool cli_takes(const struct command *cmd, const struct option_row *row);
/* Value of an option ("" for a switch), NULL when it was not given; the last one wins. */
const char *cli_opt(const struct cli *c, const char *name);
bool cli_has(const struct cli *c, const char *name);
/* A whole number within bounds; ret keeps its value when the option is absent. False: said so. */
bool cli_opt_i64(struct cli *c, const char *name, int64_t min, int64_t max, int64_t *ret);

/* ---- cli.c ------------------------------------------------------------------------------- */

/* Loads the instance. False: the reason was printed; return CLI_FAILED. */
bool cli_instance(struct cli *c);
/* The same and opens its ledger in the WRITE role. */
bool cli_ledger(struct cli *c);
void cli_release(struct cli *c);
/* A folder's name without slashes at its end: "backup/" and "backup" are the same. NULL:
 * no memory. */
char *cli_path(struct cli *c, const char *path);

/* c->err as an error line that begins with the name of the command; returns CLI_FAILED. */
int cli_fail(const struct cli *c);
/* The same where something else is to blame: "ledger", a file. */
int cli_fail_at(const struct cli *c, const char *what);
/* An error line of its own; returns CLI_FAILED. */
int cli_error(const struct cli *c, const char *what, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* An error line about the command line, with a hint to --help; returns CLI_USAGE. */
int cli_usage(const struct cli *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Something nice to know, for a person at a terminal only; on standard output. */
void cli_hint(const struct cli *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* A message beside the data, for a person at a terminal only; on standard error. */
void cli_note(const struct cli *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Prints a document: indented for a person, one line for a program. Returns the exit code. */
int cli_print_json(struct cli *c, const yyjson_mut_doc *d);
/* The same for a document of one member, {"<key>": 3}; key is a literal. */
int cli_print_number(struct cli *c, const char *key, int64_t n);
int cli_print_text(struct cli *c, const char *key, const char *text);
/* Flushes standard output; CLI_FAILED, with an error line, when it could not be written. */
int cli_flush(const struct cli *c, int exit_code);

/* Colours, "" when they are not wanted. */
enum cli_style { CLI_PLAIN, CLI_BOLD, CLI_GOOD, CLI_WARN, CLI_BAD };
const char *cli_on(const struct cli *c, enum cli_style s);
const char *cli_off(const struct cli *c);
/* The same for what goes to standard error (cli_note, a progress bar). */
const char *cli_err_on(const struct cli *c, enum cli_style s);
const char *cli_err_off(const struct cli *c);
/* An id, also given as the link to it (delta_manifest_ref): the last part of its path. NULL:
 * no memory. */
const char *cli_ref(struct cli *c, const char *ref);

/* "2026-07-02T10:00:00Z" for people, "-" when at < 0. */
const char *cli_time(struct cli *c, int64_t at);

/* ---- table.c: rows for people (aligned, with a header) or programs (tabs, no header) ------ */

struct table {
    struct cli *c;
    size_t columns, rows, room;
    const char **cells; /* rows * columns, the first row is the header */
    bool headed;        /* programs get the headings as well: it is made to be pasted */
};
/* Headings separated by '|'. */
void table_begin(struct table *t, struct cli *c, const char *headings);
/* One cell after the other, row by row; copied. NULL is "-". */
void table_cell(struct table *t, const char *text);
void table_cell_i64(struct table *t, int64_t n);
/* Prints all. False when memory ran out. */
bool table_end(struct table *t);
/* One row for a program, printed at once and not kept. */
void table_row(const char *const *cells, size_t n);

/* Every command of commands.def. */
#define GROUP(heading)
#define COMMAND(name, fn, min, max, usage, help, more) int fn(struct cli *c);
#define HIDDEN COMMAND
#include "cli/commands.def"
#undef GROUP
#undef COMMAND
#undef HIDDEN

#endif
