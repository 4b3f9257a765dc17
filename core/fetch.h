/* fetch: all outgoing HTTP. libcurl's multi interface on epoll; nothing else links libcurl.
 *
 * A request is started with fetch_start and driven by fetch_run; when it has ended, however it
 * ended, its on_done is called exactly once. Any number may be in flight; the engine holds at
 * most max_concurrency (and per_host) open and queues the rest, fair over hosts. Transient ends and
 * HTTP 429, 502, 503, 504 are tried again (attempts, full jitter: fetch_retry_ms, doubled, ...
 * capped at 10 s; a Retry-After up to 10 s is honoured, with a longer one the response is handed
 * out at once, for the caller to plan).
 *
 * Towards a host (host and port: two ports are two services) the engine is polite beyond that, and
 * remembers it after the request that taught it has ended:
 *   - at most per_host_rate requests a second, two seconds' worth at once; the rest waits without a
 *     slot.
 *   - Retry-After with 429 or 503 pauses the host for all: requests wait for up to 10 s; beyond
 *     they end at once as DEFERRED, with the time left in retry_after_ms. Not so
 *     after fetch_each_alone.
 *   - after breaker_failures failures in a row requests end at once as HOST_DOWN, until one request
 *     in breaker_s (doubled each time, up to 10 min) is answered. What counts as a failure, and the
 *     states, are drawn in fetch_host.c.
 *
 * Memory: a slot (7 KiB beside libcurl's handle) per request in flight, at most max_concurrency and
 * reused; a request that waits costs its strings and about 250 bytes, some 375 with a usual URL and
 * two validators (test_fetch_host measures it for 100,000).
 *
 * Invariants
 *   1. https, or http for hosts in allow_hosts; nothing else. No proxy, no netrc, no cookies, no
 *      user-info in URLs.
 *   2. The connected address of every hop, also of reused connections, is checked against the
 *      address policy; private, loopback, link-local, CGNAT, NAT64/6to4-wrapped, multicast and
 *      documentation ranges only for hosts in allow_hosts (`host` or `host:port`).
 *   3. Redirects (at most 5) are followed by the engine itself, hop by hop; request headers marked
 *      `secret` are dropped when the origin (scheme, host, port) changes. What allow_hosts grants
 *      holds for redirects only while every hop before was listed too: a public upstream cannot
 *      lead us to a private one. POST is not redirected.
 *   4. Bodies are counted as delivered: never more than max_body bytes reach on_body. Headers are
 *      capped (64 KiB, 200 lines), transfers below 64 B/s for 30 s end, every request has a total
 *      time limit.
 *   5. Accept-Encoding is identity: digests are over the bytes as published.
 *   6. res->detail and errors never hold the query string or user-info of a URL.
 */
#ifndef FRESHET_CORE_FETCH_H
#define FRESHET_CORE_FETCH_H

#include <stdint.h>
#include "core/conf.h"
#include "core/rc.h"
#include "core/str.h"

enum fetch_end {
#define X(name, transient, text) FETCH_##name,
#include "core/fetch.def"
#undef X
    FETCH_END_COUNT
};
const char *fetch_end_name(enum fetch_end e); /* "TIMEOUT" */
const char *fetch_end_text(enum fetch_end e);
bool fetch_end_transient(enum fetch_end e);

#define FETCH_VALIDATOR_MAX 1024 /* longer ETags are none: nobody honest sends 8 KB */
#define FETCH_URL_MAX 2048

struct fetch_header {
    const char *name, *value; /* an empty value is not sent */
    bool secret; /* dropped on a redirect to another origin, never logged; Authorization and Cookie
                    always are */
};

struct fetch_res {
    enum fetch_end end;
    int http;                       /* status of the final response, 0 when none */
    int attempts;                   /* how often it was tried; 0 when the host was left alone */
    int redirects;                  /* hops followed */
    bool moved_permanently;         /* a hop was 301 or 308: reported, never adopted */
    char final_url[FETCH_URL_MAX];  /* where the final response came from */
    char etag[FETCH_VALIDATOR_MAX]; /* byte for byte; "" when absent, doubled, unquoted, too long
                                       or unclean */
    char last_modified[64];         /* byte for byte; "" when absent or unclean */
    char content_type[128];         /* "" when absent */
    char content_encoding[32];
    char location[FETCH_URL_MAX]; /* of the final response; "" also when it was refused */
    char transfer_encoding[16];   /* "" when absent */
    bool streams;                 /* HTTP/2 and later: the protocol tells where a body ends */
    int64_t content_length;       /* -1 when not announced */
    int64_t retry_after_ms;       /* -1 when absent or unreadable; clamped to a day; with DEFERRED
                                     and HOST_DOWN how long the host is left alone */
    int64_t date_ms;              /* Date header, -1 when absent */
    int64_t bytes_in;             /* body bytes received in all attempts and hops */
    int64_t wire_in;              /* and with headers */
    int64_t elapsed_ms;           /* since the first attempt began, pauses included */
    char detail[200];             /* one line for people: why it ended so */
};

