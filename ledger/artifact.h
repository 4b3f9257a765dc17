/* artifact: which bytes the ledger knows. For gc and backup; WRITE role. */
#ifndef FRESHET_LEDGER_ARTIFACT_H
#define FRESHET_LEDGER_ARTIFACT_H

#include "ledger/ledger.h"

/* Has this object a row? tier: "public" or "restricted". */
MUST_CHECK enum rc artifact_known(struct ledger *l, const struct sha256 *sha, const char *tier,
                                  bool *ret, struct err *err);
/* Removes the rows that no head and no ledger row names. Inside a transaction. */
MUST_CHECK enum rc artifact_forget(struct ledger *l, int64_t *ret_n, struct err *err);
/* Every row. fn must not write. */
typedef enum rc artifact_fn(void *ctx, const struct sha256 *sha, const char *tier, int64_t size,
                            struct err *err);
MUST_CHECK enum rc artifact_each(struct ledger *l, artifact_fn *fn, void *ctx, struct err *err);
/* Does a candidate that is ready or runs want these bytes of the spool? */
MUST_CHECK enum rc artifact_awaited(struct ledger *l, const struct sha256 *sha, bool *ret,
                                    struct err *err);

#endif
