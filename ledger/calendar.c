/* calendar: each trigger answers for itself, a source is the union of its triggers. Pure. */
#include "ledger/calendar.h"
#include "core/clock.h"

static const struct span span_none = {-1, -1}, span_always = {0, INT64_MAX};

/* ---- windows of one trigger ------------------------------------------------------------------ */

static int year_of(int64_t at)
{
    int year, month, day;
    time_to_civil(at, &year, &month, &day);
    return year;
}

static struct span span_year(int year)
{
    return (struct span){time_civil(year, 1, 1), time_civil(year + 1, 1, 1)};
}

/* The season that begins in this year; it may end in the next. */
static struct span span_annual(const struct trigger *t, int year)
{
    int end_year = t->through < t->month ? year + 1 : year;
    int after = t->through % 12 + 1;
    return (struct span){time_civil(year, t->month, 1),
                         time_civil(after == 1 ? end_year + 1 : end_year, after, 1)};
}

bool trigger_is_seasonal(const struct trigger *t)
{
    return t->type == TRIGGER_ANNUAL || t->type == TRIGGER_REDISTRICTING ||
           t->type == TRIGGER_CENSUS;
}

struct span trigger_begun(const struct trigger *t, int64_t at)
{
    int year = year_of(at), newest = -1;
    if (t->type == TRIGGER_ANNUAL) {
        struct span this_year = span_annual(t, year);
        return this_year.opens <= at ? this_year : span_annual(t, year - 1);
    }
    for (int i = 0; i < t->n_years; i++)
        if (t->years[i] <= year && t->years[i] > newest)
            newest = t->years[i];
    return newest < 0 ? span_none : span_year(newest);
}

/* The smallest of the years after this one, -1 when there is none. */
static int year_coming(const struct trigger *t, int year)
{
    int soonest = -1;
    for (int i = 0; i < t->n_years; i++)
        if (t->years[i] > year && (soonest < 0 || t->years[i] < soonest))
            soonest = t->years[i];
    return soonest;
}

struct span trigger_coming(const struct trigger *t, int64_t at)
{
    int year = year_of(at);
    if (t->type == TRIGGER_ANNUAL) {
        struct span this_year = span_annual(t, year);
        return this_year.opens > at ? this_year : span_annual(t, year + 1);
    }
    int soonest = year_coming(t, year);
    return soonest < 0 ? span_none : span_year(soonest);
}

struct span trigger_open(const struct trigger *t, int64_t at)
{
    if (t->type == TRIGGER_INTERVAL)
        return span_always;
    struct span w = trigger_is_seasonal(t) ? trigger_begun(t, at) : span_none;
    return at < w.closes ? w : span_none;
}

/* ---- of a source ----------------------------------------------------------------------------- */

bool calendar_expects(const struct source *s, int64_t now)
{
    bool seasonal = false;
    for (size_t i = 0; i < s->n_triggers; i++) {
        if (trigger_open(&s->triggers[i], now).closes >= 0)
            return true;
        seasonal |= trigger_is_seasonal(&s->triggers[i]);
    }
    return !seasonal;
}

struct span calendar_window(const struct source *s, int64_t now)
{
    struct span open = span_none, next = span_none;
    for (size_t i = 0; i < s->n_triggers && s->retired_at < 0; i++) {
        const struct trigger *t = &s->triggers[i];
        if (!trigger_is_seasonal(t))
            continue;
        struct span current = trigger_open(t, now), coming = trigger_coming(t, now);
        if (current.closes > open.closes)
            open = current;
        if (coming.opens >= 0 && (next.opens < 0 || coming.opens < next.opens))
            next = coming;
    }
    return open.opens >= 0 ? open : next;
}

void calendar_text(struct span w, int64_t now, char out[CALENDAR_TEXT_MAX])
{
    char first[TIME_MAX], last[TIME_MAX];
    out[0] = 0;
    if (w.opens < 0)
        return;
    time_date(w.opens, first);
    time_date(w.closes - 1, last);
    if (w.opens <= now && now < w.closes)
        snprintf(out, CALENDAR_TEXT_MAX, "open until %s", last);
    else
        snprintf(out, CALENDAR_TEXT_MAX, "%s to %s", first, last);
}

/* ---- vintages -------------------------------------------------------------------------------- */

int calendar_vintage(const struct source *s, int64_t now)
{
    bool seasonal = false;
    int newest = -1;
    for (size_t i = 0; i < s->n_triggers; i++) {
        if (!trigger_is_seasonal(&s->triggers[i]))
            continue;
        seasonal = true;
        struct span w = trigger_begun(&s->triggers[i], now);
        int year = w.opens < 0 ? -1 : year_of(w.opens);
        newest = year > newest ? year : newest;
    }
    return seasonal ? newest : year_of(now);
}

bool calendar_has_vintage(const struct source *s, int year)
{
    bool seasonal = false;
    for (size_t i = 0; i < s->n_triggers; i++) {
        const struct trigger *t = &s->triggers[i];
        if (!trigger_is_seasonal(t))
            continue;
        seasonal = true;
        if (t->type == TRIGGER_ANNUAL || year_coming(t, year - 1) == year)
            return true;
    }
    return !seasonal;
}

/* Two windows that open in one year are one vintage, so it is the year that is looked for. */
int64_t calendar_next_vintage_at(const struct source *s, int64_t now)
{
    bool seasonal = false;
    int year, vintage = calendar_vintage(s, now);
    int64_t at, best = -1;
    for (size_t i = 0; i < s->n_triggers; i++) {
        const struct trigger *t = &s->triggers[i];
        if (!trigger_is_seasonal(t))
            continue;
        seasonal = true;
        year = t->type == TRIGGER_ANNUAL ? vintage + 1 : year_coming(t, vintage);
        at = year < 0 ? -1 : time_civil(year, t->type == TRIGGER_ANNUAL ? t->month : 1, 1);
        if (at >= 0 && (best < 0 || at < best))
            best = at;
    }
    return seasonal ? best : time_civil(vintage + 1, 1, 1);
}
