/* replay: the replay log through the handler again, in its order.
 *
 * The log (ledger/replay.h) is the ledger's own, or one that `freshet replay --export` wrote. Each
 * row is one move of the ledger, and says all that is needed to make it again:
 *
 *   source.add, source.put                       the declaration, its author
 *   source.child                                 the same, with parent and entry
 *   candidate                                    what the detector found
 *   rollback.taken                               the rollback that the candidate is made of
 *   run.promoted, run.held                       run, event, sha256: the bytes are the store's
 *   run.noop, .failed, .retry, .dead, .rejected  run and reason
 *   run.superseded                               the run that was held and is overtaken
 *   approve, reject                              reviewer and note
 *   level.ask, .approve, .reject, waiver.add, .revoke, admin.rollback, rollback.lifted,
 *   dead.retry, .drop                            who, what and why
 *
 * Ids, times and sequence numbers are those of the log. handler/replay.def has the kinds; one that
 * is not there is refused, since nobody knows what would be left out.
 *
 * Invariants
 *   1. The log is proved, row by row and hash by hash, before anything is written; so is that it
 *      and the ledger's own begin alike. Else RC_CORRUPT or RC_CONFLICT, and nothing is done.
 *   2. A row that the ledger has is a no-op: looked at, that its effect is there, and not
 *      done again.
 *   3. A row that it has not is done, and writes exactly itself: a replay that would write another
 *      row (ledger/replay.c, follow_script) undoes that row and ends. What went before it stays;
 *      the same replay goes on there.
 *   4. No network: bytes are the store's.
 * Not in the log, so not made again: receipts of checks and what they taught (validators, clocks,
 * the sums of /metrics), tokens, requests, evidence of runs without effect beyond their reason.
 * Called by `freshet replay`, and by orders for requests over HTTP (own log: no-ops only).
 */
#ifndef FRESHET_HANDLER_REPLAY_H
#define FRESHET_HANDLER_REPLAY_H

#include "core/instance.h"
#include "ledger/replay.h"
#include "ledger/replays.h"

struct replay_ask {
    int64_t since, until, src_no; /* rows with since <= at < until; src_no 0: of all sources */
    bool dry;                     /* nothing is written */
    const char *log;              /* a file; NULL: the ledger's own */
};
struct replay_counts {
    int64_t rows, noop, applied, failed;
};
typedef void replay_progress_fn(void *ctx, int64_t done, int64_t total);
MUST_CHECK enum rc replay_run(struct ledger *l, const struct instance *inst,
                              const struct replay_ask *ask, replay_progress_fn *progress, void *ctx,
                              struct replay_counts *ret, struct err *err);
/* Writes the whole log: a line of JSON per row. RC_CONFLICT when the file is there. */
MUST_CHECK enum rc replay_export(struct ledger *l, const char *path, int64_t *ret_rows,
                                 struct err *err);

#endif
