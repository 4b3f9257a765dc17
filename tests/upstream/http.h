/* http: requests as they stand on the wire. Views only, nothing is copied.
 *
 * Invariants
 *   1. A request head is at most HTTP_HEAD_MAX bytes, its body HTTP_BODY_MAX; more is an error
 *      with the status to answer.
 *   2. A request that is not understood whole is an error, never half a request: pipelined bytes
 *      behind it cannot be mistaken for its body.
 *
 * Called by server.c; the views are valid until it reads on.
 */
#ifndef FRESHET_UPSTREAM_HTTP_H
#define FRESHET_UPSTREAM_HTTP_H

#include "core/str.h"
#include "tests/upstream/spec.h"

#define HTTP_HEAD_MAX (64u << 10)
#define HTTP_BODY_MAX (8u << 20)

struct request {
    enum method method;
    struct str method_text;
    struct str target, path, query; /* target is path[?query] */
    struct str headers;             /* all header lines, each with its line end */
    struct str if_none_match, if_modified_since, accept_encoding; /* p NULL when absent */
    struct str body;
    size_t head_n, body_n; /* bytes on the wire */
    bool keep_alive, expects_continue;
};

enum parsed { PARSED_OK, PARSED_MORE, PARSED_BAD };

/* Reads the head at the start of input; fills *ret but its body. PARSED_MORE: the head is not
 * complete. PARSED_BAD: *ret_status is what to answer before closing. */
enum parsed http_parse(struct str input, struct request *ret, int *ret_status);
/* "Not Modified"; "Unknown" for a status we know no name of. */
const char *http_reason(int status);
/* The value of a query parameter, percent-decoded into out (NUL-terminated). False when it is
 * absent, too long or not decodable. */
bool http_param(struct str query, const char *name, char *out, size_t n);
/* Takes the next line off *lines, without its line end. */
bool http_line(struct str *lines, struct str *ret);

#endif
