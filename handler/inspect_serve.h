/* inspect_serve: the loop of an inspector process: one request, one child, one reply, until the
 * client closes its end. The process itself never looks into a file. */
#ifndef FRESHET_HANDLER_INSPECT_SERVE_H
#define FRESHET_HANDLER_INSPECT_SERVE_H

#include "handler/inspect_child.h"

/* RC_OK when the client has closed. */
MUST_CHECK enum rc inspect_serve(const struct inspect_host *h, int socket, struct err *err);

#endif
