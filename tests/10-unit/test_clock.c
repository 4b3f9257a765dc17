/* clock: calendar, the texts of times, frozen time, seeded randomness, UUIDv7. */
#include "tests/10-unit/unit.h"

#include <pthread.h>
#include "core/clock.h"

static int64_t parse(const char *text)
{
    int64_t at = -77;
    assert_rc(time_parse(str_of(text), &at), RC_OK);
    return at;
}

static int64_t parse_http(const char *text)
{
    int64_t at = -77;
    assert_rc(time_parse_http(str_of(text), &at), RC_OK);
    return at;
}

static void known_days(void **state)
{
    (void)state;
    assert_int_equal(time_civil(1970, 1, 1), 0);
    assert_int_equal(time_civil(2000, 3, 1), 951868800000);
    assert_int_equal(time_civil(1969, 12, 31), -DAY_MS);
    assert_int_equal(time_civil(0, 1, 1), -62167219200000);
    assert_int_equal(time_civil(9999, 12, 31), 253402214400000);
}

/* Every day of 10,000 years, there and back, each one after the day before. */
static void every_day(void **state)
{
    (void)state;
    int64_t want = time_civil(0, 1, 1);
    for (int64_t end = time_civil(9999, 12, 31); want <= end; want += DAY_MS) {
        int y, m, d;
        time_to_civil(want, &y, &m, &d);
        assert_true(m >= 1 && m <= 12 && d >= 1 && d <= 31);
        assert_int_equal(time_civil(y, m, d), want);
        time_to_civil(want + DAY_MS - 1, &y, &m, &d);
        assert_int_equal(time_civil(y, m, d), want);
    }
}

static void writing(void **state)
{
    (void)state;
    char text[TIME_MAX];
    int64_t at = 1782986400123;
    time_format(at, text);
    assert_string_equal(text, "2026-07-02T10:00:00.123Z");
    time_compact(at, text);
    assert_string_equal(text, "20260702T100000Z");
    time_date(at, text);
    assert_string_equal(text, "2026-07-02");
    time_http(at, text);
    assert_string_equal(text, "Thu, 02 Jul 2026 10:00:00 GMT");
    time_http(784111777000, text);
    assert_string_equal(text, "Sun, 06 Nov 1994 08:49:37 GMT");
    time_format(-1, text);
    assert_string_equal(text, "1969-12-31T23:59:59.999Z");
    time_http(-DAY_MS, text);
    assert_string_equal(text, "Wed, 31 Dec 1969 00:00:00 GMT");
    time_format(INT64_MAX, text);
    assert_string_equal(text, "9999-12-31T23:59:59.999Z");
    time_format(INT64_MIN, text);
    assert_string_equal(text, "0000-01-01T00:00:00.000Z");
}

static void reading_rfc3339(void **state)
{
    (void)state;
    assert_int_equal(parse("2026-07-02T10:00:00Z"), 1782986400000);
    assert_int_equal(parse("2026-07-02t10:00:00z"), 1782986400000);
    assert_int_equal(parse("2026-07-02T10:00:00.123456789Z"), 1782986400123);
    assert_int_equal(parse("2026-07-02T10:00:00.5Z"), 1782986400500);
    assert_int_equal(parse("2026-07-02T05:00:00-05:00"), 1782986400000);
    assert_int_equal(parse("2026-07-02T15:30:00+05:30"), 1782986400000);
    assert_int_equal(parse("2026-07-02T10:00:00-00:00"), 1782986400000);
    assert_int_equal(parse("2024-02-29T00:00:00Z"), time_civil(2024, 2, 29));
    assert_int_equal(parse("2000-02-29T00:00:00Z"), time_civil(2000, 2, 29));
    assert_int_equal(parse("2016-12-31T23:59:60Z"), time_civil(2017, 1, 1));
    assert_int_equal(parse("0000-01-01T00:00:00Z"), time_civil(0, 1, 1));
}

