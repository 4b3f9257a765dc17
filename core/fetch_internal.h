/* fetch_internal: what the files of fetch share. Included by core/fetch*.c and their tests only.
 *
 *   fetch.c         the engine: requests, attempts, hops, the loop
 *   fetch_job.c     a request, checked and copied
 *   fetch_curl.c    everything that touches libcurl: handles, callbacks, epoll, TLS trust
 *   fetch_url.c     which URL may be fetched, where a redirect leads
 *   fetch_queue.c   requests that wait: fair over hosts, and pauses before another try
 *   fetch_head.c    response headers
 *   fetch_policy.c  addresses, allow list, clean URLs, Retry-After
 *
 * A job is a request from fetch_start to on_done: one block of memory with its strings. A slot is
 * what an attempt needs: an easy handle, buffers, a fetch_res. There are at most max_concurrency
 * slots, reused; a job that waits has none. A hop is one HTTP exchange of an attempt.
 *
 *   queued --slot--> hop --redirect--> hop ... --> done
 *     ^               |  `--other host is full--> parked (keeps its slot) --> hop
 *     `---- paused <--' transient end, tries left
 */
#ifndef FRESHET_CORE_FETCH_INTERNAL_H
#define FRESHET_CORE_FETCH_INTERNAL_H

#include <curl/curl.h>
#include <sys/queue.h>
#include "core/fetch.h"
#include "core/fetch_policy.h"

#define FETCH_HEAD_BYTES_MAX 65536 /* of one hop; real ones stay below 8 KiB */
#define FETCH_HEAD_LINES_MAX 200
#define FETCH_REDIRECTS_MAX 5
#define FETCH_REQ_HEADERS_MAX 32 /* nobody needs more; bounds the slot */
#define FETCH_REQ_TEXT_MAX 65536 /* all header lines of a request */
#define FETCH_DISCARD_MAX 65536  /* of a body nobody wants, read only to keep the connection */
#define FETCH_LOW_SPEED_BPS 64L
#define FETCH_LOW_SPEED_S 30L
#define FETCH_HOST_MAX 256 /* a DNS name has at most 253 characters */
#define FETCH_BUCKETS 1024 /* of the host table */

/* Where a URL points to. `listed`: it is in allow_hosts and may use what that grants. */
struct fetch_target {
    char host[FETCH_HOST_MAX]; /* lower case */
    int port;
    bool https, listed;
};

struct fetch_job;
struct fetch_slot;
STAILQ_HEAD(fetch_jobs, fetch_job);
STAILQ_HEAD(fetch_slots, fetch_slot);

/* A host that some job refers to. */
struct fetch_host {
    struct fetch_host *next; /* in its bucket */
    STAILQ_ENTRY(fetch_host) ring_link;
    struct fetch_jobs waiting;
    size_t refs;
    int in_flight;
    bool in_ring;
    bool warm; /* one exchange was tried; before that an https host gets one request at a time, so
                  that the rest finds a connection to share or a TLS session to resume */
    char name[];
};
STAILQ_HEAD(fetch_ring, fetch_host);

struct fetch_place {
    struct fetch_host *host; /* counted in refs */
    int port;
    bool https, listed;
};

struct fetch_line {
    char *text; /* "Name: value" */
    bool secret;
};

enum fetch_method { FETCH_GET, FETCH_HEAD, FETCH_POST };

struct fetch_job {
    STAILQ_ENTRY(fetch_job) link;
    enum fetch_method method;
    const char *url, *pin;
    struct str body;
    size_t n_lines;
    int64_t max_body, timeout_ms;
    int attempts_max, attempts;
    enum rc (*on_begin)(void *ctx, const struct fetch_res *res);
    enum rc (*on_body)(void *ctx, const void *p, size_t n);
    void (*on_done)(void *ctx, const struct fetch_res *res);
    void *ctx;
    bool *ret_ended; /* set when it ended, for fetch_one */
    struct fetch_place home;
    int64_t started; /* first attempt, clock_mono */
    int64_t due;     /* while paused: when to go on, clock_mono */
    int64_t bytes_in, wire_in;
    struct fetch_line lines[]; /* the strings follow */
};

struct fetch_head {
    unsigned seen; /* a bit per known field */
    int last;      /* field of the line before, -1 when unknown */
    bool done;     /* the final response's header is complete */
};

