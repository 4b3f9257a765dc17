/* fuzz_probe: a document about data, as an upstream may send it, a pointer into it, and what
 * becomes of the state. The input is the pointer, a line feed, the document.
 *
 * Properties
 *   1. A verdict, or another ask; its words are UTF-8.
 *   2. A failure leaves the state as it was.
 *   3. What the cursor holds fits, and may stand in a header line.
 *   4. The same document twice is not_modified the second time, when it had a value. */
#include "detectors/probe.h"
#include "tests/fuzz/fuzz_main.h"

#define NOW 1780000000000LL

static const struct conf conf = {.audit_every = 20};

static struct verdict check(struct check_state *st, const struct source *s, struct arena *a,
                            struct str document)
{
    void *memo = NULL;
    struct verdict v = {0};
    struct ask ask = probe_detector.plan(s, st, &conf, NOW);
    for (int i = 0; i < probe_detector.asks_max; i++) {
        struct fetch_res res = {.end = FETCH_OK,
                                .http = 200,
                                .final_url = "https://e.org/d",
                                .content_length = -1,
                                .retry_after_ms = -1,
                                .date_ms = -1};
        struct answer x = {.ask = ask, .res = &res, .source = s, .arena = a, .memo = &memo};
        if (ask.collect > 0)
            x.text = document;
        else
            x.body = (struct body_facts){.read = true, .size = 5};
        v = probe_detector.judge(st, &x, NOW);
        if (!v.again)
            break;
        ask = v.next;
    }
    HOLDS(!v.again);
    HOLDS(str_is_utf8(str_of(v.detail)));
    return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str document = {(const char *)data, n}, pointer;
    struct arena a;
    struct check_state st = {.seen_size = -1, .gone_since = -1}, before = st;
    if (!str_next(&document, '\n', &pointer) || pointer.n > 1000 || !str_is_utf8(pointer))
        return 0;
    arena_init(&a, 256u << 20);
    struct source s = {.url = "https://e.org/d",
                       .probe_url = "",
                       .probe_expect = "",
                       .probe_equals = "",
                       .probe_pointer = arena_str(&a, pointer)};
    struct verdict v = check(&st, &s, &a, document);
    if (outcome_failure(v.outcome))
        HOLDS(memcmp(&before, &st, sizeof st) == 0);
    else
        HOLDS(v.outcome == OUTCOME_new);
    HOLDS(memchr(st.cursor, '\0', sizeof st.cursor) && str_is_clean(str_of(st.cursor)));
    if (st.cursor[0] != '\0')
        HOLDS(check(&st, &s, &a, document).outcome == OUTCOME_not_modified);
    arena_release(&a);
    return 0;
}
