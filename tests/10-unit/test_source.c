/* What a declaration may say: source_parse refuses each slip and names the field whole,
 * source_reread goes on with what an older program stored. */
#include "ledger/source.h"
#include "tests/10-unit/unit.h"

static struct arena memory;
static struct err err;
static struct source source;

static int setup(void **state)
{
    (void)state;
    arena_init(&memory, 4u << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_release(&memory);
    return 0;
}

/* A declaration with these members more. */
static const char *with(const char *members)
{
    const char *url =
        strstr(members, "\"url\":\"") == members ? "" : "\"url\":\"https://x.org/a\",";
    return arena_printf(&memory, "{\"id\":\"a\",%s%s}", url, members);
}

static enum rc parse(const char *members)
{
    yyjson_val *v = NULL;
    assert_rc(json_parse(&memory, str_of(with(members)), 0, "test", &v, &err), RC_OK);
    return source_parse(&memory, v, &source, &err);
}

static void slips_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *members, *field;
    } bad[] = {
        {"\"triggers\":[{\"type\":\"annual\",\"month\":7,\"throuhg\":9}]", "triggers.throuhg"},
        {"\"triggers\":[{\"type\":\"manual\"},{\"type\":\"census\",\"year\":2030,\"month\":4}]",
         "triggers.month"},
        {"\"triggers\":[{\"type\":\"annual\",\"month\":13}]", "triggers.month"},
        {"\"triggers\":[{\"type\":\"annual\",\"month\":7,\"month\":8}]", "triggers.month"},
        {"\"triggers\":[{\"type\":7}]", "triggers.type"},
        {"\"limits\":{\"max_byte\":5}", "limits.max_byte"},
        {"\"limits\":{\"max_bytes\":\"5\"}", "limits.max_bytes"},
        {"\"limits\":{\"count_drift_pct\":-1}", "limits.count_drift_pct"},
        {"\"limits\":{\"area_drift_pct\":-0.5}", "limits.area_drift_pct"},
        {"\"media_type\":\"text/csv; charset=utf-8\"", "media_type"},
        {"\"media_type\":\"text/csv \"", "media_type"},
        {"\"media_type\":\"foo bar\"", "media_type"},
        {"\"media_type\":\"text/x\\\"y\"", "media_type"},
        {"\"media_type\":\"text\"", "media_type"},
        {"\"media_type\":\"text/\"", "media_type"},
        {"\"media_type\":\"a/b/c\"", "media_type"},
        {"\"media_type\":\"text/\u00e9\"", "media_type"},
        {"\"adapter\":\"gitlab\"", "adapter"},
        {"\"adapter_options\":[]", "adapter_options"},
        {"\"secrets\":[\"../key\"]", "secrets"},
        {"\"secrets\":\"key\"", "secrets"},
        {"\"probe\":{\"pointer\":\"/a\"}", "probe"},
        {"\"manifest\":{\"format\":\"csv\"}", "manifest"},
        {"\"detector\":\"manifest\",\"probe\":{\"pointer\":\"/a\"}", "probe"},
        {"\"poll_interval_s\":61,\"max_interval_s\":60", "poll_interval_s"},
        {"\"url\":\"https://x.org:0/a\"", "url"},
        {"\"url\":\"https://x.org:65536/a\"", "url"},
        {"\"url\":\"https://x.org:80a/a\"", "url"},
        {"\"url\":\"https://[::1]:99999/a\"", "url"},
        {"\"url\":\"https://[::1/a\"", "url"},
        {"\"detector\":\"probe\",\"probe\":{\"url\":\"https://x.org:70000/\",\"pointer\":\"/a\"}",
         "probe.url"},
        {"\"pin_sha256\":\"sha256//short=\"", "pin_sha256"},
        {"\"pin_sha256\":\"sha1//0123456789012345678901234567890123456789012=\"", "pin_sha256"},
        {"\"pin_sha256\":\"sha256//01234567890123456789012345678901234567890123\"", "pin_sha256"},
        {"\"url\":\"http://x.org/\",\"pin_sha256\":"
         "\"sha256//0123456789012345678901234567890123456789012=\"",
         "pin_sha256"},
        {"\"headers\":{\"host\":\"y.org\"}", "headers"},
        {"\"headers\":{\"X-GitLab-Token\":\"x\"}", "headers"},
        {"\"headers\":{\"apikey\":\"x\"}", "headers"},
        {"\"headers\":{\"If-None-Match\":\"x\"}", "headers"},
        {"\"headers\":{\"Range\":\"bytes=0-1\"}", "headers"},
        {"\"headers\":{\"X-Key\":\"secret:../ledger.db\"}", "headers"},
        {"\"headers\":{\"X-Key\":\"secret:\"}", "headers"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        err = (struct err){0};
        if (parse(bad[i].members) != RC_INVALID)
            fail_msg("taken: %s", bad[i].members);
        assert_string_equal(err.field, bad[i].field);
        assert_true(*err.msg);
    }
}

