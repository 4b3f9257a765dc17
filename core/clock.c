/* clock: time, randomness, environment. Nothing else asks the system for them.
 *
 * Invariants
 *   1. clock_now is frozen by FRESHET_NOW or clock_set; clock_real and clock_mono never are.
 *   2. Calendar arithmetic is proleptic Gregorian in UTC and knows no zone, locale or leap second
 *      (a :60 that a text carries is the second after it).
 *   3. Under FRESHET_SEED every process draws the same numbers in the same order.
 *   4. uuid7 of one thread rises strictly as long as at_ms does not fall. Between threads ids of
 *      the same millisecond differ, but in no order: each thread counts for itself.
 * Called from everywhere, by any thread; clock_init and clock_set come before there is a
 * second one. */
#include "core/clock.h"

#include <stdatomic.h>
#include <errno.h>
#include <sys/random.h>

#define MS_MIN (-62167219200000LL) /* 0000-01-01, */
#define MS_MAX 253402300799999LL   /* 9999-12-31: the years that RFC 3339 can write */

static int64_t frozen_at = -1;
static bool seeded;
static _Atomic uint64_t seed_state; /* the committer of checks draws too (detectors/committer.h) */

static const char *const month_names[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
/* From Thursday, the weekday of 1970-01-01. */
static const char *const day_names[] = {"Thursday", "Friday",  "Saturday", "Sunday",
                                        "Monday",   "Tuesday", "Wednesday"};

/* ---- the clocks ------------------------------------------------------------------------------ */

const char *env_get(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bool env_set(const char *name, const char *value)
{
    return setenv(name, value, 1) == 0;
}

enum rc clock_init(struct err *err)
{
    const char *now = env_get("FRESHET_NOW"), *seed = env_get("FRESHET_SEED");
    int64_t at = -1, number = 0;
    if (now && (time_parse(str_of(now), &at) != RC_OK || at < 0))
        return err_set(err, RC_INVALID, "FRESHET_NOW",
                       "must be a time from 1970 on, like 2026-07-02T10:00:00Z");
    if (seed && str_to_i64(str_of(seed), &number) != RC_OK)
        return err_set(err, RC_INVALID, "FRESHET_SEED", "must be a whole number, like 42");
    frozen_at = at;
    seeded = seed != NULL;
    seed_state = (uint64_t)number;
    return RC_OK;
}

static int64_t read_clock(clockid_t id)
{
    struct timespec t = {0};
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t clock_now(void)
{
    return frozen_at >= 0 ? frozen_at : read_clock(CLOCK_REALTIME);
}

int64_t clock_real(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_mono(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_mono_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

void clock_set(int64_t ms)
{
    frozen_at = ms;
}

/* ---- the calendar ---------------------------------------------------------------------------- */

/* Days are counted in 400-year cycles of years that begin in March, so that the leap day is the
 * last of its year. */
#define CYCLE_DAYS 146097
#define CYCLE_TO_1970 719468 /* from 0000-03-01 to 1970-01-01 */

static int64_t floor_div(int64_t x, int64_t by)
{
    return x / by - (x % by < 0 ? 1 : 0);
}

static int64_t civil_days(int year, int month, int day)
{
    int64_t y = month <= 2 ? (int64_t)year - 1 : year;
    int64_t cycle = floor_div(y, 400), of_cycle = y - cycle * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return cycle * CYCLE_DAYS + of_cycle * 365 + of_cycle / 4 - of_cycle / 100 + of_year -
           CYCLE_TO_1970;
}

int64_t time_civil(int year, int month, int day)
{
    return civil_days(year, month, day) * DAY_MS;
}

void time_to_civil(int64_t ms, int *year, int *month, int *day)
{
    int64_t days = floor_div(ms, DAY_MS) + CYCLE_TO_1970;
    int64_t cycle = floor_div(days, CYCLE_DAYS), d = days - cycle * CYCLE_DAYS;
    int64_t y = (d - d / 1460 + d / 36524 - d / 146096) / 365;
    int64_t of_year = d - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * of_year + 2) / 153;
    *day = (int)(of_year - (153 * m + 2) / 5 + 1);
    *month = (int)(m < 10 ? m + 3 : m - 9);
    *year = (int)(y + cycle * 400 + (*month <= 2 ? 1 : 0));
}

/* ---- writing --------------------------------------------------------------------------------- */

struct parts {
    int year, month, day, hour, min, sec, ms;
};

static struct parts split(int64_t at)
{
    struct parts t = {0};
    at = at < MS_MIN ? MS_MIN : at > MS_MAX ? MS_MAX : at;
    int rest = (int)(at - floor_div(at, DAY_MS) * DAY_MS);
    time_to_civil(at, &t.year, &t.month, &t.day);
    t.hour = rest / 3600000;
    t.min = rest / 60000 % 60;
    t.sec = rest / 1000 % 60;
    t.ms = rest % 1000;
    return t;
}

/* The digits of v, n of them, at out. All texts have fixed places, and this is quicker than
 * printf: a page of the feed holds hundreds of times. */
static void put(char *out, int v, int n)
{
    while (n-- > 0) {
        out[n] = (char)('0' + v % 10);
        v /= 10;
    }
}

static void put_clock(char *out, const struct parts *t)
{
    put(out, t->hour, 2);
    put(out + 3, t->min, 2);
    put(out + 6, t->sec, 2);
}

void time_format(int64_t ms, char out[TIME_MAX])
{
    struct parts t = split(ms);
    memcpy(out, "0000-00-00T00:00:00.000Z", 25);
    put(out, t.year, 4);
    put(out + 5, t.month, 2);
    put(out + 8, t.day, 2);
    put_clock(out + 11, &t);
    put(out + 20, t.ms, 3);
}

void time_compact(int64_t ms, char out[TIME_MAX])
{
    struct parts t = split(ms);
    memcpy(out, "00000000T000000Z", 17);
    put(out, t.year, 4);
    put(out + 4, t.month, 2);
    put(out + 6, t.day, 2);
    put(out + 9, t.hour, 2);
    put(out + 11, t.min, 2);
    put(out + 13, t.sec, 2);
}

void time_date(int64_t ms, char out[TIME_MAX])
{
    time_format(ms, out);
    out[10] = 0;
}

void time_http(int64_t ms, char out[TIME_MAX])
{
    struct parts t = split(ms);
    int64_t days = civil_days(t.year, t.month, t.day);
    memcpy(out, "Ddd, 00 Mmm 0000 00:00:00 GMT", 30);
    memcpy(out, day_names[days - floor_div(days, 7) * 7], 3);
    put(out + 5, t.day, 2);
    memcpy(out + 8, month_names[t.month - 1], 3);
    put(out + 12, t.year, 4);
    put_clock(out + 17, &t);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Each taker cuts what it read from the front of s, and leaves s alone when it does not match. */
static bool take(struct str *s, struct str text)
{
    if (s->n == 0 || *s->p != *text.p || !str_starts(*s, text)) /* most names differ in the first */
        return false;
    *s = (struct str){s->p + text.n, s->n - text.n};
    return true;
}

static bool take_either(struct str *s, char a, char b)
{
    if (s->n == 0 || (s->p[0] != a && s->p[0] != b))
        return false;
    *s = (struct str){s->p + 1, s->n - 1};
    return true;
}

static bool take_digits(struct str *s, size_t n, int *ret)
{
    int v = 0;
    if (s->n < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s->p[i] < '0' || s->p[i] > '9')
            return false;
        v = v * 10 + (s->p[i] - '0');
    }
    *s = (struct str){s->p + n, s->n - n};
    *ret = v;
    return true;
}

static bool take_clock(struct str *s, struct parts *t)
{
    return take_digits(s, 2, &t->hour) && take(s, STR(":")) && take_digits(s, 2, &t->min) &&
           take(s, STR(":")) && take_digits(s, 2, &t->sec);
}

/* ".123456789": 1 to 9 digits, of which milliseconds are kept. */
static bool take_fraction(struct str *s, struct parts *t)
{
    int digit, scale = 100;
    size_t n = 0;
    if (!take(s, STR(".")))
        return true;
    for (; n < 9 && take_digits(s, 1, &digit); n++) {
        t->ms += digit * scale;
        scale /= 10;
    }
    return n > 0;
}

static bool take_offset(struct str *s, int64_t *ret_ms)
{
    int hour, min;
    if (take_either(s, 'Z', 'z')) {
        *ret_ms = 0;
        return true;
    }
    bool minus = s->n > 0 && s->p[0] == '-';
    if (!take_either(s, '+', '-') || !take_digits(s, 2, &hour) || !take(s, STR(":")) ||
        !take_digits(s, 2, &min) || hour > 23 || min > 59)
        return false;
    *ret_ms = (minus ? -1 : 1) * (hour * 3600000LL + min * 60000LL);
    return true;
}

static bool take_month(struct str *s, int *ret)
{
    for (int i = 0; i < 12; i++) {
        if (take(s, str_of(month_names[i]))) {
            *ret = i + 1;
            return true;
        }
    }
    return false;
}

static bool take_weekday(struct str *s, bool whole)
{
    for (size_t i = 0; i < ARRAY_LEN(day_names); i++) {
        struct str name = str_of(day_names[i]);
        if (take(s, whole ? name : (struct str){name.p, 3}))
            return true;
    }
    return false;
}

static int month_days(int year, int month)
{
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 ? (leap ? 29 : 28) : 30 + ((month + (month > 7)) & 1);
}

static bool join(const struct parts *t, int64_t *ret)
{
    if (t->month < 1 || t->month > 12 || t->day < 1 || t->day > month_days(t->year, t->month) ||
        t->hour > 23 || t->min > 59 || t->sec > 60)
        return false;
    int64_t at = time_civil(t->year, t->month, t->day) + t->hour * 3600000LL + t->min * 60000LL +
                 t->sec * 1000LL + t->ms;
    if (at > MS_MAX) /* the leap second of the last minute */
        return false;
    *ret = at;
    return true;
}

enum rc time_parse(struct str s, int64_t *ret)
{
    struct parts t = {0};
    int64_t at, offset;
    bool ok = take_digits(&s, 4, &t.year) && take(&s, STR("-")) && take_digits(&s, 2, &t.month) &&
              take(&s, STR("-")) && take_digits(&s, 2, &t.day) && take_either(&s, 'T', 't') &&
              take_clock(&s, &t) && take_fraction(&s, &t) && take_offset(&s, &offset) && s.n == 0;
    if (!ok || !join(&t, &at) || at - offset < MS_MIN || at - offset > MS_MAX)
        return RC_INVALID;
    *ret = at - offset;
    return RC_OK;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT" */
static bool imf_date(struct str s, struct parts *t)
{
    return take_weekday(&s, false) && take(&s, STR(", ")) && take_digits(&s, 2, &t->day) &&
           take(&s, STR(" ")) && take_month(&s, &t->month) && take(&s, STR(" ")) &&
           take_digits(&s, 4, &t->year) && take(&s, STR(" ")) && take_clock(&s, t) &&
           take(&s, STR(" GMT")) && s.n == 0;
}

/* "Sun Nov  6 08:49:37 1994" */
static bool asctime_date(struct str s, struct parts *t)
{
    if (!take_weekday(&s, false) || !take(&s, STR(" ")) || !take_month(&s, &t->month) ||
        !take(&s, STR(" ")))
        return false;
    if (!take_digits(&s, 2, &t->day) && !(take(&s, STR(" ")) && take_digits(&s, 1, &t->day)))
        return false;
    return take(&s, STR(" ")) && take_clock(&s, t) && take(&s, STR(" ")) &&
           take_digits(&s, 4, &t->year) && s.n == 0;
}

/* "Sunday, 06-Nov-94 08:49:37 GMT": the year has two digits. */
static bool rfc850_date(struct str s, struct parts *t)
{
    return take_weekday(&s, true) && take(&s, STR(", ")) && take_digits(&s, 2, &t->day) &&
           take(&s, STR("-")) && take_month(&s, &t->month) && take(&s, STR("-")) &&
           take_digits(&s, 2, &t->year) && take(&s, STR(" ")) && take_clock(&s, t) &&
           take(&s, STR(" GMT")) && s.n == 0;
}

/* RFC 9110, 5.6.7: what looks more than 50 years ahead is the last year past with these digits. */
static bool join_short_year(struct parts *t, int64_t *ret)
{
    int year, month, day;
    time_to_civil(clock_now(), &year, &month, &day);
    t->year += year - year % 100;
    if (t->year > year + 50)
        t->year -= 100;
    return join(t, ret);
}

enum rc time_parse_http(struct str s, int64_t *ret)
{
    struct parts t = {0};
    if (imf_date(s, &t))
        return join(&t, ret) ? RC_OK : RC_INVALID;
    t = (struct parts){0};
    if (asctime_date(s, &t))
        return join(&t, ret) ? RC_OK : RC_INVALID;
    t = (struct parts){0};
    return rfc850_date(s, &t) && join_short_year(&t, ret) ? RC_OK : RC_INVALID;
}

/* ---- randomness ------------------------------------------------------------------------------ */

/* splitmix64: a counter through a mixer. Good enough to repeat a run; never used for secrets
 * unless the operator asked for repeatable ones by setting FRESHET_SEED. */
static uint64_t seeded_next(void)
{
    const uint64_t step = 0x9e3779b97f4a7c15u;
    uint64_t z = atomic_fetch_add(&seed_state, step) + step;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void seeded_bytes(uint8_t *out, size_t n)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++) {
        if (i % 8 == 0)
            word = seeded_next();
        out[i] = (uint8_t)(word >> (i % 8 * 8));
    }
}

void rand_bytes(void *p, size_t n)
{
    uint8_t *out = p;
    if (seeded) {
        seeded_bytes(out, n);
        return;
    }
    while (n > 0) {
        ssize_t got = getrandom(out, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            /* A token made of anything else would be guessable. */
            fputs("freshet: the system gives no random bytes\n", stderr);
            abort();
        }
        out += got;
        n -= (size_t)got;
    }
}

uint64_t rand_below(uint64_t n)
{
    uint64_t v, spare = (UINT64_MAX % n + 1) % n; /* 2^64 mod n values at the top would be unfair */
    do
        rand_bytes(&v, sizeof v);
    while (v > UINT64_MAX - spare);
    return v % n;
}

/* RFC 9562: 48 bits of time, then a counter of 26 bits (12 in rand_a, 14 at the start of rand_b;
 * wide, as a frozen clock never moves on) that starts at random below its middle, then 48 random
 * bits: two threads that count alike still draw different ones. */
#define COUNTER_BITS 26

void uuid7(int64_t at_ms, char out[37])
{
    static _Thread_local int64_t last_at = -1, ms;
    static _Thread_local uint32_t counter;
    uint8_t b[16];
    if (at_ms != last_at) {
        last_at = ms = at_ms;
        counter = (uint32_t)rand_below(1u << (COUNTER_BITS - 1));
    } else if (++counter >> COUNTER_BITS) {
        ms++;
        counter = 0;
    }
    rand_bytes(b, sizeof b);
    for (int i = 0; i < 6; i++)
        b[i] = (uint8_t)((uint64_t)ms >> (40 - 8 * i));
    b[6] = (uint8_t)(0x70 | counter >> 22);
    b[7] = (uint8_t)(counter >> 14);
    b[8] = (uint8_t)(0x80 | (counter >> 8 & 0x3f));
    b[9] = (uint8_t)counter;
    char hex[33];
    hex_encode(b, sizeof b, hex);
    snprintf(out, 37, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

int64_t uuid7_time(const char *uuid)
{
    uint8_t b[6];
    char hex[13];
    int64_t ms = 0;
    if (strlen(uuid) != 36)
        return -1;
    snprintf(hex, sizeof hex, "%.8s%.4s", uuid, uuid + 9);
    if (hex_decode(str_of(hex), b, sizeof b) != RC_OK)
        return -1;
    for (size_t i = 0; i < sizeof b; i++)
        ms = ms << 8 | b[i];
    return ms;
}
