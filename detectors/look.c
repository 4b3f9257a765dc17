/* look: whatever the kind of detector, here are sending, receiving, the spool, and what every end
 * of a check does to the state. */
#include "core/clock.h"
#include "detectors/headers.h"
#include "detectors/look.h"
#include "detectors/window.h"

#define LOOK_MEMORY_MAX (2 * SOURCE_MEMORY_MAX) /* a source, and its headers with their secrets */
#define LOOK_MEMORY_KEPT 8192                   /* a usual one: kept for the next check */
#define GONE_SPREAD_MS DAY_MS                   /* sightings of one bad hour are no deletion */
#define IGNORED_MAX 65536 /* of an error page, read so that the connection stays */
#define LOOK_HEADERS_MAX (SOURCE_HEADERS_MAX + 2)

/* ---- one after the other --------------------------------------------------------------------- */

struct look *look_new(const struct look_env *env)
{
    struct look *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    k->env = env;
    arena_init(&k->arena, LOOK_MEMORY_MAX);
    spool_init(&k->spool);
    buf_init(&k->text, 0);
    return k;
}

static void drop(struct look *k)
{
    spool_drop(&k->spool);
    buf_release(&k->text);
}

void look_free(struct look **k)
{
    if (!*k)
        return;
    drop(*k);
    arena_release(&(*k)->arena);
    free(*k);
    *k = NULL;
}

void look_clear(struct look *k)
{
    struct arena arena = k->arena;
    const struct look_env *env = k->env;
    drop(k);
    if (arena.used > LOOK_MEMORY_KEPT)
        arena_release(&arena);
    arena_reset(&arena);
    *k = (struct look){.env = env, .arena = arena};
    spool_init(&k->spool);
    buf_init(&k->text, 0);
}

