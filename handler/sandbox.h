/* sandbox: a process gives up everything but computing on what it holds already.
 *
 * Three walls, each enough against most of what could be tried: seccomp (deny by default, the list
 * of sandbox.def), Landlock with no rule at all (no file, no TCP, no signal to others; where the
 * kernel has it), and limits of memory, CPU time, files, processes and open files.
 *
 * Invariants
 *   1. After sandbox_enter no file can be opened, no socket made, no program run, no process
 *      started, traced or signalled, and no memory made executable. What is open stays usable:
 *      SANDBOX_OUT and standard output and error for writing, the rest for reading.
 *   2. There is no way back.
 *   3. A wall that cannot be put up is a failure, but for Landlock on a kernel without it.
 * Called by inspect_child in the child; made ready in the parent once, as that is the slow part.
 */
#ifndef FRESHET_HANDLER_SANDBOX_H
#define FRESHET_HANDLER_SANDBOX_H

#include <stdint.h>
#include "core/rc.h"

#define SANDBOX_OUT 100 /* a descriptor that no library has taken */

/* AddressSanitizer maps terabytes of shadow: there a limit of memory would end every run. */
#if defined(__SANITIZE_ADDRESS__)
#define SANDBOX_LIMITS_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANDBOX_LIMITS_MEMORY 0
#endif
#endif
#ifndef SANDBOX_LIMITS_MEMORY
#define SANDBOX_LIMITS_MEMORY 1
#endif

struct sandbox; /* the compiled filter */

MUST_CHECK enum rc sandbox_new(struct sandbox **ret, struct err *err);
void sandbox_free(struct sandbox **s);
/* Does the kernel have Landlock? For whoever starts the parent to log. */
bool sandbox_has_landlock(void);

struct sandbox_limits {
    int64_t memory_bytes; /* beyond what the process has mapped now */
    int64_t cpu_s;
};
MUST_CHECK enum rc sandbox_enter(const struct sandbox *s, const struct sandbox_limits *l,
                                 struct err *err);

#endif
