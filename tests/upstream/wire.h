/* wire: the requests received, byte for byte, so that tests can see what a client really sent.
 *
 * Invariants
 *   1. Requests to /control/ are not kept; all others are, in order, numbered from 1.
 *   2. Memory is bounded: when WIRE_MAX is full the older half is forgotten (and counted).
 *
 * Filled by conn.c, read by control.c.
 */
#ifndef FRESHET_UPSTREAM_WIRE_H
#define FRESHET_UPSTREAM_WIRE_H

#include "tests/upstream/http.h"

#define WIRE_MAX (8u << 20)
#define WIRE_BODY_MAX (64u << 10) /* kept of a request body */

struct wire {
    char *data;
    size_t len, room;
    uint64_t seq, forgotten;
};

struct wire_about {
    int status; /* what it was answered; 0: raw bytes */
    bool tls;
    uint64_t conn; /* number of the connection, from 1 */
    int64_t at_ms; /* since the upstream started */
};

void wire_init(struct wire *w);
void wire_release(struct wire *w);
void wire_clear(struct wire *w); /* numbering starts at 1 again */
void wire_add(struct wire *w, const struct request *q, const struct wire_about *about);
/* Adds an object per request after number `since` whose path is `path` (NULL: any) to arr.
 * True when there was memory for all. */
bool wire_list(const struct wire *w, uint64_t since, const char *path, yyjson_mut_doc *d,
               yyjson_mut_val *arr);

#endif
