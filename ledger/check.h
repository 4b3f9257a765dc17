/* check: what detectors read and write: state of a source, receipts, and the batch commit.
 *
 * Invariants
 *   1. (I3) check_commit writes receipt, state and candidate of each result in one transaction;
 *      a result that found something never advances the state without its candidate.
 *   2. A check writes the state only when nobody has since it was read. Else its receipt says so,
 *      what it found is dropped, and the source is due at once: two checks at a time, a declaration
 *      or a rollback under a check, cannot leave a state that is older than what was taken in, or
 *      bytes, times and levels of a declaration that is no longer in force.
 *   3. A receipt of "nothing new" never costs a sync of its own: results are committed in batches.
 */
#ifndef FRESHET_LEDGER_CHECK_H
#define FRESHET_LEDGER_CHECK_H

#include "ledger/source.h"
#include "ledger/tally.h"

#define CHECK_CURSOR_MAX 256 /* a date, a version, an event id; longer ones are kept as a digest */

/* source_state. Texts "" when absent, times -1. Fixed room, so that a check in flight is
 * one block. */
struct check_state {
    char etag[1024], last_modified[64], validator_url[2048];
    bool has_seen;
    /* What these bytes were like (detectors/shape.h), so what is expected next. */
    char seen_shape[16];
    struct sha256 seen_sha;
    int64_t seen_size;
    bool head_refused, date_doubted;
    int64_t etag_flaps, checks, since_audit, failures, gone_count, gone_since;
    int64_t checked_at, reached_at, verified_at, changed_at, interval_s, next_check_at;
    int64_t stream_down_at; /* check_state_get only: of its event stream; -1: up, or it has none */
    char refused[48]; /* check_state_get only: why its newest candidate was not taken in; "" else */
    int64_t heard, heard_at; /* check_state_get only: news its upstream told, and the last time */
    int64_t writes;          /* how often it was written when it was read: invariant 2 */
    char last_outcome[32], last_detail[256];
    char cursor[CHECK_CURSOR_MAX]; /* of a detector that reads more than validators */
    char breach[16];               /* that subscribers were told of (breach.h); "" when none */
    /* What came before seen_sha; same: a handler found that both say the same (twin.h). */
    bool has_other, other_same;
    struct sha256 other_sha;
    int64_t other_size;
    char other_etag[256], other_last_modified[64]; /* a longer ETag is not kept */
    bool other_moved; /* not stored: the lines above are to be written */
    bool other_met;   /* not stored: this check met the other form, and both changed places */
};
MUST_CHECK enum rc check_state_get(struct ledger *l, int64_t src_no, struct check_state *ret,
                                   struct err *err);
/* The same of a source that was added in this transaction, without reading it back. */
void check_state_fresh(const struct source *s, struct check_state *ret);

/* What was seen of a source (digest, validators, cursor, failures) is forgotten, inside the
 * caller's transaction: the next check finds it again, as new. due_at: when that is, unless the
 * source is retired; -1 leaves it as it was. */
MUST_CHECK enum rc check_forget(struct ledger *l, int64_t src_no, int64_t due_at, struct err *err);
/* The handler could not get the bytes of an entry that a listing names, or of a source that was
 * told to have changed: a failure like one of a check, and the source is looked at again at due_at,
 * although its triggers are manual. Nothing when it is not named any more, or retired. Inside the
 * caller's transaction. WRITE role. */
MUST_CHECK enum rc check_missed(struct ledger *l, int64_t src_no, enum outcome o,
                                const char *detail, int64_t now, int64_t due_at, struct err *err);
/* The handler has read the bytes of a source: the clocks move as after a check. Inside the caller's
 * transaction. WRITE role. */
MUST_CHECK enum rc check_reached(struct ledger *l, int64_t src_no, int64_t now, struct err *err);
/* A source and its state in one read, for a check. Inside ledger_read_begin it costs no lock. */
MUST_CHECK enum rc check_load(struct ledger *l, struct arena *a, int64_t src_no,
                              struct source *ret_source, struct check_state *ret_state,
                              struct err *err);

/* The URL of a source, cut at n: all that is needed to tell its host, for a tenth of check_load. */
MUST_CHECK enum rc check_url(struct ledger *l, int64_t src_no, char *out, size_t n,
                             struct err *err);

