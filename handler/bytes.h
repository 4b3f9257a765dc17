/* bytes: gets the bytes of a candidate into the store's temporary file, hashing on the way.
 *
 * From spool/<hex> when the detector left them there and they are what their name says, else from
 * the upstream. Which of the two is a matter of cost only: the digest made here decides (I2).
 *
 * Invariants
 *   1. What is in the store_put when it ended OK is one whole transfer.
 *   2. A transient failure is RETRY, one that would repeat is FAILED; both carry a reason code.
 * Called by job.
 */
#ifndef FRESHET_HANDLER_BYTES_H
#define FRESHET_HANDLER_BYTES_H

#include "core/fetch.h"
#include "core/instance.h"
#include "handler/store.h"
#include "ledger/inbox.h"

enum bytes_end { BYTES_OK, BYTES_RETRY, BYTES_FAILED };
struct bytes {
    enum bytes_end end;
    const char *reason; /* a literal; "" when OK */
    struct sha256 sha;  /* when OK */
    int64_t size;
    int64_t retry_after_ms; /* as the upstream asked, -1 when it did not */
    bool fetched;           /* from the upstream, with these validators: */
    char etag[FETCH_VALIDATOR_MAX], last_modified[64], final_url[FETCH_URL_MAX];
};

/* The spool's copy. RC_NOT_FOUND when there is none that is right. put is empty at the start. */
MUST_CHECK enum rc bytes_from_spool(struct arena *a, const struct instance *inst,
                                    const struct sha256 *want, struct store_put *put,
                                    struct bytes *ret, struct err *err);
/* The store's copy, whatever its tier. RC_NOT_FOUND when it is gone. put is empty at the start. */
MUST_CHECK enum rc bytes_from_store(struct store *s, const struct sha256 *want,
                                    struct store_put *put, struct bytes *ret, struct err *err);
/* Asks the upstream; *engine is made when it is NULL, and whoever has it drives it (fetch_run). The
 * transfer is in a and writes to put: both, and s, stay until it has arrived or the engine
 * is freed. */
struct transfer;
MUST_CHECK enum rc bytes_ask(struct arena *a, const struct instance *inst, struct fetch **engine,
                             const struct source *s, int64_t max_bytes, struct store_put *put,
                             struct transfer **ret, struct err *err);
bool bytes_arrived(const struct transfer *t);
/* What arrived. Errors are ours (disk, memory), not the upstream's. */
MUST_CHECK enum rc bytes_take(const struct transfer *t, struct bytes *ret, struct err *err);
/* Removes the spool's copy of a candidate that needs it no more, unless another one does: sources
 * with the same bytes share it. */
void bytes_forget(struct arena *a, const struct instance *inst, struct ledger *l,
                  const struct candidate *c);

#endif
