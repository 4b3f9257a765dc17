/* inspect_wire: what inspector (client) and inspect_serve say to each other over a socket pair: one
 * request of fixed size that carries the file's descriptor (SCM_RIGHTS), or two of files to
 * compare, the older first; one reply with the report or comparison.
 * Both ends are of the same build on the same machine, so structs travel as they are. */
#ifndef FRESHET_HANDLER_INSPECT_WIRE_H
#define FRESHET_HANDLER_INSPECT_WIRE_H

#include "handler/inspect.h"

#define WIRE_MAGIC 0x46494e31u /* "FIN1" */

struct wire_request {
    uint32_t magic;
    uint32_t memory_mb;
    int64_t timeout_ms;
    double precision_m;
    char feature_key[INSPECT_KEY_MAX + 1], legal_date_field[INSPECT_KEY_MAX + 1];
};
struct wire_reply {
    uint32_t magic;
    uint32_t rc;      /* enum rc; RC_OK: a report of n bytes follows */
    uint32_t problem; /* enum inspect_problem of struct inspect_end, and its signal: for the log */
    uint32_t signal;
    uint64_t n;
};

#endif
