/* json: bounds of reading, checked getters, building, RFC 8785, the base mark, and every
 * allocation failing once. */
#include "tests/10-unit/unit.h"

#include <math.h>
#include "core/clock.h"
#include "core/file.h"
#include "core/json.h"

static struct arena memory;
static struct err err;

static int setup(void **state)
{
    (void)state;
    arena_init(&memory, 64u << 20);
    err = (struct err){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_fail_after = -1;
    arena_release(&memory);
    return 0;
}

static yyjson_val *parse(const char *text)
{
    yyjson_val *v = NULL;
    assert_rc(json_parse(&memory, str_of(text), 0, "test", &v, &err), RC_OK);
    return v;
}

static void refuse(struct str text, unsigned flags, enum rc want)
{
    yyjson_val *v = NULL;
    assert_rc(json_parse(&memory, text, flags, "test.json", &v, &err), want);
    assert_null(v);
    assert_int_equal(err.rc, want);
    assert_non_null(strstr(err.msg, "test.json"));
}

/* ---- reading ---- */

static void strict_and_relaxed(void **state)
{
    (void)state;
    static const char relaxed[] = "// a\n{\"a\": [1, 2,], /* b */ }";
    yyjson_val *v = NULL;
    refuse(str_of(relaxed), 0, RC_INVALID);
    assert_rc(json_parse(&memory, str_of(relaxed), JSON_RELAXED, "x", &v, &err), RC_OK);
    assert_int_equal(yyjson_arr_size(yyjson_obj_get(v, "a")), 2);
    refuse(STR("{a:1}"), JSON_RELAXED, RC_INVALID);
    refuse(STR("{'a':1}"), JSON_RELAXED, RC_INVALID);
    refuse(STR("[NaN]"), JSON_RELAXED, RC_INVALID);
}

static void what_is_no_json(void **state)
{
    (void)state;
    refuse(STR(""), 0, RC_INVALID);
    refuse((struct str){NULL, 0}, 0, RC_INVALID);
    refuse(STR("{} {}"), 0, RC_INVALID);
    refuse(STR("[1e999]"), 0, RC_INVALID);
    refuse(STR("[01]"), 0, RC_INVALID);
    refuse(STR("[\"\xff\"]"), 0, RC_INVALID);
    refuse(STR("[\"\xed\xa0\x80\"]"), 0, RC_INVALID);
    refuse(STR("[\"\\ud800\"]"), 0, RC_INVALID);
    refuse(STR("[\"a\nb\"]"), 0, RC_INVALID);
    refuse((struct str){"[1]]", 2}, 0, RC_INVALID);
}

static void errors_say_where_but_not_what(void **state)
{
    (void)state;
    refuse(STR("{\n  \"token\": s3cret\n}"), 0, RC_INVALID);
    assert_non_null(strstr(err.msg, "line 2, column 12"));
    assert_null(strstr(err.msg, "s3cret"));
}

static void depth_is_bounded(void **state)
{
    (void)state;
    static char text[400000];
    const char *kinds[] = {"[", "{\"a\":", "[{\"a\":"};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        for (int n = 1; n <= 40000; n = n < 40 ? n + 1 : n * 10) {
            size_t len = 0, step = strlen(kinds[k]);
            int depth = k == 2 ? 2 * n : n;
            for (int i = 0; i < n; i++, len += step)
                memcpy(text + len, kinds[k], step);
            text[len++] = '1';
            for (int i = n; i-- > 0;) {
                if (k != 0)
                    text[len++] = '}';
                if (k != 1)
                    text[len++] = ']';
            }
            yyjson_val *v = NULL;
            enum rc rc = json_parse(&memory, (struct str){text, len}, 0, "deep", &v, &err);
            assert_rc(rc, depth <= JSON_DEPTH_MAX ? RC_OK : RC_INVALID);
            arena_reset(&memory);
        }
    }
}