static void refusing_rfc3339(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "2026-07-02",
                                      "2026-07-02T10:00:00",
                                      "2026-07-02 10:00:00Z",
                                      "2026-07-02T10:00Z",
                                      "2026-7-02T10:00:00Z",
                                      "26-07-02T10:00:00Z",
                                      "2026-00-02T10:00:00Z",
                                      "2026-13-02T10:00:00Z",
                                      "2026-07-00T10:00:00Z",
                                      "2026-04-31T10:00:00Z",
                                      "2026-02-29T10:00:00Z",
                                      "1900-02-29T10:00:00Z",
                                      "2026-07-02T24:00:00Z",
                                      "2026-07-02T10:60:00Z",
                                      "2026-07-02T10:00:61Z",
                                      "2026-07-02T10:00:00.Z",
                                      "2026-07-02T10:00:00.1234567890Z",
                                      "2026-07-02T10:00:00,5Z",
                                      "2026-07-02T10:00:00+0500",
                                      "2026-07-02T10:00:00+24:00",
                                      "2026-07-02T10:00:00+05:60",
                                      "2026-07-02T10:00:00ZZ",
                                      " 2026-07-02T10:00:00Z",
                                      "2026-07-02T10:00:00Z ",
                                      "-026-07-02T10:00:00Z",
                                      "+2026-07-02T10:00:00Z",
                                      "0000-01-01T00:00:00+00:01",
                                      "9999-12-31T23:59:59-00:01",
                                      "9999-12-31T23:59:60Z"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        int64_t at = -77;
        assert_rc(time_parse(str_of(bad[i]), &at), RC_INVALID);
        assert_int_equal(at, -77);
    }
    int64_t at = -77;
    assert_rc(time_parse((struct str){"2026-07-02T10:00:00Z", 19}, &at), RC_INVALID);
}

static void reading_http(void **state)
{
    (void)state;
    clock_set(time_civil(2026, 7, 2));
    assert_int_equal(parse_http("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777000);
    assert_int_equal(parse_http("Sunday, 06-Nov-94 08:49:37 GMT"), 784111777000);
    assert_int_equal(parse_http("Sun Nov  6 08:49:37 1994"), 784111777000);
    assert_int_equal(parse_http("Wed Nov 16 08:49:37 1994"), 784111777000 + 10 * DAY_MS);
    clock_set(-1);
}

/* RFC 9110: up to 50 years ahead is this century, beyond is the last. */
static void two_digit_years(void **state)
{
    (void)state;
    clock_set(time_civil(2026, 7, 2));
    assert_int_equal(parse_http("Monday, 02-Jul-76 00:00:00 GMT"), time_civil(2076, 7, 2));
    assert_int_equal(parse_http("Monday, 02-Jul-77 00:00:00 GMT"), time_civil(1977, 7, 2));
    clock_set(time_civil(2090, 1, 1));
    assert_int_equal(parse_http("Monday, 02-Jul-91 00:00:00 GMT"), time_civil(2091, 7, 2));
    clock_set(-1);
}

static void refusing_http(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "120",
                                      "2026-07-02T10:00:00Z",
                                      "Sun, 6 Nov 1994 08:49:37 GMT",
                                      "Sun, 06 Nov 1994 08:49:37",
                                      "Sun, 06 Nov 1994 08:49:37 PST",
                                      "Sun, 06 Nov 1994 08:49:37 +0000",
                                      "Sun, 06 Foo 1994 08:49:37 GMT",
                                      "Xxx, 06 Nov 1994 08:49:37 GMT",
                                      "Sun, 31 Nov 1994 08:49:37 GMT",
                                      "Sun, 06 Nov 1994 24:49:37 GMT",
                                      "Sun, 06 Nov 1994 08:49:37 GMT ",
                                      "Sun, 06-Nov-94 08:49:37 GMT",
                                      "Sunday, 06-Nov-1994 08:49:37 GMT",
                                      "Sun Nov 6 08:49:37 1994",
                                      "Sun Nov  6 08:49:37 94",
                                      "06 Nov 1994 08:49:37 GMT",
                                      "Fri, 31 Dec 9999 23:59:60 GMT"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        int64_t at = -77;
        assert_rc(time_parse_http(str_of(bad[i]), &at), RC_INVALID);
        assert_int_equal(at, -77);
    }
}

static void texts_read_back(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        char text[TIME_MAX];
        int64_t at = time_civil(0, 1, 1) + (int64_t)rand_below(253402300799999 + 62167219200000);
        time_format(at, text);
        assert_int_equal(parse(text), at);
        time_http(at, text);
        assert_int_equal(parse_http(text), at - ((at % 1000) + 1000) % 1000);
    }
}

