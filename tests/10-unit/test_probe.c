/* probe: which value is compared, and when the data is asked. Invariants of detectors/probe.h are
 * cited as P1…. */
#include "tests/10-unit/unit.h"

#include "detectors/etag.h"
#include "detectors/probe.h"

#define NOW 1780000000000LL
#define DATA "https://e.org/query"
#define ABOUT "https://e.org/layer?f=json"

static const struct conf conf = {.audit_every = 20};
static struct arena memory;
static struct err err;
static struct source source;

static yyjson_val *parse(const char *text)
{
    yyjson_val *v;
    assert_rc(json_parse(&memory, str_of(text), 0, "x", &v, &err), RC_OK);
    return v;
}

static enum rc declare(const char *probe)
{
    return source_parse(&memory,
                        parse(arena_printf(&memory,
                                           "{\"id\":\"x\",\"url\":\"" DATA
                                           "\",\"detector\":\"probe\",\"probe\":%s}",
                                           probe)),
                        &source, &err);
}

static int setup(void **state)
{
    (void)state;
    arena_init(&memory, PROBE_MEMORY_MAX);
    assert_rc(declare("{\"url\":\"" ABOUT "\",\"pointer\":\"/editingInfo/lastEditDate\"}"), RC_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_release(&memory);
    return 0;
}

/* ---- values ---- */

static void is_text(const char *json, const char *want)
{
    char out[CHECK_CURSOR_MAX] = "untouched";
    bool told = probe_text(parse(json), out);
    assert_int_equal(told, want != NULL);
    if (want)
        assert_string_equal(out, want);
}

static void values(void **state)
{
    (void)state;
    is_text("1700000000123", "1700000000123");
    is_text("18446744073709551615", "18446744073709551615");
    is_text("-5", "-5");
    is_text("1.50", "1.5");
    is_text("true", "true");
    is_text("\"2024-01-02\"", "2024-01-02");
    is_text("\"\"", NULL);
    is_text("null", NULL);
    assert_false(probe_text(NULL, (char[CHECK_CURSOR_MAX]){0}));
    /* D4: what may not stand in a header line is kept as a digest; so is what is long or nested. */
    char out[CHECK_CURSOR_MAX];
    struct sha256 sha;
    char hex[SHA256_HEX];
    digest_sha256("\"a\\nb\"", 6, &sha);
    sha256_hex(&sha, hex);
    assert_true(probe_text(parse("\"a\\nb\""), out));
    assert_string_equal(out + strlen("sha256:"), hex);
    assert_true(probe_text(parse("{\"b\":1,\"a\":[2]}"), out));
    char again[CHECK_CURSOR_MAX];
    assert_true(probe_text(parse("{ \"a\" : [2.0], \"b\":1 }"), again));
    assert_string_equal(out, again);
    char *longest = arena_printf(&memory, "\"%0255d\"", 7),
         *longer = arena_printf(&memory, "\"%0256d\"", 7);
    assert_true(probe_text(parse(longest), out) && strlen(out) == 255);
    assert_true(probe_text(parse(longer), out) && str_starts(str_of(out), STR("sha256:")));
    assert_false(probe_text(parse("{\"a\":1,\"a\":2}"), out)); /* has no canonical form */
}

/* ---- a check ---- */

struct upstream {
    int probe_http;
    const char *probe;
    int data_http;
    char data, etag[16];
};

struct check {
    struct check_state st;
    struct verdict v;
    int asks;
    struct ask data; /* the last ask of the data */
};

static struct fetch_res response(int http, const char *url, const char *etag)
{
    struct fetch_res r = {
        .end = FETCH_OK, .http = http, .content_length = -1, .retry_after_ms = -1, .date_ms = NOW};
    snprintf(r.final_url, sizeof r.final_url, "%s", url);
    snprintf(r.etag, sizeof r.etag, "%s", etag);
    return r;
}

static void run(struct check *c, const struct upstream *u)
{
    void *memo = NULL;
    struct ask ask = probe_detector.plan(&source, &c->st, &conf, NOW);
    const char *about = source.probe_url[0] ? ABOUT : NULL;
    for (c->asks = 1; c->asks <= probe_detector.asks_max; c->asks++) {
        bool probing = ask.collect > 0;
        struct fetch_res res = response(probing ? u->probe_http : u->data_http,
                                        probing && about ? about : DATA, probing ? "" : u->etag);
        struct answer a = {
            .ask = ask, .res = &res, .source = &source, .arena = &memory, .memo = &memo};
        assert_true(probing == (c->asks == 1));
        assert_true(!probing || (about ? strcmp(ask.url, about) == 0 : !ask.url));
        if (probing && res.http == 200)
            a.text = str_of(u->probe);
        if (!probing) {
            c->data = ask;
            a.body = (struct body_facts){.read = res.http == 200, .size = 100};
            memset(a.body.sha.b, u->data, sizeof a.body.sha.b);
        }
        c->v = probe_detector.judge(&c->st, &a, NOW);
        if (!c->v.again)
            return;
        ask = c->v.next;
    }
}

#define OUTCOME(c, o, says) is_outcome((c), #o, (says), __LINE__)
static void is_outcome(const struct check *c, const char *want, const char *says, int line)
{
    if (c->v.again || strcmp(outcome_name(c->v.outcome), want) != 0 || !strstr(c->v.detail, says))
        fail_msg("line %d: %s (%s), not %s", line,
                 c->v.again ? "asks again" : outcome_name(c->v.outcome), c->v.detail, want);
}

#define EDITED(n) "{\"name\":\"Counties\",\"editingInfo\":{\"lastEditDate\":" #n "}}"
static const struct upstream usual = {200, EDITED(1), 200, 'A', "\"a\""};

static struct check seen(void)
{
    struct check c = {.st = {.seen_size = -1, .checked_at = -1, .gone_since = -1}};
    run(&c, &usual);
    OUTCOME(&c, new, "/editingInfo/lastEditDate is 1");
    assert_string_equal(c.st.cursor, "1");
    assert_int_equal(c.asks, 2);
    assert_int_equal(c.data.why, ASK_FIRST);
    return c;
}

static void the_same_value(void **state)
{
    (void)state;
    struct check c = seen();
    run(&c, &usual);
    OUTCOME(&c, not_modified, "/editingInfo/lastEditDate is still 1");
    assert_int_equal(c.asks, 1);
    assert_int_equal(c.st.since_audit, 1);
}

/* P3 */
static void another_value(void **state)
{
    (void)state;
    struct check c = seen();
    struct upstream u = {200, EDITED(2), 200, 'B', "\"a\""};
    run(&c, &u);
    OUTCOME(&c, silent_change, "is 2");
    assert_false(c.data.head || c.data.if_none_match || c.data.if_modified_since);
    assert_int_equal(c.data.why, ASK_TOLD);
    assert_string_equal(c.st.cursor, "2");
    u.probe = EDITED(3);
    run(&c, &u);
    OUTCOME(&c, unchanged, "is 3"); /* an edit that changed nothing */
    assert_string_equal(c.st.cursor, "3");
}

/* P1 */
static void a_failure_moves_nothing(void **state)
{
    (void)state;
    static const int answers[] = {404, 503, 401, 429, 202};
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        struct check c = seen();
        struct check_state before = c.st;
        struct upstream u = {200, EDITED(2), answers[i], 0, ""};
        run(&c, &u);
        assert_true(!c.v.again && outcome_failure(c.v.outcome));
        assert_memory_equal(&before, &c.st, sizeof before);
        u.data_http = 200;
        u.data = 'B';
        run(&c, &u); /* and is not forgotten */
        OUTCOME(&c, changed, "is 2");
    }
}

