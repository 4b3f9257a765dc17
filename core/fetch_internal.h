/* fetch_internal: what the files of fetch share. Included by core/fetch*.c and their tests only.
 *
 *   fetch.c         the engine: requests, attempts, hops, the loop
 *   fetch_job.c     a request, checked and copied
 *   fetch_curl.c    libcurl's handles and callbacks, TLS trust
 *   fetch_poll.c    epoll under its multi interface
 *   fetch_url.c     which URL may be fetched, where a redirect leads
 *   fetch_host.c    hosts: budget, Retry-After, circuit breaker
 *   fetch_queue.c   requests that wait: fair over hosts, and for a time
 *   fetch_head.c    response headers
 *   fetch_policy.c  addresses, allow list, clean URLs, Retry-After
 *
 * A job is a request from fetch_start to on_done: one block of memory with its strings. A slot is
 * what an attempt needs: an easy handle, buffers, a fetch_res. There are at most max_concurrency
 * slots, reused; a job that waits has none. A hop is one HTTP exchange of an attempt.
 *
 *   queued --slot--> hop --redirect--> hop ... --> done
 *    ^ |              |  `--other host is not ready--> parked (keeps its slot) --> hop
 *    | `--> refused --|---> done, without a slot: the host is down or asked for a long pause
 *    `---- paused <---' transient end, tries left
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
#define FETCH_BUCKETS 4096 /* of the host table */
/* Hosts nobody refers to, remembered for their budget, pause and breaker: some 250 bytes each, so
 * 2 MiB. More hosts than the sources of a nation have. */
#define FETCH_IDLE_HOSTS_MAX 8192
#define FETCH_WARM_MS 60000         /* idle for so long, a host counts as new for TLS */
#define FETCH_BREAKER_MAX_MS 600000 /* a host that is back is found within ten minutes */

/* Where a URL points to. `listed`: it is in allow_hosts and may use what that grants. */
struct fetch_target {
    char host[FETCH_HOST_MAX];     /* lower case */
    char name[FETCH_HOST_MAX + 8]; /* host:port */
    int port;
    bool https, listed;
};

/* The judgement of the last URL of an origin: sources come in thousands per host, and to read a URL
 * costs as much as to queue it. */
#define FETCH_MEMOS 32
struct fetch_memo {
    char origin[96]; /* "https://host:port/" as it was spelled */
    struct fetch_target target;
};

struct fetch_job;
struct fetch_slot;
STAILQ_HEAD(fetch_jobs, fetch_job);
STAILQ_HEAD(fetch_slots, fetch_slot);

/* A host and port. fetch_host.c explains. Times are clock_mono. */
struct fetch_host {
    struct fetch_host *next; /* in its bucket */
    STAILQ_ENTRY(fetch_host) ring_link;
    TAILQ_ENTRY(fetch_host) idle_link; /* while refs is 0 */
    struct fetch_jobs waiting;
    size_t refs;
    int64_t idle_since;
    int in_flight;
    bool in_ring;
    bool timed; /* has an entry in the heap */
    bool warm;  /* one exchange was tried; before that an https host gets one request at a time, so
                   that the rest finds a connection to share or a TLS session to resume */
    bool probing;              /* half-open, and its one request is under way */
    int failures;              /* in a row */
    int opened;                /* how often in a row the breaker opened; 0: it is closed */
    enum fetch_end why;        /* the last failure; FETCH_OK: an HTTP status */
    int64_t open_until;        /* the breaker; half-open from then on */
    int64_t quiet_until;       /* Retry-After */
    int64_t tokens, tokens_at; /* the budget in thousandths of a request, as of then */
    char name[];               /* host:port */
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
    long quiet_s;
    enum rc (*on_begin)(void *ctx, const struct fetch_res *res);
    enum rc (*on_body)(void *ctx, const void *p, size_t n);
    void (*on_done)(void *ctx, const struct fetch_res *res);
    void *ctx;
    bool *ret_ended; /* set when it ended, for fetch_one */
    struct fetch_place home;
    int64_t started; /* first attempt, clock_mono */
    int64_t bytes_in, wire_in;
    struct fetch_line lines[]; /* the strings follow */
};

