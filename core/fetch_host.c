/* fetch_host: what the engine knows of each host and port: who is in flight, how many requests it
 * may still get, since when and how long it wants to be left alone, whether it is up.
 *
 * Three things keep a request from a host besides per_host:
 *   budget    a token bucket: per_host_rate requests a second, two seconds' worth at once. A
 *             request without a token waits.
 *   pause     429 or 503 with Retry-After. Up to FETCH_RETRY_CAP_MS requests wait, beyond they are
 *             refused (DEFERRED): whoever asked can plan better than a queue. An engine may do
 *             without (fetch_each_alone).
 *   breaker   after breaker_failures failures in a row requests are refused (HOST_DOWN), for
 *             breaker_s, then twice as long, up to FETCH_BREAKER_MAX_MS:
 *
 *        closed --failures--> open --time--> half-open --answer--> closed
 *          ^ |                 ^ |               |
 *          `-' answer          | `-- answer --> closed (of a request sent before)
 *                              `----- its one request failed ---'
 *
 *     Half-open lets exactly one request through, the others wait for its end.
 *
 * A failure is a hop that says something of the host and not of one path: no name, no connection,
 * no TLS, no response header in time, a gateway that says so (502, 504, and 503 without
 * Retry-After). A 404 or 500 is an answer: somebody is at home. Ends that are our own doing
 * (BLOCKED, PIN, STOPPED, limits) say nothing; neither does a HEAD that got its connection and no
 * answer, since some servers hang on HEAD alone, nor a time-out of a hop to which redirects left
 * too little time.
 *
 * Invariants
 *   1. The key is host:port: two ports are two services.
 *   2. A record outlives its jobs, at most FETCH_IDLE_HOSTS_MAX of them; then the oldest goes,
 *      those that refuse last of all.
 *   3. No job waits at a host that refuses.
 *   4. A pause never becomes shorter: no answer and no end of a job takes it back.
 */
#include "core/clock.h"
#include "core/fetch_internal.h"

/* Budgets are counted in thousandths: then a millisecond brings `rate` of them. */
#define TOKEN 1000

/* ---- records -------------------------------------------------------------------------------- */

static struct fetch_host **bucket_of(struct fetch *f, const char *name)
{
    uint32_t h = 2166136261u; /* FNV-1a: names come from the operator's own sources */
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return &f->hosts[h % FETCH_BUCKETS];
}

static int64_t burst(const struct fetch *f)
{
    int64_t two_seconds = 2 * f->conf->per_host_rate;
    return TOKEN * (two_seconds > f->conf->per_host ? two_seconds : f->conf->per_host);
}

static struct fetch_host *host_new(const struct fetch *f, const char *name, bool https)
{
    size_t n = strlen(name) + 1;
    struct fetch_host *h = calloc(1, sizeof *h + n);
    if (!h)
        return NULL;
    memcpy(h->name, name, n);
    STAILQ_INIT(&h->waiting);
    h->warm = !https || f->each_alone;
    h->tokens = burst(f);
    h->tokens_at = clock_mono();
    return h;
}

static void host_free(struct fetch *f, struct fetch_host *h)
{
    struct fetch_host **at = bucket_of(f, h->name);
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    if (h->in_ring)
        STAILQ_REMOVE(&f->ring, h, fetch_host, ring_link);
    f->n_hosts--;
    free(h);
}

/* The oldest goes; one that refuses is worth keeping, so a few others are looked at before. */
static void evict(struct fetch *f)
{
    int64_t now = clock_mono();
    struct fetch_host *h = TAILQ_FIRST(&f->idle);
    for (int i = 0; i < 8 && fetch_host_refusal(h, now) != FETCH_OK; i++) {
        TAILQ_REMOVE(&f->idle, h, idle_link);
        TAILQ_INSERT_TAIL(&f->idle, h, idle_link);
        h = TAILQ_FIRST(&f->idle);
    }
    TAILQ_REMOVE(&f->idle, h, idle_link);
    f->n_idle--;
    host_free(f, h);
}

/* After a while connections are closed and the first request goes alone again. */
static void wake_up(struct fetch *f, struct fetch_host *h, bool https)
{
    TAILQ_REMOVE(&f->idle, h, idle_link);
    f->n_idle--;
    if (clock_mono() - h->idle_since > FETCH_WARM_MS)
        h->warm = !https || f->each_alone;
}

