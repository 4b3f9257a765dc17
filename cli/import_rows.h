/* import_rows: the declarations of a file, read and described by a thread of their own while the
 * caller stores those before: both halves take about as long, and a million of them are worth it.
 *
 * Invariants
 *   1. Rows come in the order of the file. A wrong one comes as its error, and reading goes on.
 *   2. The thread reads memory and nothing else: no ledger, no file, no terminal, no signal.
 *   3. What is read ahead is bounded (BATCHES of them), whatever the length of the file.
 * Called by cmd_source_import.c. */
#ifndef FRESHET_CLI_IMPORT_ROWS_H
#define FRESHET_CLI_IMPORT_ROWS_H

#include "core/csv.h"
#include "core/instance.h"
#include "ledger/source.h"

/* Where the rows are: a CSV after its header row, or a JSON array. All of it outlives the rows. */
struct import_file {
    const struct instance *inst;
    struct csv csv;
    const struct csv_record *head; /* NULL: JSON */
    yyjson_val *list;
};
/* err.rc tells whether the others are there. Good until the next row. */
struct import_row {
    int64_t place; /* line of the CSV, or index in the array */
    struct source source;
    struct str doc; /* its public description (project_describe) */
    struct err err;
};

struct import_rows;
MUST_CHECK enum rc import_rows_open(const struct import_file *file, struct import_rows **ret,
                                    struct err *err);
/* False at the end of the file. */
bool import_rows_next(struct import_rows *r, struct import_row **ret);
/* Also before the end. */
void import_rows_close(struct import_rows **r);

#endif
