/* cli: the instance and ledger of a command, and the ways it speaks.
 *
 * Invariants
 *   1. Errors are one line on standard error, `freshet: <what>: <why>. <fix>`.
 *   2. Hints and colours reach a terminal only, each stream asked by itself; NO_COLOR switches
 *      colours off.
 *   3. An output that could not be written is a failure, never a silent success.
 * Called by the command files of this room. */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>

#include "core/clock.h"
#include "core/digest.h"

/* ---- errors ---------------------------------------------------------------------------------- */

/* Ends a sentence: messages of libraries come without their full stop. */
static void finish_line(const char *msg)
{
    size_t n = strlen(msg);
    bool ended = n > 0 && strchr(".!?", msg[n - 1]);
    fputs(ended ? "\n" : ".\n", stderr);
}

int cli_fail_at(const struct cli *c, const char *what)
{
    const char *msg = *c->err.msg ? c->err.msg : rc_title(c->err.rc);
    fflush(stdout);
    fprintf(stderr, "freshet: %s: ", what);
    if (*c->err.field)
        fprintf(stderr, "%s: ", c->err.field);
    fputs(msg, stderr);
    finish_line(msg);
    return CLI_FAILED;
}

int cli_fail(const struct cli *c)
{
    return cli_fail_at(c, c->command->name);
}

static void error_line(const char *what, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
static void error_line(const char *what, const char *fmt, va_list ap)
{
    char msg[1024];
    vsnprintf(msg, sizeof msg, fmt, ap);
    fflush(stdout);
    fprintf(stderr, "freshet: %s%s%s", what, *what ? ": " : "", msg);
    finish_line(msg);
}

int cli_error(const struct cli *c, const char *what, const char *fmt, ...)
{
    va_list ap;
    (void)c;
    va_start(ap, fmt);
    error_line(what, fmt, ap);
    va_end(ap);
    return CLI_FAILED;
}

int cli_usage(const struct cli *c, const char *fmt, ...)
{
    const char *name = c->command ? c->command->name : "";
    va_list ap;
    va_start(ap, fmt);
    error_line(name, fmt, ap);
    va_end(ap);
    fprintf(stderr, "Try: freshet %s%s--help\n", name, *name ? " " : "");
    return CLI_USAGE;
}

/* ---- the instance ---------------------------------------------------------------------------- */

bool cli_instance(struct cli *c)
{
    if (instance_load(&c->arena, c->dir, &c->inst, &c->err) == RC_OK)
        return true;
    cli_fail(c);
    return false;
}

bool cli_ledger(struct cli *c)
{
    if (!cli_instance(c))
        return false;
    if (ledger_open(c->inst.dir, LEDGER_WRITE, digest_sha256, &c->ledger, &c->err) == RC_OK)
        return true;
    cli_fail_at(c, "ledger");
    return false;
}

void cli_release(struct cli *c)
{
    ledger_close(&c->ledger);
    arena_release(&c->arena);
}

char *cli_path(struct cli *c, const char *path)
{
    char *dir = arena_strdup(&c->arena, path);
    for (size_t n = dir ? strlen(dir) : 0; n > 1 && dir[n - 1] == '/'; n--)
        dir[n - 1] = '\0';
    return dir;
}

/* ---- output ---------------------------------------------------------------------------------- */

void cli_hint(const struct cli *c, const char *fmt, ...)
{
    va_list ap;
    if (!c->tty || c->json)
        return;
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
}

void cli_note(const struct cli *c, const char *fmt, ...)
{
    va_list ap;
    if (!c->tty || c->json)
        return;
    fflush(stdout);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
}

int cli_flush(const struct cli *c, int exit_code)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return exit_code;
    /* Whoever closed the pipe has seen enough: no words needed. */
    if (errno == EPIPE)
        return CLI_FAILED;
    return cli_error(c, "output", "cannot be written: %s",
                     errno ? strerror(errno) : "an earlier write failed");
}

int cli_print_json(struct cli *c, const yyjson_mut_doc *d)
{
    struct str text;
    if (json_write(&c->arena, d, c->tty ? JSON_PRETTY : 0, &text, &c->err) != RC_OK)
        return cli_fail(c);
    fwrite(text.p, 1, text.n, stdout);
    if (text.n == 0 || text.p[text.n - 1] != '\n')
        putchar('\n');
    return CLI_DONE;
}

int cli_print_number(struct cli *c, const char *key, int64_t n)
{
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    yyjson_mut_obj_add_int(d, o, key, n);
    return cli_print_json(c, d);
}

int cli_print_text(struct cli *c, const char *key, const char *text)
{
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, key, text);
    return cli_print_json(c, d);
}
static const char *const style_codes[] = {"", "\x1b[1m", "\x1b[32m", "\x1b[33m", "\x1b[31m"};
#define STYLE_END "\x1b[0m"

const char *cli_on(const struct cli *c, enum cli_style s)
{
    return c->color ? style_codes[s] : "";
}

const char *cli_off(const struct cli *c)
{
    return c->color ? STYLE_END : "";
}

const char *cli_err_on(const struct cli *c, enum cli_style s)
{
    return c->color_err ? style_codes[s] : "";
}

const char *cli_err_off(const struct cli *c)
{
    return c->color_err ? STYLE_END : "";
}

const char *cli_ref(struct cli *c, const char *ref)
{
    const char *place = strstr(ref, "://");
    if (!place)
        return ref;
    size_t n = strcspn(place, "?#");
    while (n > 0 && place[n - 1] == '/')
        n--;
    size_t from = n;
    while (from > 0 && place[from - 1] != '/')
        from--;
    return arena_str(&c->arena, (struct str){place + from, n - from});
}

const char *cli_time(struct cli *c, int64_t at)
{
    char text[TIME_MAX];
    if (at < 0)
        return "-";
    time_format(at - at % 1000, text);
    struct str s = str_of(text);
    /* Without the fraction, which is noise to people. */
    char *copy = s.n > 5 ? arena_printf(&c->arena, "%.*sZ", (int)(s.n - 5), s.p) : NULL;
    return copy ? copy : "-";
}
