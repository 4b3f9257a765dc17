/* almanac: due dates computed a second time, for the test of ten years.
 *
 * From the declaration alone, and in another way than detectors/window.c: the calendar is walked
 * day by day, each day of each trigger is marked open or closed, and every look that something asks
 * for is a range as wide as the documented jitter. Shares no code with the rooms but their structs
 * and the table of outcomes; its numbers are written out again.
 */
#ifndef FRESHET_TESTS_ALMANAC_H
#define FRESHET_TESTS_ALMANAC_H

#include <math.h>
#include "tests/10-unit/unit.h"
#include "core/clock.h"
#include "ledger/check.h"

#define DAY0 1672531200000LL /* 2023-01-01, where the calendar begins */
#define DAYS (17 * 366)      /* beyond 2039: what opens next may lie behind the end */

/* ---- the calendar, walked -------------------------------------------------------------------- */

struct date {
    short year, month, day;
};
static struct date calendar[DAYS];

static void almanac_walk(void)
{
    struct date d = {2023, 1, 1};
    for (int i = 0; i < DAYS; i++) {
        short length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        length[1] = (short)(d.year % 4 == 0 ? 29 : 28); /* no century among these years */
        calendar[i] = d;
        if (++d.day > length[d.month - 1]) {
            d.day = 1;
            if (++d.month > 12) {
                d.month = 1;
                d.year++;
            }
        }
    }
}

static int day_of(int64_t at)
{
    return (int)((at - DAY0) / DAY_MS);
}

static int64_t day_ms(int day)
{
    return DAY0 + day * DAY_MS;
}

static bool is_listed(const struct trigger *t, int year)
{
    for (int i = 0; i < t->n_years; i++)
        if (t->years[i] == year)
            return true;
    return false;
}

static bool opens_on(const struct trigger *t, int day)
{
    struct date d = calendar[day];
    if (t->type == TRIGGER_ANNUAL)
        return d.day == 1 && d.month == t->month;
    return d.day == 1 && d.month == 1 && is_listed(t, d.year);
}

static bool open_on(const struct trigger *t, int day)
{
    if (t->type != TRIGGER_ANNUAL)
        return is_listed(t, calendar[day].year);
    for (int m = t->month;; m = m % 12 + 1) { /* month by month, as a person would count */
        if (calendar[day].month == m)
            return true;
        if (m == t->through)
            return false;
    }
}

/* What a trigger says of each day: the day its window closes (-1: none is open), the next day after
 * it on which one opens, the last one up to it on which one opened. */
struct marks {
    bool seasonal;
    short closes[DAYS], next[DAYS], begun[DAYS];
};

static void mark(const struct trigger *t, struct marks *m)
{
    m->seasonal = t->type != TRIGGER_INTERVAL && t->type != TRIGGER_MANUAL;
    for (int i = DAYS - 1; i >= 0 && m->seasonal; i--) {
        bool more = i + 1 < DAYS && open_on(t, i + 1) && !opens_on(t, i + 1);
        m->closes[i] = (short)(!open_on(t, i) ? -1 : more ? m->closes[i + 1] : i + 1);
        m->next[i] = (short)(i + 1 == DAYS ? -1 : opens_on(t, i + 1) ? i + 1 : m->next[i + 1]);
    }
    for (int i = 0; i < DAYS && m->seasonal; i++)
        m->begun[i] = (short)(opens_on(t, i) ? i : i ? m->begun[i - 1] : -1);
}

/* ---- a source, and what asks for a look at it ------------------------------------------------ */

struct almanac {
    const struct source *s;
    const struct conf *conf;
    struct marks *marks; /* one per trigger */
    bool seasonal, always;
    int64_t last, failures, force; /* the last look, and the interval in force after it */
};

