/* window: when a source is to be looked at next, and why.
 *
 * Triggers open windows (ledger/calendar.h). A source without triggers has an interval: its own, or
 * the setting.
 *
 *   first     never looked at: now
 *   window    a seasonal window opens, or its cadence (annual and redistricting daily, census
 *             weekly) has passed inside it
 *   interval  the seconds of an interval trigger have passed
 *   catch-up  a window opened, or a look inside it was due, and nobody looked in time
 *   sweep     outside windows, sweep_days after the last look (0: none)
 *   retry     the last look failed
 *   pushed    somebody told of a loss or a deletion, and a look was asked for (ledger/push.h)
 *   vintage   a URL with {year} is a template: the window of the next vintage opens
 *
 * poll_interval_s takes the place of every cadence. The soonest of all counts; a window that has
 * opened since the last look gives the reason, whatever else is due as well. A source with nothing
 * but manual triggers is never due by itself, and neither is one whose last window is over and that
 * has no sweep. An entry of a listing is due by itself as long as its looks fail, whatever its
 * triggers: its listing will not name it again as news; so is a source with an adapter, which is
 * not told again; one that its listing no longer names never is.
 *
 * The cadence is stretched by a quarter after each look that found nothing new, up to
 * max_interval_s of the source; 0, the default, means that it is kept as declared. A change, the
 * opening of a window and a new declaration bring it back.
 *
 * Invariants
 *   1. Pure: the same source, state and settings give the same answer, and but for `first` the date
 *      does not depend on now: what is stored as next_check_at stays true as time goes by (only an
 *      upstream that asks for more time after a failure gets it, up to a day).
 *   2. Jitter comes from a hash of source and period, so a schedule can be reproduced. It only
 *      delays, by at most a tenth of the interval and WINDOW_JITTER_MAX_S. An opening has none.
 *   3. Every window gets a look at its opening, or as soon as someone looks again; and while looks
 *      succeed the last one in a window is not more than a cadence (unstretched) before its close.
 *   4. After failures the wait doubles from WINDOW_RETRY_S, its upper half being jitter: inside a
 *      window up to WINDOW_BACKOFF_MAX cadences and never more than a day, outside up to
 *      sweep_days; never past the opening of a window. A failure never brings a date of never.
 * Called by look, detect and the command line; none of it sees the clock.
 */
#ifndef FRESHET_DETECTORS_WINDOW_H
#define FRESHET_DETECTORS_WINDOW_H

#include "core/conf.h"
#include "ledger/calendar.h"
#include "ledger/check.h"

#define WINDOW_RETRY_S 60              /* first wait after a failure, or the cadence when shorter */
#define WINDOW_BACKOFF_MAX 8           /* longest wait of the quick ones, in cadences */
#define WINDOW_JITTER_MAX_S (6 * 3600) /* a sweep of 90 days is not to come nine days late */

struct window_when {
    int64_t at;          /* -1: never by itself */
    const char *because; /* a literal: one of the words above, or manual */
};
/* State as it is after the last check. at may lie in the past: it is due. */
struct window_when window_next(const struct source *s, const struct check_state *st,
                               const struct conf *conf, int64_t now);
/* Why a source is due whose state says so: the same word, or `pushed`. */
const char *window_because(const struct source *s, const struct check_state *st,
                           const struct conf *conf, int64_t now);
/* Seconds that are to pass after the check that ended at st->checked_at with this outcome, for
 * st->interval_s, which still holds those from before it. last: the check before, -1 for none. */
int64_t window_interval(const struct source *s, const struct check_state *st,
                        const struct conf *conf, enum outcome o, int64_t last);

#endif
