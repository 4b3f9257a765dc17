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
 *   5. X-Forwarded-* is believed only when the connection comes from a trusted proxy.
 */
#ifndef FRESHET_API_HTTP_H
#define FRESHET_API_HTTP_H

#include "core/arena.h"
#include "core/buf.h"
#include "core/instance.h"
#include "core/json.h"
#include "core/rc.h"
#include "ledger/ledger.h"

#define REQ_PARAMS_MAX 32            /* no route takes more; keeps lookups linear and short */
#define REQ_QUERY_MAX 8192           /* bytes of the query string */
#define REQ_ARENA_MAX (16u << 20)    /* memory of one request beside its response body */
#define REQ_HOST_MAX 255             /* the longest name that DNS has */
#define RESP_BODY_MAX (32u << 20)    /* 1000 entries of 32 KiB */
#define RESP_HEADERS_MAX (16u << 10) /* what nginx takes with our fastcgi_buffer_size */

struct param {
    struct str name, value; /* decoded */
};

struct token;   /* ledger/request.h */
struct traffic; /* traffic.h */

struct req {
    struct str method, path, query;
    struct param params[REQ_PARAMS_MAX];
    size_t n_params;
    struct str path_vars[4]; /* {...} of the pattern, in order */
    struct str accept, if_none_match, if_modified_since, authorization, content_type,
        idempotency_key, last_event_id;
    struct str base; /* scheme://host, no slash at the end */
    struct str remote_addr;
    struct str body;
    bool body_too_large;
    const char *refused; /* why the request cannot be taken at all (a doubled header), or NULL */
    char *const *params_raw; /* NAME=value as the web server sent them, NULL at the end; or NULL */
    struct arena *arena;
    struct ledger *ledger; /* NULL while it cannot be opened */
    const struct instance *inst;
    struct traffic *traffic;   /* of this program's processes; NULL: not counted */
    const struct token *token; /* who asks, behind a route that needs a scope */
    int64_t now;
    bool waited; /* freshet-stream: it came earlier, and tip is where the feed ended then */
    int64_t tip;
};

struct req;
struct resp;
struct route;
/* What a request still has to write, in a transaction that it may share with others: it makes the answer.
 * After a failure of the transaction it may be called again, in another one. */
typedef enum rc resp_later_fn(struct req *r, struct resp *w, struct err *err);

struct resp {
    int status;
    const char *content_type;
    struct buf body;
    struct buf headers;        /* further header lines, each with CRLF */
    struct buf errors;         /* members of a problem's errors[], through resp_error() */
    struct buf extra;          /* further members of a problem, each with a comma in front */
    char etag[80];             /* with quotes; "" for none */
    int64_t last_modified;     /* -1: unknown */
    bool etag_only;            /* the date is too coarse to answer If-Modified-Since by it */
    char hand_over[96];        /* nginx sends the bytes that lie here (X-Accel-Redirect): no body */
    bool cors;                 /* any origin may read it */
    const char *cache_control; /* NULL: the default of the route table */
    const char *route;         /* pattern that matched, for logs; "" when none */
    resp_later_fn *later;      /* not answered yet: route_settle does it. NULL: answered */
    void *later_ctx;           /* of the route, in the request's arena */
    const struct route *row;   /* that set it */
};

/* What the base URL is made of, as the server before us told it. */
struct origin {
    struct str scheme, host, remote_addr;
    struct str forwarded_proto, forwarded_host;
};

/* Value of a parameter; .p NULL when absent. */
struct str req_param(const struct req *r, const char *name);
/* Value of a header by its name, in any case; .p NULL when absent. The first, where there are two. */
struct str req_header(const struct req *r, const char *name);
/* How many header lines there are. */
size_t req_headers(const struct req *r);
/* Did more than one line of this name come? */
bool req_header_twice(const struct req *r, const char *name);
/* The name of a header that came twice although it must be single; NULL: none did. */
const char *req_doubled(const struct req *r);

/* Decodes %XX (and + as a space when plus) into arena memory. RC_INVALID for a broken escape and
 * for what is not clean UTF-8 (str_is_clean). */
MUST_CHECK enum rc http_decode(struct arena *a, struct str s, bool plus, struct str *ret);
/* Appends s with all but unreserved characters as %XX. */
void http_encode(struct buf *out, struct str s);
/* Fills r->params from r->query. */
MUST_CHECK enum rc req_parse_query(struct req *r, struct err *err);
/* scheme://host: the setting public_base_url, else what the request says. RC_INVALID for a host
 * that is none. */
MUST_CHECK enum rc http_base(struct arena *a, const struct conf *c, const struct origin *o,
                             struct str *ret, struct err *err);

void resp_init(struct resp *w);
void resp_clear(struct resp *w); /* ready for the next request, memory kept */
void resp_release(struct resp *w);
/* Adds a header line. A value that is not clean or holds a line break is left out. */
void resp_header(struct resp *w, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Adds Link: <base path id>; rel="rel". base and id come from checked sources: hosts and our ids. */
void resp_link(struct resp *w, struct str base, const char *path, const char *id, const char *rel);
/* Adds to errors[] of the problem to come. */
void resp_error(struct resp *w, struct str field, const char *message);
/* Turns the response into a problem (RFC 9457). Headers, errors and extra members stay, a body
 * begun is dropped. */
void resp_problem(struct resp *w, const struct req *r, const struct err *err);
/* Does the client hold this answer already? Weak comparison, lists, `*`; If-Modified-Since counts
 * only where there is no If-None-Match. */
bool resp_not_modified(const struct resp *w, const struct req *r);
/* The header block in CGI form (Status: ... , empty line at the end). */
void resp_head(const struct resp *w, const struct req *r, struct buf *out);

/* ETags are a hash of what the representation depends on: 64 bits, public inputs only. */
struct etag {
    uint64_t h;
};
/* Starts with what all share: build, policy version, base URL. */
struct etag etag_start(const char *policy_version, struct str base);
void etag_int(struct etag *e, int64_t v);
void etag_str(struct etag *e, struct str s);
void etag_set(const struct etag *e, struct resp *w);

/* Writers of JSON members, in the order called: `"key":value` with a comma in front unless it is
 * the first of its object. */
void put_key(struct buf *b, const char *key);
void put_text(struct buf *b, const char *key, const char *value); /* NULL or "": null */
void put_time(struct buf *b, const char *key, int64_t at);        /* -1: null */
void put_number(struct buf *b, const char *key, int64_t v);
/* Digits alone; for what is written a hundred times per answer, printf is too slow. */
void put_digits(struct buf *b, int64_t v);
/* A link object {"rel":...,"href":base path,"type":"application/json"} with a comma where due. */
void put_link(struct buf *b, const char *rel, struct str base, const char *path);

#endif
