/* replay: reading the replay log. Writing is replay_append (ledger.h). */
#ifndef FRESHET_LEDGER_REPLAY_H
#define FRESHET_LEDGER_REPLAY_H

#include "ledger/ledger.h"

struct replay_row {
    int64_t seq, at, src_no; /* src_no 0: none */
    struct str kind, ref, body;
    struct sha256 prev, hash;
};
/* Walks the log from the first row; views are valid during the call. */
typedef enum rc replay_fn(void *ctx, const struct replay_row *r, struct err *err);
MUST_CHECK enum rc replay_each(struct ledger *l, replay_fn *fn, void *ctx, struct err *err);
/* The hash that the row must have. */
MUST_CHECK enum rc replay_hash(struct ledger *l, const struct replay_row *r, struct sha256 *ret,
                               struct err *err);
/* Is row seq of the ledger's log this one? RC_NOT_FOUND: the log is shorter.
 * RC_CONFLICT: another. */
MUST_CHECK enum rc replay_has(struct ledger *l, const struct replay_row *r, struct err *err);
/* Does the effect of a promoted run stand: run, documents and digest? */
MUST_CHECK enum rc replay_stands(struct ledger *l, const char *run_id, const struct sha256 *sha,
                                 bool *ret, struct err *err);
/* From now on replay_append must write this row, once; NULL: whatever comes. */
void replay_script(struct ledger *l, const struct replay_row *r);
bool replay_scripted(const struct ledger *l); /* it was written */

#endif
