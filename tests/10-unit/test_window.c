/* window: when a source is due next. W1… are the invariants of detectors/window.h. */
#include "tests/10-unit/unit.h"
#include "core/clock.h"
#include "detectors/window.h"

#define HOUR_MS 3600000LL
#define LATE_MS (WINDOW_JITTER_MAX_S * 1000LL)
static const struct conf conf = {.poll_interval_s = 300};

static struct source source(const char *id)
{
    return (struct source){.id = id,
                           .url = "https://upstream.example/x",
                           .detector = "etag",
                           .adapter = "",
                           .sweep_days = 0,
                           .retired_at = -1};
}

static struct source with(struct trigger t)
{
    struct source s = source("s");
    s.triggers[s.n_triggers++] = t;
    return s;
}

static struct trigger annual(int month, int through)
{
    return (struct trigger){.type = TRIGGER_ANNUAL, .month = month, .through = through};
}

static struct trigger years(enum trigger_type type, int a, int b)
{
    return (struct trigger){.type = type, .years = {a, b}, .n_years = b ? 2 : 1};
}

static struct trigger interval(int64_t seconds)
{
    return (struct trigger){.type = TRIGGER_INTERVAL, .seconds = seconds};
}

/* The answer right after a look at `last` that went well. */
static struct window_when after(const struct source *s, int64_t last)
{
    struct check_state st = {.checked_at = last};
    return window_next(s, &st, &conf, last);
}

/* The answer at `now`, the last look being at `last`. */
static struct window_when at(const struct source *s, int64_t last, int64_t now)
{
    struct check_state st = {.checked_at = last};
    return window_next(s, &st, &conf, now);
}

#define assert_when(w, low, high, why) is_when((w), (low), (high), (why), __LINE__)
static void is_when(struct window_when w, int64_t low, int64_t high, const char *why, int line)
{
    char got[TIME_MAX] = "never", from[TIME_MAX], to[TIME_MAX];
    if (w.at >= low && w.at <= high && strcmp(w.because, why) == 0)
        return;
    if (w.at >= 0)
        time_format(w.at, got);
    time_format(low, from);
    time_format(high, to);
    fail_msg("line %d: %s (%s), not %s .. %s (%s)", line, got, w.because, from, to, why);
}

static void first_look_is_at_once(void **state)
{
    (void)state;
    struct source s = source("s"), seasonal = with(annual(7, 7));
    int64_t now = time_civil(2026, 3, 1);
    assert_when(at(&s, -1, now), now, now, "first");
    assert_when(at(&seasonal, -1, now), now, now, "first");
}

static void intervals(void **state)
{
    (void)state;
    int64_t last = time_civil(2026, 3, 1);
    struct source s = source("s"); /* nothing said: the setting */
    assert_when(after(&s, last), last + 300000, last + 330000, "interval");
    s.poll_interval_s = 60;
    assert_when(after(&s, last), last + 60000, last + 66000, "interval");
    struct source t = with(interval(10));
    assert_when(after(&t, last), last + 10000, last + 11000, "interval");
    t.triggers[t.n_triggers++] = interval(5); /* the most eager one counts */
    assert_when(after(&t, last), last + 5000, last + 5500, "interval");
    t.poll_interval_s = 60; /* takes the place of both */
    assert_when(after(&t, last), last + 60000, last + 66000, "interval");
}

/* Whose upstream tells by itself is looked at by sweeps, and again while a look fails. */
static void told_is_swept_alone(void **state)
{
    struct source s = source("s");
    struct check_state never = {.checked_at = -1, .next_check_at = -1},
                       failed = {.checked_at = DAY_MS};
    (void)state;
    s.detector = "webhook";
    s.adapter = "github";
    assert_int_equal(window_next(&s, &never, &conf, DAY_MS).at, -1);
    s.sweep_days = 90;
    assert_int_equal(window_next(&s, &never, &conf, DAY_MS).at, 90 * DAY_MS); /* declared at 0 */
    assert_string_equal(after(&s, DAY_MS).because, "sweep");
    failed.failures = 1;
    assert_string_equal(window_next(&s, &failed, &conf, DAY_MS).because, "retry");
    /* Somebody told of a loss: due before its date, and not for a sweep. */
    never.next_check_at = DAY_MS;
    assert_string_equal(window_because(&s, &never, &conf, DAY_MS), "pushed");
    s.poll_interval_s = 60;
    assert_string_equal(after(&s, DAY_MS).because, "interval");
}