static void audits(void **state)
{
    (void)state;
    struct check c = seen();
    struct upstream u = usual;
    c.st.since_audit = 19;
    u.data = 'B';
    run(&c, &u);
    OUTCOME(&c, silent_change, "digest audit; /editingInfo");
    assert_int_equal(c.st.since_audit, 0);
    c.st.since_audit = 19;
    u.probe_http = 404; /* P2, and the audit still is one */
    run(&c, &u);
    OUTCOME(&c, unchanged, "digest audit; the probe is gone");
}

static void no_value(void **state)
{
    (void)state;
    static const char *const documents[] = {"{}", "{\"editingInfo\":null}", "[1]", "7",
                                            "{\"editingInfo\":{\"lastEditDate\":null}}"};
    for (size_t i = 0; i < ARRAY_LEN(documents); i++) {
        struct check c = seen();
        struct upstream u = {200, documents[i], 304, 0, "\"a\""};
        run(&c, &u);
        OUTCOME(&c, not_modified, "no value at /editingInfo/lastEditDate");
        assert_true(c.data.head && c.data.if_none_match);
        assert_string_equal(c.st.cursor, "1");
    }
}

/* P2 */
static void the_probe_is_gone(void **state)
{
    (void)state;
    struct check c = seen();
    struct upstream u = {404, "", 304, 0, "\"a\""};
    run(&c, &u);
    OUTCOME(&c, not_modified, "the probe is gone, HTTP 404");
    u.data_http = 404;
    run(&c, &u);
    OUTCOME(&c, gone, "HTTP 404; the probe is gone");
}

