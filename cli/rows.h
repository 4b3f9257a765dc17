/* rows: the answer of a command that lists something: one JSON document with an array, or a table.
 *
 *   rows_begin ──▶ for each thing: if (r->c->json) fill rows_object(r),
 *                                  else table_cell(&r->table, …)
 *              ──▶ rows_end, which prints and says what to exit with
 *
 * (A `struct listing` is something else: the objects of a foreign index, core/listing.h.)
 *
 * Invariants
 *   1. Nothing is printed before rows_end: a list that breaks off halfway is an error, not a
 *      short list.
 * Called by the command files and event.c. */
#ifndef FRESHET_CLI_ROWS_H
#define FRESHET_CLI_ROWS_H

#include "cli/cli.h"

struct rows {
    struct cli *c;
    struct table table;          /* unless c->json */
    yyjson_mut_doc *doc;         /* with c->json only, as are these: */
    yyjson_mut_val *root, *list; /* the document's object, and the array in it */
};

/* Begins the document {"<key>": []}, or the table. key NULL: the root is for the caller to fill,
 * who calls rows_list when its turn comes, or never. key is a literal, headings are those
 * of table_begin. */
void rows_begin(struct rows *r, struct cli *c, const char *key, const char *headings);
/* Adds the array "<key>" to the root, which r has. Nothing happens when there is no document. */
void rows_list(struct rows *r, const char *key);
/* A new object at the end of the array. */
yyjson_mut_val *rows_object(struct rows *r);
/* Are there rows in the table? (For a blank line, or a hint below it; false with c->json.) */
bool rows_shown(const struct rows *r);
/* Prints all when rc is RC_OK, the error in c->err otherwise. Returns the exit code. */
int rows_end(struct rows *r, enum rc rc);

#endif
