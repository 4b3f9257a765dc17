/* human: numbers as people read them. Pure; each returns out. */
#ifndef FRESHET_CLI_HUMAN_H
#define FRESHET_CLI_HUMAN_H

#include <stdint.h>

#define HUMAN_MAX 32

const char *human_count(int64_t n, char out[HUMAN_MAX]); /* 19,495 */
const char *human_bytes(int64_t n, char out[HUMAN_MAX]); /* 1.9 GB; powers of ten, as bills are */
const char *human_duration(int64_t ms, char out[HUMAN_MAX]); /* 0.8 s, 1:05, 2:03:04 */
/* part of whole: "95 %", "99.7 %" where a round number would claim too much, "-" of nothing. */
const char *human_share(int64_t part, int64_t whole, char out[HUMAN_MAX]);
/* "+1.25 %", "-0.30 %"; "0.00 %" of what rounds to nothing, whatever its sign. */
const char *human_change(double pct, char out[HUMAN_MAX]);

#endif
