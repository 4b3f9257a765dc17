/* badge: the picture and the endpoint JSON. */
#include "tests/10-unit/unit.h"

#include <math.h>
#include "api/badge.h"
#include "core/clock.h"

static struct buf out;
static struct arena memory;

static int setup(void **state)
{
    (void)state;
    buf_init(&out, 65536);
    arena_init(&memory, 1u << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    buf_release(&out);
    arena_release(&memory);
    return 0;
}

#define NOW (time_civil(2026, 7, 20) + 10 * 3600 * 1000LL)

static struct badge badge(enum fresh_state s, const char *title, const char *words)
{
    struct badge b = {.title = title, .state = s, .why = "Because <so>."};
    snprintf(b.words, sizeof b.words, "%s", words);
    return b;
}

static struct public_fresh facts(void)
{
    return (struct public_fresh){.source_id = "counties",
                                 .title = "Counties",
                                 .level = "public",
                                 .run_id = "",
                                 .qa_status = "pass",
                                 .freshness_days = 30,
                                 .updated_at = NOW - 3 * DAY_MS,
                                 .checked_at = NOW - 1000,
                                 .removed_at = -1};
}

static void svg_is_accessible(void **state)
{
    struct badge b = badge(FRESH_current, "Counties", "Updated on 2026-07-02");
    (void)state;
    badge_put_svg(&out, &b, 20);
    assert_true(
        str_starts(buf_view(&out), STR("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"")));
    assert_non_null(strstr(out.data, " 20\" role=\"img\" aria-label=\"Counties: Updated on "
                                     "2026-07-02\"><title>Counties: Updated on 2026-07-02</title>"
                                     "<desc>Because &lt;so&gt;.</desc>"));
    assert_non_null(strstr(out.data, "textLength=\""));
    assert_non_null(strstr(out.data, ">\xe2\x9c\x93 Updated on 2026-07-02</text>"));
}

static void svg_escapes_text(void **state)
{
    struct badge b = badge(FRESH_current, "</title><script>alert(1)</script>", "a<b>&\"'");
    (void)state;
    badge_put_svg(&out, &b, 20);
    assert_null(strstr(out.data, "<script"));
    assert_non_null(strstr(out.data, "a&lt;b&gt;&amp;&quot;&#39;"));
}

/* XML 1.0 has no such characters, whatever a title holds. */
static void svg_is_xml(void **state)
{
    struct badge b =
        badge(FRESH_current, "one\xef\xbf\xbe two\xef\xbf\xbf three\xef\xbf\xbd \x01", "so");
    (void)state;
    badge_put_svg(&out, &b, 20);
    assert_null(strstr(out.data, "\xef\xbf\xbe"));
    assert_null(strstr(out.data, "\xef\xbf\xbf"));
    assert_null(strchr(out.data, 1));
    assert_non_null(
        strstr(out.data, "one\xef\xbf\xbd two\xef\xbf\xbd three\xef\xbf\xbd \xef\xbf\xbd"));
}

/* Two states never differ by colour alone, and never share one: shapes and words differ too. */
static void states_differ_without_colour(void **state)
{
    (void)state;
    for (int i = 0; i < FRESH_COUNT; i++)
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(fresh_state_shape((enum fresh_state)i),
                                    fresh_state_shape((enum fresh_state)j));
            assert_string_not_equal(fresh_state_colour((enum fresh_state)i),
                                    fresh_state_colour((enum fresh_state)j));
        }
}

/* Relative luminance (WCAG). White text with a contrast of 4.5 : 1 needs at most 0.183. */
static double luminance(const char *colour)
{
    static const double weight[] = {0.2126, 0.7152, 0.0722};
    uint8_t rgb[3];
    double sum = 0;
    assert_rc(hex_decode((struct str){colour + 1, 6}, rgb, 3), RC_OK);
    for (int i = 0; i < 3; i++) {
        double c = rgb[i] / 255.0;
        sum += weight[i] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}

static void colours_carry_white_text(void **state)
{
    (void)state;
    for (int i = 0; i < FRESH_COUNT; i++)
        assert_true(luminance(fresh_state_colour((enum fresh_state)i)) < 0.183);
}

static void json_has_only_keys_that_shields_knows(void **state)
{
    static const char *const known[] = {"schemaVersion", "label",     "message",   "color",
                                        "labelColor",    "isError",   "namedLogo", "logoSvg",
                                        "logoColor",     "logoWidth", "style",     "cacheSeconds"};
    struct badge b = badge(FRESH_past_window, "Counties", "Past freshness window");
    struct err err = {0};
    yyjson_val *doc = NULL, *key;
    (void)state;
    badge_put_json(&out, &b);
    assert_rc(json_parse(&memory, buf_view(&out), 0, "badge", &doc, &err), RC_OK);
    assert_int_equal(yyjson_get_int(yyjson_obj_get(doc, "schemaVersion")), 1);
    assert_string_equal(yyjson_get_str(yyjson_obj_get(doc, "message")), "Past freshness window");
    yyjson_obj_iter it = yyjson_obj_iter_with(doc);
    while ((key = yyjson_obj_iter_next(&it))) {
        bool found = false;
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
            found = found || strcmp(known[i], yyjson_get_str(key)) == 0;
        assert_true(found);
    }
}

static void same_badge_same_bytes(void **state)
{
    struct badge b =
        badge(FRESH_held, "\xe6\x97\xa5\xe6\x9c\xac m\xc3\xa9tro", "Update awaiting review");
    char first[4096];
    (void)state;
    badge_put_svg(&out, &b, 20);
    snprintf(first, sizeof first, "%s", out.data);
    buf_clear(&out);
    badge_put_svg(&out, &b, 20);
    assert_string_equal(out.data, first);
}

static int number_of(const char *attribute)
{
    const char *at = strstr(out.data, attribute);
    int64_t n = -1;
    assert_non_null(at);
    at += strlen(attribute);
    assert_rc(str_to_i64((struct str){at, strspn(at, "0123456789")}, &n), RC_OK);
    return (int)n;
}

/* A size scales the picture and draws nothing else: height, width, and the same inside. */
static void sizes_scale_the_same_drawing(void **state)
{
    static const int heights[] = {20, 28, 40};
    struct badge b = badge(FRESH_current, "Counties", "Updated on 2026-07-02");
    char inside[4096] = "";
    int width = 0;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(heights); i++) {
        buf_clear(&out);
        badge_put_svg(&out, &b, heights[i]);
        width = width ? width : number_of("width=\"");
        assert_int_equal(number_of(" height=\""), heights[i]);
        assert_int_equal(number_of("width=\""), width * heights[i] / 20);
        assert_int_equal(number_of("viewBox=\"0 0 "), width);
        const char *rest = strstr(out.data, " role=");
        assert_non_null(rest);
        if (i)
            assert_string_equal(rest, inside);
        snprintf(inside, sizeof inside, "%s", rest);
    }
}

static void flagged_checks_are_noted(void **state)
{
    struct public_fresh f = facts();
    struct verdict v;
    struct badge b;
    (void)state;
    freshness_judge(&f, NOW, &v);
    badge_of_source(&f, &v, &b);
    assert_string_equal(b.words, "Updated on 2026-07-17");
    assert_string_equal(b.why,
                        "The data is 3 days old, 30 are allowed, and the last check worked.");
    f.qa_status = "hold";
    badge_of_source(&f, &v, &b);
    assert_string_equal(b.words, "Updated on 2026-07-17 (QA note)");
    assert_non_null(strstr(b.why, " Not every check passed"));
    f.qa_status = ""; /* nothing was promoted, or it is withheld */
    badge_of_source(&f, &v, &b);
    assert_string_equal(b.words, "Updated on 2026-07-17");
}

/* ---- sums ---- */

static struct badge sum_of(const struct public_fresh *f, size_t n)
{
    struct badge_sum sum = {.newest = -1};
    struct badge b;
    for (size_t i = 0; i < n; i++)
        badge_sum_add(&sum, &f[i], NOW);
    badge_of_sum("Kansas", &sum, &b);
    return b;
}

static void sums_say_how_many_are_current(void **state)
{
    struct public_fresh f[4] = {facts(), facts(), facts(), facts()};
    (void)state;
    struct badge b = sum_of(f, 4);
    assert_string_equal(b.words, "4 of 4 current");
    assert_int_equal(b.state, FRESH_current);
    f[0].held = true;
    b = sum_of(f, 4);
    assert_string_equal(b.words, "3 of 4 current");
    assert_int_equal(b.state, FRESH_held);
    f[1].failures = 2;
    assert_int_equal(sum_of(f, 4).state, FRESH_unknown);
    f[2].updated_at -= 28 * DAY_MS;
    b = sum_of(f, 4);
    assert_string_equal(b.words, "1 of 4 current");
    assert_int_equal(b.state, FRESH_past_window);
    assert_string_equal(
        b.why, "1 current, 1 past their freshness window, 1 of which nothing can be claimed, "
               "1 with an update awaiting review. Retired and restricted sources are not counted.");
}

static void sums_leave_out_what_they_may_not_judge(void **state)
{
    struct public_fresh f[4] = {facts(), facts(), facts(), facts()};
    (void)state;
    f[0].level = "restricted";
    f[1].retired = true;
    f[2].updated_at = -1;
    f[2].template = true;
    assert_string_equal(sum_of(f, 4).words, "1 of 1 current");
    struct badge b = sum_of(f, 3);
    assert_string_equal(b.words, "Nothing to judge");
    assert_int_equal(b.state, FRESH_unknown);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(svg_is_accessible),
        TEST(svg_escapes_text),
        TEST(svg_is_xml),
        TEST(states_differ_without_colour),
        TEST(colours_carry_white_text),
        TEST(json_has_only_keys_that_shields_knows),
        TEST(same_badge_same_bytes),
        TEST(sizes_scale_the_same_drawing),
        TEST(flagged_checks_are_noted),
        TEST(sums_say_how_many_are_current),
        TEST(sums_leave_out_what_they_may_not_judge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
