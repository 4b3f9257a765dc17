/* window: see the header. Pure. */
#include "detectors/window.h"
#include "core/clock.h"

/* Cadence inside a window, where the source names none. */
#define SECONDS_SEASON 86400 /* annual, redistricting */
#define SECONDS_CENSUS (7 * 86400)
#define JITTER_PART 10 /* of the interval: enough to spread a thousand daily sources */

/* [opens, closes) in milliseconds. */
struct span {
    int64_t opens, closes;
};
static const struct span span_none = {-1, -1};

/* ---- jitter ---------------------------------------------------------------------------------- */

/* FNV-1a over the id, then mixed with the period: well spread, and the same on every machine. */
static uint64_t hash_of(const char *id, int64_t period)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *id; id++)
        h = (h ^ (unsigned char)*id) * 0x100000001b3u;
    h ^= (uint64_t)period * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

/* Uniform in [0, span_ms]. */
static int64_t jitter(const struct source *s, int64_t period, int64_t span_ms)
{
    return (int64_t)(hash_of(s->id, period) % ((uint64_t)span_ms + 1));
}

/* ---- windows of one trigger ------------------------------------------------------------------ */

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

/* The newest window that has opened at `at`, whether or not it is closed; none before the first. */
static struct span span_begun(const struct trigger *t, int64_t at)
{
    int year, month, day;
    struct span best = span_none;
    time_to_civil(at, &year, &month, &day);
    if (t->type == TRIGGER_ANNUAL) {
        struct span this_year = span_annual(t, year);
        return this_year.opens <= at ? this_year : span_annual(t, year - 1);
    }
    for (int i = 0; i < t->n_years; i++) {
        struct span w = span_year(t->years[i]);
        if (w.opens <= at && w.opens > best.opens)
            best = w;
    }
    return best;
}

/* The first window that opens after `at`. */
static struct span span_coming(const struct trigger *t, int64_t at)
{
    int year, month, day;
    struct span best = span_none;
    time_to_civil(at, &year, &month, &day);
    if (t->type == TRIGGER_ANNUAL) {
        struct span this_year = span_annual(t, year);
        return this_year.opens > at ? this_year : span_annual(t, year + 1);
    }
    for (int i = 0; i < t->n_years; i++) {
        struct span w = span_year(t->years[i]);
        if (w.opens > at && (best.opens < 0 || w.opens < best.opens))
            best = w;
    }
    return best;
}

static bool is_seasonal(const struct trigger *t)
{
    return t->type == TRIGGER_ANNUAL || t->type == TRIGGER_REDISTRICTING ||
           t->type == TRIGGER_CENSUS;
}

static bool is_open(const struct trigger *t, int64_t at)
{
    if (!is_seasonal(t))
        return t->type == TRIGGER_INTERVAL;
    return at < span_begun(t, at).closes;
}

/* ---- a source -------------------------------------------------------------------------------- */

static int64_t cadence(const struct source *s, const struct trigger *t)
{
    if (t->type == TRIGGER_INTERVAL)
        return t->seconds;
    if (s->poll_interval_s > 0)
        return s->poll_interval_s;
    return t->type == TRIGGER_CENSUS ? SECONDS_CENSUS : SECONDS_SEASON;
}

static int64_t plain_interval(const struct source *s, const struct conf *conf)
{
    return s->poll_interval_s > 0 ? s->poll_interval_s : conf->poll_interval_s;
}

/* The most eager of the triggers that are open at `at` (or of all); -1 when there is none. */
static int64_t eager_cadence(const struct source *s, int64_t at, bool open_only)
{
    int64_t best = -1;
    for (size_t i = 0; i < s->n_triggers; i++) {
        const struct trigger *t = &s->triggers[i];
        if (t->type == TRIGGER_MANUAL || (open_only && !is_open(t, at)))
            continue;
        int64_t c = cadence(s, t);
        if (best < 0 || c < best)
            best = c;
    }
    return best;
}

int64_t window_interval(const struct source *s, const struct conf *conf, int64_t now)
{
    int64_t open = eager_cadence(s, now, true);
    if (open < 0)
        open = eager_cadence(s, now, false);
    return open < 0 ? plain_interval(s, conf) : open;
}