static void environment(void **state)
{
    (void)state;
    struct err err = {0};
    unsetenv("FRESHET_SEED");
    setenv("FRESHET_NOW", "2031-01-01T00:00:00Z", 1);
    assert_rc(clock_init(&err), RC_OK);
    assert_int_equal(clock_now(), time_civil(2031, 1, 1));
    setenv("FRESHET_NOW", "tomorrow", 1);
    assert_rc(clock_init(&err), RC_INVALID);
    assert_string_equal(err.field, "FRESHET_NOW");
    setenv("FRESHET_NOW", "1969-12-31T23:59:59Z", 1);
    assert_rc(clock_init(&err), RC_INVALID);
    assert_int_equal(clock_now(), time_civil(2031, 1, 1));
    setenv("FRESHET_NOW", "", 1);
    setenv("FRESHET_SEED", "x", 1);
    assert_rc(clock_init(&err), RC_INVALID);
    assert_string_equal(err.field, "FRESHET_SEED");
    unsetenv("FRESHET_SEED");
    assert_rc(clock_init(&err), RC_OK);
    assert_true(clock_now() > time_civil(2020, 1, 1));
    assert_null(env_get("FRESHET_NOW"));
    unsetenv("FRESHET_NOW");
}

static void frozen_wall_running_mono(void **state)
{
    (void)state;
    clock_set(1000);
    int64_t mono = clock_mono();
    struct timespec pause = {0, 5000000};
    nanosleep(&pause, NULL);
    assert_int_equal(clock_now(), 1000);
    assert_true(clock_mono() - mono >= 5);
    clock_set(-1);
    assert_true(clock_now() > 1000);
}

static void seed_repeats(void **state)
{
    (void)state;
    struct err err = {0};
    uint8_t x[40], y[40], z[40];
    char u[37], v[37];
    setenv("FRESHET_SEED", "42", 1);
    assert_rc(clock_init(&err), RC_OK);
    rand_bytes(x, sizeof x);
    uuid7(5000, u);
    assert_rc(clock_init(&err), RC_OK);
    rand_bytes(y, sizeof y);
    uuid7(6000, v);
    assert_memory_equal(x, y, sizeof x);
    assert_string_equal(u + 14, v + 14);
    rand_bytes(z, sizeof z);
    assert_memory_not_equal(y, z, sizeof y);
    setenv("FRESHET_SEED", "-43", 1);
    assert_rc(clock_init(&err), RC_OK);
    rand_bytes(z, sizeof z);
    assert_memory_not_equal(y, z, sizeof y);
    unsetenv("FRESHET_SEED");
    assert_rc(clock_init(&err), RC_OK);
    rand_bytes(x, sizeof x);
    rand_bytes(y, sizeof y);
    assert_memory_not_equal(x, y, sizeof x);
}

