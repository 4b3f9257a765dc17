/* stream: freshet-stream, the live feed: server-sent events and long polls for thousands of clients
 * that mostly wait, in one process.
 *
 *   stream_client   what a client gets next          stream_tail   the newest entries, read once
 *   stream_http     HTTP, by libmicrohttpd           stream_view   filters and base, shared
 *   stream          the loop: wake-ups, time, stop   stream_stat   numbers, for /metrics
 *
 * Invariants
 *   1. Handlers hint (run/wake.sock) and are never waited for; a hint that is lost costs LOOK_MS.
 *   2. While nothing happens no read of the ledger is open, and each client costs the process what
 *      docs/OPERATIONS.md says.
 *   3. SIGTERM: every wait ends, after what was begun is sent: long polls are answered, streams end
 *      between two events and come back by their id.
 *   4. Who takes nothing for stream_stall_s is dropped, and comes back by id.
 */
#ifndef FRESHET_API_STREAM_H
#define FRESHET_API_STREAM_H

#include "api/stream_client.h"
#include "api/stream_stat.h"

/* ---- routes_stream.c ------------------------------------------------------------------------- */

extern const struct router router_waits, router_streams;
route_fn stream_open;
/* Does r ask for events, not for a page? Its parameters are parsed. */
bool stream_is_wanted(const struct req *r);
/* The query of a stream: where it starts and what passes. */
MUST_CHECK enum rc stream_query(const struct req *r, struct feed_query *ret, struct err *err);

/* ---- stream_http.c --------------------------------------------------------------------------- */

struct stream_http;
struct stream_http_options {
    struct stream_feed *feed;
    int listen_fd;
    size_t clients_max;
    int64_t beat_ms;
    unsigned stall_s;
};
MUST_CHECK enum rc stream_http_new(const struct stream_http_options *o, struct stream_http **ret,
                                   struct err *err);
void stream_http_free(struct stream_http **h);
/* Becomes readable when there is something to do. */
int stream_http_fd(const struct stream_http *h);
/* How long may be waited before the next turn, at most `ms`. */
int64_t stream_http_wait(const struct stream_http *h, int64_t ms);
/* Serves what came. */
void stream_http_turn(struct stream_http *h);
/* The feed has grown: wakes those for whom there is something. */
void stream_http_tell(struct stream_http *h);
/* Takes no new connections and ends all waits. False once nobody is left. */
void stream_http_stop(struct stream_http *h);
bool stream_http_is_busy(const struct stream_http *h);
/* Numbers of now. */
void stream_http_count(const struct stream_http *h, struct stream_stat *ret);

/* ---- stream.c -------------------------------------------------------------------------------- */

/* Until SIGTERM or SIGINT. */
MUST_CHECK enum rc stream_run(const struct instance *inst, struct err *err);

#endif
