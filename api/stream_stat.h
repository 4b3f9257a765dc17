/* stream_stat: numbers that freshet-stream leaves in run/stream.stat for who answers /metrics and
 * /readyz: it may write nothing into the ledger.
 *
 * Invariants
 *   1. The file is one line of fixed width, written at once: a reader sees whole numbers.
 *   2. Counts only; who the clients are is nowhere.
 */
#ifndef FRESHET_API_STREAM_STAT_H
#define FRESHET_API_STREAM_STAT_H

#include "core/instance.h"

#define STREAM_STAT_FILE "run/stream.stat"

struct stream_stat {
    int64_t streams, polls; /* clients now */
    int64_t sent;           /* entries, since the start */
    int64_t dropped;        /* clients that took nothing for too long, since the start */
    int64_t at;             /* when this was true */
};

/* fd: the file, opened for writing. What fails is told by its age. */
void stream_stat_write(int fd, const struct stream_stat *s);
/* RC_NOT_FOUND when nobody has written any. */
MUST_CHECK enum rc stream_stat_read(const char *dir, struct stream_stat *ret, struct err *err);

#endif
