/* lock: a file that one process holds at a time. The lock lives as long as the descriptor, and ends
 * with the process, however that ends; the file stays.
 */
#ifndef FRESHET_CORE_LOCK_H
#define FRESHET_CORE_LOCK_H

#include "core/rc.h"

/* Opens the file, making it with `mode` when it is not there, and locks it without waiting. RC_BUSY
 * when another holds it: callers say in their own words who that is. RC_IO when it cannot
 * be opened. */
MUST_CHECK enum rc lock_take(const char *path, unsigned mode, int *ret_fd, struct err *err);

#endif
