/* fetch: the engine. Requests become jobs, jobs get slots, attempts run hop by hop, ends are told.
 * fetch_internal.h draws the states. Called by detectors and handler; single-threaded.
 *
 * Invariants
 *   1. A job is in exactly one place: a host's queue, the heap of pauses, the refused, or a slot.
 *   2. host->in_flight counts the hops of that host that libcurl holds; f->active the slots in use.
 *   3. on_done is the last thing that happens to a job. It runs outside of libcurl, so it may start
 *      requests; fetch_start itself only queues, so the other callbacks may call it too.
 *   4. Redirects into the allow list are followed from within the allow list only: a public
 *      upstream cannot make us read a private one.
 */
#include "core/fetch.h"

#include <errno.h>
#include <sys/epoll.h>
#include "core/clock.h"
#include "core/fetch_internal.h"

/* ---- what a response means ------------------------------------------------------------------ */

/* POST is not redirected: its body was meant for one origin. */
static bool is_redirect(const struct fetch_slot *s)
{
    int http = s->res.http;
    bool moved = http == 301 || http == 302 || http == 303 || http == 307 || http == 308;
    return moved && s->res.location[0] && s->job->method != FETCH_POST;
}

/* Is this response one to try again for? A long Retry-After is the caller's to plan. */
static bool asks_again(const struct fetch_slot *s)
{
    int http = s->res.http;
    return (http == 429 || http == 502 || http == 503 || http == 504) &&
           s->res.retry_after_ms <= FETCH_RETRY_CAP_MS && s->job->attempts < s->job->attempts_max;
}

bool fetch_wants_body(const struct fetch_slot *s)
{
    return !is_redirect(s) && !asks_again(s);
}

enum rc fetch_begin_body(struct fetch_slot *s)
{
    if (s->begun)
        return RC_OK;
    s->begun = true;
    return s->job->on_begin ? s->job->on_begin(s->job->ctx, &s->res) : RC_OK;
}

/* A body without bytes begins too, or what an earlier attempt left would be taken for it. */
static enum fetch_end begin_empty_body(struct fetch_slot *s)
{
    bool bodiless = s->job->method == FETCH_HEAD || s->res.http == 304 || s->res.http == 204;
    if (bodiless || fetch_begin_body(s) == RC_OK)
        return FETCH_OK;
    return FETCH_STOPPED;
}

/* ---- ends ----------------------------------------------------------------------------------- */

static void slot_release(struct fetch_slot *s)
{
    fetch_place_leave(s->f, &s->place);
    s->job = NULL;
    s->f->active--;
    STAILQ_INSERT_HEAD(&s->f->free_slots, s, link);
}

static void job_free(struct fetch *f, struct fetch_job *j)
{
    fetch_place_leave(f, &j->home);
    free(j);
}

/* libcurl's own words only where they help and hold no URL: what is wrong with a certificate. */
static void set_detail(struct fetch_slot *s, enum fetch_end end)
{
    char url[100];
    struct fetch_res *res = &s->res;
    if (end == FETCH_OK) {
        snprintf(res->detail, sizeof res->detail, "HTTP %d", res->http);
    } else if (!res->detail[0]) {
        bool own_words = end != FETCH_TLS || !s->error[0] || !str_is_clean(str_of(s->error));
        fetch_url_clean(res->final_url, url, sizeof url);
        snprintf(res->detail, sizeof res->detail, "%.90s: %s",
                 own_words ? fetch_end_text(end) : s->error, url);
    }
    fetch_text_cut(res->detail);
}

/* The job is gone afterwards. */
static void job_done(struct fetch *f, struct fetch_job *j, struct fetch_res *res,
                     enum fetch_end end)
{
    res->end = end;
    res->bytes_in = j->bytes_in;
    res->wire_in = j->wire_in;
    res->elapsed_ms = j->attempts ? clock_mono() - j->started : 0;
    j->on_done(j->ctx, res);
    if (j->ret_ended)
        *j->ret_ended = true;
    job_free(f, j);
    f->pending--;
}

