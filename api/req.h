/* req: what a route sees of a request; a front fills it field by field. Headers that only some
 * routes ask for are looked up in what the web server sent, which has CGI's names for them
 * (HTTP_X_HUB_SIGNATURE). Nothing here knows FastCGI or the database; tests make requests by hand.
 *
 * Invariants
 *   1. What is decoded is clean UTF-8; nothing is decoded twice.
 *   2. X-Forwarded-* is believed only when the connection comes from a trusted proxy.
 */
#ifndef FRESHET_API_REQ_H
#define FRESHET_API_REQ_H

#include "core/arena.h"
#include "core/buf.h"
#include "core/instance.h"
#include "core/rc.h"
#include "ledger/ledger.h"

#define REQ_PARAMS_MAX 32         /* no route takes more; keeps lookups linear and short */
#define REQ_QUERY_MAX 8192        /* bytes of the query string */
#define REQ_ARENA_MAX (16u << 20) /* memory of one request beside its response body */
#define REQ_ID_MAX 128            /* bytes of an id that is asked for: ours are shorter */
#define REQ_HOST_MAX 255          /* the longest name that DNS has */

struct param {
    struct str name, value; /* decoded */
};

/* What the base URL is made of, as the server before us told it. */
struct origin {
    struct str scheme, host, remote_addr;
    struct str forwarded_proto, forwarded_host;
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
    struct str content_length;
    struct origin origin;
    struct str base; /* scheme://host, no slash at the end */
    struct str remote_addr;
    struct str body;
    bool body_too_large;
    const char *refused; /* why the request cannot be taken at all (a doubled header), or NULL */
    unsigned seen;       /* bits of the fields that came */
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

/* What a front (fcgi, stream_http) hears of a request. Each has its own names for these.
 * X(field, member of struct req, how it is called where it may come once only, else "") */
#define REQ_FIELDS(X)                                                                              \
    X(METHOD, method, "REQUEST_METHOD")                                                            \
    X(PATH, path, "PATH_INFO")                                                                     \
    X(QUERY, query, "QUERY_STRING")                                                                \
    X(CONTENT_TYPE, content_type, "Content-Type")                                                  \
    X(CONTENT_LENGTH, content_length, "Content-Length")                                            \
    X(REMOTE_ADDR, remote_addr, "REMOTE_ADDR")                                                     \
    X(SCHEME, origin.scheme, "REQUEST_SCHEME")                                                     \
    X(HOST, origin.host, "Host")                                                                   \
    X(FORWARDED_PROTO, origin.forwarded_proto, "X-Forwarded-Proto")                                \
    X(FORWARDED_HOST, origin.forwarded_host, "X-Forwarded-Host")                                   \
    X(AUTHORIZATION, authorization, "Authorization")                                               \
    X(IDEMPOTENCY_KEY, idempotency_key, "Idempotency-Key")                                         \
    X(LAST_EVENT_ID, last_event_id, "Last-Event-ID")                                               \
    X(IF_NONE_MATCH, if_none_match, "")                                                            \
    X(IF_MODIFIED_SINCE, if_modified_since, "")                                                    \
    X(ACCEPT, accept, "")
enum req_field {
#define X(field, member, once_as) FIELD_##field,
    REQ_FIELDS(X)
#undef X
};
/* Keeps one. Of several the first: that can only cost a 304; where it may come once only, the
 * request is refused. */
void req_take_field(struct req *r, enum req_field field, struct str value);
/* When all fields are in: base, by http_base; a host that is none refuses the request. */
void req_set_base(struct req *r, const struct conf *c);

/* Value of a parameter; .p NULL when absent. */
struct str req_param(const struct req *r, const char *name);
/* Value of a header by its name, in any case; .p NULL when absent. The first, where there
 * are two. */
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

#endif