static void almanac_open(struct almanac *a, const struct source *s, const struct conf *conf)
{
    *a = (struct almanac){.s = s, .conf = conf, .last = -1};
    a->marks = calloc(s->n_triggers + 1, sizeof *a->marks);
    assert_non_null(a->marks);
    for (size_t i = 0; i < s->n_triggers; i++) {
        mark(&s->triggers[i], &a->marks[i]);
        a->seasonal |= a->marks[i].seasonal;
        a->always |= s->triggers[i].type == TRIGGER_INTERVAL;
    }
}

/* All looks that something asks for; the date is the soonest of them, within the jitter. */
struct wants {
    struct {
        int64_t low, high;
        const char *because;
    } all[32];
    int n;
    const char *opened; /* the word for windows that have opened since, NULL for none */
};

static void want(struct wants *w, int64_t low, int64_t high, const char *because)
{
    w->all[w->n].low = low;
    w->all[w->n].high = high;
    w->all[w->n++].because = because;
}

static int64_t room_of(int64_t ms)
{
    return ms / 10 < 21600000 ? ms / 10 : 21600000;
}

static int64_t cadence_of(const struct source *s, const struct trigger *t)
{
    int64_t own[] = {86400, 86400, 604800, t->seconds, 0}; /* in the order of trigger_type */
    return s->poll_interval_s ? s->poll_interval_s : own[t->type];
}

/* The day on which the last of the open windows closes, -1 when none is open. */
static int open_until(const struct almanac *a, int64_t at)
{
    int until = -1, day = day_of(at);
    for (size_t i = 0; i < a->s->n_triggers; i++)
        if (a->marks[i].seasonal && a->marks[i].closes[day] > until)
            until = a->marks[i].closes[day];
    return until;
}

static bool is_outside(const struct almanac *a, int64_t at)
{
    return a->seasonal && !a->always && open_until(a, at) < 0;
}

static void want_in_window(const struct almanac *a, const struct trigger *t, int64_t closes,
                           int64_t now, struct wants *w)
{
    int64_t last = a->last, base = cadence_of(a->s, t) * 1000;
    int64_t ms = base > a->force * 1000 ? base : a->force * 1000, at = last + ms;
    const char *because = t->type == TRIGGER_INTERVAL ? "interval"
                          : now < closes              ? "window"
                                                      : "catch-up";
    int64_t close_low = closes - 2 * room_of(base);
    close_low = close_low > last + base ? close_low : last + base;
    if (at + room_of(ms) < closes)
        want(w, at, at + room_of(ms), because);
    else if (at < closes) /* the jitter decides whether it becomes the closing look */
        want(w, at < close_low ? at : close_low, closes - 1, because);
    else if (last + base < closes)
        want(w, close_low, close_low + (closes - close_low) / 2, because);
}

static void want_sweep(const struct almanac *a, struct wants *w)
{
    int64_t ms = a->s->sweep_days * DAY_MS, low = a->last + ms, high = low + room_of(ms);
    if (!ms || !a->seasonal || a->always || day_of(high) >= DAYS)
        return;
    low = open_until(a, low) >= 0 ? day_ms(open_until(a, low)) : low;
    high = open_until(a, high) >= 0 ? day_ms(open_until(a, high)) : high;
    want(w, low, high, "sweep");
}

static int64_t base_of(const struct almanac *a, int64_t at)
{
    int64_t open = INT64_MAX, any = INT64_MAX;
    for (size_t i = 0; i < a->s->n_triggers; i++) {
        const struct trigger *t = &a->s->triggers[i];
        if (t->type == TRIGGER_MANUAL)
            continue;
        int64_t c = cadence_of(a->s, t);
        any = c < any ? c : any;
        if (t->type == TRIGGER_INTERVAL || a->marks[i].closes[day_of(at)] >= 0)
            open = c < open ? c : open;
    }
    if (any == INT64_MAX)
        return a->s->poll_interval_s ? a->s->poll_interval_s : a->conf->poll_interval_s;
    return open < INT64_MAX ? open : any;
}