static void what_is_right_is_taken(void **state)
{
    (void)state;
    static const char *const good[] = {
        "\"triggers\":[{\"type\":\"annual\",\"month\":11,\"through\":2},{\"type\":\"census\","
        "\"year\":2030},{\"type\":\"redistricting\",\"years\":[2031]},{\"type\":\"interval\","
        "\"seconds\":60}]",
        "\"limits\":{\"max_bytes\":5,\"min_features\":0,\"count_drift_pct\":0,\"area_drift_pct\":"
        "null}",
        "\"limits\":null,\"probe\":null,\"manifest\":null,\"secrets\":null",
        "\"adapter\":\"standard-webhooks\",\"adapter_options\":{\"header\":\"x\"},\"secrets\":["
        "\"key-1\",\"key_2\"]",
        "\"poll_interval_s\":60,\"max_interval_s\":60",
        "\"poll_interval_s\":60",
        "\"url\":\"https://x.org:65535/a:b\"",
        "\"url\":\"https://[::1]:1\"",
        "\"url\":\"https://[::1]/\"",
        "\"pin_sha256\":\"sha256//0123456789012345678901234567890123456789+/A=;"
        "sha256//0123456789012345678901234567890123456789012=\"",
        "\"headers\":{\"Accept\":\"text/csv\",\"X-Key\":\"secret:up-stream_1\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (parse(good[i]) != RC_OK)
            fail_msg("%s: %s: %s", good[i], err.field, err.msg);
}

/* Rules that came later must not make a stored source unreadable. */
static void what_is_stored_stays_readable(void **state)
{
    (void)state;
    static const char *const old[] = {
        "\"triggers\":[{\"type\":\"annual\",\"month\":7,\"throuhg\":9}]",
        "\"limits\":{\"max_byte\":5,\"count_drift_pct\":-1}",
        "\"adapter\":\"gitlab\",\"probe\":{\"pointer\":\"/a\"}",
        "\"poll_interval_s\":61,\"max_interval_s\":60,\"pin_sha256\":\"x\"",
        "\"url\":\"https://x.org:99999/a\",\"headers\":{\"Host\":\"y\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(old); i++) {
        yyjson_val *v = NULL;
        const char *spec = with(old[i]);
        assert_rc(parse(old[i]), RC_INVALID);
        assert_rc(source_reread(&memory, str_of(spec), &source, &err), RC_OK);
        assert_rc(json_parse(&memory, str_of(spec), 0, "test", &v, &err), RC_OK);
        assert_rc(source_derive(&memory, v, &source, &err), RC_OK);
    }
}

static void what_a_detector_does(void **state)
{
    (void)state;
    static const struct {
        const char *detector;
        bool listing, push, stream;
    } kinds[] = {
        {"etag", false, false, false},   {"manifest", true, false, false},
        {"probe", false, false, false},  {"sse", false, false, true},
        {"webhook", false, true, false}, {"event", false, true, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const struct source s = {.detector = kinds[i].detector};
        assert_int_equal(source_is_listing(&s), kinds[i].listing);
        assert_int_equal(source_takes_push(&s), kinds[i].push);
        assert_int_equal(detector_takes_push(s.detector), kinds[i].push);
        assert_int_equal(source_has_stream(&s), kinds[i].stream);
    }
}

/* A declaration of n bytes whose every second one begins a value: none takes more memory. */
static struct str worst(struct buf *b, size_t n)
{
    buf_init(b, n);
    buf_puts(b, "{\"adapter\":\"hmac\",\"adapter_options\":{\"x\":[0");
    const struct str end =
        STR("]},\"collection\":\"a\",\"detector\":\"etag\",\"id\":\"a\",\"sensitivity\":"
            "\"public\",\"title\":\"a\",\"url\":\"https://x.org/a\"}");
    while (b->len + end.n + 2 <= n)
        buf_puts(b, ",0");
    if (b->len + end.n < n)
        buf_byte(b, ' ');
    buf_str(b, end);
    return buf_view(b);
}

/* SOURCE_SPEC_MAX, SOURCE_MEMORY_MAX, SOURCE_CHANGE_MEMORY_MAX */
static void the_longest_has_room(void **state)
{
    (void)state;
    CLEANUP(buf_release) struct buf b = {0};
    CLEANUP(arena_release) struct arena one = {0}, change = {0};
    struct source s, again;
    yyjson_val *v;
    struct str text = worst(&b, SOURCE_SPEC_MAX - 1);
    assert_in_range(text.n, SOURCE_SPEC_MAX - 1, SOURCE_SPEC_MAX);
    arena_init(&one, SOURCE_MEMORY_MAX);
    text.p = arena_str(&one, text);
    assert_rc(source_reread(&one, text, &s, &err), RC_OK);
    assert_false(one.full);

    arena_init(&change, SOURCE_CHANGE_MEMORY_MAX);
    assert_rc(source_reread(&change, text, &s, &err), RC_OK);
    for (int i = 0; i < 2; i++) {
        assert_rc(json_parse(&change, s.spec, 0, "test", &v, &err), RC_OK);
        assert_rc(source_derive(&change, v, &again, &err), RC_OK);
        assert_rc(json_parse(&change, again.spec, 0, "test", &v, &err), RC_OK);
    }
}

/* Whether it fits into the arena or not: a declaration that is too long is who wrote it's
 * to mend. */
static void one_that_is_too_long_is_refused(void **state)
{
    (void)state;
    static const size_t lengths[] = {SOURCE_SPEC_MAX + 2, 2 * SOURCE_SPEC_MAX, 8u << 20};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        CLEANUP(buf_release) struct buf b = {0};
        CLEANUP(arena_release) struct arena given = {0}, a = {0};
        yyjson_val *v;
        arena_init(&given, 512u << 20);
        arena_init(&a, SOURCE_MEMORY_MAX);
        err = (struct err){0};
        assert_rc(json_parse(&given, worst(&b, lengths[i]), 0, "test", &v, &err), RC_OK);
        assert_rc(source_parse(&a, v, &source, &err), RC_INVALID);
        assert_non_null(strstr(err.msg, "longer than 65536 bytes"));
        assert_non_null(strstr(err.msg, "secrets/"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slips_are_refused_by_name),
        cmocka_unit_test(what_is_right_is_taken),
        cmocka_unit_test(what_is_stored_stays_readable),
        cmocka_unit_test(what_a_detector_does),
        cmocka_unit_test(the_longest_has_room),
        cmocka_unit_test(one_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
