/* daemon: what the programs that run until they are told to stop share before their own
 * work begins.
 *
 * Invariants
 *   1. All of them take the same arguments: -C DIR, --help, --version.
 *   2. A signal is read from a descriptor where the program waits for the rest; none interrupts
 *      anything. A peer that went away and a file that may not grow are errors of write(2), not the
 *      end of us.
 * Called by the main files, by api/service.c and api/stream.c.
 */
#ifndef FRESHET_CORE_DAEMON_H
#define FRESHET_CORE_DAEMON_H

#include "core/instance.h"

struct daemon {
    const char *program; /* "freshet-handler" */
    const char *proc;    /* its short name in logs: "handler" */
    const char *help;    /* what it does, and its options */
};

/* The folder by -C DIR, FRESHET_DIR or the current one. NULL: the program ends with *ret_code, and
 * what was asked for, or how to ask, is printed. */
const char *daemon_folder(const struct daemon *d, int argc, char **argv, int *ret_code);
/* Clock, log and settings, in this order; the log is as loud as the settings say. */
MUST_CHECK enum rc daemon_begin(const struct daemon *d, const char *dir, struct arena *settings,
                                struct instance *ret, struct err *err);
/* A descriptor that is readable when SIGTERM or SIGINT came. */
MUST_CHECK enum rc daemon_signals(int *ret_fd, struct err *err);
/* Did one come since the last call? Does not wait. */
bool daemon_told_to_stop(int signals);

#endif