bool window_expects(const struct source *s, int64_t now)
{
    bool seasonal = false;
    for (size_t i = 0; i < s->n_triggers; i++) {
        if (is_open(&s->triggers[i], now))
            return true;
        seasonal |= is_seasonal(&s->triggers[i]);
    }
    return !seasonal;
}

static bool never_by_itself(const struct source *s)
{
    for (size_t i = 0; i < s->n_triggers; i++)
        if (s->triggers[i].type != TRIGGER_MANUAL)
            return s->retired_at >= 0;
    return s->retired_at >= 0 || s->n_triggers > 0;
}

static void sooner(struct window_when *best, int64_t at, const char *because)
{
    if (best->at < 0 || at < best->at)
        *best = (struct window_when){at, because};
}

/* One interval after the last look, plus the jitter of that period. */
static int64_t after_interval(const struct source *s, int64_t last, int64_t seconds)
{
    int64_t ms = seconds * 1000;
    return last + ms + jitter(s, last / ms, ms / JITTER_PART);
}

/* The first look of a window. Late by a whole cadence, it makes good for looks that were missed. */
static void want_opening(const struct source *s, struct span w, int64_t cadence_ms, int64_t now,
                         struct window_when *best)
{
    int64_t at = w.opens + jitter(s, w.opens, cadence_ms / JITTER_PART);
    bool late = now >= w.closes || now - at > cadence_ms;
    sooner(best, at, late ? "catch-up" : "window");
}

/* When a seasonal trigger wants the next look after the one at `last`. */
static void want_season(const struct source *s, const struct trigger *t, int64_t last, int64_t now,
                        struct window_when *best)
{
    int64_t seconds = cadence(s, t), at = after_interval(s, last, seconds);
    struct span begun = span_begun(t, now), coming = span_coming(t, now);
    if (begun.opens >= 0 && last < begun.opens)
        want_opening(s, begun, seconds * 1000, now, best);
    else if (now < begun.closes && at < begun.closes)
        sooner(best, at, "window");
    if (coming.opens >= 0)
        want_opening(s, coming, seconds * 1000, now, best);
}

static void want_sweep(const struct source *s, int64_t last, struct window_when *best)
{
    if (s->sweep_days > 0 && !window_expects(s, last + s->sweep_days * DAY_MS))
        sooner(best, after_interval(s, last, s->sweep_days * (DAY_MS / 1000)), "sweep");
}

/* Doubles with every failure, spread over the whole of it: what failed together comes back apart. */
static struct window_when after_failure(const struct source *s, const struct check_state *st,
                                        const struct conf *conf)
{
    int64_t base = window_interval(s, conf, st->checked_at) * 1000;
    int64_t first = base < WINDOW_RETRY_S * 1000 ? base : WINDOW_RETRY_S * 1000;
    int64_t longest = base * WINDOW_BACKOFF_MAX, span = first;
    for (int64_t i = 0; i < st->failures && span < longest; i++)
        span *= 2;
    if (span > longest)
        span = longest;
    return (struct window_when){st->checked_at + first + jitter(s, st->checked_at, span - first),
                                "retry"};
}

struct window_when window_next(const struct source *s, const struct check_state *st,
                               const struct conf *conf, int64_t now)
{
    struct window_when best = {-1, "manual"};
    if (never_by_itself(s))
        return best;
    if (st->checked_at < 0)
        return (struct window_when){now, "first"};
    if (st->failures > 0)
        return after_failure(s, st, conf);
    if (s->n_triggers == 0)
        return (struct window_when){after_interval(s, st->checked_at, plain_interval(s, conf)),
                                    "interval"};
    for (size_t i = 0; i < s->n_triggers; i++) {
        const struct trigger *t = &s->triggers[i];
        if (t->type == TRIGGER_INTERVAL)
            sooner(&best, after_interval(s, st->checked_at, t->seconds), "interval");
        else if (is_seasonal(t))
            want_season(s, t, st->checked_at, now, &best);
    }
    want_sweep(s, st->checked_at, &best);
    return best;
}
