/* health: is a source in order, and if not, why? The one place that decides; api, command line and
 * metrics all ask here.
 *
 * Two clocks, because they answer two questions: reached_at (did the upstream answer?) and
 * verified_at (did we digest its bytes?). A 304 moves the first and proves nothing to the second.
 *
 * Invariants
 *   1. Pure: the same facts and time, the same verdict.
 *   2. Absence is loud: what was never checked is never "ok".
 *   3. A source whose last check failed is never "ok": freshness says the same.
 */
#ifndef FRESHET_LEDGER_HEALTH_H
#define FRESHET_LEDGER_HEALTH_H

#include "core/clock.h"
#include "core/str.h"

/* Jitter, a busy scheduler and a restart stay below it; a stopped scheduler does not. */
#define HEALTH_OVERDUE_MS 3600000LL
/* What was done later than this is no matter of two clocks that differ a little. */
#define HEALTH_AHEAD_MS 3600000LL
/* A year and a month: whoever changes every year was read in between; whoever said "304" for longer
 * has never been proven right. */
#define HEALTH_VERIFIED_MS (400 * DAY_MS)

enum health_state {
#define X(name, breach, text) HEALTH_##name,
#include "ledger/health.def"
#undef X
    HEALTH_COUNT
};
const char *health_name(enum health_state s);
bool health_breach(enum health_state s);

/* Times -1 when absent. */
struct health_facts {
    bool retired;
    bool template; /* only its calendar is read, so nobody is reached and no byte is digested */
    int64_t checked_at, reached_at, verified_at, failures, next_check_at;
    int64_t removed_at;               /* since when the upstream, or its listing, is without it */
    bool pushed;                      /* its upstream is to tell, and nobody looks meanwhile */
    int64_t heard, heard_at;          /* then: how often it did, and the last time */
    int64_t stream_down_at;           /* its event stream; 0 or less: up, or it has none */
    struct str last_outcome, refused; /* refused: a reason code; "" when it was not */
};
struct health {
    enum health_state state;
    const char *text; /* a sentence for people, true also of a template */
    /* A sentence with the numbers; "" when retired, or ok and nothing more to say. */
    char reason[160];
};
void health_judge(const struct health_facts *f, int64_t now, struct health *ret);

#endif
