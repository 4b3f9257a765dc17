/* human: see the header. Pure. */
#include "cli/human.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *human_count(int64_t n, char out[HUMAN_MAX])
{
    char digits[24], *to = out;
    int len = snprintf(digits, sizeof digits, "%" PRId64, n < 0 ? -n : n);
    if (n < 0)
        *to++ = '-';
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}

const char *human_bytes(int64_t n, char out[HUMAN_MAX])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
    double v = (double)n;
    size_t u = 0;
    while (v >= 999.95 && u + 1 < sizeof units / sizeof *units) {
        v /= 1000;
        u++;
    }
    snprintf(out, HUMAN_MAX,
             u == 0   ? "%.0f %s"
             : v < 10 ? "%.2f %s"
                      : "%.1f %s",
             v, n == 1 ? "byte" : units[u]);
    return out;
}

const char *human_duration(int64_t ms, char out[HUMAN_MAX])
{
    int64_t s = (ms + 500) / 1000;
    if (ms < 59500)
        snprintf(out, HUMAN_MAX, "%.1f s", (double)ms / 1000);
    else if (s < 3600)
        snprintf(out, HUMAN_MAX, "%" PRId64 ":%02" PRId64, s / 60, s % 60);
    else
        snprintf(out, HUMAN_MAX, "%" PRId64 ":%02" PRId64 ":%02" PRId64, s / 3600, s / 60 % 60,
                 s % 60);
    return out;
}

const char *human_share(int64_t part, int64_t whole, char out[HUMAN_MAX])
{
    double pct = whole > 0 ? 100.0 * (double)part / (double)whole : 0;
    if (whole <= 0)
        snprintf(out, HUMAN_MAX, "-");
    else if ((pct >= 99.5 && part < whole) || (pct < 0.5 && part > 0))
        snprintf(out, HUMAN_MAX, "%.1f %%", pct > 99.9 ? 99.9 : pct < 0.1 ? 0.1 : pct);
    else
        snprintf(out, HUMAN_MAX, "%.0f %%", pct);
    return out;
}

const char *human_change(double pct, char out[HUMAN_MAX])
{
    bool none = pct > -0.005 && pct < 0.005;
    snprintf(out, HUMAN_MAX, none ? "%.2f %%" : "%+.2f %%", none ? 0 : pct);
    return out;
}
