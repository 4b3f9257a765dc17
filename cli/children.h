/* children: the processes that `freshet up` starts and watches.
 *
 * Invariants
 *   1. A child that ends is started again after a pause that doubles with every quick death; each
 *      end and start is one log event.
 *   2. Children die with the supervisor, also when that is killed -9 (PR_SET_PDEATHSIG).
 *   3. Each child leads a process group of its own: Ctrl-C reaches the supervisor alone, and what a
 *      dead child leaves behind is ended with it.
 *   4. Stopping goes in reverse order of starting: TERM, then KILL for what has not ended in
 *      CHILDREN_STOP_MS.
 */
#ifndef FRESHET_CLI_CHILDREN_H
#define FRESHET_CLI_CHILDREN_H

#include <sys/types.h>

#include "core/arena.h"

#define CHILDREN_MAX 80             /* handler_processes is at most 64 */
#define CHILDREN_STOP_MS 10000      /* for all together */
#define CHILDREN_STOP_LEAST_MS 1000 /* for one, also when others took all the time */
#define CHILDREN_PAUSE_MS 250       /* before the first restart */
#define CHILDREN_PAUSE_MAX_MS 30000
#define CHILDREN_STEADY_MS 10000 /* who lived that long did not die quickly */

struct child {
    const char *name;    /* "handler-2" */
    const char *argv[8]; /* argv[0] is the path; ends with NULL */
    const char *log;     /* receives standard output and error */
    pid_t pid;           /* 0: not running */
    int64_t started_at;  /* monotonic */
    int64_t restart_at;  /* monotonic, while not running */
    int deaths;          /* quick ones in a row */
};

struct children {
    struct child list[CHILDREN_MAX];
    size_t n;
};

/* Starts what is not running and whose time has come. RC_IO when fork failed. */
MUST_CHECK enum rc children_start(struct children *c, struct err *err);
/* Takes note of children that ended; `said` (may be NULL) is told in one sentence about each. */
typedef void children_said_fn(void *ctx, const char *sentence);
void children_reap(struct children *c, children_said_fn *said, void *ctx);
/* Milliseconds until the next restart is due, -1 when none is. */
int children_wait_ms(const struct children *c);
/* Ends all, in reverse order. hurry() says whether to kill at once (a second Ctrl-C). */
typedef bool children_hurry_fn(void *ctx);
void children_stop(struct children *c, children_hurry_fn *hurry, void *ctx);

#endif
