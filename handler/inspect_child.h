/* inspect_child: one inspection in a process of its own, in the sandbox, watched.
 *
 * The child is forked from a process that has loaded and tried out all it needs, so that nothing is
 * left to open. It inherits the mapped file, computes, writes the report to a pipe and ends.
 *
 * Invariants
 *   1. Whatever the child does, inspect_child_run ends in time with a report: the child's, or one
 *      that says TIME_LIMIT, TOO_LARGE or INSPECTOR_CRASHED.
 *   2. The child has no descriptor of its parent but those the libraries keep and the file's.
 *   3. It does not outlive its parent.
 */
#ifndef FRESHET_HANDLER_INSPECT_CHILD_H
#define FRESHET_HANDLER_INSPECT_CHILD_H

#include "handler/inspect.h"
#include "handler/sandbox.h"

struct inspect_limits {
    int64_t timeout_ms, memory_mb;
};
struct inspect_host {
    inspect_reader *reader;
    const struct sandbox *sandbox;
    int client; /* a descriptor the child must not keep, and whose end ends the work; -1: none */
};
/* How it ended, for the log. problem is PROBLEM_COUNT when the child has told its report. */
struct inspect_end {
    enum inspect_problem problem;
    int signal; /* 0: none */
};

/* Appends the report of the file behind fd to out; with a second file (else -1) the comparison of
 * fd with it (compare.h), fd being the older. RC_IO and RC_NOMEM tell nothing about the file;
 * RC_GONE: the client went away. */
MUST_CHECK enum rc inspect_child_run(const struct inspect_host *h, int fd, int second,
                                     const struct inspect_options *o,
                                     const struct inspect_limits *l, struct buf *out,
                                     struct inspect_end *end, struct err *err);

#endif
