/* progress: one line on standard error that says how far a long piece of work has come.
 *
 *   checking ━━━━━━━━━━╸───── 12,345/19,495 63 %  0:04 left  12,000 unchanged  300 changed  4,641/s
 *
 * Invariants
 *   1. Only where a person watches: standard error is a terminal that can move its cursor, and
 *      standard output is no pipe, whose reader may be drawing on the same screen.
 *   2. Never wider than the terminal, drawn at most ten times a second, gone at the end.
 *   3. Quick work shows nothing: the first line comes after PROGRESS_AFTER_MS.
 *   4. It promises nothing while nothing moves: after PROGRESS_STILL_MS without an end, time left
 *      and rate give way to how long it has been waiting (an upstream may ask for seconds
 *      of patience).
 */
#ifndef FRESHET_CLI_PROGRESS_H
#define FRESHET_CLI_PROGRESS_H

#include "cli/cli.h"

#define PROGRESS_AFTER_MS 300
#define PROGRESS_EVERY_MS 100
#define PROGRESS_STILL_MS 1500
#define PROGRESS_NOTES_MAX 4

struct progress {
    const struct cli *c;
    const char *what; /* a literal: "checking" */
    int64_t total, started_at, drawn_at;
    int64_t done, moved_at; /* how far it was when it last moved */
    bool begun, on, drawn, utf8;
};
/* A number with its word, shown when it is not zero. */
struct progress_note {
    int64_t n;
    const char *word;
    enum cli_style style;
};

/* With the total known beforehand. */
void progress_begin(struct progress *p, const struct cli *c, const char *what, int64_t total);
/* Cheap when it is not time to draw. */
void progress_show(struct progress *p, int64_t done, const struct progress_note *notes, size_t n);
/* The callback of work that tells its total only with its steps; ctx is a struct progress with c
 * and what alone, which begins at the first call. */
void progress_watch(void *ctx, int64_t done, int64_t total);
/* Takes the line away, if there is one: also where nothing ever began. */
void progress_end(struct progress *p);

#endif