static void what_is_no_answer(void **state)
{
    (void)state;
    static const struct {
        int http;
        const char *text, *outcome, *detail;
    } rows[] = {
        {200, "{\"error\":{\"code\":498,\"message\":\"Invalid token\"}}", "wrong_shape",
         "error document"},
        {200, "{\"error\":true,\"message\":\"x\"}", "wrong_shape", "error document"},
        {200, "<!DOCTYPE html><html>", "wrong_shape", "HTML where JSON"},
        {200, "{\"editingInfo\":", "wrong_shape", "not whole"},
        {200, "{\"a\":01}", "wrong_shape", "probe"},
        {200, "", "wrong_shape", "empty"},
        {503, "", "unavailable", "probe: HTTP 503"},
        {403, "", "denied", "probe: HTTP 403"},
        {202, "", "not_ready", "probe: HTTP 202"},
        {304, "", "wrong_shape", "probe: HTTP 304"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct check c = seen();
        struct check_state before = c.st;
        struct upstream u = {rows[i].http, rows[i].text, 200, 'B', ""};
        run(&c, &u);
        is_outcome(&c, rows[i].outcome, rows[i].detail, (int)i);
        assert_int_equal(c.asks, 1);
        assert_memory_equal(&before, &c.st, sizeof before);
    }
}

/* P4 */
static void another_layer(void **state)
{
    (void)state;
    assert_rc(declare("{\"url\":\"" ABOUT "\",\"pointer\":\"/editingInfo/lastEditDate\",\"expect\":"
                      "{\"pointer\":\"/name\",\"equals\":\"Counties\"}}"),
              RC_OK);
    struct check c = seen();
    struct upstream u = {200, "{\"name\":\"Roads\",\"editingInfo\":{\"lastEditDate\":2}}", 200, 'B',
                         ""};
    run(&c, &u);
    OUTCOME(&c, wrong_shape, "Roads at /name, not Counties");
    u.probe = "{\"editingInfo\":{\"lastEditDate\":2}}";
    run(&c, &u);
    OUTCOME(&c, wrong_shape, "nothing at /name, not Counties");
    assert_string_equal(c.st.cursor, "1");
}

/* Words about foreign values are cut between characters. */
static void long_words(void **state)
{
    (void)state;
    struct check c = seen();
    struct buf b;
    buf_init(&b, 1000);
    buf_puts(&b, "{\"editingInfo\":{\"lastEditDate\":\"x");
    for (int i = 0; i < 100; i++)
        buf_puts(&b, "\xc3\xa9");
    buf_puts(&b, "\"}}");
    struct upstream u = {200, buf_view(&b).p, 200, 'B', ""};
    run(&c, &u);
    OUTCOME(&c, changed, "is x\xc3\xa9");
    assert_true(str_is_utf8(str_of(c.v.detail)));
    run(&c, &u);
    OUTCOME(&c, not_modified, "is still x\xc3\xa9");
    assert_true(str_is_utf8(str_of(c.v.detail)));
    buf_release(&b);
}

static void pointers(void **state)
{
    (void)state;
    static const struct {
        const char *pointer, *value;
    } rows[] = {{"/a~1b/~0/1", "x"}, {"/a~1b/~0/01", ""}, {"/a~1b/~0/2", ""},
                {"/a~1b/~0/-", ""},  {"/a/b", ""},        {"/", "empty name"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_rc(declare(arena_printf(&memory, "{\"pointer\":\"%s\"}", rows[i].pointer)), RC_OK);
        struct check c = {.st = {.seen_size = -1, .gone_since = -1}};
        struct upstream u = {200, "{\"a/b\":{\"~\":[0,\"x\"]},\"\":\"empty name\"}", 200, 'A', ""};
        run(&c, &u);
        OUTCOME(&c, new, "");
        assert_string_equal(c.st.cursor, rows[i].value);
    }
}

static void declarations(void **state)
{
    (void)state;
    static const struct {
        const char *probe, *field;
    } rows[] = {
        {"null", "probe"},
        {"[]", "probe"},
        {"{}", "probe.pointer"},
        {"{\"pointer\":\"rowsUpdatedAt\"}", "probe.pointer"},
        {"{\"pointer\":\"/a\",\"url\":\"ftp://e.org\"}", "probe.url"},
        {"{\"pointer\":\"/a\",\"every\":\"x\"}", "probe.every"},
        {"{\"pointer\":\"/a\",\"expect\":{\"pointer\":\"/name\"}}", "probe.expect"},
        {"{\"pointer\":\"/a\",\"expect\":7}", "probe.expect"},
        {"{\"pointer\":\"/a\",\"expect\":{\"pointer\":\"/b\",\"equals\":1}}",
         "probe.expect.equals"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_rc(declare(rows[i].probe), RC_INVALID);
        assert_string_equal(err.field, rows[i].field);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(values),        T(the_same_value), T(another_value),     T(a_failure_moves_nothing),
        T(audits),        T(no_value),       T(the_probe_is_gone), T(what_is_no_answer),
        T(another_layer), T(long_words),     T(pointers),          T(declarations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
