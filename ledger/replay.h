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

#endif
