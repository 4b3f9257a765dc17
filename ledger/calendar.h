/* calendar: the windows that the triggers of a source open, all in UTC.
 *
 * Annual is from the first day of a month to the last day of another (over new year when that is
 * earlier), redistricting and census are whole years; an interval is always open, manual never is.
 *
 * Pure: declaration and time in, dates out. Called by detectors (when to look), handler and api
 * (what people are told).
 */
#ifndef FRESHET_LEDGER_CALENDAR_H
#define FRESHET_LEDGER_CALENDAR_H

#include "ledger/source.h"

/* [opens, closes) in milliseconds; both -1 for none. */
struct span {
    int64_t opens, closes;
};

/* Annual, redistricting, census. */
bool trigger_is_seasonal(const struct trigger *t);
/* Of a seasonal trigger: the newest window that has opened at `at`, whether or not it is closed;
 * none before the first. */
struct span trigger_begun(const struct trigger *t, int64_t at);
/* Of a seasonal trigger: the first window that opens after `at`. */
struct span trigger_coming(const struct trigger *t, int64_t at);
/* Of any trigger: the window that is open at `at`. */
struct span trigger_open(const struct trigger *t, int64_t at);

/* Is a change now within what the triggers let expect? True for sources without seasons. */
bool calendar_expects(const struct source *s, int64_t now);

/* The seasonal window that is open (the one that closes last), else the one that opens next. None
 * for sources without seasons, retired ones, and those whose years are over. */
struct span calendar_window(const struct source *s, int64_t now);
#define CALENDAR_TEXT_MAX 80
/* "open until 2026-10-31", "2027-07-01 to 2027-10-31", or "". The last day is inside. */
void calendar_text(struct span w, int64_t now, char out[CALENDAR_TEXT_MAX]);

/* The newest vintage whose window has opened: the year of that opening (a window from September to
 * February belongs to the year it began in). Without seasons the calendar year of now. -1 while no
 * window has opened yet. */
int calendar_vintage(const struct source *s, int64_t now);
/* Does a vintage open in this year? */
bool calendar_has_vintage(const struct source *s, int year);
/* When the next vintage begins; always after now. -1 when there is none. From one to the next:
 * for (at = calendar_next_vintage_at(s, last); at >= 0 && at <= now; at =
 * calendar_next_vintage_at(s, at))
 */
int64_t calendar_next_vintage_at(const struct source *s, int64_t now);

#endif
