/* ready: asks /readyz of the nginx on 127.0.0.1. A few lines of HTTP instead of the fetch engine,
 * which refuses loopback unless it is allowed. */
#ifndef FRESHET_CLI_READY_H
#define FRESHET_CLI_READY_H

#include <stdbool.h>
#include <stddef.h>

/* True when it answers 200. Else why holds what it said, in one line. Takes at most a second. */
bool ready_ask(int port, char *why, size_t n);

#endif
