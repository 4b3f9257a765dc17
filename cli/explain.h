/* explain: one check, request by request: what was sent, what came back, why the outcome follows.
 *
 * Invariants
 *   1. (I12) No secret is shown: values marked secret are masked, queries of URLs are left out.
 *   2. Conditional headers are shown byte for byte as they were sent.
 * Used by cmd_check.c: explain_begin before the check, explain_step as detect_trace's fn,
 * explain_end with its result, then one of the two ways to print. */
#ifndef FRESHET_CLI_EXPLAIN_H
#define FRESHET_CLI_EXPLAIN_H

#include "cli/cli.h"
#include "detectors/look.h"

struct explain {
    struct cli *c;
    yyjson_mut_doc *doc;
    yyjson_mut_val *root, *steps, *step; /* the account is kept as JSON, and printed from it */
    struct check_state before;
    bool calendar; /* a template: nobody is asked */
};

void explain_begin(struct explain *e, struct cli *c, yyjson_mut_doc *d, const struct source *s,
                   const struct check_state *before);
void explain_step(void *ctx, const struct look_step *s);
void explain_end(struct explain *e, const struct check_result *r);
/* For people; the JSON is e->root. */
void explain_print(const struct explain *e);

#endif