static void size_is_bounded(void **state)
{
    (void)state;
    refuse((struct str){"[]", (size_t)JSON_MAX + 1}, 0, RC_TOO_LARGE);
    struct arena small;
    yyjson_val *v = NULL;
    arena_init(&small, 100);
    assert_rc(json_parse(&small, STR("[1,2,3,4,5,6,7,8,9]"), 0, "x", &v, &err), RC_NOMEM);
    arena_release(&small);
}

static void files(void **state)
{
    (void)state;
    char path[64];
    yyjson_val *v = NULL;
    unit_temp(path);
    unit_write(path, "{\"a\": 7 /* seven */}");
    assert_rc(json_parse_file(&memory, path, JSON_RELAXED, &v, &err), RC_OK);
    assert_int_equal(yyjson_get_int(yyjson_obj_get(v, "a")), 7);
    assert_rc(json_parse_file(&memory, path, 0, &v, &err), RC_INVALID);
    assert_non_null(strstr(err.msg, path));
    unlink(path);
    assert_rc(json_parse_file(&memory, path, 0, &v, &err), RC_NOT_FOUND);
    assert_rc(json_parse_file(&memory, "/", 0, &v, &err), RC_IO);
}

/* ---- getters ---- */

static void getters_give_what_is_there(void **state)
{
    (void)state;
    yyjson_val *o = parse("{\"s\":\"x\",\"i\":-5,\"r\":2.5,\"b\":true,\"e\":3e2}");
    const char *s = NULL;
    int64_t i = 0, e = 0;
    double r = 0, ri = 0;
    bool b = false;
    assert_rc(json_get_str(o, "s", &s, &err), RC_OK);
    assert_rc(json_get_i64(o, "i", -10, 10, &i, &err), RC_OK);
    assert_rc(json_get_i64(o, "e", 0, 300, &e, &err), RC_OK);
    assert_rc(json_get_num(o, "r", &r, &err), RC_OK);
    assert_rc(json_get_num(o, "i", &ri, &err), RC_OK);
    assert_rc(json_get_bool(o, "b", &b, &err), RC_OK);
    assert_string_equal(s, "x");
    assert_int_equal(i, -5);
    assert_int_equal(e, 300);
    assert_true(r == 2.5 && ri == -5);
    assert_true(b);
}

static void missing_and_null_leave_the_default(void **state)
{
    (void)state;
    yyjson_val *o = parse("{\"n\":null}");
    static const char *const keys[] = {"n", "absent"};
    for (size_t k = 0; k < 2; k++) {
        const char *s = "default";
        int64_t i = 7;
        double r = 7;
        bool b = true;
        assert_rc(json_get_str(o, keys[k], &s, &err), RC_OK);
        assert_rc(json_get_i64(o, keys[k], 0, 1, &i, &err), RC_OK);
        assert_rc(json_get_num(o, keys[k], &r, &err), RC_OK);
        assert_rc(json_get_bool(o, keys[k], &b, &err), RC_OK);
        assert_string_equal(s, "default");
        assert_true(i == 7 && r == 7 && b);
    }
    const char *s = "default";
    assert_rc(json_get_str(NULL, "x", &s, &err), RC_OK);
    assert_rc(json_get_str(parse("[]"), "x", &s, &err), RC_INVALID);
}

static void texts_are_never_null(void **state)
{
    (void)state;
    yyjson_val *o = parse("{\"s\":\"x\",\"n\":null,\"i\":5,\"e\":\"\"}");
    assert_string_equal(json_member_text(o, "s"), "x");
    assert_str(json_text(yyjson_obj_get(o, "s")), "x");
    static const char *const keys[] = {"n", "i", "e", "absent"};
    for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
        assert_string_equal(json_member_text(o, keys[k]), "");
        assert_str(json_text(yyjson_obj_get(o, keys[k])), "");
    }
    assert_string_equal(json_member_text(NULL, "s"), "");
    assert_string_equal(json_member_text(parse("[]"), "s"), "");
}

