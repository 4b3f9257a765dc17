/* store: the bytes, named by their digest: store/<tier>/sha256/ab/cd/<hex>.
 *
 * An object is written to a temporary file of the same filesystem while it is hashed (store_begin,
 * store_add, store_seal), looked at there (store_put_fd) and then kept or dropped. The temporary
 * name holds the worker's slot, so that whoever takes the slot next removes what a killed one left.
 *
 * Invariants
 *   1. (I4) When store_keep returned RC_OK, bytes and name survive a power cut: the file was synced
 *      before the rename and every directory on its path after it. For many objects at once
 *      (store_keep_all) both are a sync of the whole filesystem, which tells of errors since
 *      Linux 5.8.
 *   2. A name in sha256/ holds exactly the bytes it names; it appears whole or not at all.
 *   3. Keeping the same bytes again changes nothing that can be seen.
 *   4. After a failed fsync nobody knows what is on disk: the process aborts, and the next one
 *      starts from what is there. An fsync is never tried again.
 *   5. No bytes are taken below the free-space floor (RC_FULL).
 * Called by bytes, job, batch and work; verification in ledger/verify.c reads the same layout.
 */
#ifndef FRESHET_HANDLER_STORE_H
#define FRESHET_HANDLER_STORE_H

#include <stdint.h>
#include "core/arena.h"
#include "core/digest.h"
#include "core/rc.h"

enum tier { TIER_PUBLIC, TIER_RESTRICTED, TIER_COUNT };
const char *tier_name(enum tier t);

struct store;
struct store_put;

/* dir is the instance's store/, made when missing. What the slot's last owner left is removed. */
MUST_CHECK enum rc store_open(const char *dir, int slot, int64_t free_bytes_min, struct store **ret,
                              struct err *err);
void store_close(struct store **s);
/* Removes the temporary files of a slot whose owner is dead. */
void store_sweep(struct store *s, int slot);

MUST_CHECK enum rc store_begin(struct store *s, struct store_put **ret, struct err *err);
MUST_CHECK enum rc store_add(struct store_put *p, const void *bytes, size_t n, struct err *err);
/* Forgets all bytes added so far: the transfer starts anew. */
MUST_CHECK enum rc store_restart(struct store_put *p, struct err *err);
/* No more bytes; gives digest and size. */
void store_seal(struct store_put *p, struct sha256 *ret, int64_t *ret_size);
/* The sealed bytes, for reading with pread. Owned by p. */
int store_put_fd(const struct store_put *p);
int64_t store_put_size(const struct store_put *p); /* of the bytes so far */
/* Makes the sealed bytes durable under their name and ends p. On failure p lives on. */
MUST_CHECK enum rc store_keep(struct store_put **p, enum tier tier, struct err *err);
/* The same for several, which wait for the disk together. On failure all live on, and may be
 * kept anew. */
#define STORE_KEEP_MAX 64
struct store_keep {
    struct store_put **put;
    enum tier tier;
};
MUST_CHECK enum rc store_keep_all(struct store *s, const struct store_keep *k, size_t n,
                                  struct err *err);
/* Ends p without effect; fits CLEANUP, no-op for NULL. */
void store_drop(struct store_put **p);

/* A kept object, opened for reading; RC_NOT_FOUND. The caller closes it. */
MUST_CHECK enum rc store_read(struct store *s, enum tier tier, const struct sha256 *sha,
                              int *ret_fd, struct err *err);
/* Is it there, with this size and digest? RC_NOT_FOUND or RC_CORRUPT when not. */
MUST_CHECK enum rc store_check(struct store *s, enum tier tier, const struct sha256 *sha,
                               int64_t size, struct err *err);
/* Takes it away, durably. RC_OK also when it was not there. */
MUST_CHECK enum rc store_delete(struct store *s, enum tier tier, const struct sha256 *sha,
                                struct err *err);
/* tier/sha256/ab/cd/hex, relative to store/. */
#define STORE_PATH_MAX 128
void store_path(enum tier tier, const struct sha256 *sha, char out[STORE_PATH_MAX]);

#endif
