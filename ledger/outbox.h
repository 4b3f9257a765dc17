/* outbox: what must still be told about a change, a row per consumer, written in the transaction
 * that promotes it.
 *
 * Invariants
 *   1. A row is there as long as its consumer has not succeeded: at least once, never lost.
 *   2. (run, kind) is the identity of what is told; it is the same in every attempt.
 *   3. Consumers do not wait for one another: each takes the rows of its kind.
 *   4. A row that failed OUTBOX_TRIES_MAX times is dead: it stays, is counted, and is not tried
 *      again until somebody revives it.
 * Who delivers: handler/outbox.h. WRITE role.
 */
#ifndef FRESHET_LEDGER_OUTBOX_H
#define FRESHET_LEDGER_OUTBOX_H

#include "ledger/source.h"

#define OUTBOX_TRIES_MAX 12 /* with waits of up to an hour each: about half a day */

/* Within a transaction. */
MUST_CHECK enum rc outbox_put(struct ledger *l, const char *run_id, const char *kind,
                              struct str body, int64_t now, struct err *err);

struct outbox_row {
    int64_t no, attempts, created_at;
    char run_id[37];
};
#define OUTBOX_ROWS_MAX 64
/* Those of its kind that are due, at most max (OUTBOX_ROWS_MAX), oldest first. */
MUST_CHECK enum rc outbox_next(struct ledger *l, const char *kind, int64_t now, size_t max,
                               struct outbox_row ret[OUTBOX_ROWS_MAX], size_t *ret_n,
                               struct err *err);
/* Earliest time that a row of any kind is due, -1 when none waits. */
MUST_CHECK enum rc outbox_next_at(struct ledger *l, int64_t *ret, struct err *err);
/* These were told. Own transaction. */
MUST_CHECK enum rc outbox_done(struct ledger *l, const int64_t *nos, size_t n, struct err *err);
/* It was not, and why; tried again at next_at, or dead (-1). Own transaction. */
MUST_CHECK enum rc outbox_failed(struct ledger *l, int64_t no, const char *why, int64_t next_at,
                                 int64_t now, struct err *err);
/* Dead rows are tried again at once. Own transaction. */
MUST_CHECK enum rc outbox_revive(struct ledger *l, int64_t now, int64_t *ret_n, struct err *err);

struct outbox_stats {
    const char *kind, *why;        /* why the last try of one failed, "" when none did */
    int64_t open, dead, oldest_at; /* -1: none is open */
};
typedef enum rc outbox_fn(void *ctx, const struct outbox_stats *s, struct err *err);
/* By kind, for the operator: all levels. */
MUST_CHECK enum rc outbox_each(struct ledger *l, outbox_fn *fn, void *ctx, struct err *err);
/* The same without withheld sources, and all other measures (telemetry.h), for /metrics (I8). Own
 * transaction. */
MUST_CHECK enum rc outbox_count(struct ledger *l, int64_t now, struct err *err);

/* The documents of a finalized run as a consumer needs them; RC_NOT_FOUND. JSON texts. */
struct outbox_run {
    const char *source_id, *title;
    enum level level;
    struct str detector, wal, manifest, delta, prov, entry;
};
MUST_CHECK enum rc outbox_run(struct ledger *l, struct arena *a, const char *run_id,
                              struct outbox_run *ret, struct err *err);
/* What may be told of a run that failed: url "" unless its source is public; RC_NOT_FOUND. */
struct outbox_failed_run {
    const char *source_id, *url, *reason, *at;
    enum level level;
};
MUST_CHECK enum rc outbox_failed_run(struct ledger *l, struct arena *a, const char *run_id,
                                     struct outbox_failed_run *ret, struct err *err);
/* RC_NOT_FOUND when this ledger has no such run. */
MUST_CHECK enum rc outbox_knows(struct ledger *l, const char *run_id, struct err *err);
/* Every finalized run, newest first, until fn says otherwise. */
typedef enum rc outbox_run_fn(void *ctx, const char *run_id, int64_t finalized_at, bool pending,
                              struct err *err);
MUST_CHECK enum rc outbox_each_run(struct ledger *l, outbox_run_fn *fn, void *ctx, struct err *err);

#endif
