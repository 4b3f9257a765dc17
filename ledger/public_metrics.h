/* public_metrics: the numbers behind /metrics. READ role. Counts come from indexes that hold the
 * sources in trouble only (schema 003); none of them reads the rows of those in order.
 *
 * Invariants
 *   1. (I8) Restricted and sovereign sources are in no number here.
 */
#ifndef FRESHET_LEDGER_PUBLIC_METRICS_H
#define FRESHET_LEDGER_PUBLIC_METRICS_H

#include "ledger/health.h"
#include "ledger/ledger.h"

/* public_check_totals, in the order of the outcomes' names. Views are valid during the call. */
struct public_total {
    struct str outcome;
    int64_t checks, requests, http_200, http_304, bytes_in, bytes_saved;
};
typedef enum rc public_total_fn(void *ctx, const struct public_total *t, struct err *err);
MUST_CHECK enum rc public_totals(struct ledger *l, public_total_fn *fn, void *ctx, struct err *err);

/* Active sources by health. None is counted as overdue: that is told by the schedule's lag (role
 * "due" of public_beats), for an index over all dates would cost every check. */
MUST_CHECK enum rc public_health_counts(struct ledger *l, int64_t now, int64_t ret[HEALTH_COUNT],
                                        struct err *err);

/* What waits in the outbox, by consumer; oldest_at -1: nothing. And replays by how they ended. */
typedef enum rc public_outbox_fn(void *ctx, struct str kind, int64_t open, int64_t dead,
                                 int64_t oldest_at, struct err *err);
MUST_CHECK enum rc public_outbox(struct ledger *l, public_outbox_fn *fn, void *ctx,
                                 struct err *err);
typedef enum rc public_sum_fn(void *ctx, struct str name, int64_t n, struct err *err);
MUST_CHECK enum rc public_replays(struct ledger *l, public_sum_fn *fn, void *ctx, struct err *err);
/* Noise avoided by kind (twin.h). */
MUST_CHECK enum rc public_noise(struct ledger *l, public_sum_fn *fn, void *ctx, struct err *err);
/* Deliveries to /hooks by what became of them (push.h): accepted, conflict. */
MUST_CHECK enum rc public_pushes(struct ledger *l, public_sum_fn *fn, void *ctx, struct err *err);

/* Signs of life: role and time. */
typedef enum rc public_beat_fn(void *ctx, struct str role, int64_t at, struct err *err);
MUST_CHECK enum rc public_beats(struct ledger *l, public_beat_fn *fn, void *ctx, struct err *err);

#endif