static enum rc host_add(struct fetch *f, const char *name, bool https, struct fetch_host **ret)
{
    struct fetch_host **b = bucket_of(f, name), *h;
    if (fetch_due_reserve(f, f->pending + f->n_hosts + 2) != RC_OK ||
        !(h = host_new(f, name, https)))
        return RC_NOMEM;
    h->next = *b;
    *b = h;
    f->n_hosts++;
    *ret = h;
    return RC_OK;
}

static struct fetch_host *host_find(struct fetch *f, const char *name)
{
    struct fetch_host *h = *bucket_of(f, name);
    while (h && strcmp(h->name, name) != 0)
        h = h->next;
    return h;
}

enum rc fetch_place_enter(struct fetch *f, const struct fetch_target *t, struct fetch_place *ret)
{
    struct fetch_host *h = host_find(f, t->name);
    if (!h) {
        TRY(host_add(f, t->name, t->https, &h));
    } else if (!h->refs) {
        wake_up(f, h, t->https);
    }
    h->refs++;
    *ret = (struct fetch_place){h, t->port, t->https, t->listed};
    return RC_OK;
}

static void host_unref(struct fetch *f, struct fetch_host *h)
{
    if (--h->refs)
        return;
    h->idle_since = clock_mono();
    TAILQ_INSERT_TAIL(&f->idle, h, idle_link);
    if (++f->n_idle > FETCH_IDLE_HOSTS_MAX)
        evict(f);
}

enum rc fetch_pause(struct fetch *f, const char *host, int64_t ms, struct err *err)
{
    struct fetch_host *h = host_find(f, host);
    int64_t until = clock_mono() + ms;
    if (!h) {
        if (host_add(f, host, true, &h) != RC_OK)
            return err_set(err, RC_NOMEM, "", "no memory for a host");
        h->refs++;
        host_unref(f, h); /* it is idle, like one that was asked before */
    }
    h->quiet_until = h->quiet_until > until ? h->quiet_until : until;
    return RC_OK;
}

void fetch_on_pause(struct fetch *f, fetch_pause_fn *fn, void *ctx)
{
    f->on_pause = fn;
    f->on_pause_ctx = ctx;
}

void fetch_each_alone(struct fetch *f)
{
    f->each_alone = true;
}

void fetch_place_leave(struct fetch *f, struct fetch_place *p)
{
    if (p->host)
        host_unref(f, p->host);
    p->host = NULL;
}

static void waiting_free(struct fetch_jobs *list)
{
    struct fetch_job *j;
    while ((j = STAILQ_FIRST(list))) {
        STAILQ_REMOVE_HEAD(list, link);
        free(j);
    }
}

void fetch_hosts_free(struct fetch *f)
{
    struct fetch_host *h;
    waiting_free(&f->refused);
    for (size_t i = 0; i < FETCH_BUCKETS; i++)
        while ((h = f->hosts[i])) {
            waiting_free(&h->waiting);
            f->hosts[i] = h->next;
            free(h);
        }
}

/* ---- when may a request go out? ------------------------------------------------------------- */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

enum fetch_end fetch_host_refusal(const struct fetch_host *h, int64_t now)
{
    if (h->open_until > now)
        return FETCH_HOST_DOWN;
    return h->quiet_until - now > FETCH_RETRY_CAP_MS ? FETCH_DEFERRED : FETCH_OK;
}

int64_t fetch_host_left_ms(const struct fetch_host *h, int64_t now)
{
    return later(later(h->open_until, h->quiet_until) - now, 0);
}

static void refill(const struct fetch *f, struct fetch_host *h, int64_t now)
{
    int64_t full = burst(f), tokens = h->tokens + (now - h->tokens_at) * f->conf->per_host_rate;
    h->tokens = tokens < full ? tokens : full;
    h->tokens_at = now;
}

static int64_t token_at(const struct fetch *f, struct fetch_host *h, int64_t now)
{
    int64_t rate = f->conf->per_host_rate;
    if (!rate)
        return now;
    refill(f, h, now);
    return h->tokens >= TOKEN ? now : now + (TOKEN - h->tokens + rate - 1) / rate;
}

