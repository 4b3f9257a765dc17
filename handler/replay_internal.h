/* replay_internal: what replay.c, which takes the log, and replay_do.c, which does its
 * rows, share. */
#ifndef FRESHET_HANDLER_REPLAY_INTERNAL_H
#define FRESHET_HANDLER_REPLAY_INTERNAL_H

#include "handler/replay.h"
#include "handler/store.h"
#include "handler/work.h"

struct replay {
    struct ledger *ledger;
    const struct instance *inst;
    const struct replay_ask *ask;
    replay_progress_fn *progress;
    void *ctx;
    struct worker *worker;
    struct arena arena; /* of one row */
    int64_t last_seq, total;
    struct sha256 last;
    bool ends; /* the window does */
    struct replay_counts n;
};
/* Does what the row says, and thereby writes it. */
typedef enum rc replay_do_fn(struct replay *p, const struct replay_row *r, struct err *err);
/* NULL: no such kind. */
replay_do_fn *replay_kind(struct str kind);

#endif