static void getters_refuse_other_types(void **state)
{
    (void)state;
    yyjson_val *o = parse("{\"s\":\"x\",\"i\":5,\"a\":[],\"r\":1.5,\"big\":18446744073709551615,"
                          "\"huge\":1e300}");
    static const char *const no_int[] = {"s", "a", "r", "big", "huge"};
    const char *s = "keep";
    int64_t i = 7;
    double r = 7;
    bool b = true;
    assert_rc(json_get_str(o, "i", &s, &err), RC_INVALID);
    assert_string_equal(err.field, "i");
    for (size_t k = 0; k < ARRAY_LEN(no_int); k++) {
        assert_rc(json_get_i64(o, no_int[k], INT64_MIN, INT64_MAX, &i, &err), RC_INVALID);
        assert_string_equal(err.field, no_int[k]);
    }
    assert_rc(json_get_i64(o, "i", 6, 10, &i, &err), RC_INVALID);
    assert_non_null(strstr(err.msg, "between 6 and 10"));
    assert_rc(json_get_i64(o, "i", 0, 4, &i, &err), RC_INVALID);
    assert_rc(json_get_num(o, "s", &r, &err), RC_INVALID);
    assert_rc(json_get_bool(o, "i", &b, &err), RC_INVALID);
    assert_string_equal(s, "keep");
    assert_true(i == 7 && r == 7 && b);
}

static void control_characters_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"{\"s\":\"\\u001f\"}", "{\"s\":\"a\\u0000b\"}",
                                      "{\"s\":\"a\\nb\"}", "{\"s\":\"\\u007f\"}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const char *s = "keep";
        assert_rc(json_get_str(parse(bad[i]), "s", &s, &err), RC_INVALID);
        assert_string_equal(err.field, "s");
        assert_string_equal(s, "keep");
    }
}

/* ---- building ---- */

static yyjson_mut_doc *sample(struct arena *a)
{
    yyjson_mut_doc *d = json_doc(a);
    yyjson_mut_val *root = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, root);
    json_add_str(d, root, "b", "\xc3\xa4\x1f");
    json_add_str(d, root, "a", NULL);
    json_add_time(d, root, "at", 1782986400123);
    json_add_time(d, root, "never", -1);
    json_add_raw(d, root, "raw", STR("{\"z\":1,\"y\":[1.0]}"));
    yyjson_mut_obj_add_val(d, root, "link", json_fmt(d, "%s/x/%d", JSON_BASE, 7));
    return d;
}

#define SAMPLE                                                                                     \
    "{\"b\":\"\xc3\xa4\\u001F\",\"a\":null,\"at\":\"2026-07-02T10:00:00.123Z\",\"never\":null,"    \
    "\"raw\":{\"z\":1,\"y\":[1.0]},\"link\":\"\\u001F/x/7\"}"

static void a_count_below_zero_is_none(void **state)
{
    (void)state;
    struct str s = {0};
    yyjson_mut_doc *d = json_doc(&memory);
    yyjson_mut_val *root = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, root);
    json_add_count(d, root, "none", 0);
    json_add_count(d, root, "most", INT64_MAX);
    json_add_count(d, root, "unknown", -1);
    assert_rc(json_write(&memory, d, 0, &s, &err), RC_OK);
    assert_str(s, "{\"none\":0,\"most\":9223372036854775807,\"unknown\":null}");
}

static void order_of_insertion_is_order_of_output(void **state)
{
    (void)state;
    struct str s = {0};
    assert_rc(json_write(&memory, sample(&memory), 0, &s, &err), RC_OK);
    assert_str(s, SAMPLE);
    yyjson_mut_doc *d = json_doc(&memory);
    yyjson_mut_val *root = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, root);
    yyjson_mut_obj_add_int(d, root, "n", 1);
    assert_rc(json_write(&memory, d, JSON_PRETTY, &s, &err), RC_OK);
    assert_str(s, "{\n  \"n\": 1\n}\n");
}

