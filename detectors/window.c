/* window: everything that may want a look names a time, and the soonest counts. Pure. */
#include "detectors/window.h"
#include "core/clock.h"

/* Cadence inside a window, where the source names none. */
#define SECONDS_SEASON 86400 /* annual, redistricting */
#define SECONDS_CENSUS (7 * 86400)
#define JITTER_PART 10 /* of the interval: a thousand daily sources drift apart in some weeks */

/* ---- cadence --------------------------------------------------------------------------------- */

static int64_t cadence_s(const struct source *s, const struct trigger *t)
{
    if (s->poll_interval_s > 0)
        return s->poll_interval_s;
    if (t->type == TRIGGER_INTERVAL)
        return t->seconds;
    return t->type == TRIGGER_CENSUS ? SECONDS_CENSUS : SECONDS_SEASON;
}

/* The most eager of the triggers that are open at `at`, or else of all; -1 when there is none. */
static int64_t eager_s(const struct source *s, int64_t at, bool open_only)
{
    int64_t best = -1;
    for (size_t i = 0; i < s->n_triggers; i++) {
        const struct trigger *t = &s->triggers[i];
        if (t->type == TRIGGER_MANUAL || (open_only && trigger_open(t, at).closes < 0))
            continue;
        int64_t c = cadence_s(s, t);
        if (best < 0 || c < best)
            best = c;
    }
    return best;
}

/* Seconds between two looks, unstretched. */
static int64_t base_s(const struct source *s, const struct conf *conf, int64_t at)
{
    int64_t base = eager_s(s, at, true);
    if (base < 0)
        base = eager_s(s, at, false);
    if (base < 0)
        base = s->poll_interval_s > 0 ? s->poll_interval_s : conf->poll_interval_s;
    return base;
}

/* Has a window opened after `from`, up to `to`? */
static bool has_opened(const struct source *s, int64_t from, int64_t to)
{
    for (size_t i = 0; i < s->n_triggers; i++)
        if (trigger_is_seasonal(&s->triggers[i]) && trigger_begun(&s->triggers[i], to).opens > from)
            return true;
    return false;
}

int64_t window_interval(const struct source *s, const struct check_state *st,
                        const struct conf *conf, enum outcome o, int64_t last)
{
    int64_t now = st->checked_at, base = base_s(s, conf, now), force = st->interval_s;
    if (outcome_candidate(o) || last < s->updated_at || has_opened(s, last, now) ||
        !calendar_expects(s, now))
        return base;
    if (!outcome_failure(o))
        force = (force * 5 + 3) / 4; /* upwards, or a second would stay one */
    if (force > s->max_interval_s)
        force = s->max_interval_s;
    return force > base ? force : base;
}

/* ---- the next look --------------------------------------------------------------------------- */

/* What the wants below are weighed against each other with. */
struct plan {
    const struct source *s;
    uint64_t seed; /* of the jitter */
    int64_t last, now, stretched_ms;
    struct window_when best;
    bool opened, late; /* a window has since the last look; and that was a while ago */
};

/* FNV-1a. */
static uint64_t seed_of(const char *id)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *id; id++)
        h = (h ^ (unsigned char)*id) * 0x100000001b3u;
    return h;
}

/* Uniform in [0, room_ms]: the seed mixed with the period, the same on every machine. */
static int64_t jitter(const struct plan *p, int64_t period, int64_t room_ms)
{
    uint64_t h = p->seed ^ (uint64_t)period * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    h ^= h >> 31;
    return (int64_t)(h % ((uint64_t)room_ms + 1));
}

static int64_t jitter_room(int64_t ms)
{
    int64_t room = ms / JITTER_PART;
    return room < WINDOW_JITTER_MAX_S * 1000 ? room : WINDOW_JITTER_MAX_S * 1000;
}

static void sooner(struct plan *p, int64_t at, const char *because)
{
    if (p->best.at < 0 || at < p->best.at)
        p->best = (struct window_when){at, because};
}

static int64_t after_last(const struct plan *p, int64_t ms)
{
    return p->last + ms + jitter(p, p->last / ms, jitter_room(ms));
}

/* A window that opened after the last look wants one, even when it has closed again. */
static void want_opening(struct plan *p, const struct trigger *t)
{
    struct span w = trigger_coming(t, p->last);
    if (w.opens < 0)
        return;
    sooner(p, w.opens, "window");
    p->opened |= w.opens <= p->now;
    p->late |= p->now >= w.closes || p->now - w.opens > cadence_s(p->s, t) * 1000;
}

/* Shortly before a window closes, early enough to be done in time; -1 when the last look
 * will do. */
static int64_t closing_look(const struct plan *p, int64_t base_ms, int64_t closes)
{
    int64_t from = closes - 2 * jitter_room(base_ms);
    if (p->last + base_ms >= closes)
        return -1;
    if (from < p->last + base_ms)
        from = p->last + base_ms;
    return from + jitter(p, closes, (closes - from) / 2);
}

