/* rollback: changes that an operator takes back: what may be, who asked, and what is blocked since.
 *
 * A rollback is a run of its own (I7): version + 1 with the bytes from before the change, or a
 * tombstone where there were none. The change that it takes back stays finalized and points to it.
 *
 *   ask --> open --> claim --> taken: a candidate `rollback` under lease; handler/job.c runs it
 *                      `----> refused: the head has moved on since it was asked for
 *
 * Invariants
 *   1. A change may be taken back while it is in force and the newest of its source that is. One
 *      that was taken back is not in force, and neither is the rollback that did it; a rollback
 *      that is head can itself be taken back, which puts its change in force again.
 *   2. What was taken back is blocked: a run with these bytes ends as ROLLED_BACK, one with others
 *      of the same content as ROLLED_BACK_CONTENT. A rollback of a rollback lifts the block of the
 *      one it takes back, and sets none.
 *   3. Rollbacks of a source are claimed in the order of asking, the next when the one before
 *      has ended.
 *   4. A rollback is claimed and its run opened in one transaction; whoever dies then leaves a
 *      candidate that goes on.
 * rollback_ask, _lift, _plan, _first, _way, _get and _each: INBOX role (intake asks). The rest is
 * the handler's and the CLI's.
 */
#ifndef FRESHET_LEDGER_ROLLBACK_H
#define FRESHET_LEDGER_ROLLBACK_H

#include "ledger/inbox.h"
#include "ledger/request.h"

#define ROLLBACK_OUTCOME "rollback" /* of its candidate */
#define ROLLBACK_ID_MAX 48
#define ROLLBACK_REASON_MAX 1000 /* bytes; a sentence or two, kept forever */
#define ROLLBACK_NAMED_MAX 16    /* deltas that a plan names */
#define ROLLBACK_FIRST_MAX                                                                         \
    1000 /* of a list: what a person may still go through; `more` tells of others */
#define DELTA_ID_MAX 48
#define DELTA_PREFIX "dlt_" /* the id of its run follows */

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
    char first[ROLLBACK_NAMED_MAX][DELTA_ID_MAX];
    size_t n_first;
    bool more;
};
struct rollback_list {
    int64_t src_no;   /* whose all of them are */
    const char **ids; /* deltas, newest first */
    size_t n;
    bool more; /* than ROLLBACK_FIRST_MAX: the oldest are left out */
};
/* RC_NOT_FOUND when no finalized change has this delta. */
MUST_CHECK enum rc rollback_plan(struct ledger *l, const char *delta_id, struct rollback_plan *ret,
                                 struct err *err);
/* RC_OK when it may be, else RC_CONFLICT in words that name the deltas to revert first. */
MUST_CHECK enum rc rollback_allowed(const struct rollback_plan *p, struct err *err);

/* All that must be taken back before the change can be, as rollback_plan has it; none when it
 * is READY. */
MUST_CHECK enum rc rollback_first(struct ledger *l, struct arena *a, const char *delta_id,
                                  struct rollback_list *ret, struct err *err);
/* What is to be taken back, in this order, until the head is what the change made it; none when it
 * is. A change that was taken back comes again when what did it is taken back. */
MUST_CHECK enum rc rollback_way(struct ledger *l, struct arena *a, const char *delta_id,
                                struct rollback_list *ret, struct err *err);
/* The delta of a state that is named by it, or by its listing's manifest, which is named after the
 * same run. NULL: no memory. */
const char *rollback_delta(struct arena *a, const char *name);

struct rollback_ask {
    const char *delta_id, *reason, *by;
    bool to; /* the change is to stay: all that came after it goes, a rollback each */
    const struct token *token; /* NULL: the command line */
    struct str key, body;      /* Idempotency-Key ("" none) and the canonical request */
    const char *id; /* of a replayed one, which was allowed when it was asked; NULL: a new one */
};
/* Stores the request with its audit row. RC_CONFLICT as rollback_allowed. Own transaction. With
 * `to` the id is that of the last one, which is done when all are; "" when nothing is to
 * be done. */
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
/* Claims an open rollback whose source is idle as inbox_claim does. id NULL: one that a dead worker
 * left behind, else the oldest.
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
/* What validation told of the bytes that are blocked, newest first, at most ROLLBACK_BLOCKS_MAX:
 * who has other bytes of the same content finds it here. RC_GONE from fn ends it, and is RC_OK. */
#define ROLLBACK_BLOCKS_MAX                                                                        \
    100 /* each is a report to read; an operator has lifted older ones long since */
typedef enum rc rollback_qa_fn(void *ctx, struct str qa, struct err *err);
MUST_CHECK enum rc rollback_blocked_qa(struct ledger *l, int64_t src_no, rollback_qa_fn *fn,
                                       void *ctx, struct err *err);

struct rollback_lift {
    int64_t src_no;
    const char *by, *reason;   /* NULL: not told */
    const struct token *token; /* as of rollback_ask */
    struct str key, body;
};
/* Lifts all blocks of a source; the next check reads the upstream anew. Own transaction.
 * INBOX role. */
MUST_CHECK enum rc rollback_lift(struct ledger *l, const struct rollback_lift *ask, int64_t now,
                                 int64_t *ret_n, struct err *err);

/* Within promote's transaction: run_id took the change of run `reverted` back; sha is what the head
 * was (NULL: a tombstone). */
MUST_CHECK enum rc rollback_done(struct ledger *l, const char *run_id, const char *reverted,
                                 int64_t src_no, const struct sha256 *sha, int64_t now,
                                 struct err *err);

#endif