struct fetch_head {
    unsigned seen; /* a bit per known field */
    int last;      /* field of the line before, -1 when unknown */
    bool done;     /* the final response's header is complete */
    /* The last Date and its meaning, which many responses share; outlives them. */
    char date[40];
    int64_t date_ms;
};

struct fetch_slot {
    STAILQ_ENTRY(fetch_slot) link; /* free or parked */
    LIST_ENTRY(fetch_slot) all_link;
    struct fetch *f;
    CURL *easy;
    struct fetch_job *job;
    struct fetch_place place; /* of this hop */
    bool keep_secrets;        /* the origin is still the first one */
    bool probe;               /* this hop decides whether its host is up again */
    int64_t left_ms;          /* of the attempt, when the hop began */
    int64_t deadline;
    struct fetch_head head;
    size_t head_bytes, head_lines;
    int64_t body_bytes; /* of this hop */
    bool connected, begun, refused;
    bool stopped; /* by us, with: */
    enum fetch_end end;
    struct curl_slist nodes[FETCH_REQ_HEADERS_MAX + 3];
    /* What the handle was told already, and keeps. */
    enum fetch_method told_method;
    bool pinned;
    int64_t told_ms;
    long told_quiet_s;
    char error[CURL_ERROR_SIZE];
    struct fetch_res res;
};

/* Something that goes on at a time: a job that paused, or a host that jobs wait for. */
struct fetch_due {
    int64_t at; /* clock_mono */
    struct fetch_job *job;
    struct fetch_host *host; /* when job is NULL */
};

/* A socket of ours: what epoll was told to watch for, and what libcurl wants now; 0: nothing. */
struct fetch_fd {
    uint32_t told, wanted;
    bool ours;
};

struct fetch {
    fetch_pause_fn *on_pause; /* may be NULL */
    void *on_pause_ctx;
    bool each_alone;
    const struct conf *conf;
    CURLM *multi;
    CURLSH *share;
    void *trust;                           /* X509_STORE, loaded when TLS is first needed */
    char *extra_ca;                        /* a copy of SSL_CERT_FILE, or NULL */
    char user_agent[FETCH_AGENT_MAX + 12]; /* the header line */
    struct fetch_memo memos[FETCH_MEMOS];
    long low_speed_s;
    int epoll, wake;
    struct fetch_fd *fds; /* by descriptor */
    size_t n_fds;
    int64_t timer_at; /* when libcurl wants to be called, clock_mono */
    size_t pending;   /* jobs that have not ended */
    int active;       /* slots in use */
    struct fetch_slots free_slots, parked;
    LIST_HEAD(, fetch_slot) slots;
    struct fetch_host *hosts[FETCH_BUCKETS];
    TAILQ_HEAD(, fetch_host) idle; /* nobody refers to them; the longest idle first */
    size_t n_hosts, n_idle;
    struct fetch_ring ring; /* hosts with waiting jobs; those that are not ready leave when met */
    struct fetch_jobs refused; /* to be ended without a try */
    struct fetch_due *due;     /* heap */
    size_t n_due, due_room;
};

/* fetch_head.c */
void fetch_head_begin(struct fetch_head *h, struct fetch_res *res);
void fetch_head_line(struct fetch_head *h, struct fetch_res *res, struct str line);

/* fetch_url.c */
/* Reads an absolute URL and says whether it may be fetched at all: RC_INVALID or RC_BLOCKED. */
MUST_CHECK enum rc fetch_url_judge(const struct conf_list *allow, const char *url,
                                   struct fetch_target *ret, struct err *err);
/* The same for the engine's own list, remembered per origin. */
MUST_CHECK enum rc fetch_url_target(struct fetch *f, const char *url, struct fetch_target *ret,
                                    struct err *err);
/* Absolute form of a Location met at base. */
MUST_CHECK enum rc fetch_url_resolve(const char *base, const char *location,
                                     char ret[FETCH_URL_MAX], struct err *err);

