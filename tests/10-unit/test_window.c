/* window: when a source is due next. W1… are the invariants of detectors/window.h. */
#include "tests/10-unit/unit.h"
#include "core/clock.h"
#include "detectors/window.h"

#define HOUR_MS 3600000LL
static const struct conf conf = {.poll_interval_s = 300};

static struct source source(const char *id)
{
    return (struct source){.id = id, .sweep_days = 0, .retired_at = -1};
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
    s.triggers[s.n_triggers++] = interval(10); /* beside another trigger it forbids nothing */
    assert_when(after(&s, last), last + 10000, last + 11000, "interval");
    s.retired_at = last;
    assert_int_equal(after(&s, last).at, -1);
}

static void annual_season(void **state)
{
    (void)state;
    struct source s = with(annual(7, 10));
    int64_t july = time_civil(2026, 7, 1), late = 24 * HOUR_MS / 10;
    /* before: when it opens; inside: daily; on the last day: when it opens next year */
    assert_when(after(&s, time_civil(2026, 3, 1)), july, july + late, "window");
    int64_t inside = time_civil(2026, 8, 15);
    assert_when(after(&s, inside), inside + DAY_MS, inside + DAY_MS + late, "window");
    int64_t next = time_civil(2027, 7, 1);
    assert_when(after(&s, time_civil(2026, 10, 31) + HOUR_MS), next, next + late, "window");
    assert_when(after(&s, time_civil(2026, 11, 1)), next, next + late, "window");
    s.poll_interval_s = 3600; /* a cadence of its own */
    assert_when(after(&s, inside), inside + HOUR_MS, inside + HOUR_MS * 11 / 10, "window");
}

static void season_over_new_year(void **state)
{
    (void)state;
    struct source s = with(annual(9, 2));
    int64_t january = time_civil(2027, 1, 15);
    assert_true(window_expects(&s, january));
    assert_true(window_expects(&s, time_civil(2027, 2, 28) + DAY_MS - 1));
    assert_false(window_expects(&s, time_civil(2027, 3, 1)));
    assert_false(window_expects(&s, time_civil(2026, 9, 1) - 1));
    assert_true(window_expects(&s, time_civil(2026, 9, 1)));
    assert_when(after(&s, january), january + DAY_MS, january + DAY_MS * 11 / 10, "window");
    struct source december = with(annual(12, 12));
    assert_true(window_expects(&december, time_civil(2027, 1, 1) - 1));
    assert_false(window_expects(&december, time_civil(2027, 1, 1)));
}

static void years_of_redistricting_and_census(void **state)
{
    (void)state;
    struct source r = with(years(TRIGGER_REDISTRICTING, 2032, 2031)); /* order is free */
    int64_t opens = time_civil(2031, 1, 1), tenth = DAY_MS / 10;
    assert_when(after(&r, time_civil(2026, 5, 5)), opens, opens + tenth, "window");
    int64_t inside = time_civil(2032, 6, 1);
    assert_when(after(&r, inside), inside + DAY_MS, inside + DAY_MS + tenth, "window");
    assert_int_equal(after(&r, time_civil(2033, 1, 2)).at, -1); /* over, and no sweep */
    struct source c = with(years(TRIGGER_CENSUS, 2030, 0));
    inside = time_civil(2030, 4, 1);
    assert_when(after(&c, inside), inside + 7 * DAY_MS, inside + 7 * DAY_MS * 11 / 10, "window");
}

/* Nobody has looked since it opened: due, also when it is long over. */
static void catch_up(void **state)
{
    (void)state;
    struct source s = with(annual(7, 7));
    int64_t july = time_civil(2026, 7, 1), last = time_civil(2026, 6, 1);
    assert_when(at(&s, last, july + DAY_MS / 2), july, july + DAY_MS / 10, "window");
    assert_when(at(&s, last, july + 9 * DAY_MS), july, july + DAY_MS / 10, "catch-up");
    assert_when(at(&s, last, time_civil(2026, 12, 1)), july, july + DAY_MS / 10, "catch-up");
    assert_true(at(&s, july + DAY_MS, time_civil(2026, 12, 1)).at > time_civil(2027, 6, 30));
}

