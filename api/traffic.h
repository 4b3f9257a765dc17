/* traffic: how many requests all processes of a program answered, how, and how fast. In memory that
 * they share, made before they are: nothing is written for a request, nothing survives the program.
 *
 * Invariants
 *   1. (I8) Counted are answers by status class and time; no address, no name, no parameter.
 */
#ifndef FRESHET_API_TRAFFIC_H
#define FRESHET_API_TRAFFIC_H

#include "core/buf.h"

struct traffic;

/* NULL when there is no memory: then nothing is counted. */
struct traffic *traffic_new(void);
/* One answer; t may be NULL. */
void traffic_count(struct traffic *t, int status, int64_t elapsed_us);
/* As Prometheus has it; nothing when t is NULL. */
void traffic_put(const struct traffic *t, struct buf *out);

#endif
