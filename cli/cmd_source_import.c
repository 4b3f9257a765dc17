/* source import: many declarations at once, from JSON or CSV. JSON is parsed whole and so has the
 * limit of all JSON here, some 300,000 sources; a CSV is taken row by row.
 *
 * Invariants
 *   1. One transaction: all rows of the file go in, or none.
 *   2. Every wrong row is named with its place and field: `sources.json[17].url: ...` (counted from
 *      0, as JSON does) or `sources.csv:18: url: ...` (the line).
 *   3. --dry-run does everything but the commit.
 *   4. With --json wrong rows are {"errors":[{"row","field","message"}]} on standard output, up to
 *      ERRORS_JSON of them, and "wrong_rows" counts all; the exit code is the same.
 * Called by main_freshet.c. */
#include <libgen.h>

#include "cli/import_rows.h"
#include "cli/progress.h"
#include "cli/source_put.h"
#include "core/file.h"

#define ERRORS_SHOWN 20        /* more than that is one mistake made everywhere */
#define ERRORS_JSON 1000       /* for a program that shows them beside the rows */
#define CSV_MAX (1u << 30)     /* some eight million short rows */
#define FIND_MEMORY (8u << 20) /* the longest row, to find an id again */

struct import {
    struct cli *c;
    const char *file; /* base name, for messages */
    bool csv, update;
    int64_t errors, taken, added, updated, warned;
    /* The whole file, to find the other row of an id: one of these. */
    yyjson_val *rows;
    struct str text;
    yyjson_mut_doc *doc; /* --json: the errors */
    yyjson_mut_val *list;
    struct progress progress;
};

/* ---- errors of a row ------------------------------------------------------------------------- */

static int64_t errors_shown(const struct import *im)
{
    return im->doc ? ERRORS_JSON : ERRORS_SHOWN;
}

static void say_wrong(struct import *im, int64_t place)
{
    const struct err *e = &im->c->err;
    if (im->errors++ >= errors_shown(im))
        return;
    if (im->doc) {
        yyjson_mut_val *o = yyjson_mut_arr_add_obj(im->doc, im->list);
        yyjson_mut_obj_add_int(im->doc, o, "row", place);
        json_add_str(im->doc, o, "field", e->field);
        json_add_str(im->doc, o, "message", e->msg);
        return;
    }
    bool full_stop = *e->msg && e->msg[strlen(e->msg) - 1] == '.';
    fprintf(stderr, im->csv ? "freshet: %s:%lld%s%s: %s%s\n" : "freshet: %s[%lld]%s%s: %s%s\n",
            im->file, (long long)place, *e->field ? im->csv ? ": " : "." : "", e->field, e->msg,
            full_stop ? "" : ".");
}

/* The first row before `place` with this id, or -1. Both read the file again, which only a row that
 * is shown as wrong is worth. */
static int64_t json_row_of(const struct import *im, const char *id, int64_t place)
{
    size_t i, n;
    yyjson_val *decl;
    yyjson_arr_foreach(im->rows, i, n, decl)
    {
        if ((int64_t)i == place)
            break;
        if (yyjson_equals_str(yyjson_obj_get(decl, "id"), id))
            return (int64_t)i;
    }
    return -1;
}

static int64_t csv_row_of(struct import *im, const char *id, int64_t place)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct csv csv;
    struct csv_record head = {0}, r;
    struct err ignored;
    size_t column = 0;
    arena_init(&a, FIND_MEMORY);
    csv_open(&csv, im->text);
    if (csv_next(&csv, &a, &head, &ignored) != RC_OK)
        return -1;
    while (column < head.n && strcmp(head.fields[column], "id") != 0)
        column++;
    while (csv_next(&csv, &a, &r, &ignored) == RC_OK && csv.at < place) {
        if (column < r.n && strcmp(r.fields[column], id) == 0)
            return csv.at;
        arena_reset(&a);
    }
    return -1;
}

/* An id is taken by the ledger, or by another row: then no command mends it, only the file. */
static void say_taken(struct import *im, const struct source *s, int64_t place)
{
    int64_t other = -1;
    if (im->errors < errors_shown(im))
        other = im->csv ? csv_row_of(im, s->id, place) : json_row_of(im, s->id, place);
    if (other < 0)
        im->taken++;
    else
        err_set(&im->c->err, RC_CONFLICT, "id",
                im->csv ? "\"%s\" is the id of line %lld as well"
                        : "\"%s\" is the id of [%lld] as well",
                s->id, (long long)other);
    say_wrong(im, place);
}

/* A wrong declaration is said and counted; only what makes going on senseless is returned. */
static enum rc take_row(struct import *im, struct import_row *row)
{
    struct cli *c = im->c;
    bool updated;
    progress_show(&im->progress, im->added + im->updated + im->errors, NULL, 0);
    enum rc rc = row->err.rc;
    if (rc != RC_OK)
        c->err = row->err;
    else
        rc = source_store(c, &row->source, row->doc, im->update, &updated);
    if (rc == RC_OK && im->warned < ERRORS_SHOWN)
        im->warned += source_warn_query(c, &row->source);
    if (rc == RC_OK)
        *(updated ? &im->updated : &im->added) += 1;
    else if (rc == RC_CONFLICT)
        say_taken(im, &row->source, row->place);
    else if (rc == RC_INVALID)
        say_wrong(im, row->place);
    else
        return rc;
    return RC_OK;
}