static void attempt_ended(struct fetch_slot *s, enum fetch_end end)
{
    struct fetch_job *j = s->job;
    int64_t now = clock_mono();
    bool again =
        end == FETCH_OK ? asks_again(s) : fetch_end_transient(end) && j->attempts < j->attempts_max;
    /* What was just heard says more than the refusal that another try would meet. */
    if (again && fetch_host_refusal(j->home.host, now) == FETCH_OK) {
        int64_t asked = end == FETCH_OK ? s->res.retry_after_ms : -1;
        int64_t pause = fetch_retry_pause(j->attempts, s->f->conf->fetch_retry_ms, asked);
        fetch_due_push(s->f, (struct fetch_due){.at = now + pause, .job = j});
    } else {
        set_detail(s, end);
        job_done(s->f, j, &s->res, end);
    }
    slot_release(s);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void set_refusal(struct fetch_res *res, const struct fetch_host *h, enum fetch_end end,
                        int64_t now)
{
    char until[TIME_MAX];
    res->retry_after_ms = fetch_host_left_ms(h, now);
    time_format(clock_now() + res->retry_after_ms, until);
    if (end == FETCH_DEFERRED)
        snprintf(res->detail, sizeof res->detail, "%.60s asked to be left alone until %s", h->name,
                 until);
    else
        snprintf(res->detail, sizeof res->detail, "%.60s is left alone until %s: %s", h->name,
                 until,
                 h->why == FETCH_OK ? "its gateway says it is down" : fetch_end_text(h->why));
}

static void refuse_job(struct fetch *f, struct fetch_job *j, enum fetch_end end, int64_t now)
{
    struct fetch_res res = {.attempts = j->attempts};
    fetch_head_begin(&(struct fetch_head){0}, &res);
    memcpy(res.final_url, j->url, strlen(j->url) + 1);
    set_refusal(&res, j->home.host, end, now);
    job_done(f, j, &res, end);
}

/* Those that on_done adds have their turn after others had theirs. */
static void end_refused(struct fetch *f, int64_t now)
{
    struct fetch_jobs refused = STAILQ_HEAD_INITIALIZER(refused);
    struct fetch_job *j;
    STAILQ_CONCAT(&refused, &f->refused);
    while ((j = STAILQ_FIRST(&refused))) {
        STAILQ_REMOVE_HEAD(&refused, link);
        enum fetch_end end = fetch_host_refusal(j->home.host, now);
        if (end == FETCH_OK)
            fetch_queue_push(f, j, now); /* its time has just passed */
        else
            refuse_job(f, j, end, now);
    }
}

/* A redirect led to a host that refuses. */
static void refuse_slot(struct fetch_slot *s, enum fetch_end end, int64_t now)
{
    fetch_head_begin(&s->head, &s->res);
    set_refusal(&s->res, s->place.host, end, now);
    job_done(s->f, s->job, &s->res, end);
    slot_release(s);
}

/* ---- hops ----------------------------------------------------------------------------------- */

static void hop_begin(struct fetch_slot *s, int64_t now)
{
    fetch_head_begin(&s->head, &s->res);
    s->head_bytes = s->head_lines = 0;
    s->body_bytes = 0;
    s->connected = s->begun = s->refused = s->stopped = false;
    s->deadline = now + s->left_ms;
    CURLcode code = fetch_hop_start(s);
    if (code != CURLE_OK) {
        attempt_ended(s, fetch_end_of(s, code, s->deadline));
        return;
    }
    s->probe = fetch_host_take(s->f, s->place.host, now);
    fetch_host_offer(s->f, s->place.host, now);
}

static enum fetch_end refused_redirect(struct fetch_slot *s, const struct err *err)
{
    snprintf(s->res.detail, sizeof s->res.detail, "redirect: %.180s", err->msg);
    s->res.location[0] = '\0'; /* it may hold what must not be stored */
    return err->rc == RC_BLOCKED ? FETCH_BLOCKED : FETCH_PROTOCOL;
}

/* May this hop lead to t? Sets err when not. */
static enum rc hop_check(const struct fetch_slot *s, struct fetch_target *t, struct err *err)
{
    t->listed = t->listed && s->place.listed;
    if (!t->https && !t->listed)
        return err_set(err, RC_BLOCKED, "url", "from a public host to http on a listed one");
    if (!t->https && s->job->pin)
        return err_set(err, RC_BLOCKED, "url", "a pinned source may not leave https");
    return RC_OK;
}

/* Prepares the slot for the next hop. Anything but FETCH_OK ends the attempt. */
static enum fetch_end follow(struct fetch_slot *s, int64_t now)
{
    char url[FETCH_URL_MAX];
    struct fetch_target t;
    struct fetch_place next;
    struct err err;
    if (s->res.redirects == FETCH_REDIRECTS_MAX)
        return FETCH_REDIRECTS;
    if (fetch_url_resolve(s->res.final_url, s->res.location, url, &err) != RC_OK ||
        fetch_url_target(s->f, url, &t, &err) != RC_OK || hop_check(s, &t, &err) != RC_OK)
        return refused_redirect(s, &err);
    s->left_ms = s->deadline - now;
    if (s->left_ms <= 0)
        return FETCH_TIMEOUT;
    if (fetch_place_enter(s->f, &t, &next) != RC_OK)
        return FETCH_BROKEN;
    if (next.host != s->place.host || next.port != s->place.port || next.https != s->place.https)
        s->keep_secrets = false;
    fetch_place_leave(s->f, &s->place);
    s->place = next;
    s->res.redirects++;
    s->res.moved_permanently |= s->res.http == 301 || s->res.http == 308;
    memcpy(s->res.final_url, url, strlen(url) + 1);
    return FETCH_OK;
}

static void hop_ended(struct fetch_slot *s, CURLcode code)
{
    int64_t now = clock_mono();
    curl_multi_remove_handle(s->f->multi, s->easy);
    enum fetch_end end = fetch_end_of(s, code, now);
    fetch_host_heard(s, end, now);
    if (end == FETCH_OK && is_redirect(s)) {
        end = follow(s, now);
        if (end == FETCH_OK) {
            STAILQ_INSERT_TAIL(&s->f->parked, s, link);
            return;
        }
    } else if (end == FETCH_OK && !asks_again(s)) {
        end = begin_empty_body(s);
    }
    attempt_ended(s, end);
}

/* ---- the loop ------------------------------------------------------------------------------- */

static struct fetch_slot *slot_take(struct fetch *f)
{
    struct fetch_slot *s = STAILQ_FIRST(&f->free_slots);
    if (s) {
        STAILQ_REMOVE_HEAD(&f->free_slots, link);
    } else {
        s = fetch_slot_new(f);
        if (!s)
            return NULL;
        LIST_INSERT_HEAD(&f->slots, s, all_link);
    }
    f->active++;
    return s;
}

static void attempt_begin(struct fetch *f, struct fetch_job *j, int64_t now)
{
    struct fetch_slot *s = slot_take(f);
    if (!s) { /* memory is short: later, when some was given back */
        fetch_due_push(f, (struct fetch_due){.at = now + 1000, .job = j});
        return;
    }
    if (!j->attempts++)
        j->started = now;
    s->job = j;
    s->place = j->home;
    s->place.host->refs++;
    s->keep_secrets = true;
    s->left_ms = j->timeout_ms;
    s->res.attempts = j->attempts;
    s->res.redirects = 0;
    s->res.moved_permanently = false;
    s->res.detail[0] = '\0';
    memcpy(s->res.final_url, j->url, strlen(j->url) + 1);
    hop_begin(s, now);
}

/* Slots between two hops go first: they hold a place that others wait for. */
static void start_parked(struct fetch *f, int64_t now)
{
    struct fetch_slots parked = STAILQ_HEAD_INITIALIZER(parked);
    struct fetch_slot *s;
    STAILQ_CONCAT(&parked, &f->parked);
    while ((s = STAILQ_FIRST(&parked))) {
        STAILQ_REMOVE_HEAD(&parked, link);
        enum fetch_end refusal = fetch_host_refusal(s->place.host, now);
        if (refusal != FETCH_OK)
            refuse_slot(s, refusal, now);
        else if (fetch_host_ready(f, s->place.host, now))
            hop_begin(s, now);
        else
            STAILQ_INSERT_TAIL(&f->parked, s, link);
    }
}

static void start_waiting(struct fetch *f)
{
    struct fetch_due d;
    struct fetch_job *j;
    int64_t now = clock_mono();
    while (fetch_due_pop(f, now, &d))
        if (d.job)
            fetch_queue_push(f, d.job, now);
        else
            fetch_host_woken(f, d.host, now);
    end_refused(f, now);
    start_parked(f, now);
    while (f->active < f->conf->max_concurrency && (j = fetch_queue_next(f, now)))
        attempt_begin(f, j, now);
}

static bool reap(struct fetch *f)
{
    bool some = false;
    CURLMsg *m;
    int left;
    while ((m = curl_multi_info_read(f->multi, &left))) {
        struct fetch_slot *s;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &s);
        hop_ended(s, m->data.result);
        some = true;
    }
    return some;
}