/* fetch_job.c */
/* Checks and copies req; the URL was judged already. The place is left for the caller to fill. */
MUST_CHECK enum rc fetch_job_new(const struct fetch_req *req, int default_attempts,
                                 struct fetch_job **ret, struct err *err);

/* fetch_host.c */
/* Refers to the host of a target, which comes to be when it is new. RC_NOMEM. */
MUST_CHECK enum rc fetch_place_enter(struct fetch *f, const struct fetch_target *t,
                                     struct fetch_place *ret);
void fetch_place_leave(struct fetch *f, struct fetch_place *p);
/* All hosts, and the jobs that wait at them or were refused. */
void fetch_hosts_free(struct fetch *f);
/* FETCH_OK, or the end of a request that would be made now: FETCH_DEFERRED, FETCH_HOST_DOWN. */
enum fetch_end fetch_host_refusal(const struct fetch_host *h, int64_t now);
/* How long it still wants to be left alone. */
int64_t fetch_host_left_ms(const struct fetch_host *h, int64_t now);
/* May a request go out now? When only time has to pass, the loop will be woken for it. */
bool fetch_host_ready(struct fetch *f, struct fetch_host *h, int64_t now);
/* Its entry in the heap came up. */
void fetch_host_woken(struct fetch *f, struct fetch_host *h, int64_t now);
/* Counts a hop that begins; true when it is the one by which a half-open host is judged. */
bool fetch_host_take(struct fetch *f, struct fetch_host *h, int64_t now);
/* Learns from a hop that ended, and lets the jobs that wait go on or refuses them. */
void fetch_host_heard(struct fetch_slot *s, enum fetch_end end, int64_t now);

/* fetch_queue.c */
/* To be called when a host may have become ready. */
void fetch_host_offer(struct fetch *f, struct fetch_host *h, int64_t now);
/* The same, when it may also have begun to refuse. */
void fetch_queue_review(struct fetch *f, struct fetch_host *h, int64_t now);
void fetch_queue_push(struct fetch *f, struct fetch_job *j, int64_t now);
/* The next job whose host is ready, round robin over hosts; NULL when there is none. */
struct fetch_job *fetch_queue_next(struct fetch *f, int64_t now);
/* Room in the heap for n entries, so that pausing cannot fail. */
MUST_CHECK enum rc fetch_due_reserve(struct fetch *f, size_t n);
void fetch_due_push(struct fetch *f, struct fetch_due d);
/* The earliest entry whose time has come at `now`; false when there is none. */
bool fetch_due_pop(struct fetch *f, int64_t now, struct fetch_due *ret);

/* fetch_curl.c */
MUST_CHECK enum rc fetch_curl_open(struct fetch *f, struct err *err);
void fetch_curl_close(struct fetch *f);
/* A slot with its easy handle, all that never changes set. NULL when memory ran out. */
struct fetch_slot *fetch_slot_new(struct fetch *f);
void fetch_slot_free(struct fetch_slot *s);
/* Sets what differs between hops and hands the transfer to libcurl. */
MUST_CHECK CURLcode fetch_hop_start(struct fetch_slot *s);
enum fetch_end fetch_end_of(const struct fetch_slot *s, CURLcode code, int64_t now);

/* fetch_poll.c */
MUST_CHECK enum rc fetch_poll_open(struct fetch *f,
                                   struct err *err); /* the multi handle and epoll */
void fetch_poll_close(struct fetch *f);
/* A handle's connections tell when they are closed, and that a socket was made for one. */
MUST_CHECK CURLcode fetch_poll_handle(struct fetch *f, CURL *easy);
void fetch_fd_opened(struct fetch *f, int fd);
/* Waits for at most wait_ms and lets libcurl work; true when the wake descriptor is readable. */
bool fetch_poll(struct fetch *f, int64_t wait_ms);
void fetch_timer(struct fetch *f);

/* fetch.c, asked by the callbacks: is the body of the response at hand for the caller? */
bool fetch_wants_body(const struct fetch_slot *s);
/* Tells the caller that a body begins, once per attempt. */
enum rc fetch_begin_body(struct fetch_slot *s);

#endif
