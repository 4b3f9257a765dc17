/* spool: bodies on their way in: written to spool/tmp-… while they are digested and looked at.
 *
 *   spool_begin ─▶ spool_add … ─▶ spool_end ─┬▶ spool_keep   spool/<hex>, for the handler
 *        ▲              │                    └▶ spool_drop   nothing stays
 *        └── a new try ─┘
 *
 * A spool file saves the handler a second download and is never trusted: it digests it again. So
 * nothing here is synced, and losing a file loses nothing.
 *
 * Invariants
 *   1. The digest is of exactly the bytes of the last try, in the file and in order.
 *   2. A temporary file is locked by its writer; one without a lock belongs to the dead.
 *   3. Below the free-space floor no byte is taken in.
 */
#ifndef FRESHET_DETECTORS_SPOOL_H
#define FRESHET_DETECTORS_SPOOL_H

#include "core/digest.h"
#include "core/instance.h"
#include "detectors/detector.h"
#include "detectors/shape.h"

struct spool_dir {
    int fd;
    int64_t free_min;
    uint64_t serial;
};
/* Opens dir/spool, making it when it is not there. */
MUST_CHECK enum rc spool_dir_open(const struct instance *inst, struct spool_dir *ret,
                                  struct err *err);
void spool_dir_close(struct spool_dir *d);
/* Removes temporary files of the dead, and finished ones that nobody came for since `before`. */
void spool_dir_sweep(struct spool_dir *d, int64_t before);

#define SPOOL_NAME_MAX 72
struct spool {
    struct spool_dir *dir; /* NULL while nothing was begun */
    int fd;
    char name[SPOOL_NAME_MAX];
    struct digest *digest;
    int64_t size, room; /* room: bytes until the free space is looked at again */
    enum shape expected, announced;
    struct json_scan scan;
};
void spool_init(struct spool *s);
/* A body begins; what an earlier try left is forgotten. announced_size -1 when not known.
 * RC_FULL below the floor. */
MUST_CHECK enum rc spool_begin(struct spool *s, struct spool_dir *d, enum shape expected,
                               enum shape announced, int64_t announced_size, struct err *err);
MUST_CHECK enum rc spool_add(struct spool *s, struct str part, struct err *err);
MUST_CHECK enum rc spool_end(struct spool *s, struct body_facts *ret, struct err *err);
/* Gives the file its name; the spool is empty then, whether or not it worked. */
MUST_CHECK enum rc spool_keep(struct spool *s, const struct sha256 *sha, struct err *err);
void spool_drop(struct spool *s); /* also releases; fine on an empty one */

#endif
