/* routes_stream: the rows of routes.def that freshet-stream serves. /changes comes here only from
 * who waits: it is a long poll, or a stream by its Accept; /changes/stream is a stream by
 * its address.
 *
 * Invariants
 *   1. Who takes a page at least as gladly as a stream, and says so, gets the page. */
#include "api/negotiate.h"
#include "api/stream.h"

#define EVENTS_TYPE "text/event-stream"

static const struct media events[] = {{"", EVENTS_TYPE, EVENTS_TYPE}};

/* What a page takes and a stream cannot do. */
static enum rc refuse_page_only(const struct feed_query *q, struct err *err)
{
    if (q->before || q->order == FEED_ORDER_DESC)
        return err_set(err, RC_INVALID, q->before ? "before" : "order",
                       "a stream goes forward only");
    if (q->waits)
        return err_set(err, RC_INVALID, "feed", "a stream waits by itself: leave it out");
    return RC_OK;
}

/* Last-Event-ID beats since; an empty one says that there was none. */
static enum rc resume(const struct req *r, struct feed_query *q, struct err *err)
{
    if (r->last_event_id.n == 0)
        return RC_OK;
    if (str_is(r->last_event_id, "now") ||
        feed_query_set(q, "since", r->last_event_id, err) != RC_OK)
        return err_set(err, RC_INVALID, "Last-Event-ID", "is not a sequence number of this feed");
    return RC_OK;
}

enum rc stream_query(const struct req *r, struct feed_query *q, struct err *err)
{
    TRY(feed_query_read(r, q, err));
    TRY(refuse_page_only(q, err));
    TRY(resume(r, q, err));
    if (!q->has_since)
        q->has_since = q->since_now = true;
    return RC_OK;
}

enum rc stream_open(struct req *r, struct resp *w, struct err *err)
{
    struct feed_query q;
    struct public_meta m = {0};
    int64_t first_seq = -1;
    size_t chosen;
    TRY(stream_query(r, &q, err));
    TRY(negotiate(r, w, events, ARRAY_LEN(events), &chosen, err));
    TRY(public_meta_get(r->ledger, r->arena, &m, err));
    enum rc rc = feed_check_cursor(&q, &m, &first_seq, err);
    if (rc == RC_GONE)
        feed_tell_first(w, first_seq);
    if (rc == RC_INVALID && r->last_event_id.n)
        return err_set(err, rc, "Last-Event-ID", "lies in the future of this feed");
    TRY(rc);
    w->cache_control = "no-store";
    resp_header(w, "X-Accel-Buffering", "no");
    return RC_OK;
}

bool stream_is_wanted(const struct req *r)
{
    int events_q = accept_named(r->accept, STR(EVENTS_TYPE));
    if (!str_is(r->path, "/changes"))
        return true;
    if (events_q == 0 || req_param(r, "f").p || req_param(r, "feed").p)
        return false;
    for (size_t i = 0; i < feed_formats_n; i++)
        if (accept_named(r->accept, str_of(feed_formats[i].type)) >= events_q)
            return false;
    return true;
}

#define SUMMARY(summary, ...) summary
#define ROW(method, pattern, fn, params, scope, flags, cache, produces, ...)                       \
    {method, pattern, fn, params, scope, flags, cache, produces, SUMMARY(__VA_ARGS__, 0)},
#define ROW_EVENTS(method, pattern, fn, ...) ROW(method, pattern, stream_open, __VA_ARGS__)
#define ROW_API(...)
#define ROW_INTAKE(...)
#define X(program, ...) ROW_##program(__VA_ARGS__)

static const struct route pages[] = {
#define ROW_BOTH(...) ROW(__VA_ARGS__)
#define ROW_STREAM(...)
#include "api/routes.def"
#undef ROW_BOTH
#undef ROW_STREAM
};
static const struct route streams[] = {
#define ROW_BOTH(...) ROW_EVENTS(__VA_ARGS__)
#define ROW_STREAM(...) ROW(__VA_ARGS__)
#include "api/routes.def"
};

const struct router router_waits = {.routes = pages, .n = ARRAY_LEN(pages)},
                    router_streams = {.routes = streams, .n = ARRAY_LEN(streams)};
