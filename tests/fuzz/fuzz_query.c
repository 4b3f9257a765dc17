/* fuzz_query: the query string, and the parameters of the feed made of it.
 *
 * Properties
 *   1. What was accepted is clean UTF-8, bounded, and survives encoding and decoding.
 *   2. A feed query that was accepted is in its bounds. */
#include "api/feed.h"
#include "tests/fuzz/fuzz_main.h"

static void check_param(struct arena *a, const struct param *p)
{
    struct buf b;
    struct str back;
    buf_init(&b, 8 * REQ_QUERY_MAX);
    HOLDS(str_is_clean(p->name) && str_is_utf8(p->name));
    HOLDS(str_is_clean(p->value) && str_is_utf8(p->value));
    http_encode(&b, p->value);
    HOLDS(http_decode(a, buf_view(&b), true, &back) == RC_OK && str_eq(back, p->value));
    buf_release(&b);
}

static void check_feed(struct arena *a, const struct req *r)
{
    struct feed_query q;
    struct err err = {0};
    feed_query_init(&q);
    for (size_t i = 0; i < r->n_params; i++) {
        const char *name = arena_str(a, r->params[i].name);
        HOLDS(name != NULL);
        if (feed_query_set(&q, name, r->params[i].value, &err) != RC_OK)
            HOLDS(err.rc == RC_INVALID && err.msg[0] != 0);
    }
    HOLDS(q.limit >= 1 && q.limit <= FEED_LIMIT_MAX);
    HOLDS(q.since >= 0 && q.before >= 0 && q.n_sources <= FEED_LIST_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a;
    struct err err = {0};
    struct req r = {.arena = &a, .query = {(const char *)data, n}};
    arena_init(&a, 4u << 20);
    if (req_parse_query(&r, &err) == RC_OK) {
        HOLDS(n <= REQ_QUERY_MAX && r.n_params <= REQ_PARAMS_MAX);
        for (size_t i = 0; i < r.n_params; i++)
            check_param(&a, &r.params[i]);
        check_feed(&a, &r);
    } else {
        HOLDS(err.rc == RC_INVALID && err.msg[0] != 0);
    }
    arena_release(&a);
    return 0;
}
