/* stats: the numbers of an instance for its operator: all levels. WRITE role. Walks whole tables,
 * so it is for people who ask, not for monitors (those have /metrics).
 */
#ifndef FRESHET_LEDGER_STATS_H
#define FRESHET_LEDGER_STATS_H

#include "ledger/ledger.h"

/* Calls fn with each number, group by group ("sources", "public", 12); before those of a group once
 * without a name (NULL), as it may have none. */
typedef enum rc stats_fn(void *ctx, const char *group, const char *name, int64_t n,
                         struct err *err);
MUST_CHECK enum rc stats_each(struct ledger *l, stats_fn *fn, void *ctx, struct err *err);

/* From detection to promotion, of the newest 500 changes, in milliseconds; -1: there is none. */
struct stats_lag {
    int64_t p50, p95, changes;
};
MUST_CHECK enum rc stats_lag(struct ledger *l, struct stats_lag *ret, struct err *err);

#endif
