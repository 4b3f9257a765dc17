/* str: comparing, splitting, checking, hex. Views end at n: the byte behind is always a trap. */
#include "tests/10-unit/unit.h"

static void comparing(void **state)
{
    (void)state;
    assert_true(str_eq(STR("ab"), (struct str){"abc", 2}));
    assert_false(str_eq(STR("ab"), STR("abc")));
    assert_true(str_eq((struct str){NULL, 0}, STR("")));
    assert_true(str_eq((struct str){"a\0b", 3}, (struct str){"a\0b", 3}));
    assert_false(str_eq((struct str){"a\0b", 3}, (struct str){"a\0c", 3}));
    assert_true(str_ieq(STR("ETag"), STR("etAG")));
    assert_false(str_ieq(STR("\xc3\x84"), STR("\xc3\xa4")));
    assert_false(str_ieq(STR("@"), STR("`")));
    assert_true(str_is(STR("x"), "x"));
    assert_true(str_starts(STR("https://x"), STR("https:")));
    assert_false(str_starts(STR("http"), STR("https")));
    assert_true(str_ends(STR("a.json"), STR(".json")));
    assert_false(str_ends(STR("json"), STR(".json")));
    assert_true(str_ends(STR("x"), STR("")));
}

static void one_of_a_list(void **state)
{
    static const char *const names[] = {"one", "two", ""};
    (void)state;
    assert_true(str_is_one_of(STR("two"), names, 3));
    assert_true(str_is_one_of((struct str){"ones", 3}, names, 3));
    assert_true(str_is_one_of(STR(""), names, 3));
    assert_false(str_is_one_of(STR(""), names, 2));
    assert_false(str_is_one_of(STR("Two"), names, 3));
    assert_false(str_is_one_of(STR("one"), names, 0));
}

static void parts(void **state)
{
    (void)state;
    assert_true(str_ihas(STR("a <HTML>"), STR("<html")));
    assert_true(str_ihas(STR("<html"), STR("<HTML")));
    assert_false(str_ihas((struct str){"<html", 4}, STR("<html")));
    assert_false(str_ihas(STR(""), STR("x")));
    assert_true(str_ihas(STR("x"), STR("")));
}

static void trimming(void **state)
{
    (void)state;
    assert_str(str_skip_space(STR(" \t\r\n a ")), "a ");
    assert_str(str_skip_space((struct str){"   a", 3}), "");
    assert_str(str_skip_bom(STR("\xef\xbb\xbf a")), " a");
    assert_str(str_skip_bom(STR("\xef\xbb\xbf\xef\xbb\xbf")), "\xef\xbb\xbf");
    assert_str(str_skip_bom((struct str){"\xef\xbb\xbf", 2}), "\xef\xbb");
    assert_str(str_skip_bom(STR("")), "");
    assert_str(str_trim(STR(" \t\r\n a b \n")), "a b");
    assert_str(str_trim(STR("  ")), "");
    assert_str(str_trim(STR("")), "");
    assert_str(str_trim(STR("\va")), "\va");
}

static void splitting(void **state)
{
    (void)state;
    struct str list = STR("a,,b,"), item = {0};
    assert_true(str_next(&list, ',', &item));
    assert_str(item, "a");
    assert_true(str_next(&list, ',', &item));
    assert_str(item, "");
    assert_true(str_next(&list, ',', &item));
    assert_str(item, "b");
    assert_false(str_next(&list, ',', &item));
    list = STR("whole");
    assert_true(str_next(&list, ',', &item));
    assert_str(item, "whole");
    assert_int_equal(list.n, 0);
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-0", 0},
                {"007", 7},
                {"-12", -12},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    static const char *const bad[] = {"",    "-",   "+1",  " 1",
                                      "1 ",  "1.0", "0x1", "9223372036854775808",
                                      "--1", "1e3", "a",   "-9223372036854775809"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        int64_t v = 77;
        assert_rc(str_to_i64(str_of(good[i].text), &v), RC_OK);
        assert_int_equal(v, good[i].value);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        int64_t v = 77;
        assert_rc(str_to_i64(str_of(bad[i]), &v), RC_INVALID);
        assert_int_equal(v, 77);
    }
    int64_t v;
    assert_rc(str_to_i64((struct str){"123", 2}, &v), RC_OK);
    assert_int_equal(v, 12);
}

static void slugs(void **state)
{
    (void)state;
    assert_true(str_is_slug(STR("ks_counties-2026"), 64));
    assert_true(str_is_slug(STR("a"), 1));
    assert_false(str_is_slug(STR("ab"), 1));
    assert_false(str_is_slug(STR(""), 64));
    assert_false(str_is_slug(STR("A"), 64));
    assert_false(str_is_slug(STR("a/b"), 64));
    assert_false(str_is_slug(STR("a.b"), 64));
    assert_false(str_is_slug((struct str){"a\0", 2}, 64));
    assert_false(str_is_slug(STR("\xc3\xa4"), 64));
}

