/* negotiate: Accept as clients send it, q-values, what cannot be read, f=. */
#include "tests/10-unit/unit.h"

#include "api/negotiate.h"

static const struct media table[] = {{"json", "application/json", "application/json"},
                                     {"ttl", "text/turtle", "text/turtle; charset=utf-8"},
                                     {"csv", "text/csv", "text/csv"}};

/* f= of what is chosen, or the name of the refusal. */
static const char *choose(const char *accept, const char *f)
{
    struct req r = {.accept = accept ? str_of(accept) : (struct str){0}};
    struct resp w = {0};
    struct err err = {0};
    size_t at;
    if (f) {
        r.params[0] = (struct param){STR("f"), str_of(f)};
        r.n_params = 1;
    }
    enum rc rc = negotiate(&r, &w, table, ARRAY_LEN(table), &at, &err);
    if (rc != RC_OK)
        return rc_name(rc);
    assert_string_equal(w.content_type, table[at].content_type);
    return table[at].name;
}

static void accept_decides(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {NULL, "json"},
        {"", "json"},
        {"*/*", "json"},
        {"text/*", "ttl"},
        {"text/turtle", "ttl"},
        {"TEXT/Turtle", "ttl"},
        {"text/turtle;charset=utf-8", "ttl"},
        {"application/json;q=0.1, text/turtle;q=0.2", "ttl"},
        {"application/json;q=0.2,text/turtle;q=0.2", "json"},
        {"*/*;q=0.1, text/csv", "csv"},
        {"text/*;q=0.5, text/turtle;q=0, */*;q=0.1", "csv"},
        {"application/json;q=0, */*", "ttl"},
        {"text/html,application/xhtml+xml,*/*;q=0.8", "json"},
        {"image/png", "NOT_ACCEPTABLE"},
        {"*/*;q=0", "NOT_ACCEPTABLE"},
        {"application/json;q=0.000", "NOT_ACCEPTABLE"},
        {";;,,q=1,text/csv;;q=1", "csv"},
        {"text/csv;q=abc", "csv"},
        {"text", "NOT_ACCEPTABLE"},
        {"text/csv;q=1.0;q=0", "csv"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(choose(cases[i][0], NULL), cases[i][1]);
}

/* GDAL asks for version=3.0: what is 3.1 is not that. */
static void a_version_is_meant(void **state)
{
    static const struct media both[] = {{"new", "application/x+json;version=3.1", "n"},
                                        {"plain", "application/json", "p"}};
    static const char *const cases[][2] = {
        {"*/*", "new"},
        {"application/x+json", "new"},
        {"application/x+json; version=3.1", "new"},
        {"application/x+json;version=3.1;q=0.5, application/json", "plain"},
        {"application/x+json;version=3.0, application/y+json;version=3.0, application/json",
         "plain"},
        {"application/x+json;version=3.0", NULL},
        {"application/json;version=3.0", "plain"},
        {"text/turtle", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct req r = {.accept = str_of(cases[i][0])};
        struct resp w = {0};
        struct err err = {0};
        size_t at = ARRAY_LEN(both);
        enum rc rc = negotiate(&r, &w, both, ARRAY_LEN(both), &at, &err);
        assert_int_equal(rc, cases[i][1] ? RC_OK : RC_NOT_ACCEPTABLE);
        if (cases[i][1])
            assert_string_equal(both[at].name, cases[i][1]);
    }
}

static void f_wins(void **state)
{
    (void)state;
    assert_string_equal(choose("text/turtle", "csv"), "csv");
    assert_string_equal(choose("image/png", "json"), "json");
    assert_string_equal(choose("text/turtle", "xml"), "INVALID");
    assert_string_equal(choose("text/turtle", ""), "INVALID");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(accept_decides),
                                       cmocka_unit_test(a_version_is_meant),
                                       cmocka_unit_test(f_wins)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
