/* job: one check from its first request to its result. Owned by detect.c; no one else makes one.
 *
 *   job_new ─▶ job_start ─▶ (asks, answers) ─▶ ended(ctx, job), exactly once
 *
 * Invariants
 *   1. A started job ends exactly once, with one outcome, also when memory or disk fail.
 *   2. Secrets are resolved for each request, live in the job's arena and nowhere else (I12).
 *   3. The digest of a result is that of the file it leaves in the spool.
 */
#ifndef FRESHET_DETECTORS_JOB_H
#define FRESHET_DETECTORS_JOB_H

#include <sys/queue.h>
#include "detectors/detector.h"
#include "detectors/spool.h"

struct job;
typedef void job_ended_fn(void *ctx, struct job *j);

/* What jobs share. */
struct job_env {
    const struct instance *inst;
    struct fetch *fetch;
    struct spool_dir *spool;
    job_ended_fn *ended;
    void *ctx;
};

struct job {
    TAILQ_ENTRY(job) link;  /* in a list of detect.c */
    LIST_ENTRY(job) bucket; /* by source, for detect_has */
    const struct job_env *env;
    struct arena arena;
    struct source source; /* a copy, on the arena */
    const struct detector *kind;
    struct ask ask;
    int asks;
    struct spool spool;
    int64_t ignored;            /* bytes of a body that nobody wants */
    struct err trouble;         /* of our own; RC_OK when none */
    struct check_result result; /* result.state is moved by judge */
};

/* st is the state before the check. NULL when memory ran out. */
struct job *job_new(const struct job_env *env, const struct source *s, const struct check_state *st,
                    const char *due_because, int64_t request_no);
void job_free(struct job **j);
/* May end the job before it returns. */
void job_start(struct job *j);

#endif
