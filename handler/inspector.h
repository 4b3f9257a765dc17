/* inspector: asks the inspector processes about files, and keeps them alive.
 *
 * Files that are no geodata (inspect_sniff) are answered here, at once: their report needs no
 * parser at all. GeoJSON goes to freshet-inspect, which forks a child in well under a millisecond;
 * the rest to freshet-inspect-gdal. Both are started on first use and stay.
 *
 * Invariants
 *   1. Whatever the bytes do to the child that reads them, the answer is a report with a reason
 *      code. Errors of inspector_run are of this machine (no memory, no program), never of
 *      the file.
 *   2. An inspector process that died or does not answer is replaced, and the file asked about once
 *      more.
 *   3. What comes back is parsed again before anybody believes it: it was made by a process that
 *      read foreign bytes. What is no report counts as INSPECTOR_CRASHED.
 *   4. The processes end when the inspector is freed or its process dies.
 * Called by the handler. One per process; not across fork.
 */
#ifndef FRESHET_HANDLER_INSPECTOR_H
#define FRESHET_HANDLER_INSPECTOR_H

#include "core/conf.h"
#include "handler/inspect.h"

struct inspector;

/* programs: the folder with the inspector programs; NULL: that of the running program. */
MUST_CHECK enum rc inspector_new(const struct conf *c, const char *programs, struct inspector **ret,
                                 struct err *err);
void inspector_free(struct inspector **in);

struct inspection {
    struct str report; /* canonical JSON, in the arena */
    yyjson_val *root;  /* the same, parsed */
    int signal;        /* that ended the child, 0: none. For the log; not part of the report */
};
/* fd is a regular file, open for reading; its position does not matter. */
MUST_CHECK enum rc inspector_run(struct inspector *in, int fd, const struct inspect_options *o,
                                 struct arena *a, struct inspection *ret, struct err *err);
/* What differs between two files, measured (compare.h); ret->root has "reason". Invariants 1 to 3
 * hold as for reports: when the child failed, reason says how, and there is nothing else. */
MUST_CHECK enum rc inspector_compare(struct inspector *in, int older, int fd,
                                     const struct inspect_options *o, struct arena *a,
                                     struct inspection *ret, struct err *err);
/* Does the report name this problem? */
bool inspection_has(const struct inspection *i, enum inspect_problem p);

#endif
