/* streams: a turn takes every stream one step; which sources have one is read now and then. The
 * states are in the header. */
#include "detectors/streams.h"

#include <sys/queue.h>
#include "core/clock.h"
#include "core/json.h"
#include "core/log.h"
#include "core/sse.h"
#include "detectors/headers.h"
#include "detectors/probe.h"
#include "ledger/stream.h"

#define LIST_MS 2000     /* between two looks at which sources have a stream */
#define SETTLED_MS 60000 /* open for so long: the next break is a new trouble */
#define STREAM_MEMORY_MAX (2 * SOURCE_MEMORY_MAX) /* a source, and its headers with their secrets */
#define STREAM_HEADERS_MAX (SOURCE_HEADERS_MAX + 3)
#define STREAM_BYTES_MAX INT64_MAX
#define BEYOND_MAX 64 /* recorded at a time */
#define BECAUSE "event"
#define BEYOND "it is beyond max_streams"
/* No try has ended yet: nobody answers, or it is not its turn. */
#define WAITS "no answer has come yet"

enum state { WAITING, CONNECTING, OPEN };
enum known { NOTHING, DOWN, UP }; /* what the ledger says of it */

struct stream {
    LIST_ENTRY(stream) link;
    struct streams *all;
    int64_t src_no, updated_at;
    struct arena arena; /* of source, as it was when the connection was made */
    struct source source;
    struct sse sse;
    enum state state;
    enum known known;
    bool listed;       /* still among the sources; else it goes when its connection has */
    bool wants_look;   /* invariant 1 */
    bool vague;        /* the ledger says WAITS of it */
    int64_t at;        /* WAITING: until; OPEN: since. clock_mono */
    int64_t closed_at; /* since when it is not open, clock_mono */
    int64_t looked_at, look_pause_ms; /* invariant 6: the last look for an event, clock_mono */
    int tries;
    char note[200]; /* why it is not open */
};

LIST_HEAD(stream_list, stream);

struct streams {
    struct ledger *ledger;
    const struct instance *inst;
    struct conf conf; /* of the fetch engine here: max_streams instead of max_concurrency, and of
                         per_host, as what is held open is not to keep its neighbours out */
    struct fetch *fetch;
    struct stream_list list;
    int64_t n, listed_at;
    /* Sources that there is no room for, and not recorded as down with that. */
    int64_t beyond[BEYOND_MAX];
    size_t n_beyond;
};

/* ---- events ---------------------------------------------------------------------------------- */

/* Does the document in data say what the source waits for? */
static bool says_expected(const struct stream *s, struct str data)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct err ignored;
    yyjson_val *doc;
    char found[CHECK_CURSOR_MAX];
    arena_init(&a, 16u << 20);
    return json_parse(&a, data, 0, "event", &doc, &ignored) == RC_OK &&
           probe_text(yyjson_ptr_get(doc, s->source.sse_expect), found) &&
           strcmp(found, s->source.sse_equals) == 0;
}

static enum rc on_event(void *ctx, const struct sse_event *e)
{
    struct stream *s = ctx;
    if (*s->source.sse_event && !str_is(e->type, s->source.sse_event))
        return RC_OK;
    if (!*s->source.sse_expect || says_expected(s, e->data))
        s->wants_look = true;
    return RC_OK;
}

/* ---- one connection -------------------------------------------------------------------------- */

static bool is_stream(const struct fetch_res *res)
{
    struct str type = str_of(res->content_type), name;
    return res->http == 200 && str_next(&type, ';', &name) &&
           str_ieq(str_trim(name), STR("text/event-stream"));
}

static enum rc on_begin(void *ctx, const struct fetch_res *res)
{
    struct stream *s = ctx;
    if (!is_stream(res))
        return RC_CONFLICT;
    s->state = OPEN;
    s->at = clock_mono();
    s->note[0] = '\0';
    s->wants_look = true;
    if (s->look_pause_ms > STREAMS_LOOK_MIN_MS)
        s->look_pause_ms = STREAMS_LOOK_MIN_MS;
    sse_restart(&s->sse);
    return RC_OK;
}

static enum rc on_body(void *ctx, const void *p, size_t n)
{
    struct stream *s = ctx;
    return s->listed ? sse_add(&s->sse, (struct str){p, n}, on_event, s) : RC_CONFLICT;
}

