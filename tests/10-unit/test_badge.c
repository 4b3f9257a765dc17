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

static struct verdict verdict(enum fresh_state s, const char *label)
{
    struct verdict v = {.state = s, .rule = "r"};
    snprintf(v.label, sizeof v.label, "%s", label);
    return v;
}

static void svg_is_accessible(void **state)
{
    struct verdict v = verdict(FRESH_current, "Updated on 2026-07-02");
    (void)state;
    badge_put_svg(&out, "Counties", &v);
    assert_true(
        str_starts(buf_view(&out), STR("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"")));
    assert_non_null(strstr(out.data,
                           " height=\"20\" role=\"img\" aria-label=\"Counties: Updated on "
                           "2026-07-02\"><title>Counties: Updated on 2026-07-02</title>"));
    assert_non_null(strstr(out.data, "textLength=\""));
    assert_non_null(strstr(out.data, ">\xe2\x9c\x93 Updated on 2026-07-02</text>"));
}

static void svg_escapes_text(void **state)
{
    struct verdict v = verdict(FRESH_current, "a<b>&\"'");
    (void)state;
    badge_put_svg(&out, "</title><script>alert(1)</script>", &v);
    assert_null(strstr(out.data, "<script"));
    assert_non_null(strstr(out.data, "a&lt;b&gt;&amp;&quot;&#39;"));
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
    struct verdict v = verdict(FRESH_past_window, "Past freshness window");
    struct err err = {0};
    yyjson_val *doc = NULL, *key;
    (void)state;
    badge_put_json(&out, &v);
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

static void same_verdict_same_bytes(void **state)
{
    struct verdict v = verdict(FRESH_held, "Update awaiting review");
    char first[4096];
    (void)state;
    badge_put_svg(&out, "\xe6\x97\xa5\xe6\x9c\xac m\xc3\xa9tro", &v);
    snprintf(first, sizeof first, "%s", out.data);
    buf_clear(&out);
    badge_put_svg(&out, "\xe6\x97\xa5\xe6\x9c\xac m\xc3\xa9tro", &v);
    assert_string_equal(out.data, first);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(svg_is_accessible),
        TEST(svg_escapes_text),
        TEST(states_differ_without_colour),
        TEST(colours_carry_white_text),
        TEST(json_has_only_keys_that_shields_knows),
        TEST(same_verdict_same_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
