/* fuzz_stac_query: the parameters of a search, from a query string; bbox, datetime, sortby,
 * fields, token.
 *
 * Properties
 *   1. What is refused has a reason; what is taken is in its bounds. */
#include "api/stac.h"
#include "tests/fuzz/fuzz_main.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct stac_query q;
    struct arena a;
    struct err err = {0};
    struct req r = {.arena = &a, .query = {(const char *)data, n}};
    arena_init(&a, 16u << 20);
    if (req_parse_query(&r, &err) == RC_OK) {
        if (stac_query_get(&r, &q, &err) == RC_OK) {
            HOLDS(q.q.limit >= 1 && q.q.limit <= STAC_LIMIT_MAX);
            HOLDS(q.q.n_sort <= ITEM_SORT_MAX);
            HOLDS(!q.q.from.n || !q.q.until.n || strcmp(q.q.from.p, q.q.until.p) <= 0);
        } else {
            HOLDS(err.rc == RC_INVALID && err.msg[0] != 0);
        }
    }
    arena_release(&a);
    return 0;
}
