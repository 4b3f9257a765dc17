/* job_internal: what the files of a job share. job.c takes the bytes in, job_publish.c makes them a
 * version. Nobody else includes it. */
#ifndef FRESHET_HANDLER_JOB_INTERNAL_H
#define FRESHET_HANDLER_JOB_INTERNAL_H

#include "handler/entries.h"
#include "handler/facts.h"
#include "handler/job.h"

struct job {
    const struct job_env *env;
    const struct job_claim *claim;
    struct source source;
    struct head head;
    struct store_put *put; /* until staged */
    struct bytes bytes;
    struct held_run held;                   /* when resumed */
    struct entries listing, listing_before; /* of a manifest source, open from check to the end */
    struct entry_counts moved;              /* from one to the other */
    int vintage_from, vintage;              /* of a template */
    struct facts facts;
    struct work_end end;
    bool ended;
    bool dead; /* it was the last try */
};

enum tier job_tier(const struct job *j);
/* Its candidate says that the upstream removed the source. */
bool job_claims_gone(const struct job *j);
/* Its bytes are the listing that the detector made of the upstream's pages. */
bool job_is_listing(const struct job *j);
/* A run_also_fn: the source's public rows as they are now. */
MUST_CHECK enum rc job_project(void *ctx, struct ledger *l, struct err *err);
/* The last step: bytes that are accepted and staged, or a deletion, become the head. */
MUST_CHECK enum rc job_publish(struct job *j, struct err *err);
void job_close_fd(int *fd); /* fits CLEANUP */

#endif