static void what_cannot_be_written(void **state)
{
    (void)state;
    struct str s = STR("keep");
    yyjson_mut_doc *d = json_doc(&memory);
    assert_rc(json_write(&memory, NULL, 0, &s, &err), RC_NOMEM);
    assert_rc(json_write(&memory, d, 0, &s, &err), RC_INTERNAL);
    yyjson_mut_doc_set_root(d, yyjson_mut_real(d, NAN));
    assert_rc(json_write(&memory, d, 0, &s, &err), RC_INTERNAL);
    yyjson_mut_doc_set_root(d, yyjson_mut_str(d, "\xff"));
    assert_rc(json_write(&memory, d, 0, &s, &err), RC_INTERNAL);
    assert_str(s, "keep");
}

/* ---- every allocation fails once ---- */

static enum rc build_and_write(struct arena *a)
{
    struct str s = {0};
    enum rc rc = json_write(a, sample(a), 0, &s, &err);
    if (rc == RC_OK)
        assert_str(s, SAMPLE);
    else
        assert_null(s.p);
    return rc;
}

static enum rc parse_much(struct arena *a)
{
    yyjson_val *v = NULL;
    CLEANUP(buf_release) struct buf text = {0};
    buf_init(&text, 1u << 20);
    buf_byte(&text, '[');
    for (int i = 0; i < 5000; i++)
        buf_puts(&text, "1,");
    buf_puts(&text, "{\"a\":[]}]");
    enum rc rc = json_parse(a, buf_view(&text), 0, "much", &v, &err);
    assert_true((rc == RC_OK) == (v != NULL));
    return rc;
}

static void torture(enum rc (*work)(struct arena *a))
{
    for (long n = 0; n < 1000; n++) {
        struct arena a;
        arena_init(&a, 64u << 20);
        arena_fail_after = n;
        enum rc rc = work(&a);
        bool hit = arena_fail_after == -1;
        arena_fail_after = -1;
        arena_release(&a);
        assert_rc(rc, hit ? RC_NOMEM : RC_OK);
        if (!hit) {
            assert_true(n > 1);
            return;
        }
    }
    fail();
}

static void writing_under_torture(void **state)
{
    (void)state;
    torture(build_and_write);
}

static void parsing_under_torture(void **state)
{
    (void)state;
    torture(parse_much);
}

static void a_lost_member_is_noticed(void **state)
{
    (void)state;
    yyjson_mut_doc *d = json_doc(&memory);
    yyjson_mut_val *root = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, root);
    assert_rc(json_doc_rc(d), RC_OK);
    arena_fail_after = 0;
    json_add_str(d, root, "k", "v");
    assert_rc(json_doc_rc(d), RC_NOMEM);
    assert_rc(json_doc_rc(NULL), RC_NOMEM);
}

/* ---- RFC 8785 ---- */

static void canon_is(const char *text, const char *want)
{
    struct buf out;
    yyjson_mut_doc *d = json_doc(&memory);
    yyjson_val *v = parse(text);
    buf_init(&out, 1u << 20);
    assert_rc(json_canon(&out, v, &err), RC_OK);
    assert_str(buf_view(&out), want);
    buf_clear(&out);
    assert_rc(json_canon_mut(&out, yyjson_val_mut_copy(d, v), &err), RC_OK);
    assert_str(buf_view(&out), want);
    buf_release(&out);
}

