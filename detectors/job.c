/* job: see the header. */
#include <stddef.h>
#include "core/clock.h"
#include "detectors/job.h"
#include "detectors/window.h"

#define JOB_MEMORY_MAX (4u << 20) /* a source with the longest spec, and its headers */
#define IGNORED_MAX 65536         /* of an error page, read so that the connection stays */
#define JOB_HEADERS_MAX (SOURCE_HEADERS_MAX + 2)

/* ---- a source of its own --------------------------------------------------------------------- */

/* The texts of a source that live elsewhere. */
static const size_t source_texts[] = {
    offsetof(struct source, id),          offsetof(struct source, title),
    offsetof(struct source, url),         offsetof(struct source, detector),
    offsetof(struct source, collection),  offsetof(struct source, boundary_type),
    offsetof(struct source, license),     offsetof(struct source, media_type),
    offsetof(struct source, feature_key), offsetof(struct source, pin_sha256),
    offsetof(struct source, adapter),
};

static bool copy_text(struct arena *a, const char **text)
{
    *text = arena_strdup(a, *text ? *text : "");
    return *text != NULL;
}

static bool copy_source(struct arena *a, const struct source *s, struct source *ret)
{
    *ret = *s;
    for (size_t i = 0; i < ARRAY_LEN(source_texts); i++)
        if (!copy_text(a, (const char **)((char *)ret + source_texts[i])))
            return false;
    for (size_t i = 0; i < s->n_headers; i++)
        if (!copy_text(a, &ret->headers[i].name) || !copy_text(a, &ret->headers[i].value))
            return false;
    ret->spec.p = arena_str(a, s->spec);
    return ret->spec.p != NULL;
}

struct job *job_new(const struct job_env *env, const struct source *s, const struct check_state *st,
                    const char *due_because, int64_t request_no)
{
    struct job *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    j->env = env;
    arena_init(&j->arena, JOB_MEMORY_MAX);
    spool_init(&j->spool);
    if (!copy_source(&j->arena, s, &j->source)) {
        job_free(&j);
        return NULL;
    }
    struct check_result *r = &j->result;
    r->src_no = s->no;
    r->source_id = j->source.id;
    r->detector = j->source.detector;
    r->level = s->level;
    r->due_because = due_because;
    r->request_no = request_no;
    r->state = *st;
    return j;
}

