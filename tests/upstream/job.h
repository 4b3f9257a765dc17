/* job: a reply on its way out, piece by piece.
 *
 * Invariants
 *   1. job_fill never appends more than JOB_PIECE bytes and a chunk's frame, so a connection holds
 *      no more than that of any reply, endless ones included.
 *   2. Between two pieces of a dripping reply lie drip_ms; before the first one delay_ms.
 *
 * Called by server.c.
 */
#ifndef FRESHET_UPSTREAM_JOB_H
#define FRESHET_UPSTREAM_JOB_H

#include "tests/upstream/respond.h"

#define JOB_PIECE (64u << 10)

struct job {
    bool active;
    struct reply reply;
    struct buf head;
    size_t head_at, at; /* how far head and body have gone out */
    uint64_t filler;    /* lines of endless headers so far */
    bool tail;          /* the last chunk has gone out */
    int64_t wait_ms;    /* to wait before the next fill; the server clears it */
};

/* May the reply go out in one piece with others, without a job? */
bool job_is_plain(const struct reply *r);
/* Takes over the reply; copies head. */
void job_start(struct job *j, const struct reply *r, const struct buf *head);
/* Appends the next piece to out. False when there was none left: the reply is done. */
bool job_fill(struct job *j, struct buf *out);
void job_end(struct job *j); /* drops what it holds */

#endif
