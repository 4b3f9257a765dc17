/* base64: one text for each value, and nothing else is taken. */
#include "tests/10-unit/unit.h"

#include "core/base64.h"

static void gives(struct str in, enum base64 kind, struct str want)
{
    char out[64];
    size_t n = 99;
    assert_rc(base64_decode(in, kind, out, sizeof out, &n), RC_OK);
    assert_int_equal(n, want.n);
    assert_memory_equal(out, want.p, want.n);
}

static void refuses(const char *in, enum base64 kind)
{
    char out[64];
    size_t n = 99;
    assert_rc(base64_decode(str_of(in), kind, out, sizeof out, &n), RC_INVALID);
    assert_int_equal(n, 99);
}

/* RFC 4648 section 10. */
static void vectors_of_the_rfc(void **state)
{
    (void)state;
    gives(STR(""), BASE64_STANDARD, STR(""));
    gives(STR("Zg=="), BASE64_STANDARD, STR("f"));
    gives(STR("Zm8="), BASE64_STANDARD, STR("fo"));
    gives(STR("Zm9v"), BASE64_STANDARD, STR("foo"));
    gives(STR("Zm9vYg=="), BASE64_STANDARD, STR("foob"));
    gives(STR("Zm9vYmE="), BASE64_STANDARD, STR("fooba"));
    gives(STR("Zm9vYmFy"), BASE64_STANDARD, STR("foobar"));
    gives(STR("Zm9vYg"), BASE64_URL, STR("foob"));
    gives(STR("Zm9vYmE"), BASE64_URL, STR("fooba"));
    gives(STR("+/+/"), BASE64_STANDARD, STR("\xfb\xff\xbf"));
    gives(STR("-_-_"), BASE64_URL, STR("\xfb\xff\xbf"));
}

static void one_text_for_each_value(void **state)
{
    (void)state;
    static const char *const standard[] = {"Zg=",      "Zg",   "Zg===",   "Z",    "Zm9v\n",
                                           "Zm 9v",    "Zh==", "Zm9=",    "====", "=",
                                           "Zg==Zg==", "-_-_", "Zm9vYmF", "Z===", "Zm9\xff"};
    static const char *const url[] = {"Zg==", "Z",      "Zh",       "Zm9",
                                      "+/+/", "Zm9v\n", "Zm9vYmE=", "Zm9v!"};
    for (size_t i = 0; i < ARRAY_LEN(standard); i++)
        refuses(standard[i], BASE64_STANDARD);
    for (size_t i = 0; i < ARRAY_LEN(url); i++)
        refuses(url[i], BASE64_URL);
}

/* Every byte is a letter or is not, and every group of bytes comes back. */
static void letters_of_both_alphabets(void **state)
{
    (void)state;
    for (int kind = BASE64_STANDARD; kind <= BASE64_URL; kind++) {
        int letters = 0;
        for (int c = 0; c < 256; c++) {
            char in[4] = {(char)c, 'A', 'A', 'A'}, out[3];
            size_t n;
            letters += base64_decode((struct str){in, 4}, (enum base64)kind, out, 3, &n) == RC_OK;
        }
        assert_int_equal(letters, 64);
    }
}

static void what_does_not_fit_is_said(void **state)
{
    (void)state;
    char out[3];
    size_t n;
    assert_rc(base64_decode(STR("Zm9vYg=="), BASE64_STANDARD, out, 3, &n), RC_TOO_LARGE);
    assert_rc(base64_decode(STR("Zm9v"), BASE64_STANDARD, out, 3, &n), RC_OK);
    assert_true(base64_room(4) >= 3 && base64_room(2) >= 1 && base64_room(7) >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_of_the_rfc),
        cmocka_unit_test(one_text_for_each_value),
        cmocka_unit_test(letters_of_both_alphabets),
        cmocka_unit_test(what_does_not_fit_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
