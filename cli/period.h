/* period: quarters and years as people name them. Used by costs and report. */
#ifndef FRESHET_CLI_PERIOD_H
#define FRESHET_CLI_PERIOD_H

#include <stdbool.h>
#include <stdint.h>

struct period {
    char name[16];       /* "2026Q4", "2026" */
    int64_t from, until; /* the end is not part of it */
};
struct period period_quarter(int year, int q); /* q: 1 to 4 */
struct period period_year(int year);
/* "2026Q4": year and quarter; quarter 0 for "2026". */
bool period_read(const char *text, bool quarter, int *ret_year, int *ret_quarter);

#endif
