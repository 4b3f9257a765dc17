/* window: when a source is to be looked at next, and why (DESIGN section 4).
 *
 * Triggers open windows: an interval is always open; annual is its months, redistricting and
 * census their years, all in UTC. Inside a window a source is looked at with the cadence of the
 * trigger (or its poll_interval_s); outside, once per sweep_days; and at once when a window has
 * opened and nobody has looked since, even when it has closed again. Manual means never.
 *
 * Invariants
 *   1. Pure: the same source, state, settings and now give the same answer. Jitter comes from a
 *      hash of source and period, so a schedule can be reproduced.
 *   2. Jitter only delays, by at most a tenth of the interval.
 *   3. After failures the wait doubles from WINDOW_RETRY_S up to WINDOW_BACKOFF_MAX times the base
 *      interval. A failure never brings a date of never.
 */
#ifndef FRESHET_DETECTORS_WINDOW_H
#define FRESHET_DETECTORS_WINDOW_H

#include "core/conf.h"
#include "ledger/check.h"

#define WINDOW_RETRY_S 60    /* first wait after a failure, or the base interval when shorter */
#define WINDOW_BACKOFF_MAX 8 /* longest wait, in base intervals */

struct window_when {
    int64_t at;          /* -1: never by itself */
    const char *because; /* a literal: first, interval, window, catch-up, sweep, retry, manual */
};
/* State as it is after the last check. at may lie in the past: it is due. */
struct window_when window_next(const struct source *s, const struct check_state *st,
                               const struct conf *conf, int64_t now);
/* Is a change now within what the triggers let expect? True for sources without seasons. */
bool window_expects(const struct source *s, int64_t now);
/* Seconds between two looks, by the trigger that is open now, or else opens next. */
int64_t window_interval(const struct source *s, const struct conf *conf, int64_t now);

#endif
