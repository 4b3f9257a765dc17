/* replays: which replays were made or asked for, by whom, and how they ended; the sums of it
 * for /metrics.
 *
 * Invariants
 *   1. One that was asked for over HTTP is open until it ends; while it is, no other is
 *      taken (RC_CONFLICT).
 *   2. Whoever asks, and however: a window of more than REPLAYS_DAYS_MAX days needs the name of
 *      somebody else who approved it, and a name that is given is never that of who
 *      asks (replays_check).
 */
#ifndef FRESHET_LEDGER_REPLAYS_H
#define FRESHET_LEDGER_REPLAYS_H

#include "ledger/request.h"

#define REPLAYS_DAYS_MAX 90 /* of a window that nobody approved */
/* May `by` have this window done again? approved_by: NULL for nobody. RC_INVALID names
 * the field. */
MUST_CHECK enum rc replays_check(int64_t since, int64_t until, const char *by,
                                 const char *approved_by, struct err *err);

struct replay_done {
    int64_t since, until, src_no; /* src_no 0: all */
    const char *by, *approved_by; /* approved_by NULL: nobody had to */
    /* Of the ledger's own log: that gets a row. Another log must stay as it is, so it gets none. */
    bool own;
    bool good;
    int64_t rows, noop, applied, failed;
    const char *detail; /* why it ended early, or NULL */
};
/* Kept. Own transaction. WRITE role. */
MUST_CHECK enum rc replays_done(struct ledger *l, const struct replay_done *r, int64_t now,
                                struct err *err);

/* The replay row of one, from its times and names. Inside the caller's transaction. */
MUST_CHECK enum rc replays_log(struct ledger *l, const struct replay_done *r, const char *id,
                               int64_t now, struct err *err);

/* Over HTTP. */
#define REPLAYS_ID_MAX 48
struct replay_wish {
    int64_t since, until, src_no; /* src_no 0: all */
    const char *approved_by;      /* NULL: nobody */
    const struct token *by;
    struct str key, body; /* idempotency; body in canonical form */
};
/* RC_CONFLICT while another is open. Own transaction, with its audit row. INBOX role. */
MUST_CHECK enum rc replays_ask(struct ledger *l, const struct replay_wish *w, int64_t now,
                               char ret_id[REPLAYS_ID_MAX], struct err *err);

struct replay_request {
    int64_t no, since, until, src_no, created_at, finished_at;
    int64_t rows, noop, applied, failed;
    /* "" where there is none; state: open, done, failed */
    const char *id, *by, *approved_by, *state, *detail;
};
/* By id; the oldest open one; RC_NOT_FOUND. INBOX role. */
MUST_CHECK enum rc replays_get(struct ledger *l, struct arena *a, const char *id,
                               struct replay_request *ret, struct err *err);
MUST_CHECK enum rc replays_open(struct ledger *l, struct arena *a, struct replay_request *ret,
                                struct err *err);
/* Newest first. */
typedef enum rc replay_request_fn(void *ctx, const struct replay_request *r, struct err *err);
MUST_CHECK enum rc replays_each(struct ledger *l, int64_t max, replay_request_fn *fn, void *ctx,
                                struct err *err);
/* How an open one ended; what d says of who asked for what is not looked at. Own transaction.
 * WRITE role. */
MUST_CHECK enum rc replays_end(struct ledger *l, int64_t no, const struct replay_done *d,
                               int64_t now, struct err *err);

#endif
