/* fuzz_accept: Accept of any bytes, and the values of the feed's filters.
 *
 * Properties
 *   1. A quality is 0 to 1000; a type that no range names, nor a star, has 0.
 *   2. A filter that is taken is bounded: places in order, lists within their room. */
#include "api/feed.h"
#include "api/negotiate.h"
#include "tests/fuzz/fuzz_main.h"

static void set(const char *name, struct str value)
{
    struct feed_query q;
    struct err err;
    feed_query_init(&q);
    if (feed_query_set(&q, name, value, &err) != RC_OK)
        return;
    HOLDS(q.filter.has_bbox == false || q.filter.bbox[1] <= q.filter.bbox[3]);
    HOLDS(q.filter.from < 0 || q.filter.until < 0 || q.filter.from <= q.filter.until);
    HOLDS(q.n_sources <= FEED_LIST_MAX && q.n_collections <= FEED_LIST_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const names[] = {"bbox",  "datetime", "source",     "collection", "type",
                                        "class", "detector", "unexpected", "since",      "limit"};
    struct str text = {(const char *)data, n};
    int q = accept_quality(text, STR("text/turtle"));
    HOLDS(q >= 0 && q <= 1000);
    if (str_trim(text).n && !memchr(data, '*', n) && !memmem(data, n, "urtle", 5) &&
        !memmem(data, n, "URTLE", 5) && q > 0)
        HOLDS(memchr(data, 'T', n) || memchr(data, 't', n));
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        set(names[i], text);
    return 0;
}