static void want_cadence(struct plan *p, const struct trigger *t)
{
    struct span w = trigger_open(t, p->last);
    if (w.closes < 0)
        return;
    int64_t base = cadence_s(p->s, t) * 1000;
    int64_t at = after_last(p, base > p->stretched_ms ? base : p->stretched_ms);
    if (at >= w.closes)
        at = closing_look(p, base, w.closes);
    if (at >= 0)
        sooner(p, at,
               t->type == TRIGGER_INTERVAL ? "interval"
               : p->now < w.closes         ? "window"
                                           : "catch-up");
}

/* Where a window is open by then, the sweep waits until it closes: it has looks of its own. */
static void want_sweep(struct plan *p)
{
    if (p->s->sweep_days <= 0)
        return;
    int64_t due = after_last(p, p->s->sweep_days * DAY_MS), at = due;
    for (size_t i = 0; i < p->s->n_triggers; i++) {
        int64_t closes = trigger_open(&p->s->triggers[i], due).closes;
        at = closes > at ? closes : at;
    }
    sooner(p, at, "sweep");
}

/* Doubles with every failure; the upper half is spread: what failed together comes back apart. */
static void want_retry(struct plan *p, const struct conf *conf, int64_t failures)
{
    int64_t base = base_s(p->s, conf, p->last) * 1000, longest = base * WINDOW_BACKOFF_MAX;
    int64_t wait = base < WINDOW_RETRY_S * 1000 ? base : WINDOW_RETRY_S * 1000;
    if (longest > DAY_MS)
        longest = DAY_MS;
    if (!calendar_expects(p->s, p->last) && p->s->sweep_days > 1)
        longest = p->s->sweep_days * DAY_MS;
    for (int64_t i = 0; i < failures && wait < longest; i++)
        wait *= 2;
    if (wait > longest)
        wait = longest;
    sooner(p, p->last + wait / 2 + jitter(p, p->last, wait / 2), "retry");
}

static void want_all(struct plan *p, const struct conf *conf, bool failed)
{
    const struct source *s = p->s;
    const struct trigger plain = {.type = TRIGGER_INTERVAL, .seconds = conf->poll_interval_s};
    bool seasonal = false;
    for (size_t i = 0; i < s->n_triggers; i++) {
        if (trigger_is_seasonal(&s->triggers[i]))
            want_opening(p, &s->triggers[i]);
        if (!failed)
            want_cadence(p, &s->triggers[i]);
        seasonal |= trigger_is_seasonal(&s->triggers[i]);
    }
    if (!failed && (seasonal || source_is_pushed(s)))
        want_sweep(p);
    if (!failed && s->n_triggers == 0 && !source_is_pushed(s))
        want_cadence(p, &plain);
}

static bool never_by_itself(const struct source *s, bool failed)
{
    if (source_is_unlisted(s))
        return true;
    if (failed && (source_is_entry(s) || *s->adapter))
        return s->retired_at >= 0;
    for (size_t i = 0; i < s->n_triggers; i++)
        if (s->triggers[i].type != TRIGGER_MANUAL)
            return s->retired_at >= 0;
    return s->retired_at >= 0 || s->n_triggers > 0;
}

struct window_when window_next(const struct source *s, const struct check_state *st,
                               const struct conf *conf, int64_t now)
{
    struct plan p = {.s = s,
                     .last = st->checked_at < now ? st->checked_at : now, /* a clock was ahead */
                     .now = now,
                     .best = {-1, "manual"}};
    if (never_by_itself(s, st->failures > 0))
        return p.best;
    if (st->checked_at < 0 && source_is_pushed(s))
        return (struct window_when){source_first_due(s, s->updated_at), "sweep"};
    if (st->checked_at < 0)
        return (struct window_when){now, "first"};
    p.seed = seed_of(s->id);
    p.stretched_ms =
        1000 * (st->interval_s < s->max_interval_s ? st->interval_s : s->max_interval_s);
    if (source_is_template(s))
        p.best = (struct window_when){calendar_next_vintage_at(s, p.last), "vintage"};
    else
        want_all(&p, conf, st->failures > 0);
    if (st->failures > 0)
        want_retry(&p, conf, st->failures);
    if (p.opened) /* whatever else is due as well */
        p.best.because = p.late ? "catch-up" : "window";
    return p.best;
}

const char *window_because(const struct source *s, const struct check_state *st,
                           const struct conf *conf, int64_t now)
{
    const struct window_when w = window_next(s, st, conf, now);
    bool asked = st->next_check_at >= 0 && st->next_check_at <= now && (w.at < 0 || w.at > now);
    return asked && *s->adapter ? "pushed" : w.because;
}
