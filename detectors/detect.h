/* detect: runs checks. The scheduler and `freshet check` both drive this; nobody else checks.
 *
 *   source + state ──▶ plan (what to ask) ──▶ fetch ──▶ judge (pure: answer → outcome) ──▶ batch
 *
 * Invariants
 *   1. Every check that was added ends with exactly one outcome and one receipt.
 *   2. (I3) Receipts, state and candidates are committed in batches, each result whole: what has
 *      ended waits at most DETECT_BATCH_MS, or until DETECT_BATCH others have ended.
 *   3. Failure is never "no change": state moves only on an answer that proves something.
 *   4. Memory is bounded by max_concurrency, not by the number of sources.
 *   5. No host has more checks under way than there is room left for others: one slow host takes
 *      half of the room at most, a second one half of what it left, and so on.
 *   6. A source whose stored declaration cannot be read fails by itself: its check is a failure
 *      with a receipt, named by number and as withheld as can be, and is made again in HOPELESS_MS.
 *   7. So does a result that the ledger refuses. When not even its failure can be recorded, it is
 *      dropped, and stays due (detect_on_dropped); the others of its batch are committed.
 *   8. No check begins with a state from before the commit of the last one of its source, nor with
 *      what was read more than DETECT_AHEAD_MS ago.
 */
#ifndef FRESHET_DETECTORS_DETECT_H
#define FRESHET_DETECTORS_DETECT_H

#include "core/instance.h"
#include "ledger/check.h"

/* One is committed while the next gathers. Between 250 and 1,000 no difference was measured; each
 * check of them takes some 10 KiB. */
#define DETECT_BATCH 250
#define DETECT_BATCH_MS 50

/* Sources of a list that come next are read while a batch is committed, at most so many. What was
 * read longer ago than this is read again: others may have changed it. */
#define DETECT_AHEAD (2 * DETECT_BATCH)
#define DETECT_AHEAD_MS 500

#define HOPELESS_MS DAY_MS /* somebody has to mend the declaration or the ledger first */

struct detect;
/* Called after the receipt is durable; s is the source of the result. Must not call back
 * in here. */
typedef void detect_fn(void *ctx, const struct source *s, const struct check_result *r);

MUST_CHECK enum rc detect_new(struct ledger *l, const struct instance *inst, detect_fn *done,
                              void *ctx, struct detect **ret, struct err *err);
/* Abandons what is under way; what has ended but is not committed is lost: detect_flush before. */
void detect_free(struct detect **d);
/* Is told of each result that was dropped (invariant 7), and why. */
typedef void detect_dropped_fn(void *ctx, const struct source *s, const struct check_result *r,
                               const struct err *why);
void detect_on_dropped(struct detect *d, detect_dropped_fn *fn);
/* How a source with an event stream learns how that stands, when a check of it begins: the id of
 * the newest event ("" for none), NULL when the source has no stream; *ret_open: is it open? */
typedef const char *detect_told_fn(void *ctx, int64_t src_no, bool *ret_open);
void detect_on_told(struct detect *d, detect_told_fn *fn);
/* May another check be added now without waiting (invariant 4)? */
bool detect_has_room(const struct detect *d);
size_t detect_room(const struct detect *d); /* how many? */
/* Is a check of this source under way, or ended but not yet committed? */
bool detect_has(const struct detect *d, int64_t src_no);
/* Adds one check, whatever its host has; drives the others until there is room. due_because is a
 * literal, NULL for what window.h says; request_no 0 for none. Of s only the number is used: it is
 * read from the ledger. */
MUST_CHECK enum rc detect_add(struct detect *d, const struct source *s, const char *due_because,
                              int64_t request_no, struct err *err);
/* Adds checks of as many of these sources, from the first, as there is room for, reading them in
 * one go, but not past too many whose host has its share; one that is under way already is left
 * out. *ret_n: how many of the list were gone through; *ret_full: how many of those were not added,
 * as their host has its share (invariant 5). They now stand first in the list, for another time.
 * Both are set also when an error is returned. */
MUST_CHECK enum rc detect_add_some(struct detect *d, int64_t *src_nos, size_t n,
                                   const char *due_because, int64_t request_no, size_t *ret_n,
                                   size_t *ret_full, struct err *err);
/* Drives for at most wait_ms and commits what is due to be committed. *ret_open: not yet
 * ended and committed. */
MUST_CHECK enum rc detect_drive(struct detect *d, int wait_ms, size_t *ret_open, struct err *err);
/* Says whether more will be added soon. While not (true) the last batch does not wait
 * for company. */
void detect_rush(struct detect *d, bool on);
/* Commits every check that has ended, now. */
MUST_CHECK enum rc detect_flush(struct detect *d, struct err *err);
/* Drives until every check has ended and is committed. */
MUST_CHECK enum rc detect_finish(struct detect *d, struct err *err);
/* Clears the spool of what dead processes left, and of files that nobody came for
 * since `before`. */
void detect_sweep(struct detect *d, int64_t before);
/* Ends detect_drive's wait when fd becomes readable. */
void detect_wake_fd(struct detect *d, int fd);

struct look_step; /* detectors/look.h */
typedef void detect_trace_fn(void *ctx, const struct look_step *s);
/* Shows fn every request and what was made of its answer, for `check --explain`. */
void detect_trace(struct detect *d, detect_trace_fn *fn, void *ctx);
/* Lets the checks from now on pass with less than a tenth of what was there, for
 * `check --accept`. */
void detect_accept(struct detect *d);

#endif
