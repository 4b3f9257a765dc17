/* freshness: what may be claimed about a source, from its public facts and the clock.
 *
 * Invariants
 *   1. (I11) Never fresh by default: without a promoted version the state is unknown (or held).
 *   2. "Checked" and "promoted" are two facts: a check does not make data younger, and a source
 *      whose checks fail is not current.
 *   3. Of a restricted source nothing but title, state and day is shown, whatever the row holds.
 *   4. A body changes only with the row, the verdict or the day, so that its ETag can tell.
 */
#ifndef FRESHET_API_FRESHNESS_H
#define FRESHET_API_FRESHNESS_H

#include "api/route.h"
#include "ledger/public.h"

enum fresh_state {
#define X(name, colour, shape, meaning) FRESH_##name,
#include "api/states.def"
#undef X
    FRESH_COUNT
};
const char *fresh_state_name(enum fresh_state s);
const char *fresh_state_colour(enum fresh_state s);
const char *fresh_state_shape(enum fresh_state s);

struct verdict {
    enum fresh_state state;
    const char *rule;      /* stable name of the rule that decided */
    char label[96];        /* "Updated on 2026-07-02" */
    int64_t data_age_days; /* calendar days since the update, -1: never */
};

/* Pure: same facts and time, same verdict. */
void freshness_judge(const struct public_fresh *f, int64_t now, struct verdict *ret);
/* Appends the JSON object of one source. */
void freshness_put(struct buf *out, const struct public_fresh *f, const struct verdict *v,
                   struct str base);
/* The rule that decided, as a sentence for people. */
#define FRESH_REASON_MAX 256
void freshness_reason(const struct public_fresh *f, const struct verdict *v,
                      char text[FRESH_REASON_MAX]);
/* The date of the newest thing that shows: update, check, or the moment the verdict turned. */
int64_t freshness_shown_at(const struct public_fresh *f, const struct verdict *v);
/* Row and verdict of the source that the address names; RC_NOT_FOUND as route_not_found. */
MUST_CHECK enum rc freshness_find(struct req *r, struct public_fresh *ret, struct verdict *ret_v,
                                  struct err *err);

route_fn freshness_list, freshness_one;

#endif
