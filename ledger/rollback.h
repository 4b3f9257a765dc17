/* rollback: changes that an operator takes back: what may be, who asked, and what is blocked since.
 *
 * A rollback is a run of its own (I7): version + 1 with the bytes from before the change, or a
 * tombstone where there were none. The change that it takes back stays finalized and points to it.
 *
 *   ask --> open --> claim --> taken: a candidate `rollback` under lease; handler/job.c runs it
 *                      `----> refused: the head has moved on since it was asked for
 *
 * Invariants
 *   1. A change may be taken back while it is in force and the newest of its source that is. One that
 *      was taken back is not in force, and neither is the rollback that did it; a rollback that is head
 *      can itself be taken back, which puts its change in force again.
 *   2. What was taken back is blocked: a run with these bytes ends as ROLLED_BACK. A rollback of a
 *      rollback lifts the block of the one it takes back, and sets none.
 *   3. A rollback is claimed and its run opened in one transaction; whoever dies then leaves a
 *      candidate that goes on.
 * rollback_ask, _plan, _get and _each: INBOX role (intake asks). The rest is the handler's and the CLI's.
 */
#ifndef FRESHET_LEDGER_ROLLBACK_H
#define FRESHET_LEDGER_ROLLBACK_H

#include "ledger/inbox.h"
#include "ledger/request.h"

#define ROLLBACK_OUTCOME "rollback" /* of its candidate */
#define ROLLBACK_ID_MAX 48
#define ROLLBACK_REASON_MAX 1000 /* bytes; a sentence or two, kept forever */
#define ROLLBACK_FIRST_MAX 16    /* deltas named to be reverted first; `more` tells of others */
#define DELTA_ID_MAX 48

/* May the change be taken back now? */
enum rollback_verdict {
    ROLLBACK_READY,
    ROLLBACK_BEHIND, /* newer changes are in force: they go first */
    ROLLBACK_OVER    /* it was taken back already */
};
struct rollback_plan {
    enum rollback_verdict verdict;
    int64_t src_no;
    char run_id[37]; /* of the change */
    /* BEHIND: newest first. OVER: what took it back. */
    char first[ROLLBACK_FIRST_MAX][DELTA_ID_MAX];
    size_t n_first;
    bool more;
};
/* RC_NOT_FOUND when no finalized change has this delta. */
MUST_CHECK enum rc rollback_plan(struct ledger *l, const char *delta_id, struct rollback_plan *ret,
                                 struct err *err);
/* RC_OK when it may be, else RC_CONFLICT in words that name the deltas to revert first. */
MUST_CHECK enum rc rollback_allowed(const struct rollback_plan *p, struct err *err);

struct rollback_ask {
    const char *delta_id, *reason, *by;
    const struct token *token; /* NULL: the command line */
    struct str key, body;      /* Idempotency-Key ("" none) and the canonical request */
    const char *id;            /* of a replayed one; NULL: a new one */
};
/* Stores the request with its audit row. RC_CONFLICT as rollback_allowed. Own transaction. */
MUST_CHECK enum rc rollback_ask(struct ledger *l, const struct rollback_ask *ask, int64_t now,
                                char ret_id[ROLLBACK_ID_MAX], struct err *err);

struct rollback {
    int64_t no, src_no, created_at, ended_at;
    const char *id, *delta_id, *reason, *by;
    const char *state;    /* open, running, done, failed */
    const char *event_id; /* of the rollback's own change, "" before it has one */
    const char *detail;   /* why it failed, or "" */
};
MUST_CHECK enum rc rollback_get(struct ledger *l, struct arena *a, const char *id,
                                struct rollback *ret, struct err *err);
typedef enum rc rollback_fn(void *ctx, const struct rollback *r, struct err *err);
/* Newest first. */
MUST_CHECK enum rc rollback_each(struct ledger *l, int64_t max, rollback_fn *fn, void *ctx,
                                 struct err *err);

/* Is there one that rollback_claim would look at? */
MUST_CHECK enum rc rollback_waits(struct ledger *l, int64_t now, bool *ret, struct err *err);
/* Claims an open rollback whose source is idle as inbox_claim does. id NULL: one that a dead worker left
 * behind, else the oldest.
 * RC_NOT_FOUND when there is none. What may no longer be done is marked refused on the way. */
MUST_CHECK enum rc rollback_claim(struct ledger *l, struct arena *a, const char *id,
                                  const char *owner, int64_t now, int64_t lease_ms,
                                  const struct run_tags *tags, struct candidate *ret,
                                  char ret_run[37], struct err *err);

/* From its row in a replay log: the candidate that was made of a rollback. Own transaction. */
MUST_CHECK enum rc rollback_take_again(struct ledger *l, const char *id, const char *event,
                                       int64_t now, struct err *err);

/* What a claimed rollback shall do. */
struct rollback_order {
    struct rollback_plan plan;
    const char *delta_id, *reason, *by;
    int64_t version, size; /* of the bytes from before; version 0: there were none */
    struct sha256 sha;
    const char *media_type, *item_id; /* "" where version is 0 */
    const char *reverted_item_id;     /* of what is taken back; "" for a deletion */
    int64_t reverted_version;
};
MUST_CHECK enum rc rollback_order(struct ledger *l, struct arena *a, int64_t cand_no,
                                  struct rollback_order *ret, struct err *err);

/* Are these bytes of the source blocked? sha NULL: is its deletion? */
MUST_CHECK enum rc rollback_blocks(struct ledger *l, int64_t src_no, const struct sha256 *sha,
                                   bool *ret, struct err *err);
/* Lifts all blocks of a source; the next check reads the upstream anew. Own transaction. */
MUST_CHECK enum rc rollback_lift(struct ledger *l, int64_t src_no, int64_t now, int64_t *ret_n,
                                 struct err *err);

/* Within promote's transaction: run_id took the change of run `reverted` back; sha is what the head
 * was (NULL: a tombstone). */
MUST_CHECK enum rc rollback_done(struct ledger *l, const char *run_id, const char *reverted,
                                 int64_t src_no, const struct sha256 *sha, int64_t now,
                                 struct err *err);

#endif