/* How long nothing can happen by itself. */
static int64_t quiet_ms(const struct fetch *f, int64_t until)
{
    if (!STAILQ_EMPTY(&f->refused) ||
        (!STAILQ_EMPTY(&f->ring) && f->active < f->conf->max_concurrency))
        return 0;
    int64_t at = until < f->timer_at ? until : f->timer_at;
    if (f->n_due && f->due[0].at < at)
        at = f->due[0].at;
    int64_t ms = at - clock_mono();
    return ms < 0 ? 0 : ms > 60000 ? 60000 : ms;
}

size_t fetch_run(struct fetch *f, int wait_ms)
{
    int64_t until = wait_ms < 0 ? INT64_MAX : clock_mono() + wait_ms;
    bool idle = f->pending == 0, woken = false, late = false;
    for (;;) {
        start_waiting(f);
        fetch_timer(f);
        bool some = reap(f);
        if (woken || late || (f->pending == 0 && (!idle || f->wake < 0)))
            return f->pending;
        woken = fetch_poll(f, some ? 0 : quiet_ms(f, until));
        reap(f);
        late = clock_mono() >= until;
    }
}

/* ---- life ----------------------------------------------------------------------------------- */

enum rc fetch_new(const struct conf *conf, struct fetch **ret, struct err *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(err, RC_INTERNAL, "", "libcurl could not be started");
    struct fetch *f = calloc(1, sizeof *f);
    if (!f) {
        curl_global_cleanup();
        return err_set(err, RC_NOMEM, "", "out of memory");
    }
    f->conf = conf;
    f->epoll = f->wake = -1;
    f->timer_at = INT64_MAX;
    f->low_speed_s = FETCH_LOW_SPEED_S;
    STAILQ_INIT(&f->free_slots);
    STAILQ_INIT(&f->parked);
    STAILQ_INIT(&f->ring);
    STAILQ_INIT(&f->refused);
    TAILQ_INIT(&f->idle);
    LIST_INIT(&f->slots);
    enum rc rc = fetch_curl_open(f, err);
    if (rc != RC_OK)
        fetch_free(&f);
    else
        *ret = f;
    return rc;
}

