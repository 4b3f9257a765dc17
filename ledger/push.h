/* push: what providers tell of a source, taken in exactly once. The way from a delivery to
 * the inbox:
 *
 *   told before? ── same bytes ──▶ DUPLICATE     (nothing is written)
 *        │   └───── other bytes ─▶ CONFLICT      (quarantine: a row with both digests)
 *        ▼
 *   older than what its object was told of? ──▶ STALE (nothing is written)
 *        ▼
 *   ACCEPTED: a candidate, or the source is due at once; its id, its place in the order, the count
 *
 * Who gets the news: the source itself; of a listing the entry that the object is, else the listing
 * is looked at; of a template all its vintages are. What is said to be gone is looked at by the
 * scheduler, which tells a deletion from a slip (`gone_after` looks, over a day). After a gap the
 * event counts, and the scheduler looks at the source besides, and at the listing that names it:
 * what was lost stands there.
 *
 * Invariants
 *   1. All of an accepted event is written in the caller's one transaction.
 *   2. An id belongs to its source; it is kept until its provider sends it no more.
 *   3. Order, and a gap in it, is told by the provider's sequence alone, per source and object,
 *      never by a clock.
 *   4. (I12) No body, signature or secret comes here: digests, ids and names of objects do.
 *
 * push_take and push_confirm are intake's (INBOX role), the confirmations the scheduler's;
 * `freshet` shows.
 */
#ifndef FRESHET_LEDGER_PUSH_H
#define FRESHET_LEDGER_PUSH_H

#include "ledger/source.h"

#define PUSH_ID_MAX 256      /* bytes of an id, an object or a sequence as it is stored */
#define PUSH_CONFIRM_TRIES 8 /* of a confirmation, over an hour */
#define PUSH_CONFIRMS_MAX 16 /* open at once for a source */

enum push_end { PUSH_ACCEPTED, PUSH_DUPLICATE, PUSH_STALE, PUSH_CONFLICT, PUSH_ENDS };

struct push_event {
    struct str id;               /* PUSH_ID_MAX bytes at most, clean; likewise the next two */
    struct str object, sequence; /* "" for none */
    struct str version;          /* what tells this version of the object; "" for none */
    struct sha256 digest;        /* what tells a repeat from another event under the same id */
    struct str after;            /* what the sequence just before begins with; "" for not told */
    bool look;                   /* gone: for the scheduler */
    const char *confirm;         /* no news: a subscription wants this address fetched; NULL */
    int64_t keep_until;          /* how long the id is remembered */
};
/* detector: `webhook` or `event`. Inside a transaction; may be repeated in another one after
 * a failure. */
MUST_CHECK enum rc push_take(struct ledger *l, struct arena *a, const struct source *s,
                             const char *detector, const struct push_event *e, int64_t now,
                             enum push_end *ret, struct err *err);
/* Would push_take write nothing? Reads only, so that repeats wait for no lock. */
MUST_CHECK enum rc push_is_old(struct ledger *l, const struct source *s, const struct push_event *e,
                               bool *ret, enum push_end *ret_end, struct err *err);

/* A subscription of s wants url fetched. Inside a transaction. RC_FULL: too many are open. */
MUST_CHECK enum rc push_confirm(struct ledger *l, const struct source *s, const char *url,
                                int64_t now, struct err *err);
struct push_confirmation {
    int64_t no, src_no, attempts;
    char url[2048];
};
/* The one that is due, RC_NOT_FOUND when none is. */
MUST_CHECK enum rc push_confirm_next(struct ledger *l, int64_t now, struct push_confirmation *ret,
                                     struct err *err);
/* What became of it: next_at >= 0: another try then; else it ended. Transactions of their own. */
MUST_CHECK enum rc push_confirm_again(struct ledger *l, int64_t no, int64_t next_at,
                                      const char *detail, struct err *err);
MUST_CHECK enum rc push_confirm_end(struct ledger *l, int64_t no, bool done, const char *detail,
                                    int64_t now, struct err *err);

/* What was heard of a source, for people. Times -1 when absent. */
struct push_state {
    int64_t accepted, last_at, conflicts;
    char confirm[8]; /* open, done, failed; "" when no subscription asked */
    char confirm_detail[200];
    int64_t confirm_attempts, confirm_asked_at, confirm_next_at;
};
MUST_CHECK enum rc push_state_get(struct ledger *l, int64_t src_no, struct push_state *ret,
                                  struct err *err);

/* Every source with an adapter that is not retired. The source is valid during the call only.
 * WRITE role. */
MUST_CHECK enum rc push_sources(struct ledger *l, source_fn *fn, void *ctx, struct err *err);

/* Quarantine, newest first; src_no 0: of all sources. WRITE role. */
struct push_conflict {
    int64_t no, src_no, at, last_at, times;
    struct str event_id;
    struct sha256 first_sha, sha;
};
typedef enum rc push_conflict_fn(void *ctx, const struct push_conflict *c, struct err *err);
MUST_CHECK enum rc push_conflicts(struct ledger *l, int64_t src_no, int64_t max,
                                  push_conflict_fn *fn, void *ctx, struct err *err);
MUST_CHECK enum rc push_conflict_count(struct ledger *l, int64_t *ret, struct err *err);
/* A person has seen to it. RC_NOT_FOUND. Own transaction. */
MUST_CHECK enum rc push_conflict_drop(struct ledger *l, int64_t no, struct err *err);

/* Forgets ids and places whose time is over, some at a time. Own transaction when there are any.
 * WRITE role. */
MUST_CHECK enum rc push_forget(struct ledger *l, int64_t now, struct err *err);

#endif