int64_t streams_pause_ms(int64_t retry_ms, int tries, bool refused)
{
    int64_t least = retry_ms >= 0 ? retry_ms : 0, more = least ? least : STREAMS_RETRY_MS;
    for (int i = 0; i < tries && more < STREAMS_PAUSE_MAX_MS; i++)
        more *= 2;
    if (more > STREAMS_PAUSE_MAX_MS)
        more = STREAMS_PAUSE_MAX_MS;
    if (refused)
        more = STREAMS_REFUSED_MS;
    return least + (int64_t)rand_below((uint64_t)more + 1);
}

static int64_t pause_ms(const struct stream *s, const struct fetch_res *res)
{
    bool refused = res->http == 204 || (res->http >= 400 && res->http < 500 && res->http != 429);
    int64_t pause = streams_pause_ms(s->sse.retry_ms, s->tries, refused);
    return pause > res->retry_after_ms ? pause : res->retry_after_ms;
}

static void set_note(struct stream *s, const struct fetch_res *res)
{
    if (res->end == FETCH_STOPPED && s->state == OPEN)
        snprintf(s->note, sizeof s->note, "an event or a line of it is too large");
    else if (res->end == FETCH_STOPPED && res->http == 200 &&
             str_is_clean(str_of(res->content_type)))
        snprintf(s->note, sizeof s->note, "it answers with %.*s, not with an event stream",
                 STR_CUT(res->content_type[0] ? res->content_type : "no type", 80));
    else if (res->end == FETCH_SLOW)
        snprintf(s->note, sizeof s->note, "%s for %lld s",
                 s->state == OPEN ? "not a byte came" : "no answer came",
                 (long long)s->all->conf.stream_quiet_s);
    else if (res->end == FETCH_OK && s->state == OPEN)
        snprintf(s->note, sizeof s->note, "the upstream ended it");
    else if (res->end == FETCH_STOPPED)
        snprintf(s->note, sizeof s->note, "HTTP %d", res->http);
    else
        snprintf(s->note, sizeof s->note, "%s", res->detail);
}

static void wait_for(struct stream *s, int64_t ms)
{
    if (s->state == OPEN)
        s->closed_at = clock_mono();
    s->state = WAITING;
    s->at = clock_mono() + ms;
}

static void on_done(void *ctx, const struct fetch_res *res)
{
    struct stream *s = ctx;
    bool settled = s->state == OPEN && clock_mono() - s->at >= SETTLED_MS;
    set_note(s, res);
    if (settled)
        s->tries = 0;
    int64_t ms = pause_ms(s, res);
    s->tries++;
    wait_for(s, ms);
}

static enum rc start(struct stream *s, struct err *err)
{
    struct fetch_header h[STREAM_HEADERS_MAX] = {{"Accept", "text/event-stream", false},
                                                 {"Cache-Control", "no-store", false},
                                                 {"Last-Event-ID", s->sse.last_id, false}};
    const char *url = *s->source.sse_url ? s->source.sse_url : s->source.url;
    bool pinned = s->source.pin_sha256[0] && headers_at_home(&s->source, url);
    struct fetch_req req = {.method = "GET",
                            .url = url,
                            .headers = h,
                            .n_headers = 3,
                            .pin_sha256 = pinned ? s->source.pin_sha256 : NULL,
                            .max_body = STREAM_BYTES_MAX,
                            .timeout_ms = INT32_MAX, /* three weeks; then it is made anew */
                            .attempts = 1,
                            .quiet_s = s->all->conf.stream_quiet_s,
                            .on_begin = on_begin,
                            .on_body = on_body,
                            .on_done = on_done,
                            .ctx = s};
    TRY(headers_add(&s->arena, s->all->inst, &s->source, url, h, &req.n_headers, err));
    return fetch_start(s->all->fetch, &req, err);
}

/* A declaration that cannot be read, or a secret that is not there: the stream is down, and
 * says why. */
static void connect_stream(struct stream *s)
{
    struct err err;
    arena_reset(&s->arena);
    enum rc rc = source_by_no(s->all->ledger, &s->arena, s->src_no, &s->source, &err);
    if (rc == RC_OK) {
        s->updated_at = s->source.updated_at;
        rc = start(s, &err);
    }
    if (rc == RC_OK) {
        s->state = CONNECTING;
        return;
    }
    snprintf(s->note, sizeof s->note, "%.190s", err.msg);
    wait_for(s, STREAMS_PAUSE_MAX_MS);
}

