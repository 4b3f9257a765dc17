/* http: what a route makes of a response; what it sees of a request is in req.h, how JSON is
 * written in put.h, ETags are in conditional.h. Of the server before us it knows two things: the
 * header block has the form of CGI, and a file that nginx shall send is named in X-Accel-Redirect.
 * It knows no database.
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

#include "api/req.h"
#include "core/json.h"

#define RESP_BODY_MAX (32u << 20)    /* 1000 entries of 32 KiB */
#define RESP_HEADERS_MAX (16u << 10) /* what nginx takes with our fastcgi_buffer_size */
#define RESP_VALUE_MAX 2048          /* one value: a Location with its base and a path is shorter */

struct resp;
struct route;
/* What a request still has to write, in a transaction that it may share with others: it makes the
 * answer. After a failure of the transaction it may be called again, in another one. */
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

void resp_init(struct resp *w);
void resp_clear(struct resp *w); /* ready for the next request, memory kept */
void resp_release(struct resp *w);
/* Adds a header line. A value that is not clean (so no line break), or has RESP_VALUE_MAX bytes or
 * more, is left out with its name. */
void resp_header(struct resp *w, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Adds Link: <base path id>; rel="rel". base and id come from checked sources: hosts and
 * our ids. */
void resp_link(struct resp *w, struct str base, const char *path, const char *id, const char *rel);
/* Adds to errors[] of the problem to come. */
void resp_error(struct resp *w, struct str field, const char *message);
/* Turns the response into a problem (RFC 9457). Headers, errors and extra members stay, a body
 * begun is dropped. */
void resp_problem(struct resp *w, const struct req *r, const struct err *err);
/* The header block in CGI form (Status: ... , empty line at the end). */
void resp_head(const struct resp *w, const struct req *r, struct buf *out);

#endif