struct fetch_slot {
    STAILQ_ENTRY(fetch_slot) link; /* free or parked */
    LIST_ENTRY(fetch_slot) all_link;
    struct fetch *f;
    CURL *easy;
    struct fetch_job *job;
    struct fetch_place place; /* of this hop */
    bool keep_secrets;        /* the origin is still the first one */
    int64_t left_ms;          /* of the attempt, when the hop began */
    int64_t deadline;
    struct fetch_head head;
    size_t head_bytes, head_lines;
    int64_t body_bytes; /* of this hop */
    bool connected, begun, refused;
    bool stopped; /* by us, with: */
    enum fetch_end end;
    struct curl_slist nodes[FETCH_REQ_HEADERS_MAX + 2];
    char error[CURL_ERROR_SIZE];
    struct fetch_res res;
};

struct fetch {
    const struct conf *conf;
    CURLM *multi;
    CURLSH *share;
    void *trust;    /* X509_STORE, loaded when TLS is first needed */
    char *extra_ca; /* a copy of SSL_CERT_FILE, or NULL */
    char user_agent[256];
    long low_speed_s;
    int epoll, wake;
    int64_t timer_at; /* when libcurl wants to be called, clock_mono */
    size_t pending;   /* jobs that have not ended */
    int active;       /* slots in use */
    struct fetch_slots free_slots, parked;
    LIST_HEAD(, fetch_slot) slots;
    struct fetch_host *hosts[FETCH_BUCKETS];
    struct fetch_ring ring;    /* hosts with waiting jobs; those without room leave when met */
    struct fetch_job **paused; /* heap by due; room for every pending job */
    size_t n_paused, paused_room;
};

/* fetch_head.c */
void fetch_head_begin(struct fetch_head *h, struct fetch_res *res);
void fetch_head_line(struct fetch_head *h, struct fetch_res *res, struct str line);

/* fetch_url.c */
/* Reads an absolute URL and says whether it may be fetched at all: RC_INVALID or RC_BLOCKED. */
MUST_CHECK enum rc fetch_url_judge(const struct conf_list *allow, const char *url,
                                   struct fetch_target *ret, struct err *err);
/* Absolute form of a Location met at base. */
MUST_CHECK enum rc fetch_url_resolve(const char *base, const char *location,
                                     char ret[FETCH_URL_MAX], struct err *err);

/* fetch_job.c */
/* Checks and copies req; the URL was judged already. The place is left for the caller to fill. */
MUST_CHECK enum rc fetch_job_new(const struct fetch_req *req, int default_attempts,
                                 struct fetch_job **ret, struct err *err);

/* fetch_queue.c */
/* Refers to the host of a target, which comes to be when it is new. RC_NOMEM. */
MUST_CHECK enum rc fetch_place_enter(struct fetch *f, const struct fetch_target *t,
                                     struct fetch_place *ret);
void fetch_place_leave(struct fetch *f, struct fetch_place *p);
bool fetch_host_has_room(const struct fetch *f, const struct fetch_host *h);
/* To be called when a host may have got room. */
void fetch_host_offer(struct fetch *f, struct fetch_host *h);
void fetch_queue_push(struct fetch *f, struct fetch_job *j);
/* The next job whose host has room, round robin over hosts; NULL when there is none. */
struct fetch_job *fetch_queue_next(struct fetch *f);
/* Room in the heap for n jobs, so that pausing cannot fail. */
MUST_CHECK enum rc fetch_pause_reserve(struct fetch *f, size_t n);
void fetch_pause_push(struct fetch *f, struct fetch_job *j);
/* A job whose pause is over at `now`, or NULL. */
struct fetch_job *fetch_pause_pop(struct fetch *f, int64_t now);

/* fetch_curl.c */
MUST_CHECK enum rc fetch_curl_open(struct fetch *f, struct err *err);
void fetch_curl_close(struct fetch *f);
/* A slot with its easy handle, all that never changes set. NULL when memory ran out. */
struct fetch_slot *fetch_slot_new(struct fetch *f);
void fetch_slot_free(struct fetch_slot *s);
/* Sets what differs between hops and hands the transfer to libcurl. */
MUST_CHECK CURLcode fetch_hop_start(struct fetch_slot *s);
/* Waits for at most wait_ms and lets libcurl work; true when the wake descriptor is readable. */
bool fetch_poll(struct fetch *f, int64_t wait_ms);
void fetch_timer(struct fetch *f);
enum fetch_end fetch_end_of(const struct fetch_slot *s, CURLcode code, int64_t now);

/* fetch.c, asked by the callbacks: is the body of the response at hand for the caller? */
bool fetch_wants_body(const struct fetch_slot *s);
/* Tells the caller that a body begins, once per attempt. */
enum rc fetch_begin_body(struct fetch_slot *s);

#endif