/* ---- which there are ------------------------------------------------------------------------- */

static struct stream *find(const struct streams *all, int64_t src_no)
{
    struct stream *s;
    LIST_FOREACH(s, &all->list, link)
    {
        if (s->src_no == src_no)
            return s;
    }
    return NULL;
}

static void drop(struct stream *s)
{
    LIST_REMOVE(s, link);
    s->all->n--;
    sse_release(&s->sse);
    arena_release(&s->arena);
    free(s);
}

static enum rc add(struct streams *all, int64_t src_no, struct err *err)
{
    struct stream *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(err, RC_NOMEM, "", "no memory for an event stream");
    *s = (struct stream){.all = all, .src_no = src_no, .listed = true, .closed_at = clock_mono()};
    arena_init(&s->arena, STREAM_MEMORY_MAX);
    sse_init(&s->sse, "");
    LIST_INSERT_HEAD(&all->list, s, link);
    all->n++;
    return RC_OK;
}

static enum rc list_one(void *ctx, int64_t src_no, int64_t updated_at,
                        const struct stream_state *st, struct err *err)
{
    struct streams *all = ctx;
    struct stream *s = find(all, src_no);
    if (!s && all->n < all->conf.max_streams)
        return add(all, src_no, err);
    bool told = st->known && !st->up && strcmp(st->note, BEYOND) == 0;
    if (!s && !told && all->n_beyond < BEYOND_MAX)
        all->beyond[all->n_beyond++] = src_no;
    /* Declared anew: what is open ends with its next byte, and is made as it is declared now. */
    if (s)
        s->listed = s->state == WAITING || s->updated_at == updated_at;
    if (s && s->state == WAITING && s->updated_at != updated_at && s->updated_at)
        s->at = clock_mono();
    return RC_OK;
}

/* The cursor is read when a stream is new: later its own memory knows as much, or more. */
static enum rc recall(struct stream *s, struct err *err)
{
    struct check_state st;
    TRY(check_state_get(s->all->ledger, s->src_no, &st, err));
    sse_release(&s->sse);
    sse_init(&s->sse, st.cursor);
    return RC_OK;
}

/* ---- one turn -------------------------------------------------------------------------------- */

static void tell(const struct stream *s, bool up)
{
    char name[SOURCE_LOG_NAME_MAX];
    bool open = s->source.level < LEVEL_RESTRICTED;
    log_event(up ? LOG_INFO : LOG_WARN, up ? "stream.up" : "stream.down",
              LOG_S("source", source_log_name(&s->source, name)),
              LOG_S("detail", open ? s->note : ""));
}

/* The level of a source that could not be read is not known: as withheld as can be. */
static enum level level_of(const struct source *s)
{
    return s->id ? s->level : LEVEL_SOVEREIGN;
}

static enum rc record(struct stream *s, bool up, struct err *err)
{
    enum level level = level_of(&s->source);
    TRY(stream_set(s->all->ledger, s->src_no, level, up, up ? "" : s->note, clock_now(), err));
    s->known = up ? UP : DOWN;
    s->vague = !up && strcmp(s->note, WAITS) == 0;
    if (s->source.id)
        tell(s, up);
    return RC_OK;
}

static enum rc record_beyond(struct streams *all, int64_t src_no, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct source s = {0};
    arena_init(&a, SOURCE_MEMORY_MAX);
    enum rc rc = source_by_no(all->ledger, &a, src_no, &s, err);
    if (rc != RC_OK && !source_is_unreadable(rc))
        return rc;
    if (rc != RC_OK)
        s.id = NULL;
    return stream_set(all->ledger, src_no, level_of(&s), false, BEYOND, clock_now(), err);
}

static enum rc list(struct streams *all, struct err *err)
{
    struct stream *s;
    if (all->listed_at && clock_mono() - all->listed_at < LIST_MS)
        return RC_OK;
    LIST_FOREACH(s, &all->list, link)
    s->listed = false;
    all->n_beyond = 0;
    TRY(stream_each(all->ledger, list_one, all, err));
    for (size_t i = 0; i < all->n_beyond; i++)
        TRY(record_beyond(all, all->beyond[i], err));
    all->listed_at = clock_mono();
    return RC_OK;
}