static void manual_is_never(void **state)
{
    (void)state;
    int64_t last = time_civil(2026, 3, 1);
    struct source s = with((struct trigger){.type = TRIGGER_MANUAL});
    s.sweep_days = 90;
    assert_int_equal(at(&s, -1, last).at, -1);
    assert_int_equal(after(&s, last).at, -1);
    struct check_state failed = {.checked_at = last, .failures = 3};
    assert_int_equal(window_next(&s, &failed, &conf, last).at, -1);
    s.url = "https://x.example/{year}.zip";
    assert_int_equal(after(&s, last).at, -1);
    s.triggers[s.n_triggers++] = interval(10); /* beside another trigger it forbids nothing */
    s.url = "";
    assert_when(after(&s, last), last + 10000, last + 11000, "interval");
    s.retired_at = last;
    assert_int_equal(after(&s, last).at, -1);
}

static void annual_season(void **state)
{
    (void)state;
    struct source s = with(annual(7, 10));
    int64_t july = time_civil(2026, 7, 1), late = DAY_MS / 10;
    /* before: when it opens; inside: daily; on the last day: when it opens next year */
    assert_when(after(&s, time_civil(2026, 3, 1)), july, july, "window");
    assert_when(after(&s, july - 1), july, july, "window");
    assert_when(after(&s, july), july + DAY_MS, july + DAY_MS + late, "window");
    int64_t inside = time_civil(2026, 8, 15);
    assert_when(after(&s, inside), inside + DAY_MS, inside + DAY_MS + late, "window");
    int64_t next = time_civil(2027, 7, 1);
    assert_when(after(&s, time_civil(2026, 10, 31)), next, next, "window");
    assert_when(after(&s, time_civil(2026, 11, 1)), next, next, "window");
    s.poll_interval_s = 3600; /* a cadence of its own */
    assert_when(after(&s, inside), inside + HOUR_MS, inside + HOUR_MS * 11 / 10, "window");
}

static void season_over_new_year(void **state)
{
    (void)state;
    struct source s = with(annual(9, 2));
    int64_t january = time_civil(2027, 1, 15);
    assert_true(calendar_expects(&s, january));
    assert_true(calendar_expects(&s, time_civil(2027, 2, 28) + DAY_MS - 1));
    assert_false(calendar_expects(&s, time_civil(2027, 3, 1)));
    assert_true(calendar_expects(&s, time_civil(2028, 2, 29)));
    assert_false(calendar_expects(&s, time_civil(2026, 9, 1) - 1));
    assert_true(calendar_expects(&s, time_civil(2026, 9, 1)));
    assert_when(after(&s, january), january + DAY_MS, january + DAY_MS * 11 / 10, "window");
    struct source december = with(annual(12, 12));
    assert_true(calendar_expects(&december, time_civil(2027, 1, 1) - 1));
    assert_false(calendar_expects(&december, time_civil(2027, 1, 1)));
    struct source always = with(annual(5, 4)); /* twelve months: opens anew each May */
    assert_true(calendar_expects(&always, time_civil(2027, 4, 30)));
    int64_t may = time_civil(2027, 5, 1);
    assert_when(after(&always, may - HOUR_MS), may, may, "window");
}

static void years_of_redistricting_and_census(void **state)
{
    (void)state;
    struct source r = with(years(TRIGGER_REDISTRICTING, 2032, 2031)); /* order is free */
    int64_t opens = time_civil(2031, 1, 1), tenth = DAY_MS / 10;
    assert_when(after(&r, time_civil(2026, 5, 5)), opens, opens, "window");
    struct source other = with(years(TRIGGER_REDISTRICTING, 2031, 2032));
    assert_when(after(&other, time_civil(2026, 5, 5)), opens, opens, "window");
    int64_t inside = time_civil(2032, 6, 1);
    assert_when(after(&r, inside), inside + DAY_MS, inside + DAY_MS + tenth, "window");
    assert_int_equal(after(&r, time_civil(2033, 1, 2)).at, -1);  /* over, and no sweep */
    assert_true(calendar_expects(&r, time_civil(2032, 12, 31))); /* a leap year is a day longer */
    struct source c = with(years(TRIGGER_CENSUS, 2030, 0));
    inside = time_civil(2030, 4, 1);
    assert_when(after(&c, inside), inside + 7 * DAY_MS, inside + 7 * DAY_MS + LATE_MS, "window");
}

