/* inbox: candidates between detectors and handler: claim under a lease, finish once.
 *
 * Invariants
 *   1. At most one leased candidate per source (a unique index holds it).
 *   2. Every lease has a larger fencing token than the one before; whoever finishes must show the
 *      token in force, so a worker that was stopped and continued cannot commit (RC_CONFLICT).
 *   3. A candidate leaves `leased` only to ready (retry), held, done or dead, always with a reason.
 */
#ifndef FRESHET_LEDGER_INBOX_H
#define FRESHET_LEDGER_INBOX_H

#include "ledger/check.h"

struct candidate {
    int64_t no, src_no;
    const char *event_id, *detector, *outcome, *version_hint, *etag;
    bool has_sha, unexpected;
    struct sha256 sha;
    int64_t detected_at, received_at, absorbed, attempts, lease_token;
    bool suspect;                        /* set by a claim only: see inbox_claim_next */
    const char *state, *reason, *result; /* "" when absent */
    int64_t next_attempt_at;
};

/* Leases the oldest ready candidate whose time has come and whose source is idle, and opens its
 * run (ledger row `pending`, or the held run that was approved): one commit. RC_NOT_FOUND: none.
 * ret_run receives the run id; ret_resumed tells that the run was held, approved and goes on. */
struct run_tags {
    const char *tool_version, *tool_commit, *rules_version, *policy_version;
};
MUST_CHECK enum rc inbox_claim(struct ledger *l, struct arena *a, const char *owner, int64_t now,
                               int64_t lease_ms, const struct run_tags *tags, struct candidate *ret,
                               char ret_run[37], bool *ret_resumed, struct err *err);
/* Would inbox_claim find one? A look without the lock. */
MUST_CHECK enum rc inbox_ready(struct ledger *l, int64_t now, bool *ret, struct err *err);
/* The same within the caller's transaction: whoever ends runs may begin the next by the same
 * commit. others: does the caller hold candidates? One that had INBOX_SUSPECT claims in a row
 * without an end is a suspect, and claimed only by who holds none: if it is what kills the workers,
 * those beside it would be taken for poison too. RC_NOT_FOUND as long as it is the oldest. */
#define INBOX_SUSPECT 3
MUST_CHECK enum rc inbox_claim_next(struct ledger *l, struct arena *a, const char *owner,
                                    int64_t now, int64_t lease_ms, const struct run_tags *tags,
                                    bool others, struct candidate *ret, char ret_run[37],
                                    bool *ret_resumed, struct err *err);
/* Gives back what was claimed and not begun: ready again, as if nobody had taken it. RC_CONFLICT
 * when the lease was lost. Own transaction. */
MUST_CHECK enum rc inbox_release(struct ledger *l, int64_t cand_no, int64_t token, struct err *err);
/* From a replay log: leases the candidate of this event for the run that it had.
 * Own transaction. */
MUST_CHECK enum rc inbox_claim_again(struct ledger *l, struct arena *a, const char *event,
                                     const char *run_id, int64_t now, const struct run_tags *tags,
                                     struct candidate *ret, bool *ret_resumed, struct err *err);
/* Gives a candidate up that killed its workers, with its replay row. Inside a transaction. */
MUST_CHECK enum rc inbox_poison_event(struct ledger *l, const char *event, int64_t now,
                                      struct err *err);
/* Expired leases, and those of an owner known to be dead, become ready again; their unfinished
 * runs fail and are rolled back. owner NULL: by time only. Own transaction when there is work. */
MUST_CHECK enum rc inbox_reclaim(struct ledger *l, const char *owner, int64_t now, int64_t *ret_n,
                                 struct err *err);
/* A sign of life: the lease holds until `until`. RC_CONFLICT when it was lost. Own transaction. */
MUST_CHECK enum rc inbox_renew(struct ledger *l, int64_t cand_no, int64_t token, int64_t until,
                               struct err *err);
/* What must be written together with the end of a run: called within its transaction after all
 * other rows; a failure undoes everything. */
typedef enum rc run_also_fn(void *ctx, struct ledger *l, struct err *err);

