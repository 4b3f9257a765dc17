/* pause: how long hosts want to be left alone (detectors/pauses.h). */
#ifndef FRESHET_LEDGER_PAUSE_H
#define FRESHET_LEDGER_PAUSE_H

#include "ledger/ledger.h"

struct pause {
    char host[280]; /* host:port */
    int64_t until;
};
/* Writes n of them, in a transaction of its own; a longer one of the same host stays.
 * INBOX role. */
MUST_CHECK enum rc pause_put(struct ledger *l, const struct pause *all, size_t n, struct err *err);
/* Those that are over go. Own transaction. WRITE role. */
MUST_CHECK enum rc pause_forget(struct ledger *l, int64_t now, struct err *err);
typedef enum rc pause_fn(void *ctx, const struct pause *p, struct err *err);
/* Those in force at now. */
MUST_CHECK enum rc pause_each(struct ledger *l, int64_t now, pause_fn *fn, void *ctx,
                              struct err *err);

#endif
