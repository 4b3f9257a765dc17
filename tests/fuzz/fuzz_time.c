/* fuzz_time: RFC 3339, the three HTTP dates, Retry-After.
 *
 * Properties
 *   1. What was refused left its output untouched.
 *   2. What was read is written and read back as the same time.
 *   3. Retry-After is -1 or between 0 and a day. */
#include "core/clock.h"
#include "core/fetch.h"
#include "tests/fuzz/fuzz_main.h"

#define UNTOUCHED INT64_MIN

static void check_rfc3339(struct str s)
{
    int64_t at = UNTOUCHED, again;
    char text[TIME_MAX];
    if (time_parse(s, &at) != RC_OK) {
        HOLDS(at == UNTOUCHED);
        return;
    }
    time_format(at, text);
    HOLDS(time_parse(str_of(text), &again) == RC_OK && again == at);
}

static void check_http(struct str s)
{
    int64_t at = UNTOUCHED, again;
    char text[TIME_MAX];
    if (time_parse_http(s, &at) != RC_OK) {
        HOLDS(at == UNTOUCHED);
        return;
    }
    time_http(at, text);
    HOLDS(time_parse_http(str_of(text), &again) == RC_OK && again == at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str s = {(const char *)data, n};
    clock_set(1782986400000);
    check_rfc3339(s);
    check_http(s);
    int64_t wait = fetch_retry_after(s, clock_now());
    HOLDS(wait >= -1 && wait <= DAY_MS);
    return 0;
}
