/* fd: descriptors, read and written to the end, closed on every path.
 *
 * Invariants
 *   1. An interrupted call is made again: nobody who calls these sees EINTR.
 *   2. Fewer bytes than were asked for mean the end of the file, and nothing else.
 */
#ifndef FRESHET_CORE_FD_H
#define FRESHET_CORE_FD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "core/rc.h"
#include "core/str.h"

void fd_close(int *fd); /* fits CLEANUP; nothing when it is below 0, which it is afterwards */

/* Writes all of it, in as many calls as it takes. When false errno says why, and a part may
 * be written. */
MUST_CHECK bool fd_write_all(int fd, struct str bytes);
/* Fills p[0, n), from where the descriptor stands or from `at`, which does not move it. Returns how
 * many there were, fewer than n when the file ended; -1 and errno when reading failed. */
MUST_CHECK ssize_t fd_read_all(int fd, void *p, size_t n);
MUST_CHECK ssize_t fd_read_all_at(int fd, void *p, size_t n, int64_t at);

#endif