#define CHECK_UNSENT (-1)
#define HINT_DELETED "deleted" /* the version of a source that is gone for good */
/* One finished check: its receipt, the state after it, and the bytes it saw when it saw some. */
struct check_result {
    int64_t src_no;
    const char *source_id, *detector;
    enum level level; /* decides how precise the event id may be */
    int64_t started_at, ended_at;
    enum outcome outcome;
    char detail[256];
    int http, attempts;
    int end; /* enum fetch_end of the last request; CHECK_UNSENT: nothing was sent. Not stored */
    int64_t bytes_in, bytes_saved;
    const char *due_because; /* a literal: "interval", "catch-up", "requested", ... */
    int64_t request_no;      /* 0: none */
    bool unexpected;
    bool template; /* only its calendar was read (source_is_template) */
    /* Its host is left alone: nothing was sent, so nothing is known that was not before. A receipt
     * and the next date, no failure, and no check that cost a request. */
    bool spared;
    bool streaming;   /* its event stream was open when the check began */
    bool deleted;     /* gone, so often and so long that it counts: a candidate as well */
    const char *hint; /* a literal or in the owner's arena: what tells this version from others;
                             NULL: digest or validator */
    bool has_sha;     /* the body was read and digested */
    struct sha256 sha;
    struct check_state state; /* to be stored */
    char event_id[48];        /* out: of the candidate that was made or that absorbed it, else "" */
};
/* Results that become durable together, in a transaction of their own:
 *   check_begin ─▶ check_put each ─▶ check_end; check_abort instead when check_put fails.
 * check_put also keeps the check clocks of public_checks and the counters of requests. It changes a
 * result that was outrun (invariant 2): it is no more than that then, and withheld. */
struct check_batch {
    struct ledger *ledger;
    int64_t now;
    struct tally_batch tally;
};
MUST_CHECK enum rc check_begin(struct ledger *l, int64_t now, struct check_batch *ret,
                               struct err *err);
MUST_CHECK enum rc check_put(struct check_batch *b, struct check_result *r, struct err *err);
MUST_CHECK enum rc check_end(struct check_batch *b, struct err *err);
void check_abort(struct check_batch *b);
/* All of that for n results in a row. */
MUST_CHECK enum rc check_commit(struct ledger *l, struct check_result *results, size_t n,
                                int64_t now, struct err *err);

/* Does this result go to the inbox? */
bool check_found(const struct check_result *r);

/* Sources due at `now`, oldest first, at most `max`: calls fn with each number. */
typedef enum rc check_due_fn(void *ctx, int64_t src_no, int64_t due_at, struct err *err);
MUST_CHECK enum rc check_due(struct ledger *l, int64_t now, int64_t max, check_due_fn *fn,
                             void *ctx, struct err *err);
/* Those behind (after_at, after_no), the last one that was handed out: a walk in pages. */
MUST_CHECK enum rc check_due_after(struct ledger *l, int64_t now, int64_t after_at,
                                   int64_t after_no, int64_t max, check_due_fn *fn, void *ctx,
                                   struct err *err);
/* Every source that is not retired nor missing from its listing, by number; due_at is -1. fn only
 * collects: the read is open. */
MUST_CHECK enum rc check_active(struct ledger *l, check_due_fn *fn, void *ctx, struct err *err);
/* Those behind a number, at most `max`: a walk in pages. */
MUST_CHECK enum rc check_active_after(struct ledger *l, int64_t after_no, int64_t max,
                                      check_due_fn *fn, void *ctx, struct err *err);
/* Earliest next_check_at, -1 when nothing is scheduled. */
MUST_CHECK enum rc check_next_due(struct ledger *l, int64_t *ret, struct err *err);

/* Receipts of a source, newest first, for `source show` and the like. */
struct check_receipt {
    int64_t check_no, started_at;
    const char *outcome, *detail, *due_because;
    int http, attempts;
    int64_t bytes_in, bytes_saved;
};
typedef enum rc check_receipt_fn(void *ctx, const struct check_receipt *r, struct err *err);
MUST_CHECK enum rc check_receipts(struct ledger *l, int64_t src_no, int64_t max,
                                  check_receipt_fn *fn, void *ctx, struct err *err);

#endif
