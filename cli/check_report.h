/* check_report: what came out of a run of checks, collected while it runs and told at its end.
 *
 * Invariants
 *   1. Every result is kept: a program gets a row per source, whatever a person is shown.
 *   2. A person reads deletions first, then changes, then what could not be told, by kind of error.
 * Used by cmd_check.c. */
#ifndef FRESHET_CLI_CHECK_REPORT_H
#define FRESHET_CLI_CHECK_REPORT_H

#include "cli/cli.h"
#include "ledger/inbox.h"

#define REPORT_DUE OUTCOME_COUNT /* "outcome" of a source in a dry run */
#define REPORT_FATE (-1)         /* "outcome" of what the handler did */
#define REPORT_KINDS_MAX 64      /* kinds of error told apart; the rest counts as "other" */

struct report_line {
    const char *source_id, *url, *detail, *due_because, *event_id;
    int outcome; /* enum outcome or REPORT_DUE */
    int attempts, http;
    bool deleted, unexpected, vintage; /* vintage: a template's calendar says that one has opened */
    struct inbox_fate fate;            /* what the handler made of it; name "" when not known */
};
/* Checks, or what the handler made of them, that ended in the same way for the same reason. */
struct report_kind {
    int outcome; /* enum outcome or REPORT_FATE */
    char name[64];
    int64_t n;
    const char *example; /* id of a source */
};
struct check_report {
    struct cli *c;
    struct report_line *lines;
    size_t n, room;
    struct report_kind kinds[REPORT_KINDS_MAX];
    size_t n_kinds;
    int64_t counts[OUTCOME_COUNT + 1];
    int64_t bytes_in, bytes_saved, requests, http_200, http_304, deleted, found, vintages,
        failures;        /* found: without vintages */
    int64_t refused;     /* found, but failed or died in the handler */
    int64_t elapsed_ms;  /* set by the caller before it is printed */
    int64_t not_reached; /* sources that were meant but not looked at */
    bool out_of_memory;
};

void report_add(struct check_report *r, const struct source *s, const struct check_result *result);
void report_add_due(struct check_report *r, const struct source *s, const char *because,
                    const char *detail);
/* What became of one of the lines. */
void report_fate(struct check_report *r, struct report_line *l, const struct inbox_fate *fate);

/* The document that scripts rely on (DESIGN section 8); the caller may add members. */
yyjson_mut_val *report_json(const struct check_report *r, yyjson_mut_doc *d);
/* Rows on standard output, and for a person the sum of it all. False when memory ran out. */
bool report_print(const struct check_report *r);

#endif