/* Nobody has looked since it opened: due, also when it is long over. */
static void catch_up(void **state)
{
    (void)state;
    struct source s = with(annual(7, 7));
    int64_t july = time_civil(2026, 7, 1), last = time_civil(2026, 6, 1);
    assert_when(at(&s, last, july + DAY_MS / 2), july, july, "window");
    assert_when(at(&s, last, july + 9 * DAY_MS), july, july, "catch-up");
    assert_when(at(&s, last, time_civil(2026, 12, 1)), july, july, "catch-up");
    s.poll_interval_s = 50 * 86400; /* closed, though less than a cadence ago */
    assert_when(at(&s, last, time_civil(2026, 8, 2)), july, july, "catch-up");
    s.poll_interval_s = 0;
    /* two were missed: one look makes good for both */
    assert_when(at(&s, last, time_civil(2027, 12, 1)), july, july, "catch-up");
    assert_true(after(&s, time_civil(2027, 12, 1)).at == time_civil(2028, 7, 1));
    /* so was a sweep: the window is the better reason */
    struct source swept = s;
    swept.sweep_days = 10;
    assert_when(at(&swept, last, time_civil(2026, 6, 20)), last + 10 * DAY_MS,
                last + 10 * DAY_MS + LATE_MS, "sweep");
    assert_when(at(&swept, last, july), last + 10 * DAY_MS, last + 10 * DAY_MS + LATE_MS, "window");
    assert_when(at(&swept, last, time_civil(2026, 12, 1)), last + 10 * DAY_MS,
                last + 10 * DAY_MS + LATE_MS, "catch-up");
    /* the looks after the first were missed */
    last = july + 5 * DAY_MS;
    assert_when(at(&s, last, time_civil(2026, 12, 1)), last + DAY_MS, last + DAY_MS * 11 / 10,
                "catch-up");
}

/* W3: not the whole last cadence of a window goes by without a look. */
static void last_look_of_a_window(void **state)
{
    (void)state;
    struct source s = with(annual(7, 7));
    int64_t closes = time_civil(2026, 8, 1), next = time_civil(2027, 7, 1);
    for (int64_t left = 0; left < DAY_MS * 12 / 10; left += HOUR_MS / 4) {
        struct window_when w = after(&s, closes - 1 - left);
        if (left < DAY_MS)
            assert_when(w, next, next, "window");
        else
            assert_when(w, closes - 1 - left + DAY_MS, closes - 1, "window");
    }
    s.max_interval_s = 10 * 86400; /* stretched beyond the closing */
    struct check_state st = {.checked_at = closes - 5 * DAY_MS, .interval_s = 7 * 86400};
    assert_when(window_next(&s, &st, &conf, st.checked_at), closes - DAY_MS / 5,
                closes - DAY_MS / 10, "window");
}

static void sweeps(void **state)
{
    (void)state;
    struct source s = with(annual(7, 7));
    s.sweep_days = 90;
    int64_t last = time_civil(2026, 9, 1);
    assert_when(after(&s, last), last + 90 * DAY_MS, last + 90 * DAY_MS + LATE_MS, "sweep");
    last = time_civil(2026, 6, 1); /* the window comes before the sweep */
    int64_t july = time_civil(2026, 7, 1), august = time_civil(2026, 8, 1);
    assert_when(after(&s, last), july, july, "window");
    last = august - HOUR_MS; /* the last look of the window */
    assert_when(after(&s, last), last + 90 * DAY_MS, last + 90 * DAY_MS + LATE_MS, "sweep");
    s.sweep_days = 5; /* more often than the cadence: inside, the cadence counts */
    s.poll_interval_s = 60 * 86400;
    assert_when(after(&s, july), august, august, "sweep");
    s.triggers[s.n_triggers++] = interval(86400); /* always open: no sweep */
    assert_string_equal(after(&s, august).because, "interval");
}

