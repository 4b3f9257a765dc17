/* http: what a route sees of a request and makes of a response. Nothing here knows FastCGI, nginx or
 * the database; tests make requests by hand.
 *
 * Invariants
 *   1. A route reads struct req and writes struct resp, nothing else.
 *   2. Parameters are checked against the route's table row before the route runs: an unknown or
 *      doubled one is a 400 that names it.
 *   3. Every GET answer has ETag, Last-Modified (when known), Cache-Control and Vary, and answers
 *      conditional requests itself; HEAD is GET without the body; OPTIONS is answered for all.
 *   4. Errors are problem+json and hold nothing that the route did not say.
 */
#ifndef FRESHET_API_HTTP_H
#define FRESHET_API_HTTP_H

#include "core/arena.h"
#include "core/buf.h"
#include "core/json.h"
#include "core/rc.h"
#include "ledger/ledger.h"

#define REQ_PARAMS_MAX 32    /* no route takes more; keeps lookups linear and short */
#define REQ_QUERY_MAX 8192   /* bytes of the query string */
#define RESP_BODY_MAX (32u << 20)

struct param {
    struct str name, value; /* decoded */
};

struct req {
    struct str method, path, query;
    struct param params[REQ_PARAMS_MAX];
    size_t n_params;
    struct str path_vars[4];   /* {…} of the pattern, in order, decoded */
    struct str accept, if_none_match, if_modified_since, authorization, content_type, idempotency_key;
    struct str base;           /* scheme://host, no slash at the end */
    struct str remote_addr;
    struct str body;
    bool body_too_large;
    struct arena *arena;
    struct ledger *ledger;
    const struct instance *inst;
    int64_t now;
};

struct resp {
    int status;
    const char *content_type;
    struct buf body;
    struct buf headers;        /* further header lines, each with CRLF */
    char etag[80];             /* with quotes; "" for none */
    int64_t last_modified;     /* -1: unknown */
    const char *cache_control; /* NULL: the default of the route table */
    const char *route;         /* pattern that matched, for logs; "" when none */
};

/* Value of a parameter; .p NULL when absent. */
struct str req_param(const struct req *r, const char *name);

#endif
