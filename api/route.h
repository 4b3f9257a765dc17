/* route: the table of addresses (routes.def) at work: matching, parameter and scope checks, HEAD,
 * OPTIONS, 405, conditional requests, problems. The one way from a request to a response.
 *
 * Invariants
 *   1. Whatever happens, route_serve leaves a complete response.
 *   2. What a 404 says depends on nothing but that nothing is there: an address that names a
 *      withheld thing and one that names no thing give the same bytes.
 */
#ifndef FRESHET_API_ROUTE_H
#define FRESHET_API_ROUTE_H

#include "api/http.h"

/* Answers by filling w and returning RC_OK, or returns what went wrong with err set. */
typedef enum rc route_fn(struct req *r, struct resp *w, struct err *err);

#define ROUTE_LEDGER 1u /* cannot be answered without the ledger */
#define ROUTE_CORS 2u   /* any origin may read it */
#define ROUTE_QUERY 4u  /* whatever stands in the query string is the route's own business */

struct route {
    const char *method, *pattern;
    route_fn *fn;
    const char *params; /* names of allowed query parameters, with spaces between */
    unsigned scope;     /* bits of ledger/request.h; 0: open to all */
    unsigned flags;
    const char *cache, *produces, *summary;
};

struct router {
    const struct route *routes;
    size_t n;
    /* Addresses that nginx answers itself, with spaces between: it hands over a request that has a
     * query, of which they take none. NULL: there are none. */
    const char *pages;
    /* Finds who asks and whether they may; sets r->token. NULL where no route has a scope. */
    enum rc (*authorize)(struct req *r, struct resp *w, unsigned scope, struct err *err);
    /* Told every request of a route with a scope after its answer is made. NULL: nobody cares. */
    void (*audited)(const struct req *r, const struct route *route, const struct resp *w);
};

extern const struct router router_api, router_intake;

void route_serve(const struct router *t, struct req *r, struct resp *w);
/* Completes a response that a route with a row has made, or failed to make. */
void route_end(struct req *r, struct resp *w, enum rc rc, const struct err *err);
/* Requests whose responses have `later` set, all of one process: written by one transaction; when
 * that fails, by one each, so that nobody fails for another. Each response is complete then.
 * settle.c: it is not linked where nothing is written. */
struct unsettled {
    struct req *r;
    struct resp *w;
};
void route_settle(const struct unsettled *list, size_t n);

/* Does path fit pattern? A segment may be {name}, or {name} with a literal tail as in {id}.svg;
 * what it stands for goes to vars (at most 4). */
bool route_match(const char *pattern, struct str path, struct str vars[4]);

/* The one 404: says nothing about what was asked for. */
static inline enum rc route_not_found(struct err *err)
{
    return err_set(err, RC_NOT_FOUND, "", "There is nothing public at this address.");
}
/* RC_NOT_FOUND of the ledger becomes route_not_found, so that no text of it comes out. */
MUST_CHECK enum rc route_lookup(enum rc found, struct err *err);

/* `limit` of a list: default def, clamps at max, RC_INVALID below 1 or when it is no number. */
MUST_CHECK enum rc param_limit(struct str value, int64_t def, int64_t max, int64_t *ret,
                               struct err *err);

#endif