/* W1: what is stored stays true. */
static void date_does_not_move(void **state)
{
    (void)state;
    struct source s[] = {with(annual(7, 8)), with(annual(11, 2)), with(interval(7200)),
                         with(years(TRIGGER_CENSUS, 2030, 0))};
    s[0].sweep_days = s[1].sweep_days = 90;
    s[1].triggers[s[1].n_triggers++] = years(TRIGGER_REDISTRICTING, 2028, 2029);
    for (size_t i = 0; i < ARRAY_LEN(s); i++) {
        for (int month = 1; month <= 36; month++) {
            int64_t last = time_civil(2026 + (month - 1) / 12, (month - 1) % 12 + 1, 9);
            for (int64_t now = last; now < last + 900 * DAY_MS; now += 13 * DAY_MS)
                assert_int_equal(at(&s[i], last, now).at, after(&s[i], last).at);
        }
    }
}

/* ---- failures: W4 ---------------------------------------------------------------------------- */

static struct window_when failing(const struct source *s, int64_t last, int64_t failures)
{
    struct check_state st = {.checked_at = last, .failures = failures};
    return window_next(s, &st, &conf, last);
}

static void failures_back_off(void **state)
{
    (void)state;
    struct source s = source("s"), quick = with(interval(2)), rare = with(interval(31536000));
    int64_t last = time_civil(2026, 3, 1);
    int64_t widest[] = {120000, 240000, 480000, 960000, 1920000, 2400000, 2400000};
    for (int n = 1; n <= 7; n++)
        assert_when(failing(&s, last, n), last + widest[n - 1] / 2, last + widest[n - 1], "retry");
    assert_when(failing(&quick, last, 1), last + 2000, last + 4000, "retry");
    assert_when(failing(&quick, last, 50), last + 8000, last + 16000, "retry");
    assert_when(failing(&quick, last, INT64_MAX / 2), last + 8000, last + 16000, "retry");
    assert_when(failing(&rare, last, 99), last + DAY_MS / 2, last + DAY_MS, "retry");
}

/* A bad day does not cost the window, and nobody sleeps into one. */
static void failures_and_windows(void **state)
{
    (void)state;
    struct source s = with(annual(7, 7)), weekly = with(years(TRIGGER_CENSUS, 2030, 0));
    int64_t july = time_civil(2026, 7, 1), may = time_civil(2026, 5, 1);
    assert_when(failing(&s, july, 1), july + 60000, july + 120000, "retry");
    assert_when(failing(&s, july, 99), july + DAY_MS / 2, july + DAY_MS, "retry");
    int64_t census = time_civil(2030, 1, 1);
    assert_when(failing(&weekly, census, 99), census + DAY_MS / 2, census + DAY_MS, "retry");
    assert_when(failing(&s, may, 99), may + DAY_MS / 2, may + DAY_MS, "retry"); /* no sweeps */
    s.sweep_days = 20;
    assert_when(failing(&s, may, 99), may + 10 * DAY_MS, may + 20 * DAY_MS, "retry");
    assert_when(failing(&s, may, 12), may + DAY_MS, may + 3 * DAY_MS, "retry");
    s.sweep_days = 900;
    assert_when(failing(&s, may, 99), july, july, "window");
    /* the years are over, and it failed on the last day: it is still wanted */
    struct source r = with(years(TRIGGER_REDISTRICTING, 2031, 0));
    int64_t end = time_civil(2032, 1, 1);
    assert_when(failing(&r, end - 1, 2), end, end + DAY_MS, "retry");
    assert_when(failing(&r, end, 3), end, end + DAY_MS, "retry");
}

/* ---- adaptive interval ----------------------------------------------------------------------- */

/* Looks at `now`, `last` being the look before; the interval in force moves on. */
static int64_t look(const struct source *s, struct check_state *st, int64_t now, enum outcome o)
{
    int64_t last = st->checked_at;
    st->checked_at = now;
    st->interval_s = window_interval(s, st, &conf, o, last);
    return st->interval_s;
}

