/* listen: the unix sockets that our programs serve.
 *
 * Invariants
 *   1. A socket is 0660 from its first moment.
 *   2. The file of one whose owner is gone is taken away; a living owner is respected.
 * Called by prefork and the stream.
 */
#ifndef FRESHET_API_LISTEN_H
#define FRESHET_API_LISTEN_H

#include "core/rc.h"

/* A listening stream socket, not blocking. RC_CONFLICT when somebody serves path already. */
MUST_CHECK enum rc listen_stream(const char *path, int backlog, int *ret, struct err *err);
/* A datagram socket for hints: whatever lay at path before is replaced. */
MUST_CHECK enum rc listen_hints(const char *path, int *ret, struct err *err);

#endif