/* INT64_MAX: not before something ends. */
static int64_t ready_at(const struct fetch *f, struct fetch_host *h, int64_t now)
{
    if (h->in_flight >= (h->warm ? f->conf->per_host : 1) || h->probing)
        return INT64_MAX;
    return later(h->quiet_until, token_at(f, h, now));
}

/* One entry in the heap is enough, and it is never too late: what a host waits for moves on only.
 * The entry refers to the host. */
static void wake_at(struct fetch *f, struct fetch_host *h, int64_t at)
{
    if (h->timed)
        return;
    h->timed = true;
    h->refs++;
    fetch_due_push(f, (struct fetch_due){.at = at, .host = h});
}

bool fetch_host_ready(struct fetch *f, struct fetch_host *h, int64_t now)
{
    int64_t at = ready_at(f, h, now);
    if (at > now && at < INT64_MAX)
        wake_at(f, h, at);
    return at <= now;
}

void fetch_host_woken(struct fetch *f, struct fetch_host *h, int64_t now)
{
    h->timed = false;
    fetch_host_offer(f, h, now);
    host_unref(f, h);
}

bool fetch_host_take(struct fetch *f, struct fetch_host *h, int64_t now)
{
    h->in_flight++;
    if (f->conf->per_host_rate) {
        refill(f, h, now);
        h->tokens -= TOKEN;
    }
    h->probing = h->opened > 0;
    return h->probing;
}

/* ---- what a hop says of its host ------------------------------------------------------------ */

enum word { NOTHING, UP, DOWN };

static enum word word_of(const struct fetch_slot *s, enum fetch_end end)
{
    int http = s->res.http;
    if (s->head.done)
        return (http == 503 && s->res.retry_after_ms < 0) || http == 502 || http == 504 ? DOWN : UP;
    if (s->connected && s->job->method == FETCH_HEAD)
        return NOTHING;
    switch (end) {
    case FETCH_TIMEOUT: return s->left_ms >= s->job->timeout_ms / 2 ? DOWN : NOTHING;
    case FETCH_DNS:
    case FETCH_CONNECT:
    case FETCH_TLS:
    case FETCH_BROKEN:
    case FETCH_SLOW: return DOWN;
    default: return NOTHING;
    }
}

static void open_breaker(struct fetch_host *h, int64_t base_ms, int64_t now)
{
    int64_t ms = base_ms;
    for (int i = 0; i < h->opened && ms < FETCH_BREAKER_MAX_MS; i++)
        ms *= 2;
    h->opened++;
    h->open_until = now + (ms < FETCH_BREAKER_MAX_MS ? ms : FETCH_BREAKER_MAX_MS);
}

static void failed(struct fetch *f, struct fetch_host *h, bool probe, int64_t now)
{
    int64_t limit = f->conf->breaker_failures;
    h->failures++;
    /* While it is open or half-open, failures of requests sent before are no news. */
    if (limit && (h->opened ? probe : h->failures >= limit))
        open_breaker(h, f->conf->breaker_s * 1000, now);
}

static bool asks_for_pause(const struct fetch_slot *s)
{
    return s->head.done && (s->res.http == 429 || s->res.http == 503) && s->res.retry_after_ms > 0;
}

static void pause_host(struct fetch *f, struct fetch_host *h, int64_t ms, int64_t now)
{
    if (f->each_alone)
        return;
    h->quiet_until = later(h->quiet_until, now + ms);
    if (f->on_pause && ms > FETCH_PAUSE_TOLD_MS)
        f->on_pause(f->on_pause_ctx, h->name, ms);
}

void fetch_host_heard(struct fetch_slot *s, enum fetch_end end, int64_t now)
{
    struct fetch_host *h = s->place.host;
    h->in_flight--;
    h->warm = true;
    if (s->probe)
        h->probing = false;
    enum word word = word_of(s, end);
    if (word == UP) {
        h->failures = h->opened = 0;
        h->open_until = 0;
        h->probing = false;
    } else if (word == DOWN) {
        h->why = end;
        failed(s->f, h, s->probe, now);
    }
    if (asks_for_pause(s))
        pause_host(s->f, h, s->res.retry_after_ms, now);
    fetch_queue_review(s->f, h, now);
}