enum rc look_load(struct look *k, struct ledger *l, int64_t src_no, struct err *err)
{
    struct check_result *r = &k->result;
    TRY(check_load(l, &k->arena, src_no, &k->source, &r->state, err));
    r->src_no = src_no;
    r->source_id = k->source.id;
    r->detector = k->source.detector;
    r->level = k->source.level;
    r->template = source_is_template(&k->source);
    k->changed_before = r->state.changed_at;
    return RC_OK;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void write_detail(struct check_result *r, const struct verdict *v,
                         const struct fetch_res *res, bool accepted)
{
    char url[FETCH_URL_MAX] = "";
    if (res && res->moved_permanently)
        fetch_url_clean(res->final_url, url, sizeof url);
    snprintf(r->detail, sizeof r->detail, "%.*s%s%s%.100s", STR_CUT(v->detail, 120),
             accepted ? "; accepted by hand" : "", url[0] ? "; moved permanently to " : "", url);
}

/* last: the check before this one. */
static void set_next(struct look *k, const struct fetch_res *res, int64_t last, int64_t now)
{
    const struct conf *conf = &k->env->inst->conf;
    struct check_state *st = &k->result.state;
    st->interval_s = window_interval(&k->source, st, conf, k->result.outcome, last);
    st->next_check_at = window_next(&k->source, st, conf, now).at;
    if (st->next_check_at < 0)
        return;
    bool failed = outcome_failure(k->result.outcome);
    if (k->result.streaming && !failed && st->next_check_at < now + LOOK_STREAMING_MS)
        st->next_check_at = now + LOOK_STREAMING_MS;
    if (res && failed && st->next_check_at < now + res->retry_after_ms)
        st->next_check_at = now + res->retry_after_ms;
}

/* 404 and 410 become a deletion when they were met often enough, over long enough; what is left of
 * the version is forgotten then, so that its return is news. */
static bool confirm_gone(const struct source *s, struct check_state *st, int64_t now)
{
    if (source_is_entry(s)) /* its listing decides */
        return false;
    if (!st->has_seen || st->gone_count < s->gone_after || now - st->gone_since < GONE_SPREAD_MS)
        return false;
    st->has_seen = false;
    st->seen_size = -1;
    st->etag[0] = st->last_modified[0] = st->cursor[0] = '\0';
    return true;
}

/* The host asked to be left alone, or did not answer others: what was known of the source
 * still is. */
static bool is_spared(const struct check_result *r, const struct fetch_res *res)
{
    return r->attempts == 0 && res && (res->end == FETCH_DEFERRED || res->end == FETCH_HOST_DOWN);
}

/* The date of the next look is that of one which failed; all else stays. */
static void settle_spared(struct look *k, const struct fetch_res *res, int64_t now)
{
    struct check_state *st = &k->result.state, before = *st;
    st->checked_at = now;
    set_next(k, res, before.checked_at, now);
    before.next_check_at = st->next_check_at;
    before.checks++;
    *st = before;
}

/* res is NULL when nothing was sent. */
static void end(struct look *k, const struct verdict *v, const struct fetch_res *res,
                const struct body_facts *body)
{
    struct check_result *r = &k->result;
    int64_t now = clock_now(), last = r->state.checked_at;
    /* The first bytes are expected at any time; those that come back after a deletion are not. */
    bool returned = k->changed_before >= 0 && r->state.gone_count > 0;
    r->ended_at = now;
    r->outcome = v->outcome;
    r->has_sha = body && body->read && !outcome_failure(v->outcome);
    if (r->has_sha)
        r->sha = body->sha;
    if (v->outcome == OUTCOME_not_modified && r->state.seen_size > r->bytes_in)
        r->bytes_saved = r->state.seen_size - r->bytes_in;
    write_detail(r, v, res, k->env->accept && check_found(r));
    r->spared = is_spared(r, res);
    if (r->spared) {
        settle_spared(k, res, now);
        spool_drop(&k->spool);
        k->env->ended(k->env->ctx, k);
        return;
    }
    int64_t reached = r->state.reached_at;
    state_settle(&r->state, v->outcome, r->detail, now);
    if (!res)
        r->state.reached_at = reached;
    r->deleted = v->outcome == OUTCOME_gone && confirm_gone(&k->source, &r->state, now);
    if (r->deleted)
        r->hint = HINT_DELETED;
    r->unexpected = check_found(r) && (returned || v->outcome != OUTCOME_new) &&
                    !calendar_expects(&k->source, now);
    set_next(k, res, last, now);
    /* Without the file the handler fetches by itself, so a failure here loses nothing. */
    struct err ignored;
    if (!r->has_sha || !check_found(r) || spool_keep(&k->spool, &r->sha, &ignored) != RC_OK)
        spool_drop(&k->spool);
    k->env->ended(k->env->ctx, k);
}

static void end_unsent(struct look *k, enum outcome o, const char *why)
{
    struct verdict v = verdict_of(o, "%s", why);
    k->result.end = CHECK_UNSENT;
    end(k, &v, NULL, NULL);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static enum rc on_begin(void *ctx, const struct fetch_res *res)
{
    struct look *k = ctx;
    k->ignored = 0;
    if (res->http != 200 || k->ask.head || k->ask.collect > 0) {
        spool_drop(&k->spool);
        buf_clear(&k->text);
        return RC_OK;
    }
    enum shape announced = shape_of_type(res->content_type);
    /* A person who accepts what comes accepts another kind, too. */
    const char *seen = k->env->accept ? "" : k->result.state.seen_shape;
    if (*seen && strcmp(seen, "html") != 0 && announced == SHAPE_html)
        announced = SHAPE_unknown; /* a page that calls itself one, but data is what was there */
    return spool_begin(
        &k->spool, k->env->spool,
        shape_expected_again(k->source.media_type, k->source.url, res->content_type, seen),
        announced, res->content_length, &k->trouble);
}

static enum rc on_body(void *ctx, const void *p, size_t n)
{
    struct look *k = ctx;
    if (k->spool.fd >= 0)
        return spool_add(&k->spool, (struct str){p, n}, &k->trouble);
    if (k->text.max > 0) {
        buf_add(&k->text, p, n);
        return buf_rc(&k->text);
    }
    k->ignored += (int64_t)n;
    return k->ignored > IGNORED_MAX ? RC_TOO_LARGE : RC_OK;
}

static void send_ask(struct look *k);

/* What a kind made of several answers is spooled like a body. */
static enum rc spool_content(struct look *k, struct str content, struct body_facts *ret,
                             struct err *err)
{
    TRY(spool_begin(&k->spool, k->env->spool, SHAPE_unknown, SHAPE_unknown, (int64_t)content.n,
                    err));
    TRY(spool_add(&k->spool, content, err));
    return spool_end(&k->spool, ret, err);
}

/* Trouble of our own is no answer: the state stays as it was. */
static struct verdict judge(struct look *k, struct answer *a)
{
    struct check_state *st = &k->result.state;
    bool whole = a->res->end == FETCH_OK && a->res->http == 200;
    if (whole && k->spool.fd >= 0 && k->trouble.rc == RC_OK &&
        spool_end(&k->spool, &a->body, &k->trouble) != RC_OK)
        a->body.read = false;
    if (whole && k->ask.collect > 0)
        a->text = buf_view(&k->text);
    struct verdict v = {0};
    if (k->trouble.rc == RC_OK) {
        struct check_state before = *st;
        v = k->kind->judge(st, a, clock_now());
        if (v.content.p && outcome_candidate(v.outcome) &&
            spool_content(k, v.content, &a->body, &k->trouble) != RC_OK)
            *st = before;
    }
    if (k->trouble.rc != RC_OK)
        v = verdict_of(OUTCOME_unavailable, "here: %s", k->trouble.msg);
    return v;
}

static void tell(const struct look *k, struct look_step s)
{
    s.ask = &k->ask;
    if (k->env->trace)
        k->env->trace(k->env->trace_ctx, &s);
}

static void on_done(void *ctx, const struct fetch_res *res)
{
    struct look *k = ctx;
    struct answer a = {.ask = k->ask,
                       .res = res,
                       .source = &k->source,
                       .arena = &k->arena,
                       .memo = &k->memo,
                       .told = k->told,
                       .accepted = k->env->accept};
    k->result.http = res->http;
    k->result.end = (int)res->end;
    k->result.attempts += res->attempts;
    k->result.bytes_in += res->bytes_in;
    struct verdict v = judge(k, &a);
    tell(k, (struct look_step){.res = res, .verdict = &v});
    if (v.again && k->asks < k->kind->asks_max) {
        k->ask = v.next;
        spool_drop(&k->spool);
        send_ask(k);
        return;
    }
    if (v.again)
        v = verdict_of(OUTCOME_unavailable, "no answer after %d requests could be believed",
                       k->kind->asks_max);
    end(k, &v, res, &a.body);
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Either of two forms of the same content will do. HEAD tells which one it is anyway, so only a
 * GET, whose body is the cost, asks by a list: not every server reads one. */
static const char *tags_of(struct look *k)
{
    const struct check_state *st = &k->result.state;
    if (k->ask.head || !st->other_same || !st->other_etag[0] ||
        strcmp(st->etag, st->other_etag) == 0)
        return st->etag;
    const char *both = arena_printf(&k->arena, "%s, %s", st->etag, st->other_etag);
    return both ? both : st->etag;
}

static enum rc put_headers(struct look *k, struct fetch_header *h, size_t *ret_n, struct err *err)
{
    const struct check_state *st = &k->result.state;
    size_t n = 0;
    if (k->ask.if_none_match)
        h[n++] = (struct fetch_header){"If-None-Match", tags_of(k), false};
    if (k->ask.if_modified_since)
        h[n++] = (struct fetch_header){"If-Modified-Since", st->last_modified, false};
    /* A probe may be declared elsewhere: secrets and the pin are for the source's own origin. */
    TRY(headers_add(&k->arena, k->env->inst, &k->source, k->ask.url, h, &n, err));
    *ret_n = n;
    return RC_OK;
}

static const char *pin_of(const struct look *k)
{
    bool pinned = k->source.pin_sha256[0] && headers_at_home(&k->source, k->ask.url);
    return pinned ? k->source.pin_sha256 : NULL;
}

static void send_ask(struct look *k)
{
    const struct conf *conf = &k->env->inst->conf;
    struct fetch_header headers[LOOK_HEADERS_MAX];
    int64_t max_body = k->source.max_bytes > 0 ? k->source.max_bytes : conf->max_bytes;
    struct fetch_req req = {
        .method = k->ask.head ? "HEAD" : "GET",
        .url = k->ask.url ? k->ask.url : k->source.url,
        .headers = headers,
        .pin_sha256 = pin_of(k),
        .max_body = k->ask.collect > 0 ? k->ask.collect : max_body,
        .timeout_ms = k->ask.head ? conf->head_timeout_ms : conf->fetch_timeout_ms,
        .on_begin = on_begin,
        .on_body = on_body,
        .on_done = on_done,
        .ctx = k,
    };
    struct err err;
    k->asks++;
    buf_release(&k->text);
    buf_init(&k->text, (size_t)k->ask.collect);
    if (put_headers(k, headers, &req.n_headers, &err) != RC_OK) {
        end_unsent(k, OUTCOME_denied, err.msg);
        return;
    }
    tell(k, (struct look_step){.req = &req});
    enum rc rc = fetch_start(k->env->fetch, &req, &err);
    if (rc != RC_OK)
        end_unsent(k, rc == RC_BLOCKED || rc == RC_INVALID ? OUTCOME_blocked : OUTCOME_unavailable,
                   err.msg);
}

/* A template is looked up in the calendar, not on the network: the handler makes a source of each
 * vintage that has opened. */
static void look_at_calendar(struct look *k)
{
    struct check_state *st = &k->result.state;
    int year = calendar_vintage(&k->source, clock_now());
    char *text = arena_printf(&k->arena, "%d", year);
    if (!text) {
        end_unsent(k, OUTCOME_unavailable, "here: no memory");
        return;
    }
    bool opened = year > 0 && strcmp(text, st->cursor) > 0;
    struct verdict v = year > 0 ? verdict_of(OUTCOME_unchanged, "vintage %d is the newest", year)
                                : verdict_of(OUTCOME_unchanged, "no vintage has opened yet");
    if (opened) {
        v = verdict_of(OUTCOME_new, "vintage %d has opened", year);
        snprintf(st->cursor, sizeof st->cursor, "%s", text);
        k->result.hint = text;
    }
    end(k, &v, NULL, NULL);
}

void look_start(struct look *k)
{
    k->result.started_at = clock_now();
    if (source_is_template(&k->source)) {
        look_at_calendar(k);
        return;
    }
    k->kind = detector_find(k->source.detector);
    if (!k->kind) {
        end_unsent(k, OUTCOME_unavailable, "this kind of detector does not check by itself");
        return;
    }
    k->arena.cap = k->kind->memory_max ? k->kind->memory_max : LOOK_MEMORY_MAX;
    k->ask = k->kind->plan(&k->source, &k->result.state, &k->env->inst->conf, clock_now());
    send_ask(k);
}