static void clean_lines(void **state)
{
    (void)state;
    assert_true(str_is_clean(STR("\"abc\" \xc3\xa4")));
    assert_true(str_is_clean(STR("")));
    for (int c = 0; c < 0x20; c++)
        assert_false(str_is_clean((struct str){(char[]){'a', (char)c}, 2}));
    assert_false(str_is_clean(STR("\x7f")));
}

static void utf8(void **state)
{
    (void)state;
    static const char *const good[] = {"",
                                       "abc",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {
        "\x80",         "\xc0\xaf",     "\xc1\xbf",         "\xc2",
        "\xc2z",        "\xe0\x9f\xbf", "\xe2\x82",         "\xed\xa0\x80",
        "\xed\xbf\xbf", "\xf0\x9f\x98", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
        "\xf5\x80",     "\xff",         "a\xe2\x82z"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(str_is_utf8(str_of(good[i])));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(str_is_utf8(str_of(bad[i])));
    assert_false(str_is_utf8((struct str){"\xe2\x82\xac", 2}));
    assert_int_equal(str_utf8_len(STR("\xf0\x9f\x98\x80x")), 4);
    assert_int_equal(str_utf8_len(STR("")), 0);
}

static void cutting(void **state)
{
    (void)state;
    struct str euro = STR("a\xe2\x82\xac\xf0\x9f\x98\x80");
    static const size_t want[] = {0, 1, 1, 1, 4, 4, 4, 4, 8, 8};
    for (size_t max = 0; max < ARRAY_LEN(want); max++)
        assert_int_equal(str_cut(euro, max).n, want[max]);
    assert_int_equal(str_cut(STR("\x80\x80\x80\x80\x80\x80"), 4).n, 4);
}

static void distances(void **state)
{
    char a[STR_DISTANCE_MAX + 2], b[STR_DISTANCE_MAX + 2];
    (void)state;
    memset(a, 'x', sizeof a);
    memset(b, 'x', sizeof b);
    assert_int_equal(str_distance(STR("kitten"), STR("sitting")), 3);
    assert_int_equal(str_distance(STR("sitting"), STR("kitten")), 3);
    assert_int_equal(str_distance(STR(""), STR("abc")), 3);
    assert_int_equal(str_distance(STR("abc"), STR("")), 3);
    assert_int_equal(str_distance(STR(""), STR("")), 0);
    assert_int_equal(str_distance((struct str){"abx", 2}, (struct str){"aby", 2}), 0);
    for (size_t n = STR_DISTANCE_MAX; n < sizeof a; n++)
        assert_int_equal(str_distance((struct str){a, n}, (struct str){b, n}),
                         n > STR_DISTANCE_MAX ? n : 0);
}

static void the_nearest_name(void **state)
{
    static const char *const words[] = {"check", "changes", "verify", "approve"};
    (void)state;
#define NEAREST(word) str_nearest(STR(word), words, ARRAY_LEN(words))
    assert_string_equal(NEAREST("chekc"), "check");
    assert_string_equal(NEAREST("chan"), "changes");
    assert_string_equal(NEAREST("verfy"), "verify");
    assert_string_equal(NEAREST("aprove"), "approve");
    assert_null(NEAREST("x"));
    assert_null(NEAREST("telescope"));
    assert_null(NEAREST("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

static void hex(void **state)
{
    (void)state;
    unsigned char b[3] = {0};
    char text[7];
    hex_encode("\x00\xab\xff", 3, text);
    assert_string_equal(text, "00abff");
    assert_rc(hex_decode(STR("00aBFf"), b, 3), RC_OK);
    assert_memory_equal(b, "\x00\xab\xff", 3);
    memset(b, 7, 3);
    assert_rc(hex_decode(STR("00abf"), b, 3), RC_INVALID);
    assert_rc(hex_decode(STR("00ab"), b, 3), RC_INVALID);
    assert_rc(hex_decode(STR("00abfg"), b, 3), RC_INVALID);
    assert_rc(hex_decode(STR("00abff00"), b, 3), RC_INVALID);
    assert_memory_equal(b, "\x07\x07\x07", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparing), cmocka_unit_test(one_of_a_list),
        cmocka_unit_test(parts),     cmocka_unit_test(trimming),
        cmocka_unit_test(splitting), cmocka_unit_test(numbers),
        cmocka_unit_test(slugs),     cmocka_unit_test(clean_lines),
        cmocka_unit_test(utf8),      cmocka_unit_test(cutting),
        cmocka_unit_test(distances), cmocka_unit_test(the_nearest_name),
        cmocka_unit_test(hex),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
