/* clock: the only source of time, randomness and environment.
 *
 * Wall time is int64 milliseconds since 1970 UTC; -1 means "never". FRESHET_NOW (RFC 3339) sets
 * and freezes it, so that a run can be repeated byte for byte; FRESHET_SEED (a number) does the
 * same for randomness. Monotonic time always runs: time-outs must end even under a frozen clock.
 */
#ifndef FRESHET_CORE_CLOCK_H
#define FRESHET_CORE_CLOCK_H

#include <stdint.h>
#include "core/rc.h"
#include "core/str.h"

#define TIME_MAX 32 /* room for any text that time_format gives */
#define DAY_MS 86400000LL

/* Reads FRESHET_NOW and FRESHET_SEED; call once at start. RC_INVALID when they do not parse. */
MUST_CHECK enum rc clock_init(struct err *err);
int64_t clock_now(void);
int64_t clock_real(void);    /* never frozen: what other programs of this machine have */
int64_t clock_mono(void);    /* milliseconds, only differences mean something */
int64_t clock_mono_us(void); /* the same in microseconds */
void clock_set(int64_t ms);  /* tests: freezes at ms; -1 lets it run again */

/* "2026-07-02T10:00:00.123Z" */
void time_format(int64_t ms, char out[TIME_MAX]);
/* "20260702T100000Z", for ids */
void time_compact(int64_t ms, char out[TIME_MAX]);
/* "2026-07-02" */
void time_date(int64_t ms, char out[TIME_MAX]);
/* "Thu, 02 Jul 2026 10:00:00 GMT" */
void time_http(int64_t ms, char out[TIME_MAX]);
/* RFC 3339: offset or Z required, lower-case t and z taken, up to 9 fraction digits. */
MUST_CHECK enum rc time_parse(struct str s, int64_t *ret);
/* The three forms of HTTP-date. */
MUST_CHECK enum rc time_parse_http(struct str s, int64_t *ret);
/* Civil calendar, UTC. month 1..12, day 1..31. */
int64_t time_civil(int year, int month, int day);
void time_to_civil(int64_t ms, int *year, int *month, int *day);

void rand_bytes(void *p, size_t n);
/* Uniform in [0, n); n > 0. */
uint64_t rand_below(uint64_t n);
/* UUIDv7 text (37 bytes with NUL): time-ordered, so that runs sort by start. Unique in
 * all threads. */
void uuid7(int64_t at_ms, char out[37]);
/* The time that it was made for; -1 when it is none. */
int64_t uuid7_time(const char *uuid);

/* The environment, NULL when unset or empty. */
const char *env_get(const char *name);
/* For the programs that this one starts. False: memory ran out. */
MUST_CHECK bool env_set(const char *name, const char *value);

#endif
