/* event: looking up a candidate of the inbox by its event id, and printing it.
 * Used by show, queue, dlq, approve and reject. */
#ifndef FRESHET_CLI_EVENT_H
#define FRESHET_CLI_EVENT_H

#include "cli/rows.h"
#include "ledger/inbox.h"

/* The candidate of an event; strings in the arena. RC_NOT_FOUND names the way to see them all. */
MUST_CHECK enum rc event_candidate(struct cli *c, const char *event_id, struct candidate *ret);
/* As a JSON object. */
yyjson_mut_val *event_candidate_json(yyjson_mut_doc *d, const struct candidate *cand,
                                     const char *source_id);
/* As a row of a list: event, source, state (NULL: no such column), why, found, detected, tries. */
MUST_CHECK enum rc event_row(struct rows *r, const struct candidate *cand, const char *state,
                             struct err *err);

/* "name      value" lines of a card; nothing for an empty value. */
void event_line(const struct cli *c, const char *name, const char *value);

#endif
