/* decade: ten years of a mixed fleet, from 2026-01-01 to 2036-01-01, look by look.
 *
 * The fleet is driven as the scheduler drives it: a list of due dates, the earliest first, each
 * look giving the next date by window_next. Every date is computed a second time, and differently,
 * by almanac.h; the two may differ by the documented jitter only.
 * Schedulers are down for days, months or more than a year, sources fail and change at random
 * times, all from one seed. W1… are the invariants of detectors/window.h.
 */
#include "tests/10-unit/almanac.h"
#include "detectors/detector.h"
#include "detectors/window.h"

#define START 1767225600000LL /* 2026-01-01 */
#define END 2082758400000LL   /* 2036-01-01 */
#define LAG_MS 2000           /* from due to looked at, at most */
#define FLEET 416
#define INSTANCES 3

static const struct conf conf = {.poll_interval_s = 43200};

/* ---- chance, always the same ----------------------------------------------------------------- */

static uint64_t chance = 20260101;

static int64_t below(int64_t n)
{
    chance = chance * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((chance >> 33) % (uint64_t)n);
}

static int64_t pick(const int64_t *from, size_t n)
{
    return from[below((int64_t)n)];
}
#define PICK(...)                                                                                  \
    pick((const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* ---- the fleet ------------------------------------------------------------------------------- */

struct stretch {
    int64_t from, to;
};

struct member {
    struct source s;
    char id[32];
    struct check_state st;
    struct almanac a;
    int instance;
    struct stretch fails[6];
    int n_fails, n_changes, seen; /* changes seen so far */
    int64_t changes[40];
    int64_t *looks;
    size_t n_looks, room;
};
static struct member fleet[FLEET];
static struct stretch down[INSTANCES][128]; /* in order; ends with 0 */
static int64_t n_checks, n_windows, n_unexpected, started;

static void add(struct source *s, struct trigger t)
{
    s->triggers[s->n_triggers++] = t;
}

static struct trigger annual(int64_t month, int64_t months)
{
    return (struct trigger){.type = TRIGGER_ANNUAL,
                            .month = (int)month,
                            .through = (int)((month + months - 2) % 12 + 1)};
}

static struct trigger listed(enum trigger_type type, int a, int b, int c)
{
    return (struct trigger){.type = type, .years = {a, b, c}, .n_years = 1 + (b > 0) + (c > 0)};
}

static struct trigger every(int64_t seconds)
{
    return (struct trigger){.type = TRIGGER_INTERVAL, .seconds = seconds};
}

#define KINDS 16
static void declare(struct source *s, int kind)
{
    s->detector = "etag";
    const struct trigger manual = {.type = TRIGGER_MANUAL};
    const struct trigger census = listed(TRIGGER_CENSUS, 2030, 0, 0);
    const struct trigger lines = listed(TRIGGER_REDISTRICTING, 2032, 2031, 0);
    switch (kind) {
    case 0: break; /* nothing said, or poll_interval_s alone */
    case 1: add(s, annual(1 + below(12), 1)); break;
    case 2: add(s, annual(1 + below(6), 2 + below(5))); break;
    case 3: add(s, annual(8 + below(5), 6 + below(3))); break; /* over new year */
    case 4: add(s, annual(2 + below(11), 12)); break;          /* never closed */
    case 5: add(s, lines); break;
    case 6: add(s, listed(TRIGGER_REDISTRICTING, 2028, 2035, 2026)); break;
    case 7: add(s, census); break;
    case 8: add(s, every(PICK(3600, 21600, 86400, 604800, 8640000))); break;
    case 9: add(s, manual); break;
    case 10: add(s, annual(1 + below(12), 3)), add(s, census), add(s, lines); break;
    case 11: add(s, annual(2, 2)), add(s, annual(3, 1)), add(s, annual(9, 6)); break;
    case 12: add(s, every(PICK(172800, 2592000))), add(s, annual(1 + below(12), 2)); break;
    case 13: add(s, manual), add(s, annual(1 + below(12), 1 + below(12))); break;
    case 14: add(s, annual(9, 6)), add(s, annual(4, 1)); break;
    case 15: add(s, below(2) ? lines : every(86400)); break;
    }
    if (kind >= 14 || (kind == 0 && below(4) == 0))
        s->url = "https://upstream.example/{year}/counties.zip";
}

static int64_t any_time(void)
{
    return START + below(END / 1000 - START / 1000) * 1000;
}

static int in_order(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void enlist(struct member *m, int i)
{
    snprintf(m->id, sizeof m->id, "member-%d", i);
    m->s = (struct source){.id = m->id,
                           .url = "https://upstream.example/x",
                           .detector = "etag",
                           .adapter = "",
                           .retired_at = -1};
    declare(&m->s, i % KINDS);
    m->s.sweep_days = PICK(0, 1, 30, 90, 90, 400);
    m->s.poll_interval_s = PICK(0, 0, 0, 21600, 1036800, 8640000);
    m->s.max_interval_s = PICK(0, 0, 100000, 400000, 20000000);
    m->st = (struct check_state){.checked_at = -1, .reached_at = -1};
    m->instance = i / KINDS % INSTANCES;
    m->n_fails = below(2) ? 0 : 1 + (int)below(6);
    for (int k = 0; k < m->n_fails; k++) {
        m->fails[k].from = any_time();
        m->fails[k].to = m->fails[k].from + PICK(3600, 86400, 864000, 5184000) * 1000;
    }
    m->n_changes = (int)below(40);
    for (int k = 0; k < m->n_changes; k++)
        m->changes[k] = any_time();
    qsort(m->changes, (size_t)m->n_changes, sizeof m->changes[0], in_order);
    almanac_open(&m->a, &m->s, &conf);
}

/* Instance 0 is always up, 1 is often down for days, 2 for months. */
static void plan_downtime(void)
{
    int64_t at = START;
    for (int i = 0; i < 100; i++) {
        at += (20 + below(20)) * DAY_MS + below(DAY_MS);
        down[1][i] = (struct stretch){at, at + below(9 * DAY_MS)};
        at = down[1][i].to;
    }
    const struct stretch long_ones[] = {
        {time_civil(2026, 6, 20), time_civil(2026, 8, 15)},
        {time_civil(2027, 12, 15), time_civil(2028, 3, 5)},
        {time_civil(2030, 2, 1), time_civil(2030, 11, 30)},
        {time_civil(2031, 12, 1), time_civil(2033, 2, 1)},
        {time_civil(2034, 12, 31), time_civil(2035, 1, 2)},
    };
    memcpy(down[2], long_ones, sizeof long_ones);
}

/* The first moment from `at` on when the scheduler is up. */
static int64_t up_at(int instance, int64_t at)
{
    for (const struct stretch *g = down[instance]; g->to; g++)
        if (g->from <= at && at < g->to)
            return g->to;
    return at;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* The date is the soonest of all that is wanted; its word is that of one it can be, unless a window
 * has opened. */
static void compare(const struct member *m, struct window_when got, int64_t now)
{
    struct wants w;
    int64_t low = INT64_MAX, high = INT64_MAX;
    bool named = false;
    almanac_wants(&m->a, now, &w);
    for (int i = 0; i < w.n; i++) {
        low = w.all[i].low < low ? w.all[i].low : low;
        high = w.all[i].high < high ? w.all[i].high : high;
        named |= strcmp(w.all[i].because, got.because) == 0 && w.all[i].low <= got.at &&
                 got.at <= w.all[i].high;
    }
    if (w.opened)
        named = strcmp(w.opened, got.because) == 0;
    if (w.n == 0 ? got.at == -1 : got.at >= low && got.at <= high && named)
        return;
    char at[TIME_MAX], last[TIME_MAX], from[TIME_MAX], to[TIME_MAX];
    time_format(m->st.checked_at, last);
    time_format(got.at, at);
    time_format(low, from);
    time_format(high, to);
    fail_msg("%s (kind %d), looked at %s: next %s (%s), not %s .. %s", m->id,
             (int)((m - fleet) % KINDS), last, got.at < 0 ? "never" : at, got.because,
             w.n ? from : "never", w.n ? to : "");
}

/* What else is said about a source at a time. */
static void compare_facts(const struct member *m, int64_t now)
{
    int day = day_of(now), until = open_until(&m->a, now), next = -1;
    for (size_t i = 0; i < m->s.n_triggers; i++) {
        const struct marks *k = &m->a.marks[i];
        if (k->seasonal && k->next[day] >= 0 && (next < 0 || k->next[day] < next))
            next = k->next[day];
    }
    assert_int_equal(calendar_expects(&m->s, now), !is_outside(&m->a, now));
    struct span w = calendar_window(&m->s, now);
    if (until >= 0)
        assert_true(w.closes == day_ms(until) && w.opens <= now);
    else
        assert_true(next < 0 ? w.opens == -1 : w.opens == day_ms(next));
    assert_int_equal(calendar_vintage(&m->s, now), vintage_on(&m->a, day));
}

/* Outside windows only what has a reason to be there is looked at. */
static void compare_reason(const struct member *m, const char *because, int64_t now)
{
    static const char *const reasons[] = {"first", "sweep", "catch-up", "retry", "vintage"};
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        known |= strcmp(because, reasons[i]) == 0;
    if (is_outside(&m->a, now) && !known)
        fail_msg("%s is looked at outside its windows: %s", m->id, because);
}

/* ---- the ten years --------------------------------------------------------------------------- */

/* Due dates as a tournament: the winner is the earliest. */
#define LEAVES 512
static int64_t due[2 * LEAVES];

static void set_due(int i, int64_t at)
{
    int n = i + LEAVES;
    for (due[n] = at; n > 1; n /= 2)
        due[n / 2] = due[n] < due[n ^ 1] ? due[n] : due[n ^ 1];
}

static int earliest(void)
{
    int n = 1;
    while (n < LEAVES)
        n = due[2 * n] == due[n] ? 2 * n : 2 * n + 1;
    return n - LEAVES;
}

static enum outcome outcome_at(struct member *m, int64_t now)
{
    bool changed = m->st.reached_at < 0;
    for (int i = 0; i < m->n_fails; i++)
        if (m->fails[i].from <= now && now < m->fails[i].to)
            return OUTCOME_unavailable;
    for (; m->seen < m->n_changes && m->changes[m->seen] <= now; m->seen++)
        changed = true;
    return changed ? OUTCOME_changed : OUTCOME_not_modified;
}

static void note(struct member *m, int64_t now)
{
    if (m->n_looks == m->room) {
        m->room = m->room ? 2 * m->room : 64;
        m->looks = realloc(m->looks, m->room * sizeof m->looks[0]);
        assert_non_null(m->looks);
    }
    m->looks[m->n_looks++] = now;
    n_checks++;
}

/* When the date is acted on: the scheduler may be down, and is never quite in time. */
static void schedule(struct member *m, int64_t at)
{
    set_due((int)(m - fleet), at < 0 ? INT64_MAX : up_at(m->instance, at) + below(LAG_MS));
}

/* As detectors/look.c ends a check. */
static void look(struct member *m)
{
    int64_t now = clock_now(), last = m->st.checked_at;
    struct window_when was = window_next(&m->s, &m->st, &conf, now);
    assert_true(last < 0 || was.at == m->st.next_check_at); /* W1 */
    if (last >= 0)
        compare(m, was, now);
    compare_reason(m, was.because, now);
    compare_facts(m, now);
    enum outcome o = outcome_at(m, now);
    n_unexpected += o == OUTCOME_changed && last >= 0 && !calendar_expects(&m->s, now);
    state_settle(&m->st, o, "", now);
    m->st.interval_s = window_interval(&m->s, &m->st, &conf, o, last);
    almanac_look(&m->a, o, now);
    assert_int_equal(m->st.interval_s, m->a.force);
    struct window_when next = window_next(&m->s, &m->st, &conf, now);
    m->st.next_check_at = next.at;
    compare(m, next, now);
    note(m, now);
    schedule(m, next.at);
}

static void every_due_date(void **state)
{
    (void)state;
    for (int i = 0; i < LEAVES; i++)
        set_due(i, INT64_MAX);
    for (int i = 0; i < FLEET; i++) {
        enlist(&fleet[i], i);
        int64_t added = START + below(i % 5 ? DAY_MS : 1500 * DAY_MS);
        schedule(&fleet[i], window_next(&fleet[i].s, &fleet[i].st, &conf, added).at);
    }
    for (int64_t now = 0; due[1] < END; now = due[1]) {
        assert_true(due[1] >= now);
        clock_set(due[1]);
        look(&fleet[earliest()]);
    }
    for (int i = 0; i < FLEET; i++) /* the last answers hold as well */
        if (fleet[i].n_looks)
            compare_facts(&fleet[i], END);
}

/* ---- the sums -------------------------------------------------------------------------------- */

/* The number of looks before `at`. */
static size_t looks_before(const struct member *m, int64_t at)
{
    size_t low = 0, high = m->n_looks;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (m->looks[mid] < at)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool is_template(const struct member *m)
{
    return strchr(m->s.url, '{') != NULL;
}

static bool is_steady(const struct member *m)
{
    return m->instance == 0 && m->n_fails == 0 && m->n_looks > 0 && !is_template(m);
}

/* W3: the opening of a window, or the end of the downtime it fell into, is looked at, failing or
 * not; and a window that closes was looked at in its last cadence. */
static void no_window_without_a_look(void **state)
{
    (void)state;
    for (struct member *m = fleet; m < fleet + FLEET; m++) {
        for (size_t i = 0; i < m->s.n_triggers && m->n_looks && !is_template(m); i++) {
            const struct marks *k = &m->a.marks[i];
            for (int day = day_of(m->looks[0]); k->seasonal && day_ms(day) < END; day++) {
                int64_t opens = day_ms(day), latest = up_at(m->instance, opens) + LAG_MS;
                if (k->begun[day] != day || opens < m->looks[0] || latest >= END)
                    continue;
                size_t n = looks_before(m, opens);
                n_windows++;
                assert_true(n < m->n_looks && m->looks[n] <= latest);
                int64_t closes = day_ms(k->closes[day]);
                int64_t base = cadence_of(&m->s, &m->s.triggers[i]) * 1000;
                if (is_steady(m) && closes < END)
                    assert_true(m->looks[looks_before(m, closes) - 1] >= closes - base);
            }
        }
    }
}

/* As many looks as the open and the closed days of a year can hold, and no more. */
static void looks_per_year(void **state)
{
    (void)state;
    for (struct member *m = fleet; m < fleet + FLEET; m++) {
        for (int year = 2026; year < 2036 && is_steady(m); year++) {
            int64_t from = time_civil(year, 1, 1), to = time_civil(year + 1, 1, 1);
            double open = 0, closed = 0, edges = 2, sweep = (double)m->s.sweep_days;
            for (int day = day_of(from); day < day_of(to); day++) {
                double base = (double)base_of(&m->a, day_ms(day)) / 86400;
                open += is_outside(&m->a, day_ms(day)) ? 0 : 1 / base;
                closed += is_outside(&m->a, day_ms(day)) && sweep > 0 ? 1 / sweep : 0;
                for (size_t i = 0; i < m->s.n_triggers; i++)
                    edges += m->a.marks[i].seasonal && m->a.marks[i].begun[day] == day ? 3 : 0;
            }
            double n = (double)(looks_before(m, to) - looks_before(m, from));
            assert_true(n <= open + closed + edges);
            if (m->looks[0] < from && m->s.max_interval_s == 0)
                assert_true(n >= (open + closed) / 1.1001 - edges);
        }
    }
}

static void manual_is_left_alone(void **state)
{
    (void)state;
    for (int i = 9; i < FLEET; i += KINDS)
        assert_int_equal(fleet[i].n_looks, 0);
}

/* A template that is always seen to is looked at once per vintage. */
static void one_look_per_vintage(void **state)
{
    (void)state;
    for (struct member *m = fleet; m < fleet + FLEET; m++) {
        if (m->instance || m->n_fails || !m->n_looks || !is_template(m))
            continue;
        size_t n = 1;
        for (int day = day_of(m->looks[0]) + 1; day_ms(day) < END; day++)
            n += vintage_on(&m->a, day) != vintage_on(&m->a, day - 1);
        assert_int_equal(m->n_looks, n);
    }
}

static int setup(void **state)
{
    (void)state;
    started = clock_mono();
    almanac_walk();
    plan_downtime();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    print_message(
        "decade: %d sources, %lld checks, %lld windows, %lld unexpected changes, %.1f s\n", FLEET,
        (long long)n_checks, (long long)n_windows, (long long)n_unexpected,
        (double)(clock_mono() - started) / 1000);
    for (int i = 0; i < FLEET; i++) {
        free(fleet[i].a.marks);
        free(fleet[i].looks);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_due_date),       cmocka_unit_test(no_window_without_a_look),
        cmocka_unit_test(looks_per_year),       cmocka_unit_test(manual_is_left_alone),
        cmocka_unit_test(one_look_per_vintage),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