static void canon_sorts_by_utf16(void **state)
{
    (void)state;
    canon_is("{\"b\":1,\"a\":2,\"\":3,\"aa\":4,\"B\":5}",
             "{\"\":3,\"B\":5,\"a\":2,\"aa\":4,\"b\":1}");
    /* U+FB33 is above U+1F600 in UTF-16, below it in UTF-8. */
    canon_is("{\"\\ufb33\":1,\"\\ud83d\\ude00\":2,\"\\u20ac\":3,\"\\r\":4,\"1\":5,\"\\u0080\":6,"
             "\"\\u00f6\":7}",
             "{\"\\r\":4,\"1\":5,\"\xc2\x80\":6,\"\xc3\xb6\":7,\"\xe2\x82\xac\":3,"
             "\"\xf0\x9f\x98\x80\":2,\"\xef\xac\xb3\":1}");
    canon_is(
        "{\"\\ue000\":1,\"\\ud800\\udc00\":2,\"\\ud7ff\":3,\"\\udbff\\udfff\":4,"
        "\"\\uffff\":5,\"a\\ue000\":6,\"a\\ud800\\udc00\":7}",
        "{\"a\xf0\x90\x80\x80\":7,\"a\xee\x80\x80\":6,\"\xed\x9f\xbf\":3,"
        "\"\xf0\x90\x80\x80\":2,\"\xf4\x8f\xbf\xbf\":4,\"\xee\x80\x80\":1,\"\xef\xbf\xbf\":5}");
}

static void canon_values(void **state)
{
    (void)state;
    canon_is(" { \"x\" : [ true , false , null , { } , [ ] ] } ",
             "{\"x\":[true,false,null,{},[]]}");
    canon_is("[1.0,1e2,-0,0.1e1,1E+3,100000000000000000000,1e21,18446744073709551615]",
             "[1,100,0,1,1000,100000000000000000000,1e+21,18446744073709552000]");
    canon_is("\"\\u0000\\u0008\\t\\n\\u000b\\f\\r\\u001F\\\"\\\\\\/\\u007f\\u20ac\"",
             "\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\\\"\\\\/\x7f\xe2\x82\xac\"");
    canon_is("{\"b\":[{\"d\":1,\"c\":2}],\"a\":{\"z\":{},\"y\":\"\"}}",
             "{\"a\":{\"y\":\"\",\"z\":{}},\"b\":[{\"c\":2,\"d\":1}]}");
}

/* Canonical text is its own canonical form. */
static void canon_is_a_fixed_point(void **state)
{
    (void)state;
    struct buf once, twice;
    buf_init(&once, 1 << 16);
    buf_init(&twice, 1 << 16);
    yyjson_val *v =
        parse("{\"b\":[1.50,{\"\\ufb33\":\"\\u001f\",\"\\ud83d\\ude00\":1e-9}],\"a\":1}");
    assert_rc(json_canon(&once, v, &err), RC_OK);
    assert_rc(json_canon(&twice, parse(once.data), &err), RC_OK);
    assert_string_equal(once.data, twice.data);
    buf_release(&once);
    buf_release(&twice);
}

static void canon_refuses(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1 << 16);
    yyjson_mut_doc *d = json_doc(&memory);
    assert_rc(json_canon(&out, parse("{\"a\":1,\"b\":2,\"a\":3}"), &err), RC_INVALID);
    assert_rc(json_canon_mut(&out, yyjson_mut_real(d, INFINITY), &err), RC_INVALID);
    assert_rc(json_canon_mut(&out, yyjson_mut_str(d, "\xff"), &err), RC_INVALID);
    assert_rc(json_canon_mut(&out, yyjson_mut_raw(d, "{"), &err), RC_INVALID);
    assert_rc(json_canon_mut(&out, NULL, &err), RC_INVALID);
    yyjson_mut_val *deep = yyjson_mut_int(d, 1);
    for (int i = 0; i < JSON_DEPTH_MAX + 1; i++) {
        yyjson_mut_val *outer = yyjson_mut_arr(d);
        yyjson_mut_arr_append(outer, deep);
        deep = outer;
    }
    assert_rc(json_canon_mut(&out, deep, &err), RC_INVALID);
    buf_release(&out);
    buf_init(&out, 3);
    assert_rc(json_canon(&out, parse("[1,2]"), &err), RC_TOO_LARGE);
    buf_release(&out);
}