static enum rc take_rows(struct import *im, struct import_file *file, int64_t count)
{
    CLEANUP(import_rows_close) struct import_rows *rows = NULL;
    struct import_row *row;
    file->inst = &im->c->inst;
    progress_begin(&im->progress, im->c, "importing", count);
    TRY(import_rows_open(file, &rows, &im->c->err));
    while (import_rows_next(rows, &row))
        TRY(take_row(im, row));
    return RC_OK;
}

/* ---- the two kinds of files ------------------------------------------------------------------ */

static enum rc read_json(struct import *im, struct str text)
{
    struct cli *c = im->c;
    yyjson_val *doc = NULL;
    TRY(json_parse(&c->arena, text, JSON_RELAXED, im->file, &doc, &c->err));
    if (yyjson_is_obj(doc))
        doc = yyjson_obj_get(doc, "sources");
    if (!yyjson_is_arr(doc))
        return err_set(&c->err, RC_INVALID, "",
                       "%s holds no list: it must be a JSON array or {\"sources\":[...]}",
                       im->file);
    im->rows = doc;
    struct import_file file = {.list = doc};
    return take_rows(im, &file, (int64_t)yyjson_arr_size(doc));
}

/* As many as there are lines; fields with line ends in them only make the bar end early. */
static int64_t count_rows(struct str text)
{
    int64_t n = 0;
    struct str line;
    while (str_next(&text, '\n', &line))
        n++;
    return n - 1;
}

static enum rc read_csv(struct import *im, struct str text)
{
    struct cli *c = im->c;
    struct csv_record head = {0};
    struct import_file file = {.head = &head};
    csv_open(&file.csv, text);
    enum rc rc = csv_next(&file.csv, &c->arena, &head, &c->err);
    if (rc == RC_NOT_FOUND)
        return err_set(&c->err, RC_INVALID, "", "%s is empty: the first row names the fields",
                       im->file);
    if (rc == RC_OK && head.n == 1 && strchr(head.fields[0], ';'))
        rc = err_set(&c->err, RC_INVALID, "", "fields are separated by commas, not by semicolons");
    if (rc == RC_INVALID) {
        say_wrong(im, file.csv.at);
        return RC_OK;
    }
    TRY(rc);
    im->text = text;
    return take_rows(im, &file, count_rows(text));
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum rc read_rows(struct import *im, const char *path)
{
    struct buf text;
    buf_init(&text, im->csv ? CSV_MAX : JSON_MAX);
    enum rc rc = file_read(path, &text, &im->c->err);
    if (rc == RC_TOO_LARGE && !im->csv)
        err_set(&im->c->err, rc, "", "%s is larger than %u MiB: write it as CSV, or in parts",
                im->file, JSON_MAX >> 20);
    if (rc == RC_OK)
        rc = im->csv ? read_csv(im, buf_view(&text)) : read_json(im, buf_view(&text));
    buf_release(&text);
    return rc;
}

/* Rows are stored as they are read; one that is wrong takes back all of them. */
static enum rc run(struct import *im, const char *path)
{
    struct cli *c = im->c;
    TRY(im->update ? ledger_bulk(c->ledger, &c->err) : ledger_bulk_adds(c->ledger, &c->err));
    TRY(ledger_begin(c->ledger, &c->err));
    enum rc rc = read_rows(im, path);
    progress_end(&im->progress);
    if (rc == RC_OK && im->errors == 0 && !cli_has(c, "dry-run"))
        return ledger_commit(c->ledger, &c->err);
    ledger_abort(c->ledger);
    return rc;
}

static int report(struct import *im)
{
    struct cli *c = im->c;
    bool dry = cli_has(c, "dry-run");
    if (im->errors && im->doc) {
        yyjson_mut_obj_add_int(im->doc, yyjson_mut_doc_get_root(im->doc), "wrong_rows", im->errors);
        cli_print_json(c, im->doc);
        return CLI_FAILED;
    }
    if (im->errors > ERRORS_SHOWN)
        fprintf(stderr, "freshet: %s: %lld more like these.\n", im->file,
                (long long)im->errors - ERRORS_SHOWN);
    if (im->errors)
        return cli_error(c, c->command->name, "%s has %lld wrong row%s, so nothing was imported%s",
                         im->file, (long long)im->errors, im->errors == 1 ? "" : "s",
                         im->taken ? ". With --update, sources that are there already are changed"
                                   : "");
    if (!c->json) {
        cli_hint(c, "%s%lld added, %lld updated.\n", dry ? "Nothing written. Would be: " : "",
                 (long long)im->added, (long long)im->updated);
        return CLI_DONE;
    }
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    yyjson_mut_obj_add_int(d, o, "added", im->added);
    yyjson_mut_obj_add_int(d, o, "updated", im->updated);
    yyjson_mut_obj_add_bool(d, o, "dry_run", dry);
    return cli_print_json(c, d);
}

int cmd_source_import(struct cli *c)
{
    char *copy = arena_strdup(&c->arena, c->args[0]);
    if (!copy)
        return cli_error(c, c->command->name, "no memory");
    struct import im = {.c = c, .file = basename(copy), .update = cli_has(c, "update")};
    im.csv = str_ends(str_of(c->args[0]), STR(".csv"));
    if (c->json) {
        im.doc = json_doc(&c->arena);
        yyjson_mut_doc_set_root(im.doc, yyjson_mut_obj(im.doc));
        im.list = yyjson_mut_obj_add_arr(im.doc, yyjson_mut_doc_get_root(im.doc), "errors");
    }
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (run(&im, c->args[0]) != RC_OK)
        return cli_fail(c);
    return report(&im);
}