static void sweeps(void **state)
{
    (void)state;
    struct source s = with(annual(7, 7));
    s.sweep_days = 90;
    int64_t last = time_civil(2026, 9, 1);
    assert_when(after(&s, last), last + 90 * DAY_MS, last + 99 * DAY_MS, "sweep");
    last = time_civil(2026, 6, 1); /* the window comes before the sweep */
    int64_t july = time_civil(2026, 7, 1);
    assert_when(after(&s, last), july, july + DAY_MS / 10, "window");
}

/* W3 */
static void failures_back_off(void **state)
{
    (void)state;
    struct source s = source("s");
    int64_t last = time_civil(2026, 3, 1);
    int64_t widest[] = {120000, 240000, 480000, 960000, 1920000, 2400000, 2400000};
    for (int n = 1; n <= 7; n++) {
        struct check_state st = {.checked_at = last, .failures = n};
        assert_when(window_next(&s, &st, &conf, last), last + 60000, last + widest[n - 1], "retry");
    }
    struct source quick = with(interval(2));
    struct check_state st = {.checked_at = last, .failures = 50};
    assert_when(window_next(&quick, &st, &conf, last), last + 2000, last + 16000, "retry");
    st.failures = INT64_MAX / 2;
    assert_when(window_next(&quick, &st, &conf, last), last + 2000, last + 16000, "retry");
}

/* The longest wait is really used, or a crowd would come back together. */
static void backoff_is_spread(void **state)
{
    (void)state;
    int64_t low = INT64_MAX, high = 0, last = time_civil(2026, 3, 1);
    for (int i = 0; i < 1000; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%d", i);
        struct source s = source(id);
        struct check_state st = {.checked_at = last, .failures = 10};
        int64_t wait = window_next(&s, &st, &conf, last).at - last;
        low = wait < low ? wait : low;
        high = wait > high ? wait : high;
    }
    assert_true(low >= 60000 && low < 100000 && high > 2350000 && high <= 2400000);
}

/* W1, W2 */
static void jitter_is_reproducible_and_small(void **state)
{
    (void)state;
    struct source a = with(interval(1000)), b = a;
    b.id = "t";
    bool other_source = false, other_period = false;
    int64_t first = after(&a, 0).at;
    for (int64_t i = 0; i < 200; i++) {
        int64_t last = i * 1000000, wait = after(&a, last).at - last;
        assert_int_equal(after(&a, last).at, last + wait);
        assert_in_range(wait, 1000000, 1100000);
        other_source |= after(&b, last).at != last + wait;
        other_period |= wait != first;
    }
    assert_true(other_source && other_period);
}

static void expectations(void **state)
{
    (void)state;
    struct source always = source("s"), manual = with((struct trigger){.type = TRIGGER_MANUAL});
    struct source mixed = with(annual(7, 7));
    int64_t may = time_civil(2026, 5, 1);
    assert_true(window_expects(&always, may));
    assert_true(window_expects(&manual, may));
    assert_false(window_expects(&mixed, may));
    mixed.triggers[mixed.n_triggers++] = interval(60);
    assert_true(window_expects(&mixed, may));
    assert_int_equal(window_interval(&mixed, &conf, may), 60);
    assert_int_equal(window_interval(&always, &conf, may), 300);
    assert_int_equal(window_interval(&manual, &conf, may), 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_look_is_at_once),
        cmocka_unit_test(intervals),
        cmocka_unit_test(manual_is_never),
        cmocka_unit_test(annual_season),
        cmocka_unit_test(season_over_new_year),
        cmocka_unit_test(years_of_redistricting_and_census),
        cmocka_unit_test(catch_up),
        cmocka_unit_test(sweeps),
        cmocka_unit_test(failures_back_off),
        cmocka_unit_test(backoff_is_spread),
        cmocka_unit_test(jitter_is_reproducible_and_small),
        cmocka_unit_test(expectations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