static void canon_reads_rendered_parts(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1 << 16);
    yyjson_mut_doc *d = sample(&memory);
    assert_rc(json_canon_mut(&out, yyjson_mut_doc_get_root(d), &err), RC_OK);
    assert_str(buf_view(&out),
               "{\"a\":null,\"at\":\"2026-07-02T10:00:00.123Z\",\"b\":\"\xc3\xa4\\u001f\","
               "\"link\":\"\\u001f/x/7\",\"never\":null,\"raw\":{\"y\":[1],\"z\":1}}");
    buf_release(&out);
}

static double of_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* The samples of RFC 8785, appendix B; NULL where there is no form. */
static void numbers_of_the_rfc(void **state)
{
    (void)state;
    static const struct {
        uint64_t bits;
        const char *want;
    } rows[] = {
        {0x0000000000000000, "0"},
        {0x8000000000000000, "0"},
        {0x0000000000000001, "5e-324"},
        {0x8000000000000001, "-5e-324"},
        {0x7fefffffffffffff, "1.7976931348623157e+308"},
        {0xffefffffffffffff, "-1.7976931348623157e+308"},
        {0x4340000000000000, "9007199254740992"},
        {0xc340000000000000, "-9007199254740992"},
        {0x4430000000000000, "295147905179352830000"},
        {0x7fffffffffffffff, NULL},
        {0x7ff0000000000000, NULL},
        {0xfff0000000000000, NULL},
        {0x44b52d02c7e14af5, "9.999999999999997e+22"},
        {0x44b52d02c7e14af6, "1e+23"},
        {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
        {0x444b1ae4d6e2ef4e, "999999999999999700000"},
        {0x444b1ae4d6e2ef4f, "999999999999999900000"},
        {0x444b1ae4d6e2ef50, "1e+21"},
        {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
        {0x3eb0c6f7a0b5ed8d, "0.000001"},
        {0x41b3de4355555553, "333333333.3333332"},
        {0x41b3de4355555554, "333333333.33333325"},
        {0x41b3de4355555555, "333333333.3333333"},
        {0x41b3de4355555556, "333333333.3333334"},
        {0x41b3de4355555557, "333333333.33333343"},
        {0xbecbf647612f3696, "-0.0000033333333333333333"},
        {0x43143ff3c1cb0959, "1424953923781206.2"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[32] = "";
        assert_true(json_number(of_bits(rows[i].bits), text) == (rows[i].want != NULL));
        if (rows[i].want)
            assert_string_equal(text, rows[i].want);
    }
}

/* Is there a shorter decimal that reads back as v? Tries the nearest one with n digits and its
 * neighbours, by the C library, which has other code than yyjson. */
static bool reads_back_with(double v, int n)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", n - 1, v);
    if (strtod(text, NULL) == v)
        return true;
    char *exponent = strchr(text, 'e');
    double step = strtod(exponent + 1, NULL) - (n - 1);
    for (int side = -1; side <= 1; side += 2) {
        char digits[32], near[64];
        int64_t mantissa;
        size_t len = 0;
        for (const char *p = text; p < exponent; p++)
            if (*p != '.')
                digits[len++] = *p;
        assert_rc(str_to_i64((struct str){digits, len}, &mantissa), RC_OK);
        snprintf(near, sizeof near, "%llde%d", (long long)mantissa + side, (int)step);
        if (strtod(near, NULL) == v)
            return true;
    }
    return false;
}

static int count_digits(const char *text)
{
    int n = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text == '0' && n == 0)
            continue;
        n += *text >= '0' && *text <= '9';
        zeros = *text == '0' ? zeros + 1 : *text == '.' ? zeros : 0;
    }
    return n - zeros;
}