void job_free(struct job **j)
{
    if (!*j)
        return;
    spool_drop(&(*j)->spool);
    arena_release(&(*j)->arena);
    free(*j);
    *j = NULL;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void write_detail(struct check_result *r, const struct verdict *v,
                         const struct fetch_res *res)
{
    char url[FETCH_URL_MAX] = "";
    if (res && res->moved_permanently)
        fetch_url_clean(res->final_url, url, sizeof url);
    snprintf(r->detail, sizeof r->detail, "%.120s%s%.100s", v->detail,
             url[0] ? "; moved permanently to " : "", url);
}

static void set_next(struct job *j, const struct fetch_res *res, int64_t now)
{
    const struct conf *conf = &j->env->inst->conf;
    struct check_state *st = &j->result.state;
    st->interval_s = window_interval(&j->source, conf, now);
    st->next_check_at = window_next(&j->source, st, conf, now).at;
    bool wait = res && outcome_failure(j->result.outcome) && st->next_check_at >= 0;
    if (wait && st->next_check_at < now + res->retry_after_ms)
        st->next_check_at = now + res->retry_after_ms;
}

/* res is NULL when nothing was sent. */
static void end(struct job *j, const struct verdict *v, const struct fetch_res *res,
                const struct body_facts *body)
{
    struct check_result *r = &j->result;
    int64_t now = clock_now();
    r->ended_at = now;
    r->outcome = v->outcome;
    r->has_sha = body && body->read && !outcome_failure(v->outcome);
    if (r->has_sha)
        r->sha = body->sha;
    if (v->outcome == OUTCOME_not_modified && r->state.seen_size > r->bytes_in)
        r->bytes_saved = r->state.seen_size - r->bytes_in;
    r->unexpected = outcome_candidate(v->outcome) && v->outcome != OUTCOME_new &&
                    !window_expects(&j->source, now);
    write_detail(r, v, res);
    state_settle(&r->state, v->outcome, r->detail, now);
    set_next(j, res, now);
    /* Without the file the handler fetches by itself, so a failure here loses nothing. */
    struct err ignored;
    if (!outcome_candidate(v->outcome) || spool_keep(&j->spool, &r->sha, &ignored) != RC_OK)
        spool_drop(&j->spool);
    j->env->ended(j->env->ctx, j);
}

static void end_unsent(struct job *j, enum outcome o, const char *why)
{
    struct verdict v = verdict_of(o, "%s", why);
    end(j, &v, NULL, NULL);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static enum rc on_begin(void *ctx, const struct fetch_res *res)
{
    struct job *j = ctx;
    j->ignored = 0;
    if (res->http != 200 || j->ask.head) {
        spool_drop(&j->spool);
        return RC_OK;
    }
    enum shape expected = shape_expected(j->source.media_type, j->source.url, res->content_type);
    return spool_begin(&j->spool, j->env->spool, expected, shape_of_type(res->content_type),
                       res->content_length, &j->trouble);
}

static enum rc on_body(void *ctx, const void *p, size_t n)
{
    struct job *j = ctx;
    if (j->spool.fd >= 0)
        return spool_add(&j->spool, (struct str){p, n}, &j->trouble);
    j->ignored += (int64_t)n;
    return j->ignored > IGNORED_MAX ? RC_TOO_LARGE : RC_OK;
}

static void send_ask(struct job *j);

static void on_done(void *ctx, const struct fetch_res *res)
{
    struct job *j = ctx;
    struct answer a = {.ask = j->ask, .res = res};
    j->result.http = res->http;
    j->result.attempts += res->attempts;
    j->result.bytes_in += res->bytes_in;
    bool whole = res->end == FETCH_OK && res->http == 200 && j->spool.fd >= 0;
    if (whole && j->trouble.rc == RC_OK && spool_end(&j->spool, &a.body, &j->trouble) != RC_OK)
        a.body.read = false;
    struct verdict v;
    if (j->trouble.rc != RC_OK)
        v = verdict_of(OUTCOME_unavailable, "here: %s", j->trouble.msg);
    else
        v = j->kind->judge(&j->result.state, &a, clock_now());
    if (v.again && j->asks < ASKS_MAX) {
        j->ask = v.next;
        spool_drop(&j->spool);
        send_ask(j);
        return;
    }
    if (v.again)
        v = verdict_of(OUTCOME_unavailable, "no answer after %d requests could be believed",
                       ASKS_MAX);
    end(j, &v, res, &a.body);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static enum rc put_header(struct job *j, const struct source_header *h, struct fetch_header *ret,
                          struct err *err)
{
    struct str value = str_of(h->value);
    *ret = (struct fetch_header){h->name, h->value, false};
    if (!str_starts(value, STR("secret:")))
        return RC_OK;
    ret->secret = true;
    return instance_secret(&j->arena, j->env->inst, h->value + strlen("secret:"), &ret->value, err);
}

static enum rc put_headers(struct job *j, struct fetch_header *h, size_t *ret_n, struct err *err)
{
    const struct check_state *st = &j->result.state;
    size_t n = 0;
    if (j->ask.if_none_match)
        h[n++] = (struct fetch_header){"If-None-Match", st->etag, false};
    if (j->ask.if_modified_since)
        h[n++] = (struct fetch_header){"If-Modified-Since", st->last_modified, false};
    for (size_t i = 0; i < j->source.n_headers; i++)
        TRY(put_header(j, &j->source.headers[i], &h[n++], err));
    *ret_n = n;
    return RC_OK;
}

static void send_ask(struct job *j)
{
    const struct conf *conf = &j->env->inst->conf;
    struct fetch_header headers[JOB_HEADERS_MAX];
    struct fetch_req req = {
        .method = j->ask.head ? "HEAD" : "GET",
        .url = j->source.url,
        .headers = headers,
        .pin_sha256 = j->source.pin_sha256[0] ? j->source.pin_sha256 : NULL,
        .max_body = j->source.max_bytes > 0 ? j->source.max_bytes : conf->max_bytes,
        .timeout_ms = j->ask.head ? conf->head_timeout_ms : conf->fetch_timeout_ms,
        .on_begin = on_begin,
        .on_body = on_body,
        .on_done = on_done,
        .ctx = j,
    };
    struct err err;
    j->asks++;
    if (put_headers(j, headers, &req.n_headers, &err) != RC_OK) {
        end_unsent(j, OUTCOME_denied, err.msg);
        return;
    }
    enum rc rc = fetch_start(j->env->fetch, &req, &err);
    if (rc != RC_OK)
        end_unsent(j, rc == RC_BLOCKED || rc == RC_INVALID ? OUTCOME_blocked : OUTCOME_unavailable,
                   err.msg);
}

void job_start(struct job *j)
{
    j->result.started_at = clock_now();
    j->kind = detector_find(j->source.detector);
    if (!j->kind) {
        end_unsent(j, OUTCOME_unavailable, "this kind of detector does not check by itself");
        return;
    }
    j->ask = j->kind->plan(&j->result.state, &j->env->inst->conf, clock_now());
    send_ask(j);
}
