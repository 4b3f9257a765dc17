/* stream: which sources have an event stream, and how it stands with it.
 *
 * Invariants
 *   1. A stream that goes down makes its source due in the same transaction: what it would have
 *      told is looked for.
 *   2. What is recorded as up was seen to be up by the scheduler that runs: one that begins records
 *      all as down (streams_begin).
 *   3. (I8) Of a withheld source nothing of this is public, not even that the generation moved.
 *
 * Called by the scheduler (INBOX role); `source show` reads.
 */
#ifndef FRESHET_LEDGER_STREAM_H
#define FRESHET_LEDGER_STREAM_H

#include "ledger/source.h"

struct stream_state {
    bool known; /* false: nobody has tried yet */
    bool up;
    int64_t at; /* since when */
    char note[200];
};

/* Sources of detector sse that are neither retired nor a template, by number; updated_at tells
 * whether one was declared anew. fn only collects: the read is open. */
typedef enum rc stream_fn(void *ctx, int64_t src_no, int64_t updated_at,
                          const struct stream_state *st, struct err *err);
MUST_CHECK enum rc stream_each(struct ledger *l, stream_fn *fn, void *ctx, struct err *err);
MUST_CHECK enum rc stream_get(struct ledger *l, int64_t src_no, struct stream_state *ret,
                              struct err *err);
/* No stream is open yet: those that were up are down, and their sources due. In a transaction of
 * its own. */
MUST_CHECK enum rc streams_begin(struct ledger *l, int64_t now, struct err *err);
/* In a transaction of its own. note: why it is down, "" when up. */
MUST_CHECK enum rc stream_set(struct ledger *l, int64_t src_no, enum level level, bool up,
                              const char *note, int64_t now, struct err *err);

#endif