static void numbers_are_shortest_and_read_back(void **state)
{
    (void)state;
    for (int i = 0; i < 60000; i++) {
        char text[32];
        uint64_t bits;
        rand_bytes(&bits, sizeof bits);
        if (i % 4 == 1)
            bits &= 0xfff0000000000000; /* powers of two: their neighbours are not equally far */
        if (i % 4 == 2)
            bits = (bits & 0x800fffffffffffff) | (1023 - 30 + bits % 90) << 52;
        double v = of_bits(bits);
        if (!isfinite(v))
            continue;
        assert_true(json_number(v, text));
        assert_true(strtod(text, NULL) == v);
        int n = count_digits(text);
        if (n > 1 && v != 0)
            assert_false(reads_back_with(v < 0 ? -v : v, n - 1));
    }
}

/* ---- the base mark ---- */

static void based_is(const char *doc, const char *base, const char *want)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    json_put_based(&out, str_of(doc), str_of(base));
    assert_str(buf_view(&out), want);
    buf_release(&out);
}

static void base_marks_are_replaced(void **state)
{
    (void)state;
    based_is("{\"a\":\"\\u001F/x\",\"b\":\"\\u001f/y\"}", "https://e.org",
             "{\"a\":\"https://e.org/x\",\"b\":\"https://e.org/y\"}");
    based_is("", "x", "");
    based_is("\\u001F", "", "");
    based_is("[\"none\"]", "x", "[\"none\"]");
}

static void escaped_backslashes_are_no_mark(void **state)
{
    (void)state;
    based_is("\"\\\\u001F\"", "x", "\"\\\\u001F\"");
    based_is("\"\\\\\\u001F\"", "x", "\"\\\\x\"");
    based_is("\"\\\"\\u001F\\n\\u001E\"", "x", "\"\\\"x\\n\\u001E\"");
    based_is("\"\\u001", "x", "\"\\u001");
    based_is("\\", "x", "\\");
}

/* A base is checked long before; but nothing that a client sends may break out of the string. */
static void the_base_cannot_break_out(void **state)
{
    (void)state;
    based_is("\"\\u001F\"", "h\",\"x\":\"\\\n", "\"h\\\",\\\"x\\\":\\\"\\\\\\n\"");
}

static void a_written_mark_is_found_again(void **state)
{
    (void)state;
    struct str s = {0};
    assert_rc(json_write(&memory, sample(&memory), 0, &s, &err), RC_OK);
    struct buf out;
    buf_init(&out, 1 << 16);
    json_put_based(&out, s, STR("http://h"));
    assert_non_null(strstr(out.data, "\"link\":\"http://h/x/7\""));
    buf_release(&out);
}

#define JSON_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        JSON_TEST(strict_and_relaxed),
        JSON_TEST(what_is_no_json),
        JSON_TEST(errors_say_where_but_not_what),
        JSON_TEST(depth_is_bounded),
        JSON_TEST(size_is_bounded),
        JSON_TEST(files),
        JSON_TEST(getters_give_what_is_there),
        JSON_TEST(missing_and_null_leave_the_default),
        JSON_TEST(texts_are_never_null),
        JSON_TEST(getters_refuse_other_types),
        JSON_TEST(control_characters_are_refused),
        JSON_TEST(a_count_below_zero_is_none),
        JSON_TEST(order_of_insertion_is_order_of_output),
        JSON_TEST(what_cannot_be_written),
        JSON_TEST(writing_under_torture),
        JSON_TEST(parsing_under_torture),
        JSON_TEST(a_lost_member_is_noticed),
        JSON_TEST(canon_sorts_by_utf16),
        JSON_TEST(canon_values),
        JSON_TEST(canon_is_a_fixed_point),
        JSON_TEST(canon_refuses),
        JSON_TEST(canon_reads_rendered_parts),
        JSON_TEST(numbers_of_the_rfc),
        JSON_TEST(numbers_are_shortest_and_read_back),
        JSON_TEST(base_marks_are_replaced),
        JSON_TEST(escaped_backslashes_are_no_mark),
        JSON_TEST(the_base_cannot_break_out),
        JSON_TEST(a_written_mark_is_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
