/* check_lines: a line per result of a run of checks, kept in a file without a name, so that memory
 * does not grow with the number of sources.
 *
 * Invariants
 *   1. Lines are read in the order in which they were added, each whole.
 *   2. The file is gone with the process, whatever ends it.
 *   3. When a line could not be kept, `broken` stays set: whoever prints asks it first.
 * Used by check_report.c and cmd_check.c. */
#ifndef FRESHET_CLI_CHECK_LINES_H
#define FRESHET_CLI_CHECK_LINES_H

#include "ledger/inbox.h"

#define REPORT_DUE OUTCOME_COUNT /* "outcome" of a source in a dry run */
#define LINE_TEXTS 4
/* Id, url, detail and event id: their own limits leave half of it free. */
#define LINE_TEXT_MAX 8192

struct report_line {
    const char *source_id, *url, *detail, *event_id;
    const char *due_because; /* a literal */
    int outcome;             /* enum outcome or REPORT_DUE */
    int attempts, http;
    bool deleted, unexpected, vintage; /* vintage: a template's calendar says that one has opened */
    struct inbox_fate fate;            /* what the handler made of it; name "" when not known */
};

struct check_lines {
    FILE *file;
    size_t n;
    bool broken;
    long at;                  /* where the line that was read last begins */
    char text[LINE_TEXT_MAX]; /* of that line */
};

void lines_add(struct check_lines *ls, const struct report_line *l);
/* From the first one again. */
void lines_rewind(struct check_lines *ls);
/* False at the end. Its texts stay until the next call. */
bool lines_next(struct check_lines *ls, struct report_line *ret);
/* Keeps the fate of the line that was read last. */
void lines_put_fate(struct check_lines *ls, const struct inbox_fate *fate);
void lines_close(struct check_lines *ls);

#endif
