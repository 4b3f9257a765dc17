/* respond: from a request to a reply.
 *
 * A reply is the rendered head and a plan for the rest: which bytes, how framed, how fast, and
 * where they break off. job.h carries the plan out.
 *
 * Invariants
 *   1. HEAD, 204 and 304 never have a body, whatever a scenario says.
 *   2. A reply holds its own reference to its body.
 *
 * Called by server.c.
 */
#ifndef FRESHET_UPSTREAM_RESPOND_H
#define FRESHET_UPSTREAM_RESPOND_H

#include "core/clock.h"
#include "tests/upstream/http.h"
#include "tests/upstream/world.h"

#define REPLY_HEAD_MAX (1u << 20) /* 256 header lines of a scenario, and an 8 KB ETag */

struct reply {
    int status;
    bool close;        /* the connection ends with this reply */
    struct blob *body; /* NULL: none, or endless */
    size_t send;       /* how many of its bytes go out */
    enum framing framing;
    enum cut cut;
    enum endless endless;
    int64_t delay_ms, drip_bytes, drip_ms;
    bool drip_head;
};

/* What rendering keeps between requests: room, and the date of this second. */
struct responder {
    struct world *world;
    struct buf tag, text;
    int64_t date_s;
    char date[TIME_MAX];
};
void responder_init(struct responder *c, struct world *w);
void responder_release(struct responder *c);

/* Answers from the world. head is emptied and filled. */
void respond(struct responder *c, const struct request *q, struct buf *head, struct reply *ret);
/* Answers with these bytes: control replies and refused requests. Takes over the reference. */
void respond_with(struct responder *c, const struct request *q, int status, const char *type,
                  struct blob *body, struct buf *head, struct reply *ret);

#endif
