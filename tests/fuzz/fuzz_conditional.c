/* fuzz_conditional: If-None-Match and If-Modified-Since of any bytes.
 *
 * Properties
 *   1. A match of a list means that our tag's bytes are in it, or that it is a star.
 *   2. With If-None-Match, the date changes nothing.
 *   3. The answer of a failed request is never "not modified". */
#include "api/conditional.h"
#include "api/http.h"
#include "tests/fuzz/fuzz_main.h"

#define TAG "\"0123456789abcdef\""

static bool contains(struct str s, const char *text)
{
    return s.n >= strlen(text) && memmem(s.p, s.n, text, strlen(text)) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = {(const char *)data, n};
    struct resp w = {.status = 200, .etag = TAG, .last_modified = 1782986400000};
    struct req r = {.if_none_match = text};
    bool by_tag = resp_not_modified(&w, &r);
    if (by_tag)
        HOLDS(contains(text, TAG) || str_is(str_trim(text), "*"));
    r.if_modified_since = STR("Fri, 31 Dec 2100 00:00:00 GMT");
    HOLDS(resp_not_modified(&w, &r) == by_tag);
    r = (struct req){.if_modified_since = text};
    (void)resp_not_modified(&w, &r);
    w.status = 404;
    r.if_none_match = text;
    HOLDS(!resp_not_modified(&w, &r));
    return 0;
}
