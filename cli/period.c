/* period: from a name to its first and last moment, in UTC. */
#include "cli/period.h"

#include "core/clock.h"

#define YEAR_MIN 1970
#define YEAR_MAX 9999

struct period period_quarter(int year, int q)
{
    struct period p = {.from = time_civil(year, 3 * q - 2, 1),
                       .until =
                           q == 4 ? time_civil(year + 1, 1, 1) : time_civil(year, 3 * q + 1, 1)};
    snprintf(p.name, sizeof p.name, "%04dQ%d", year, q);
    return p;
}

struct period period_year(int year)
{
    struct period p = {.from = time_civil(year, 1, 1), .until = time_civil(year + 1, 1, 1)};
    snprintf(p.name, sizeof p.name, "%04d", year);
    return p;
}

bool period_read(const char *text, bool quarter, int *ret_year, int *ret_quarter)
{
    struct str s = str_of(text);
    int64_t year, q = 0;
    if (s.n != (quarter ? 6 : 4) || str_to_i64((struct str){s.p, 4}, &year) != RC_OK)
        return false;
    if (quarter && ((s.p[4] != 'Q' && s.p[4] != 'q') ||
                    str_to_i64((struct str){s.p + 5, 1}, &q) != RC_OK || q < 1 || q > 4))
        return false;
    *ret_year = (int)year;
    *ret_quarter = (int)q;
    return year >= YEAR_MIN && year < YEAR_MAX;
}
