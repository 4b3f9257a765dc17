/* manifest: what a check makes of pages. Invariants of detectors/manifest.h are cited as M1…. */
#include "tests/10-unit/listing_source.h"

#include "detectors/manifest.h"

#define NOW 1780000000000LL

static int setup(void **state)
{
    (void)state;
    arena_init(&memory, MANIFEST_MEMORY_MAX);
    err = (struct err){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_release(&memory);
    return 0;
}

/* ---- a check ---- */

static const struct conf conf = {.audit_every = 20};

struct page {
    const char *url, *text;
    int http;
    int until; /* the last ask that is answered so; 0: all are */
};

struct check {
    struct check_state st;
    struct verdict v;
    int asks;
    bool conditional; /* the first ask */
    char etag[32];    /* of every answer */
};

/* Plays the engine: a page for every ask, until there is a verdict. */
static void run(struct check *c, const struct page *pages, size_t n)
{
    void *memo = NULL;
    struct ask ask = manifest_detector.plan(&source, &c->st, &conf, NOW);
    c->conditional = ask.if_none_match;
    for (c->asks = 1; c->asks <= manifest_detector.asks_max; c->asks++) {
        const char *url = ask.url ? ask.url : source.url;
        const struct page *page = NULL;
        for (size_t i = 0; i < n && !page; i++)
            if (strcmp(pages[i].url, url) == 0 && (!pages[i].until || c->asks <= pages[i].until))
                page = &pages[i];
        struct fetch_res res = {.end = FETCH_OK,
                                .http = page ? page->http : 404,
                                .content_type = "application/json",
                                .content_length = -1,
                                .retry_after_ms = -1,
                                .date_ms = NOW};
        snprintf(res.final_url, sizeof res.final_url, "%s", url);
        snprintf(res.etag, sizeof res.etag, "%s", c->etag);
        struct answer a = {.ask = ask,
                           .res = &res,
                           .source = &source,
                           .arena = &memory,
                           .memo = &memo,
                           .text =
                               page && page->http == 200 ? str_of(page->text) : (struct str){0}};
        assert_false(ask.head);
        assert_true(ask.collect > 0);
        c->v = manifest_detector.judge(&c->st, &a, NOW);
        if (!c->v.again)
            return;
        ask = c->v.next;
    }
}

static struct check fresh(void)
{
    return (struct check){.st = {.seen_size = -1, .checked_at = -1, .gone_since = -1}};
}

#define OUTCOME(c, o) is_outcome((c), #o, __LINE__)
static void is_outcome(const struct check *c, const char *want, int line)
{
    if (c->v.again || strcmp(outcome_name(c->v.outcome), want) != 0)
        fail_msg("line %d: %s (%s), not %s", line,
                 c->v.again ? "asks again" : outcome_name(c->v.outcome), c->v.detail, want);
}

static const struct page three[] = {
    {BASE, "{\"items\":[\"a\",\"b\"],\"next\":\"?p=2\"}", 200, 0},
    {BASE "?p=2", "{\"items\":[\"c\"],\"next\":\"?p=3\"}", 200, 0},
    {BASE "?p=3", "{\"items\":[\"d\"]}", 200, 0},
};
static const struct page one[] = {{BASE, "[\"d\",\"b\",\"c\",\"a\"]", 200, 0}};

/* M2, M3 */
static void pages_do_not_matter(void **state)
{
    (void)state;
    struct check c = fresh();
    options("{}");
    snprintf(c.etag, sizeof c.etag, "\"x\"");
    run(&c, three, 3);
    OUTCOME(&c, new);
    assert_int_equal(c.asks, 3);
    assert_string_equal(c.v.detail,
                        "4 entries on 3 pages; of 4 it tells no version, date, size or digest");
    assert_string_equal(c.st.etag, "");
    assert_string_equal(c.st.cursor, "json 4 4");
    struct str content = c.v.content;
    assert_int_equal(content.n, c.st.seen_size);
    run(&c, three, 3);
    OUTCOME(&c, unchanged);
    assert_false(c.conditional);
    run(&c, one, 1);
    OUTCOME(&c, unchanged);
    assert_true(str_eq(c.v.content, content));
    assert_string_equal(c.st.etag, "\"x\"");
    run(&c, one, 1);
    assert_true(c.conditional);
}

/* M5: "a" goes when page 1 has been read, so "d" is on no page of that reading. */
static void what_shifts_is_not_gone(void **state)
{
    (void)state;
    static const struct page shifts[] = {
        {BASE, "{\"items\":[\"a\",\"b\",\"c\"],\"next\":\"?p=2\"}", 200, 1},
        {BASE, "{\"items\":[\"b\",\"c\",\"d\"],\"next\":\"?p=2\"}", 200, 0},
        {BASE "?p=2", "{\"items\":[\"e\",\"f\"]}", 200, 0},
    };
    static const struct page before[] = {
        {BASE, "{\"items\":[\"a\",\"b\",\"c\"],\"next\":\"?p=2\"}", 200, 0},
        {BASE "?p=2", "{\"items\":[\"d\",\"e\",\"f\"]}", 200, 0},
    };
    struct check c = fresh();
    options("{}");
    run(&c, before, ARRAY_LEN(before));
    OUTCOME(&c, new);
    run(&c, shifts, ARRAY_LEN(shifts));
    OUTCOME(&c, changed);
    assert_int_equal(c.asks, 6);
    assert_true(str_starts(str_of(c.v.detail), STR("5 entries on 2 pages, read again")));
    assert_non_null(memmem(c.v.content.p, c.v.content.n, "\"key\":\"d\"", 9));
    assert_null(memmem(c.v.content.p, c.v.content.n, "\"key\":\"a\"", 9));
}

/* M5: whoever never stands still is not believed; an entry on two pages is a sign of it at
 * first sight. */
static void what_moves_is_not_believed(void **state)
{
    (void)state;
    static const struct page moves[] = {
        {BASE, "{\"items\":[\"a\",\"b\"],\"next\":\"?p=2\"}", 200, 1},
        {BASE, "{\"items\":[\"x\",\"a\"],\"next\":\"?p=2\"}", 200, 3},
        {BASE, "{\"items\":[\"y\",\"x\"],\"next\":\"?p=2\"}", 200, 0},
        {BASE "?p=2", "{\"items\":[\"b\"]}", 200, 0},
    };
    struct check c = fresh();
    options("{}");
    run(&c, moves, ARRAY_LEN(moves));
    OUTCOME(&c, unavailable);
    assert_false(c.st.has_seen);
    assert_int_equal(c.asks, 6);
}

/* M1: whatever happens on a later page, the state is as before. */
static void all_pages_or_nothing(void **state)
{
    (void)state;
    static const struct {
        struct page second;
        const char *outcome, *detail;
    } rows[] = {
        {{BASE "?p=2", "", 503, 0}, "unavailable", "page 2: HTTP 503"},
        {{BASE "?p=2", "", 404, 0}, "gone", "page 2: HTTP 404"},
        {{BASE "?p=2", "", 304, 0}, "wrong_shape", "page 2: HTTP 304"},
        {{BASE "?p=2", "", 403, 0}, "denied", "page 2: HTTP 403"},
        {{BASE "?p=2", "<html>login</html>", 200, 0}, "wrong_shape", "page 2: HTML where JSON"},
        {{BASE "?p=2", "{\"items\":[", 200, 0}, "wrong_shape", "page 2: the JSON is not whole"},
        {{BASE "?p=2", "{\"items\":[{\"key\":\"a\",\"size\":1}]}", 200, 0},
         "wrong_shape",
         "page 2: entry a"},
        {{BASE "?p=2", "{\"items\":[],\"next\":\"?p=2\"}", 200, 0},
         "wrong_shape",
         "page 2 leads back"},
        {{BASE "?p=2", "{\"items\":[],\"next\":\".\"}", 200, 0},
         "wrong_shape",
         "page 2 leads back"},
        {{BASE "?p=2", "{\"items\":[],\"next\":\"https://f.org/\"}", 200, 0},
         "blocked",
         "page 2 names"},
        {{BASE "?p=2", "{\"items\":[],\"next\":\"https://e.org:444/\"}", 200, 0},
         "blocked",
         "page 2"},
        {{BASE "?p=2", "{\"items\":[],\"next\":\"http://e.org/\"}", 200, 0},
         "blocked",
         "page 2 names"},
    };
    options("{}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct check c = fresh();
        run(&c, three, 3);
        struct check_state before = c.st;
        struct page pages[] = {three[0], rows[i].second, three[2]};
        run(&c, pages, 3);
        is_outcome(&c, rows[i].outcome, (int)i);
        if (strncmp(c.v.detail, rows[i].detail, strlen(rows[i].detail)) != 0)
            fail_msg("row %zu: %s", i, c.v.detail);
        assert_memory_equal(&before, &c.st, sizeof before);
        assert_null(c.v.content.p);
    }
}

static void not_more_pages_than_the_limit(void **state)
{
    (void)state;
    static struct page many[MANIFEST_PAGES_MAX + 1];
    struct check c = fresh();
    options("{}");
    for (int i = 0; i <= MANIFEST_PAGES_MAX; i++)
        many[i] = (struct page){
            i ? arena_printf(&memory, BASE "?p=%d", i) : BASE,
            arena_printf(&memory, "{\"items\":[\"%d\"],\"next\":\"?p=%d\"}", i, i + 1), 200, 0};
    run(&c, many, MANIFEST_PAGES_MAX + 1);
    OUTCOME(&c, wrong_shape);
    assert_int_equal(c.asks, MANIFEST_PAGES_MAX);
    many[MANIFEST_PAGES_MAX - 1].text = "{\"items\":[\"last\"]}";
    c = fresh();
    run(&c, many, MANIFEST_PAGES_MAX);
    OUTCOME(&c, new);
    assert_string_equal(c.st.cursor, "json 1000 1000");
}

static void what_the_digest_decides(void **state)
{
    (void)state;
    static const struct page same[] = {{BASE, "[\"a\",\"b\"]", 200, 0}};
    static const struct page other[] = {{BASE, "[\"a\",\"c\"]", 200, 0}};
    static const struct page not_modified[] = {{BASE, "", 304, 0}};
    options("{}");
    struct check c = fresh();
    snprintf(c.etag, sizeof c.etag, "\"1\"");
    run(&c, same, 1);
    OUTCOME(&c, new);
    run(&c, not_modified, 1);
    OUTCOME(&c, not_modified);
    assert_int_equal(c.st.since_audit, 1);
    run(&c, same, 1);
    OUTCOME(&c, unchanged);
    snprintf(c.etag, sizeof c.etag, "\"2\"");
    run(&c, same, 1);
    OUTCOME(&c, validator_drift);
    run(&c, other, 1);
    OUTCOME(&c, silent_change);
    snprintf(c.etag, sizeof c.etag, "\"3\"");
    run(&c, same, 1);
    OUTCOME(&c, changed);
    c.st.since_audit = 19;
    run(&c, same, 1);
    OUTCOME(&c, unchanged);
    assert_false(c.conditional);
    assert_string_equal(c.v.detail, "2 entries on 1 page, digest audit; of 2 it tells no version, "
                                    "date, size or digest");
}

/* M6: any fact is one by which a change is seen. */
static void blind_entries_are_counted(void **state)
{
    (void)state;
    static const struct page some[] = {
        {BASE,
         "[\"a\",{\"key\":\"b\",\"size\":1},{\"key\":\"c\",\"etag\":\"e\"},"
         "{\"key\":\"d\",\"modified\":\"2026\"},{\"key\":\"e\",\"hash\":\"md5-1\"},"
         "{\"key\":\"f\",\"version\":\"1\"},{\"key\":\"g\",\"size\":\"-\"}]",
         200, 0}};
    static const struct page seen[] = {{BASE, "[{\"key\":\"b\",\"size\":1}]", 200, 0}};
    options("{}");
    struct check c = fresh();
    run(&c, some, 1);
    OUTCOME(&c, new);
    assert_int_equal(manifest_blind(&c.st), 2);
    assert_string_equal(c.st.cursor, "json 7 2");
    run(&c, seen, 1);
    OUTCOME(&c, changed);
    assert_int_equal(manifest_blind(&c.st), 0);
    assert_string_equal(c.v.detail, "1 entry on 1 page");
}

/* M4 */
static void too_few_or_another_language(void **state)
{
    (void)state;
    static const struct page eleven[] = {
        {BASE, "[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"j\",\"k\"]", 200, 0}};
    static const struct page two[] = {{BASE, "[\"a\",\"b\"]", 200, 0}};
    static const struct page single[] = {{BASE, "[\"a\"]", 200, 0}};
    static const struct page none[] = {{BASE, "[]", 200, 0}};
    options("{}");
    struct check c = fresh();
    run(&c, none, 1);
    OUTCOME(&c, new);
    c = fresh();
    run(&c, eleven, 1);
    struct check_state before = c.st;
    run(&c, single, 1);
    OUTCOME(&c, wrong_shape);
    run(&c, none, 1);
    OUTCOME(&c, wrong_shape);
    assert_memory_equal(&before, &c.st, sizeof before);
    run(&c, two, 1);
    OUTCOME(&c, changed);
    run(&c, single, 1);
    OUTCOME(&c, changed);
    run(&c, none, 1);
    OUTCOME(&c, wrong_shape);
    snprintf(c.st.cursor, sizeof c.st.cursor, "html 1");
    run(&c, single, 1);
    OUTCOME(&c, wrong_shape);
    assert_non_null(strstr(c.v.detail, "manifest.format"));
    options("{\"format\":\"json\"}");
    run(&c, single, 1);
    OUTCOME(&c, unchanged);
}

/* ---- declarations ---- */

static void refuses_declaration(const char *member, const char *field)
{
    yyjson_val *v;
    struct source s;
    const char *text = arena_printf(
        &memory, "{\"id\":\"x\",\"url\":\"" BASE "\",\"detector\":\"manifest\",%s}", member);
    assert_rc(json_parse(&memory, str_of(text), 0, "x", &v, &err), RC_OK);
    assert_rc(source_parse(&memory, v, &s, &err), RC_INVALID);
    assert_string_equal(err.field, field);
}

static void declarations(void **state)
{
    (void)state;
    refuses_declaration("\"manifest\":[]", "manifest");
    refuses_declaration("\"manifest\":{\"fromat\":\"s3\"}", "manifest.fromat");
    refuses_declaration("\"manifest\":{\"format\":\"xml\"}", "manifest.format");
    refuses_declaration("\"manifest\":{\"items\":\"entries\"}", "manifest.items");
    refuses_declaration("\"manifest\":{\"next\":\"next\"}", "manifest.next");
    refuses_declaration("\"manifest\":{\"key\":7}", "manifest.key");
    refuses_declaration("\"manifest\":{\"key\":\"a\\u0001\"}", "manifest.key");
    assert_string_equal(options("{\"key\":\"Datei\"}")->key, "Datei");
    assert_string_equal(source.manifest.url, "");
    assert_string_equal(options("null")->key, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(what_shifts_is_not_gone),
        T(what_moves_is_not_believed),
        T(pages_do_not_matter),
        T(all_pages_or_nothing),
        T(not_more_pages_than_the_limit),
        T(what_the_digest_decides),
        T(too_few_or_another_language),
        T(blind_entries_are_counted),
        T(declarations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
