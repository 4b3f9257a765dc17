/* check_report: what came out of a run of checks, collected while it runs and told at its end.
 *
 * Invariants
 *   1. Every result is kept: a program gets a row per source, whatever a person is shown.
 *   2. A person reads deletions first, then changes, then what could not be told, by kind of error.
 * Used by cmd_check.c. */
#ifndef FRESHET_CLI_CHECK_REPORT_H
#define FRESHET_CLI_CHECK_REPORT_H

#include "cli/check_lines.h"
#include "cli/cli.h"

#define REPORT_FATE (-1)    /* "outcome" of what the handler did */
#define REPORT_KINDS_MAX 64 /* kinds of error told apart; the rest counts as "other" */

/* Checks, or what the handler made of them, that ended in the same way for the same reason. */
struct report_kind {
    int outcome; /* enum outcome or REPORT_FATE */
    char name[64];
    int64_t n;
    char example[64]; /* id of a source */
};
struct check_report {
    struct cli *c;
    struct check_lines lines;
    struct check_lines entries; /* of listings that moved: what was found of them, with its fate */
    bool waited;                /* for the fates: entries holds all that there are */
    struct report_kind kinds[REPORT_KINDS_MAX];
    size_t n_kinds;
    int64_t counts[OUTCOME_COUNT + 1];
    int64_t bytes_in, bytes_saved, requests, http_200, http_304, deleted, vintages, failures;
    int64_t found; /* without vintages */
    int64_t entries_deleted;
    int64_t refused;     /* found, but not taken in: failed, dead, or to be tried again later */
    int64_t elapsed_ms;  /* set by the caller before it is printed */
    int64_t not_reached; /* sources that were meant but not looked at */
};

void report_add(struct check_report *r, const struct source *s, const struct check_result *result);
void report_add_due(struct check_report *r, const struct source *s, const char *because,
                    const char *detail);
/* What became of the line that was read last. */
void report_fate(struct check_report *r, const struct report_line *l,
                 const struct inbox_fate *fate);
/* What became of an entry of the listing on the line that was read last. */
void report_entry(struct check_report *r, const struct inbox_entry *e);

/* The document that scripts rely on: checked, outcomes, bytes_in, bytes_saved, and results, which
 * is empty here; the caller may add members behind it. report_put_json prints it with
 * the results. */
yyjson_mut_val *report_json(const struct check_report *r, yyjson_mut_doc *d);
MUST_CHECK enum rc report_put_json(struct check_report *r, const yyjson_mut_doc *d,
                                   struct err *err);
/* Rows on standard output, and for a person the sum of it all. False when lines or
 * memory failed. */
bool report_print(struct check_report *r);

#endif