static void stretching(void **state)
{
    (void)state;
    struct source s = with(interval(100));
    struct check_state st = {.checked_at = -1};
    assert_int_equal(look(&s, &st, 1000, OUTCOME_new), 100);
    assert_int_equal(look(&s, &st, 2000, OUTCOME_not_modified), 100); /* not asked for */
    s.max_interval_s = 200;
    int64_t want[] = {125, 157, 197, 200, 200};
    for (int i = 0; i < 5; i++)
        assert_int_equal(look(&s, &st, 3000 + i, i % 2 ? OUTCOME_unchanged : OUTCOME_not_modified),
                         want[i]);
    assert_when(window_next(&s, &st, &conf, 3004), 203004, 223004, "interval");
    assert_int_equal(look(&s, &st, 4000, OUTCOME_unavailable), 200); /* neither way */
    assert_int_equal(look(&s, &st, 5000, OUTCOME_changed), 100);
    assert_int_equal(look(&s, &st, 6000, OUTCOME_unavailable), 100);
    assert_int_equal(look(&s, &st, 7000, OUTCOME_validator_drift), 125);
    assert_int_equal(look(&s, &st, 8000, OUTCOME_silent_change), 100);
    s.max_interval_s = 50; /* shorter than the interval: it says nothing */
    assert_int_equal(look(&s, &st, 9000, OUTCOME_unchanged), 100);
    s = with(interval(1));
    s.max_interval_s = 3;
    assert_int_equal(look(&s, &st, 10000, OUTCOME_changed), 1);
    assert_int_equal(look(&s, &st, 11000, OUTCOME_unchanged), 2); /* it moves at all */
}

static void new_declaration_unstretches(void **state)
{
    (void)state;
    struct source s = with(interval(100));
    struct check_state st = {.checked_at = 1000, .interval_s = 800};
    s.max_interval_s = 1000;
    assert_int_equal(look(&s, &st, 2000, OUTCOME_unchanged), 1000);
    s.updated_at = 2500;
    assert_int_equal(look(&s, &st, 3000, OUTCOME_unchanged), 100);
    assert_int_equal(look(&s, &st, 4000, OUTCOME_unchanged), 125);
    s.max_interval_s = 110; /* a state from before the declaration counts only as far as allowed */
    st.interval_s = 900;
    assert_when(window_next(&s, &st, &conf, 4000), 114000, 125000, "interval");
}

static void opening_unstretches(void **state)
{
    (void)state;
    struct source s = with(annual(7, 7));
    struct check_state st = {.checked_at = time_civil(2026, 7, 10), .interval_s = 86400};
    s.max_interval_s = 8 * 86400;
    assert_int_equal(look(&s, &st, time_civil(2026, 7, 11), OUTCOME_unchanged), 108000);
    assert_int_equal(look(&s, &st, time_civil(2026, 7, 13), OUTCOME_unchanged), 135000);
    struct check_state failed = st; /* also when the first look fails */
    assert_int_equal(look(&s, &failed, time_civil(2027, 7, 1), OUTCOME_unavailable), 86400);
    assert_int_equal(look(&s, &st, time_civil(2027, 7, 1), OUTCOME_unchanged), 86400);
    assert_int_equal(look(&s, &st, time_civil(2027, 7, 2), OUTCOME_unchanged), 108000);
    assert_int_equal(look(&s, &st, time_civil(2027, 9, 2), OUTCOME_unchanged), 86400); /* outside */
    /* a quick season within slow years */
    s.triggers[s.n_triggers++] = years(TRIGGER_CENSUS, 2030, 0);
    s.max_interval_s = 30 * 86400;
    st = (struct check_state){.checked_at = time_civil(2030, 6, 1), .interval_s = 20 * 86400};
    assert_int_equal(look(&s, &st, time_civil(2030, 6, 30), OUTCOME_unchanged), 25 * 86400);
    int64_t july = time_civil(2030, 7, 1);
    assert_when(window_next(&s, &st, &conf, st.checked_at), july, july, "window");
    assert_int_equal(look(&s, &st, july, OUTCOME_unchanged), 86400);
}

/* ---- jitter: W2 ------------------------------------------------------------------------------ */