static void want_retry(const struct almanac *a, struct wants *w)
{
    double base = (double)base_of(a, a->last) * 1000;
    double longest = fmin(base * 8, 86400e3);
    if (is_outside(a, a->last) && a->s->sweep_days)
        longest = (double)a->s->sweep_days * 86400e3;
    double wait = fmin(longest, fmin(base, 60e3) * pow(2, (double)a->failures));
    int64_t ms = (int64_t)wait;
    want(w, a->last + ms / 2, a->last + ms, "retry");
}

/* The year of the last opening up to this day, -1 before the first. */
static int vintage_on(const struct almanac *a, int day)
{
    int begun = -1;
    if (!a->seasonal)
        return calendar[day].year;
    for (size_t i = 0; i < a->s->n_triggers; i++)
        if (a->marks[i].seasonal && a->marks[i].begun[day] > begun)
            begun = a->marks[i].begun[day];
    return begun < 0 ? -1 : calendar[begun].year;
}

static void want_vintage(const struct almanac *a, struct wants *w)
{
    int last = day_of(a->last), day = last;
    while (day < DAYS && vintage_on(a, day) == vintage_on(a, last))
        day++;
    if (day < DAYS)
        want(w, day_ms(day), day_ms(day), "vintage");
}

static void want_openings(const struct almanac *a, int64_t now, struct wants *w)
{
    for (size_t i = 0; i < a->s->n_triggers; i++) {
        const struct marks *k = &a->marks[i];
        int day = k->seasonal ? k->next[day_of(a->last)] : -1;
        if (day < 0)
            continue;
        bool late = now >= day_ms(k->closes[day]) ||
                    now > day_ms(day) + cadence_of(a->s, &a->s->triggers[i]) * 1000;
        want(w, day_ms(day), day_ms(day), "window");
        if (now >= day_ms(day) && (late || !w->opened))
            w->opened = late ? "catch-up" : "window";
    }
}

/* Everything that asks for a look after the last one; `now` only changes the words. */
static void almanac_wants(const struct almanac *a, int64_t now, struct wants *w)
{
    const struct trigger plain = {.type = TRIGGER_INTERVAL, .seconds = a->conf->poll_interval_s};
    *w = (struct wants){.n = 0};
    if (a->s->n_triggers > 0 && !a->seasonal && !a->always)
        return;
    if (a->failures)
        want_retry(a, w);
    if (strchr(a->s->url, '{')) {
        want_vintage(a, w);
        return;
    }
    want_openings(a, now, w);
    if (a->failures)
        return;
    for (size_t i = 0; i < a->s->n_triggers; i++) {
        const struct trigger *t = &a->s->triggers[i];
        int closes = a->marks[i].seasonal ? a->marks[i].closes[day_of(a->last)] : -1;
        if (t->type == TRIGGER_INTERVAL || closes >= 0)
            want_in_window(a, t, closes >= 0 ? day_ms(closes) : INT64_MAX, now, w);
    }
    if (a->s->n_triggers == 0)
        want_in_window(a, &plain, INT64_MAX, now, w);
    want_sweep(a, w);
}

/* The interval in force after a look at `now`, which `a` does not know of yet. */
static int64_t force_after(const struct almanac *a, enum outcome o, int64_t now)
{
    int64_t base = base_of(a, now);
    bool opened = a->last < 0;
    for (size_t i = 0; i < a->s->n_triggers && !opened; i++)
        opened = a->marks[i].seasonal && a->marks[i].begun[day_of(now)] > day_of(a->last);
    if (opened || outcome_candidate(o) || is_outside(a, now))
        return base;
    double force = (double)a->force * (outcome_failure(o) ? 1 : 1.25);
    return (int64_t)fmax((double)base, fmin(ceil(force), (double)a->s->max_interval_s));
}

static void almanac_look(struct almanac *a, enum outcome o, int64_t now)
{
    a->force = force_after(a, o, now);
    a->failures = outcome_failure(o) ? a->failures + 1 : 0;
    a->last = now;
}

#endif