/* Chi-squared of 7 faces, 70,000 throws, fixed seed: 6 degrees of freedom, 22.5 is p = 0.001. */
static void below_is_uniform(void **state)
{
    (void)state;
    struct err err = {0};
    int count[7] = {0};
    double chi = 0;
    setenv("FRESHET_SEED", "7", 1);
    assert_rc(clock_init(&err), RC_OK);
    for (int i = 0; i < 70000; i++) {
        uint64_t v = rand_below(7);
        assert_true(v < 7);
        count[v]++;
    }
    for (int i = 0; i < 7; i++)
        chi += (count[i] - 10000.0) * (count[i] - 10000.0) / 10000.0;
    assert_true(chi < 22.5);
    assert_int_equal(rand_below(1), 0);
    for (int i = 0; i < 100; i++)
        assert_true(rand_below((1ull << 63) + 1) <= 1ull << 63);
    unsetenv("FRESHET_SEED");
    assert_rc(clock_init(&err), RC_OK);
}

static void uuid_form(void **state)
{
    (void)state;
    char u[37];
    uuid7(0x0123456789ab, u);
    assert_memory_equal(u, "01234567-89ab-7", 15);
    assert_int_equal(strlen(u), 36);
    assert_non_null(strchr("89ab", u[19]));
    assert_true(u[8] == '-' && u[13] == '-' && u[18] == '-' && u[23] == '-');
}

/* Also far beyond the 4,096 ids that a counter of 12 bits would hold. */
static void uuid_rises_within_a_millisecond(void **state)
{
    (void)state;
    char last[37], u[37];
    uuid7(1782986400123, last);
    for (int i = 0; i < 100000; i++) {
        uuid7(1782986400123, u);
        assert_true(strcmp(u, last) > 0);
        memcpy(last, u, sizeof u);
    }
    uuid7(1782986400124, u);
    assert_true(strcmp(u, last) > 0);
}

#define IDS 50000

struct drawer {
    pthread_t thread;
    int64_t at; /* of its second half; the first is of the same millisecond in both */
    int fallen;
    char ids[IDS][37];
};

static pthread_barrier_t together;

static void *draw(void *ctx)
{
    struct drawer *d = ctx;
    pthread_barrier_wait(&together);
    for (int i = 0; i < IDS; i++) {
        uuid7(i < IDS / 2 ? 1782986400123 : d->at, d->ids[i]);
        d->fallen += i > 0 && strcmp(d->ids[i], d->ids[i - 1]) <= 0;
    }
    return NULL;
}

static void uuids_of_two_threads(void **state)
{
    (void)state;
    static struct drawer both[2];
    size_t i = 0, j = 0;
    pthread_barrier_init(&together, NULL, 2);
    for (size_t t = 0; t < 2; t++) {
        both[t].at = 1782986400124 + (int64_t)t;
        assert_int_equal(pthread_create(&both[t].thread, NULL, draw, &both[t]), 0);
    }
    for (size_t t = 0; t < 2; t++) {
        assert_int_equal(pthread_join(both[t].thread, NULL), 0);
        assert_int_equal(both[t].fallen, 0);
    }
    pthread_barrier_destroy(&together);
    while (i < IDS && j < IDS) { /* both are sorted */
        int order = strcmp(both[0].ids[i], both[1].ids[j]);
        assert_int_not_equal(order, 0);
        order < 0 ? i++ : j++;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_days),
        cmocka_unit_test(every_day),
        cmocka_unit_test(writing),
        cmocka_unit_test(reading_rfc3339),
        cmocka_unit_test(refusing_rfc3339),
        cmocka_unit_test(reading_http),
        cmocka_unit_test(two_digit_years),
        cmocka_unit_test(refusing_http),
        cmocka_unit_test(texts_read_back),
        cmocka_unit_test(environment),
        cmocka_unit_test(frozen_wall_running_mono),
        cmocka_unit_test(seed_repeats),
        cmocka_unit_test(below_is_uniform),
        cmocka_unit_test(uuid_form),
        cmocka_unit_test(uuid_rises_within_a_millisecond),
        cmocka_unit_test(uuids_of_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