void fetch_free(struct fetch **p)
{
    struct fetch *f = *p;
    struct fetch_slot *s;
    if (!f)
        return;
    while ((s = LIST_FIRST(&f->slots))) {
        LIST_REMOVE(s, all_link);
        if (s->job)
            curl_multi_remove_handle(f->multi, s->easy);
        free(s->job);
        fetch_slot_free(s);
    }
    for (size_t i = 0; i < f->n_due; i++)
        free(f->due[i].job);
    free(f->due);
    fetch_hosts_free(f);
    fetch_curl_close(f);
    free(f);
    curl_global_cleanup();
    *p = NULL;
}

static enum rc start(struct fetch *f, const struct fetch_req *req, bool *ret_ended, struct err *err)
{
    struct fetch_target t;
    struct fetch_job *j = NULL;
    enum rc rc = fetch_url_target(f, req->url, &t, err);
    if (rc == RC_OK)
        rc = fetch_job_new(req, (int)f->conf->fetch_attempts, &j, err);
    if (rc != RC_OK)
        return rc;
    if (fetch_due_reserve(f, f->pending + f->n_hosts + 2) != RC_OK ||
        fetch_place_enter(f, &t, &j->home) != RC_OK) {
        free(j);
        return err_set(err, RC_NOMEM, "", "out of memory");
    }
    j->ret_ended = ret_ended;
    f->pending++;
    fetch_queue_push(f, j, clock_mono());
    return RC_OK;
}

enum rc fetch_start(struct fetch *f, const struct fetch_req *req, struct err *err)
{
    return start(f, req, NULL, err);
}

void fetch_wake_fd(struct fetch *f, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};
    if (f->wake >= 0)
        epoll_ctl(f->epoll, EPOLL_CTL_DEL, f->wake, NULL);
    f->wake = fd;
    if (fd >= 0)
        epoll_ctl(f->epoll, EPOLL_CTL_ADD, fd, &ev);
}

/* The wake descriptor is set aside: it says that others want the loop, not that this request can
 * be left half done. */
enum rc fetch_one(struct fetch *f, const struct fetch_req *req, struct err *err)
{
    bool ended = false;
    enum rc rc = start(f, req, &ended, err);
    if (rc != RC_OK)
        return rc;
    int wake = f->wake;
    fetch_wake_fd(f, -1);
    while (!ended)
        fetch_run(f, 1000);
    fetch_wake_fd(f, wake);
    return RC_OK;
}