/* Ends a claimed run without effect, in one transaction:
 *   NOOP    nothing to do (reason e.g. SAME_BYTES); candidate done
 *   FAILED  deterministic failure; candidate done, result failed
 *   REJECTED  by a person; candidate done, result rejected
 *   RETRY   transient; candidate ready again at next_attempt_at, or dead when attempts are used up
 * *ret_dead tells so, to `also` as well. qa (JSON) may be empty; prov is the evidence bundle
 * (JSON), may be empty. */
enum inbox_end { INBOX_NOOP, INBOX_FAILED, INBOX_RETRY, INBOX_REJECTED };
struct inbox_finish {
    int64_t cand_no, src_no, lease_token;
    const char *run_id;
    enum inbox_end end;
    const char *reason; /* stable code */
    struct str qa, prov;
    int64_t next_attempt_at; /* RETRY */
    int64_t max_attempts;    /* RETRY */
    /* RETRY: the run was held and approved; it stays as it is, and goes on by the next try. */
    bool approved;
    run_also_fn *also; /* may be NULL */
    void *also_ctx;
};
MUST_CHECK enum rc inbox_finish(struct ledger *l, const struct inbox_finish *f, int64_t now,
                                bool *ret_dead, struct err *err);
/* Was the newest decision about a run that goes on after a hold a rejection? */
MUST_CHECK enum rc inbox_rejected(struct ledger *l, const char *run_id, bool *ret, struct err *err);
/* Ends the run of a change that was rejected (approval.h), unless a handler was faster. Inside the
 * caller's transaction. */
MUST_CHECK enum rc inbox_end_rejected(struct ledger *l, const char *event_id, int64_t now,
                                      struct err *err);

/* The bound of the inbox: RC_FULL when `max` candidates or more are open (ready or leased; what is
 * held waits for a person and does not count). Who brings something new asks before: intake answers
 * 503, the scheduler and `freshet check` begin no check. What is under way is taken in all the
 * same, so a bound may be passed by as much as that. One row is read, whatever the number.
 * INBOX role. */
MUST_CHECK enum rc inbox_room(struct ledger *l, int64_t max, struct err *err);

/* By its number; RC_NOT_FOUND. */
MUST_CHECK enum rc inbox_get(struct ledger *l, struct arena *a, int64_t no, struct candidate *ret,
                             struct err *err);
/* Numbers by state: ready, leased, held, done, dead; oldest ready received_at or -1. */
struct inbox_stats {
    int64_t ready, leased, held, done, dead, oldest_ready_at;
};
MUST_CHECK enum rc inbox_stats(struct ledger *l, struct inbox_stats *ret, struct err *err);
/* Earliest next_attempt_at of a ready candidate, -1 when none. */
MUST_CHECK enum rc inbox_next_at(struct ledger *l, int64_t *ret, struct err *err);
/* Is a candidate ready or leased that has these bytes? */
MUST_CHECK enum rc inbox_needs(struct ledger *l, const struct sha256 *sha, bool *ret,
                               struct err *err);
typedef enum rc candidate_fn(void *ctx, const struct candidate *c, struct err *err);
/* state "" for all; newest first. */
MUST_CHECK enum rc inbox_each(struct ledger *l, const char *state, int64_t max, candidate_fn *fn,
                              void *ctx, struct err *err);

/* What became of an event: promoted, noop, failed or rejected once it is done, else its state. */
struct inbox_fate {
    char name[16], reason[64]; /* reason "" when absent */
    bool open;                 /* a handler is at work on it, or would be at once */
};
MUST_CHECK enum rc inbox_fate(struct ledger *l, const char *event_id, int64_t now,
                              struct inbox_fate *ret, struct err *err);
/* What could not be taken in of a source at the last try, and is tried again.
 * RC_NOT_FOUND: nothing. */
struct inbox_waiting {
    char reason[64];
    int64_t attempts, next_at;
};
MUST_CHECK enum rc inbox_waiting(struct ledger *l, int64_t src_no, struct inbox_waiting *ret,
                                 struct err *err);
/* And of what the entries of a listing were given, since its event was taken in; nothing when the
 * event is not a listing's. */
struct inbox_entry {
    char source_id[80], event_id[48], outcome[32];
    struct inbox_fate fate;
};
typedef enum rc inbox_entry_fn(void *ctx, const struct inbox_entry *e, struct err *err);
MUST_CHECK enum rc inbox_entries(struct ledger *l, const char *event_id, int64_t now,
                                 inbox_entry_fn *fn, void *ctx, struct err *err);

#endif
