/* source_state: what checks have taught us about a source, as JSON and in words.
 * Used by source show, source list and check --explain. */
#ifndef FRESHET_CLI_SOURCE_STATE_H
#define FRESHET_CLI_SOURCE_STATE_H

#include "cli/cli.h"
#include "ledger/unhealthy.h"

yyjson_mut_val *state_json(yyjson_mut_doc *d, const struct check_state *st);
yyjson_mut_val *health_json(yyjson_mut_doc *d, const struct health *h);
/* The verdict of ledger/health.h, now. */
struct health health_now(const struct source *s, const struct check_state *st);

/* What the engine has learned to do differently, a sentence each; n is how many. */
#define LEARNED_MAX 8
struct learned {
    char text[LEARNED_MAX][160];
    size_t n;
};
void state_learned(const struct source *s, const struct check_state *st, const struct conf *conf,
                   struct learned *ret);

#endif
