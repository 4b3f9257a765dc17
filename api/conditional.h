/* conditional: what an ETag is made of, and whether a client holds an answer already (RFC
 * 9110, 13).
 *
 * Invariants
 *   1. Public inputs only: an ETag tells nothing that its representation does not.
 *   2. The same inputs give the same ETag in every process of one build.
 */
#ifndef FRESHET_API_CONDITIONAL_H
#define FRESHET_API_CONDITIONAL_H

#include "api/http.h"

/* ETags are a hash of what the representation depends on: 64 bits, public inputs only. */
struct etag {
    uint64_t h;
};
/* Starts with what all share: build, policy version, base URL. */
struct etag etag_start(const char *policy_version, struct str base);
void etag_int(struct etag *e, int64_t v);
void etag_str(struct etag *e, struct str s);
void etag_set(const struct etag *e, struct resp *w);

/* Does the client hold this answer already? Weak comparison, lists, `*`; If-Modified-Since counts
 * only where there is no If-None-Match. */
bool resp_not_modified(const struct resp *w, const struct req *r);

#endif