static void jitter_is_reproducible_and_small(void **state)
{
    (void)state;
    struct source a = with(interval(1000)), b = a, rare = with(interval(31536000));
    b.id = "t";
    bool other_source = false, other_period = false;
    int64_t first = after(&a, 0).at;
    for (int64_t i = 0; i < 200; i++) {
        int64_t last = i * 1000000, wait = after(&a, last).at - last;
        assert_int_equal(after(&a, last).at, last + wait);
        assert_in_range(wait, 1000000, 1100000);
        assert_in_range(after(&rare, last).at - last, 31536000000, 31536000000 + LATE_MS);
        other_source |= after(&b, last).at != last + wait;
        other_period |= wait != first;
    }
    assert_true(other_source && other_period);
    /* pinned: the same on every machine and in every version */
    assert_int_equal(first, 1059133);
}

/* n sources that were looked at together; after `looks` more, how many there are in each of the
 * `parts` of `span` (modulo span). */
static void spread(struct source s, int n, int looks, int64_t span, int parts, int *counts)
{
    int64_t start = time_civil(2026, 3, 1);
    for (int i = 0; i < n; i++) {
        char id[32];
        int64_t last = start;
        snprintf(id, sizeof id, "county-%d", i);
        s.id = id;
        for (int k = 0; k < looks; k++)
            last = after(&s, last).at;
        counts[(last - start) % span * parts / span]++;
    }
}

static void crowds_come_apart(void **state)
{
    (void)state;
    int counts[24] = {0};
    /* on the next day they fill the tenth evenly... */
    spread(with(interval(86400)), 8000, 1, DAY_MS / 10 + 1, 8, counts);
    for (int i = 0; i < 8; i++)
        assert_in_range(counts[i], 850, 1150);
    /* ...and in some months the day */
    memset(counts, 0, sizeof counts);
    spread(with(interval(86400)), 8000, 150, DAY_MS, 24, counts);
    for (int i = 0; i < 24; i++)
        assert_in_range(counts[i], 230, 440);
}

/* What failed together is spread over the upper half of the wait. */
static void backoff_is_spread(void **state)
{
    (void)state;
    int counts[8] = {0};
    for (int i = 0; i < 8000; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%d", i);
        struct source s = source(id);
        counts[(failing(&s, 0, 10).at - 1200000) * 8 / 1200001]++;
    }
    for (int i = 0; i < 8; i++)
        assert_in_range(counts[i], 850, 1150);
}

/* ---- expectations, for people, vintages ------------------------------------------------------ */

static void expectations(void **state)
{
    (void)state;
    struct source always = source("s"), manual = with((struct trigger){.type = TRIGGER_MANUAL});
    struct source mixed = with(annual(7, 7));
    int64_t may = time_civil(2026, 5, 1);
    assert_true(calendar_expects(&always, may));
    assert_true(calendar_expects(&manual, may));
    assert_false(calendar_expects(&mixed, may));
    mixed.triggers[mixed.n_triggers++] = (struct trigger){.type = TRIGGER_MANUAL};
    assert_false(calendar_expects(&mixed, may));
    mixed.triggers[mixed.n_triggers++] = interval(60);
    assert_true(calendar_expects(&mixed, may));
}

static void is_text(const struct source *s, int64_t now, const char *want)
{
    char text[CALENDAR_TEXT_MAX];
    calendar_text(calendar_window(s, now), now, text);
    assert_string_equal(text, want);
}

static void current_or_next(void **state)
{
    (void)state;
    struct source s = with(annual(9, 2)), never = with(interval(60)), plain = source("s");
    is_text(&s, time_civil(2027, 1, 5), "open until 2027-02-28");
    is_text(&s, time_civil(2028, 2, 29), "open until 2028-02-29");
    is_text(&s, time_civil(2027, 3, 1), "2027-09-01 to 2028-02-29");
    is_text(&never, time_civil(2027, 3, 1), "");
    is_text(&plain, time_civil(2027, 3, 1), "");
    s.triggers[s.n_triggers++] = years(TRIGGER_CENSUS, 2030, 0);
    is_text(&s, time_civil(2029, 12, 31), "open until 2030-02-28");
    is_text(&s, time_civil(2030, 2, 1), "open until 2030-12-31"); /* the one that closes last */
    s.retired_at = 5;
    is_text(&s, time_civil(2027, 1, 5), "");
    struct source over = with(years(TRIGGER_REDISTRICTING, 2021, 2022));
    is_text(&over, time_civil(2023, 1, 1), "");
    struct span w = calendar_window(&over, time_civil(2023, 1, 1));
    assert_int_equal(w.opens, -1);
    assert_int_equal(w.closes, -1);
}