struct fetch_req {
    const char *method; /* "GET", "HEAD" or "POST" */
    const char *url;
    const struct fetch_header *headers;
    size_t n_headers;
    struct str body;        /* POST only */
    const char *pin_sha256; /* "sha256//base64" of the public key, or NULL */
    int64_t max_body;       /* bytes; required but for HEAD */
    int64_t timeout_ms;     /* whole attempt; required */
    int attempts;           /* 0: as configured */
    int64_t quiet_s;        /* > 0: a transfer that stays open; it ends when not a byte came for so
                               long, not by its speed */
    /* Called before the first body byte of each attempt, or at its end when the body is empty; with
     * quiet_s as soon as the header is complete: forget what came before. res holds status and
     * headers. Return RC_OK to receive the body, anything else to stop (end STOPPED). Not called
     * where there is no body (HEAD, 304, 204), nor for redirects and responses that are worth
     * another try. May be NULL. */
    enum rc (*on_begin)(void *ctx, const struct fetch_res *res);
    enum rc (*on_body)(void *ctx, const void *p, size_t n);  /* NULL: discarded */
    void (*on_done)(void *ctx, const struct fetch_res *res); /* required; may start new requests */
    void *ctx;
};

struct fetch;

/* Reads max_concurrency, per_host, per_host_rate, breaker_*, time-outs, allow_hosts, operator_*
 * from conf, which must outlive the engine. TLS trust: the system bundle, loaded once and shared;
 * SSL_CERT_FILE adds to it (tests use it). */
MUST_CHECK enum rc fetch_new(const struct conf *conf, struct fetch **ret, struct err *err);
void fetch_free(struct fetch **f); /* ends what is in flight without calling on_done */

/* A host (host:port) is left alone for so long; nothing that is known becomes shorter. */
MUST_CHECK enum rc fetch_pause(struct fetch *f, const char *host, int64_t ms, struct err *err);
/* Is told of each pause that a host asks for, when it is longer than FETCH_PAUSE_TOLD_MS. Must not
 * call back in here. */
#define FETCH_PAUSE_TOLD_MS 60000
typedef void fetch_pause_fn(void *ctx, const char *host, int64_t ms);
void fetch_on_pause(struct fetch *f, fetch_pause_fn *fn, void *ctx);
/* For an engine whose requests to one host are those of many who are nothing to each other, each
 * with a limit of its own: a Retry-After is told in the result and pauses no host, and nobody waits
 * for the first answer of a new one. Before the first request. */
void fetch_each_alone(struct fetch *f);

/* May this URL be fetched at all, as far as it alone tells? RC_INVALID or RC_BLOCKED. */
MUST_CHECK enum rc fetch_may(const struct conf *conf, const char *url, struct err *err);

/* Strings of req are copied. RC_BLOCKED or RC_INVALID at once when the URL may not be fetched. */
MUST_CHECK enum rc fetch_start(struct fetch *f, const struct fetch_req *req, struct err *err);
/* Drives transfers until all have ended, wait_ms have passed (negative: no limit) or the wake
 * descriptor is readable; returns how many requests have not ended yet. With nothing in flight it
 * waits for the wake descriptor, so that it can be the one wait of a program; without one it
 * returns at once. */
size_t fetch_run(struct fetch *f, int wait_ms);
/* An extra descriptor that ends fetch_run's wait when readable (signals, wake-ups); -1 for none. */
void fetch_wake_fd(struct fetch *f, int fd);
/* Convenience: starts req and drives until it ends, also when woken. on_done is called as usual. */
MUST_CHECK enum rc fetch_one(struct fetch *f, const struct fetch_req *req, struct err *err);

/* The libraries in use, with their versions. */
const char *fetch_library(void);

/* Pure parts, tested on their own. */
/* Retry-After: digits or HTTP-date. -1 when neither; negative and past give 0; clamped to a day. */
int64_t fetch_retry_after(struct str value, int64_t now_ms);
/* May this literal address (sockaddr) be connected to without being allow-listed? */
struct sockaddr;
bool fetch_addr_public(const struct sockaddr *sa);
/* Is host:port in the list? Entries are `host` (any port) or `host:port`. */
bool fetch_host_allowed(const struct conf_list *allow, struct str host, int port);
/* scheme://host[:port]/path without user-info, query and fragment: fit for people and logs;
 * "(not a URL)" for anything else. */
void fetch_url_clean(const char *url, char *out, size_t n);

/* How we call ourselves, with name and contact of the operator where the settings have them.
 * RC_INVALID when they cannot stand in a header. */
#define FETCH_AGENT_MAX 244
MUST_CHECK enum rc fetch_user_agent(const struct conf *c, char out[FETCH_AGENT_MAX],
                                    struct err *err);
/* How a URL is stored to tell places apart: clean, and of its query, which may carry keys, only a
 * short hash. */
void fetch_url_place(const char *url, char out[FETCH_URL_MAX]);
/* Host part of a URL in lower case, "" when it has none or it does not fit. IPv6 in brackets. */
void fetch_url_host(const char *url, char *out, size_t n);
/* Absolute form of a reference met in a document at base, without its fragment; what a URL may not
 * hold as it is, is percent-encoded. RC_INVALID when that is no http or https URL. */
MUST_CHECK enum rc fetch_url_join(const char *base, const char *ref, char ret[FETCH_URL_MAX],
                                  struct err *err);
/* Scheme, host and port alike? False also for what is no http or https URL. */
bool fetch_url_same_origin(const char *x, const char *y);

#endif
