/* prefork: one parent that owns the socket, and the processes that serve it.
 *
 * Invariants
 *   1. The socket is 0660 from its first moment, and belongs to one parent at a time.
 *   2. A child that ends is replaced, at once when it had lived, with growing pauses when it
 *      had not.
 *   3. On SIGTERM or SIGINT: no new connections, then the children answer what was sent and end;
 *      whoever has not ended after STOP_MAX_MS is killed. Children do not outlive the parent.
 */
#ifndef FRESHET_API_PREFORK_H
#define FRESHET_API_PREFORK_H

#include "core/rc.h"

struct prefork {
    const char *socket; /* path */
    int processes;
    int (*child)(void *ctx, int listen_fd); /* ends with this exit code, after SIGTERM */
    void *ctx;
};

/* Returns when told to stop. RC_CONFLICT when somebody serves the socket already. */
MUST_CHECK enum rc prefork_run(const struct prefork *p, struct err *err);

#endif