static int64_t grace_ms(const struct stream *s)
{
    return s->all->conf.stream_quiet_s * 1000 / STREAMS_GRACE_PART;
}

static enum rc watch_down(struct stream *s, struct err *err)
{
    if (s->state == OPEN || clock_mono() - s->closed_at < grace_ms(s))
        return RC_OK;
    if (!s->note[0])
        snprintf(s->note, sizeof s->note, WAITS);
    bool better = s->vague && strcmp(s->note, WAITS) != 0;
    return s->known != DOWN || better ? record(s, false, err) : RC_OK;
}

static enum rc step(struct stream *s, struct detect *d, struct err *err)
{
    size_t n, full;
    if (s->state == WAITING && s->at <= clock_mono()) {
        if (s->updated_at == 0)
            TRY(recall(s, err));
        connect_stream(s);
    }
    if (s->state == OPEN && s->known != UP)
        TRY(record(s, true, err));
    TRY(watch_down(s, err));
    if (!d || !s->wants_look || clock_mono() < s->looked_at + s->look_pause_ms)
        return RC_OK;
    if (detect_has(d, s->src_no) || !detect_has_room(d))
        return RC_OK;
    TRY(detect_add_some(d, &s->src_no, 1, BECAUSE, 0, &n, &full, err));
    s->wants_look = n == 0 || full > 0;
    return RC_OK;
}

enum rc streams_turn(struct streams *all, struct detect *d, struct err *err)
{
    struct stream *next;
    TRY(list(all, err));
    (void)fetch_run(all->fetch, 0);
    for (struct stream *s = LIST_FIRST(&all->list); s; s = next) {
        next = LIST_NEXT(s, link);
        if (s->listed)
            TRY(step(s, d, err));
        else if (s->state == WAITING)
            drop(s); /* one that was declared anew comes back with the next list */
    }
    return RC_OK;
}

const char *streams_told(const struct streams *all, int64_t src_no, bool *ret_open)
{
    const struct stream *s = find(all, src_no);
    *ret_open = s && s->state == OPEN;
    return s ? s->sse.last_id : NULL;
}

static void pause_looks(struct stream *s, enum outcome o)
{
    int64_t ms = outcome_candidate(o) ? 0 : 2 * s->look_pause_ms;
    if (ms < STREAMS_LOOK_MIN_MS)
        ms = STREAMS_LOOK_MIN_MS;
    s->look_pause_ms = ms < STREAMS_LOOK_MAX_MS ? ms : STREAMS_LOOK_MAX_MS;
    s->looked_at = clock_mono();
}

/* A check that began while the stream was open has planned for that. */
void streams_checked(struct streams *all, const struct check_result *r)
{
    bool has = strcmp(r->detector, sse_detector.name) == 0;
    struct stream *s = has ? find(all, r->src_no) : NULL;
    if (!s)
        return;
    if (r->streaming && s->known == DOWN)
        s->known = NOTHING;
    if (strcmp(r->due_because, BECAUSE) == 0)
        pause_looks(s, r->outcome);
}

/* ---- life ------------------------------------------------------------------------------------ */

enum rc streams_new(struct ledger *l, const struct instance *inst, struct streams **ret,
                    struct err *err)
{
    struct streams *all = calloc(1, sizeof *all);
    if (!all)
        return err_set(err, RC_NOMEM, "", "no memory for event streams");
    all->ledger = l;
    all->inst = inst;
    all->conf = inst->conf;
    all->conf.max_concurrency = inst->conf.max_streams > 0 ? inst->conf.max_streams : 1;
    all->conf.per_host = all->conf.max_concurrency;
    LIST_INIT(&all->list);
    enum rc rc = streams_begin(l, clock_now(), err);
    if (rc == RC_OK)
        rc = fetch_new(&all->conf, &all->fetch, err);
    if (rc != RC_OK) {
        free(all);
        return rc;
    }
    *ret = all;
    return RC_OK;
}

void streams_free(struct streams **p)
{
    struct streams *all = *p;
    if (!all)
        return;
    fetch_free(&all->fetch); /* first: it points to the streams */
    for (struct stream *s = LIST_FIRST(&all->list), *next; s; s = next) {
        next = LIST_NEXT(s, link);
        drop(s);
    }
    free(all);
    *p = NULL;
}