static void vintages(void **state)
{
    (void)state;
    struct source s = with(annual(9, 2));
    assert_int_equal(calendar_vintage(&s, time_civil(2026, 9, 1)), 2026);
    assert_int_equal(calendar_vintage(&s, time_civil(2026, 9, 1) - 1), 2025);
    assert_int_equal(calendar_vintage(&s, time_civil(2027, 1, 31)), 2026);
    assert_true(calendar_next_vintage_at(&s, time_civil(2027, 1, 31)) == time_civil(2027, 9, 1));
    s.triggers[s.n_triggers++] = annual(3, 3); /* twice a year is still one vintage */
    assert_int_equal(calendar_vintage(&s, time_civil(2027, 3, 1)), 2027);
    assert_true(calendar_next_vintage_at(&s, time_civil(2027, 3, 1)) == time_civil(2028, 3, 1));
    struct source r = with(years(TRIGGER_REDISTRICTING, 2032, 2031));
    assert_int_equal(calendar_vintage(&r, time_civil(2030, 12, 31)), -1);
    assert_true(calendar_next_vintage_at(&r, 0) == time_civil(2031, 1, 1));
    assert_int_equal(calendar_vintage(&r, time_civil(2031, 1, 1)), 2031);
    assert_true(calendar_next_vintage_at(&r, time_civil(2031, 1, 1)) == time_civil(2032, 1, 1));
    assert_int_equal(calendar_vintage(&r, time_civil(2040, 1, 1)), 2032);
    assert_int_equal(calendar_next_vintage_at(&r, time_civil(2032, 1, 1)), -1);
    struct source plain = with(interval(60));
    assert_int_equal(calendar_vintage(&plain, time_civil(2026, 12, 31)), 2026);
    assert_true(calendar_next_vintage_at(&plain, time_civil(2026, 5, 5)) == time_civil(2027, 1, 1));
}

static void templates(void **state)
{
    (void)state;
    struct source s = with(annual(9, 2));
    s.sweep_days = 90;
    s.url = "https://x.example/tl_{yeer}.zip";
    assert_false(source_is_template(&s));
    s.url = "https://x.example/TIGER{year}/tl_{year}_us_county.zip";
    assert_true(source_is_template(&s));
    int64_t now = time_civil(2026, 10, 5), next = time_civil(2027, 9, 1);
    assert_when(at(&s, -1, now), now, now, "first");
    assert_when(after(&s, now), next, next, "vintage");
    assert_when(at(&s, now, time_civil(2030, 1, 1)), next, next, "vintage");
    assert_when(failing(&s, now, 1), now + 60000, now + 120000, "retry");
    assert_when(failing(&s, next - 1000, 3), next, next, "vintage");
    s.n_triggers = 0;
    next = time_civil(2027, 1, 1);
    assert_when(after(&s, now), next, next, "vintage");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_look_is_at_once),
        cmocka_unit_test(intervals),
        cmocka_unit_test(told_is_swept_alone),
        cmocka_unit_test(manual_is_never),
        cmocka_unit_test(annual_season),
        cmocka_unit_test(season_over_new_year),
        cmocka_unit_test(years_of_redistricting_and_census),
        cmocka_unit_test(catch_up),
        cmocka_unit_test(last_look_of_a_window),
        cmocka_unit_test(sweeps),
        cmocka_unit_test(date_does_not_move),
        cmocka_unit_test(failures_back_off),
        cmocka_unit_test(failures_and_windows),
        cmocka_unit_test(stretching),
        cmocka_unit_test(new_declaration_unstretches),
        cmocka_unit_test(opening_unstretches),
        cmocka_unit_test(jitter_is_reproducible_and_small),
        cmocka_unit_test(crowds_come_apart),
        cmocka_unit_test(backoff_is_spread),
        cmocka_unit_test(expectations),
        cmocka_unit_test(current_or_next),
        cmocka_unit_test(vintages),
        cmocka_unit_test(templates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
