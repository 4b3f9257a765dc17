/* conf: defaults, bounds, hints, the sample, and edits that leave the rest of the file alone. */
#include "tests/10-unit/unit.h"

#include "core/conf.h"
#include "core/conf_edit.h"

static char path[64];
static struct arena memory;
static struct err err;

static int setup(void **state)
{
    (void)state;
    unit_temp(path);
    arena_init(&memory, 16u << 20);
    err = (struct err){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_fail_after = -1;
    arena_release(&memory);
    return unlink(path);
}

static struct conf load(const char *text)
{
    struct conf c;
    unit_write(path, text);
    assert_rc(conf_load(&memory, path, &c, &err), RC_OK);
    return c;
}

static void refuse(const char *text, const char *field, const char *words)
{
    struct conf c = {.port = 77};
    unit_write(path, text);
    err = (struct err){0};
    assert_rc(conf_load(&memory, path, &c, &err), RC_INVALID);
    assert_string_equal(err.field, field);
    if (!strstr(err.msg, words))
        fail_msg("\"%s\" not in \"%s\"", words, err.msg);
    assert_int_equal(c.port, 77);
}

/* ---- reading ---- */

static void defaults_are_complete(void **state)
{
    (void)state;
    struct conf c = load("{}");
    assert_int_equal(c.port, 8080);
    assert_int_equal(c.max_bytes, 1073741824);
    assert_string_equal(c.operator_name, "");
    assert_string_equal(c.log_level, "info");
    assert_int_equal(c.allow_hosts.n, 0);
}

static void a_file_overrides(void **state)
{
    (void)state;
    struct conf c = load("// ours\n{\"port\": 9090, /* two */ \"allow_hosts\": [\"a\", \"b:1\",],\n"
                         "\"operator_name\": \"K\xc3\xa4nsas\", \"audit_every\": 0,\n"
                         "\"log_level\": null, \"public_base_url\": \"https://e.org/x\",}");
    assert_int_equal(c.port, 9090);
    assert_int_equal(c.audit_every, 0);
    assert_int_equal(c.per_host, 6);
    assert_string_equal(c.operator_name, "K\xc3\xa4nsas");
    assert_string_equal(c.log_level, "info");
    assert_string_equal(c.public_base_url, "https://e.org/x");
    assert_int_equal(c.allow_hosts.n, 2);
    assert_string_equal(c.allow_hosts.items[1], "b:1");
}

static void bounds_are_named(void **state)
{
    (void)state;
    refuse("{\"port\": 0}", "port", "between 1 and 65535");
    refuse("{\"port\": 65536}", "port", "between 1 and 65535");
    refuse("{\"port\": \"8080\"}", "port", "whole number");
    refuse("{\"port\": 80.5}", "port", "whole number");
    refuse("{\"operator_name\": 5}", "operator_name", "string");
    refuse("{\"operator_name\": \"a\\nb\"}", "operator_name", "control");
    refuse("{\"log_level\": \"loud\"}", "log_level", "debug, info, warn or error");
    refuse("{\"public_base_url\": \"ftp://x\"}", "public_base_url", "https://");
    refuse("{\"public_base_url\": \"https://x/\"}", "public_base_url", "not end with /");
    refuse("{\"allow_hosts\": \"a\"}", "allow_hosts", "array");
    refuse("{\"allow_hosts\": [\"a\", 5]}", "allow_hosts", "item 2");
    refuse("{\"allow_hosts\": [\"\"]}", "allow_hosts", "item 1");
    refuse("{\"allow_hosts\": [\"a\\u001fb\"]}", "allow_hosts", "item 1");
    refuse("[]", "", "object");
    refuse("{\"port\": }", "", "line 1");
    refuse("{\"port\": 1, \"port\": 2}", "port", "twice");
}

/* All numbers of the table: just inside is taken, just outside is not. */
static void every_bound_holds(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t def, min, max;
    } rows[] = {
#define SETTING_INT(name, def, min, max, help) {#name, def, min, max},
#define SETTING_STR(name, def, help)
#define SETTING_LIST(name, help)
#include "core/settings.def"
#undef SETTING_INT
#undef SETTING_STR
#undef SETTING_LIST
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const int64_t try[] = {rows[i].min, rows[i].max, rows[i].min - 1, rows[i].max + 1};
        assert_true(rows[i].def >= rows[i].min && rows[i].def <= rows[i].max);
        for (size_t k = 0; k < 4; k++) {
            char text[128];
            struct conf c;
            snprintf(text, sizeof text, "{\"%s\":%lld}", rows[i].name, (long long)try[k]);
            unit_write(path, text);
            assert_rc(conf_load(&memory, path, &c, &err), k < 2 ? RC_OK : RC_INVALID);
        }
    }
}

static void unknown_names_get_a_hint(void **state)
{
    (void)state;
    refuse("{\"prot\": 1}", "prot", "did you mean port?");
    refuse("{\"max_concurency\": 1}", "max_concurency", "did you mean max_concurrency?");
    refuse("{\"Allow_Hosts\": 1}", "Allow_Hosts", "did you mean allow_hosts?");
    refuse("{\"colour_of_the_sky\": 1}", "colour_of_the_sky", "config list");
    assert_null(strstr(err.msg, "did you mean"));
    refuse("{\"a\\u001b[31m\": 1}", "", "no such setting");
    char text[400] = "{\"";
    memset(text + 2, 'x', 300);
    memcpy(text + 302, "\":1}", 5);
    unit_write(path, text);
    struct conf c;
    assert_rc(conf_load(&memory, path, &c, &err), RC_INVALID);
    assert_int_equal(strlen(err.field), 63);
}

static void no_file(void **state)
{
    (void)state;
    struct conf c;
    assert_rc(conf_load(&memory, "/tmp/freshet-none/freshet.json", &c, &err), RC_NOT_FOUND);
    assert_non_null(strstr(err.msg, "freshet.json"));
}

static void loading_under_torture(void **state)
{
    (void)state;
    unit_write(path, "{\"allow_hosts\": [\"a\"], \"trusted_proxies\": [\"b\"], \"port\": 1}");
    for (long n = 0; n < 100; n++) {
        struct conf c = {.port = 77};
        struct arena a;
        arena_init(&a, 1u << 20);
        arena_fail_after = n;
        enum rc rc = conf_load(&a, path, &c, &err);
        bool hit = arena_fail_after == -1;
        arena_fail_after = -1;
        arena_release(&a);
        assert_rc(rc, hit ? RC_NOMEM : RC_OK);
        assert_int_equal(c.port, hit ? 77 : 1);
        if (!hit) {
            assert_true(n >= 3);
            return;
        }
    }
    fail();
}

/* ---- showing ---- */

static void count_row(void *ctx, const char *name, const char *value, const char *def,
                      const char *help)
{
    int *rows = ctx;
    assert_true(strlen(name) > 0 && strlen(help) > 0);
    if (strcmp(name, "port") == 0)
        assert_string_equal(value, "9090");
    else
        assert_string_equal(value, def);
    ++*rows;
}

static void the_sample_is_the_defaults(void **state)
{
    (void)state;
    struct buf b;
    int rows = 0;
    buf_init(&b, 1u << 20);
    conf_sample(&b);
    assert_rc(buf_rc(&b), RC_OK);
    struct conf c = load(b.data);
    c.port = 9090;
    assert_rc(conf_each(&memory, &c, count_row, &rows), RC_OK);
    assert_true(rows > 20);
    assert_non_null(strstr(b.data, "    // port of nginx on 127.0.0.1\n"
                                   "    // 1 to 65535, default 8080\n"
                                   "    \"port\": 8080,\n"));
    buf_release(&b);
}

static void getting_one(void **state)
{
    (void)state;
    struct conf c = load("{\"allow_hosts\": [\"a\",\"b\"], \"operator_name\": \"x\\\"y\"}");
    const char *text = "keep";
    assert_rc(conf_get(&memory, &c, "allow_hosts", &text, &err), RC_OK);
    assert_string_equal(text, "[\"a\", \"b\"]");
    assert_rc(conf_get(&memory, &c, "operator_name", &text, &err), RC_OK);
    assert_string_equal(text, "\"x\\\"y\"");
    assert_rc(conf_get(&memory, &c, "port", &text, &err), RC_OK);
    assert_string_equal(text, "8080");
    text = "keep";
    assert_rc(conf_get(&memory, &c, "prt", &text, &err), RC_NOT_FOUND);
    assert_string_equal(err.field, "prt");
    assert_non_null(strstr(err.msg, "port"));
    assert_string_equal(text, "keep");
}

/* ---- changing ---- */

static void set_gives(const char *before, const char *name, const char *value, const char *after)
{
    char got[4096];
    unit_write(path, before);
    enum rc rc = conf_set_file(path, name, value, &err);
    if (rc != RC_OK)
        print_error("%s: %s\n", err.field, err.msg);
    assert_rc(rc, RC_OK);
    unit_read(path, got, sizeof got);
    assert_string_equal(got, after);
}

static void a_value_in_its_place(void **state)
{
    (void)state;
    set_gives("{\"port\":1}", "port", "2", "{\"port\":2}");
    set_gives("// \"port\": 5\n{ /* \"port\": 6, */ \"port\" /*c*/ : /*d*/ 1 /*e*/, // port\n"
              "\"per_host\": 3 }\n// end",
              "port", " 9090 ",
              "// \"port\": 5\n{ /* \"port\": 6, */ \"port\" /*c*/ : /*d*/ 9090 /*e*/, // port\n"
              "\"per_host\": 3 }\n// end");
    set_gives("{\"operator_name\": \"port\", \"port\": 1,}", "port", "2",
              "{\"operator_name\": \"port\", \"port\": 2,}");
    set_gives("{\"operator_name\": \"a \\\" } // \\\\\", \"port\":1// x\n}", "port", "2",
              "{\"operator_name\": \"a \\\" } // \\\\\", \"port\":2// x\n}");
    set_gives("{\"allow_hosts\": [\"a\", // ]\n \"b\" /* ] */,], \"port\": 1}", "allow_hosts", "[]",
              "{\"allow_hosts\": [], \"port\": 1}");
    set_gives("{\"allow_hosts\": [\"]\", // ]\n \"b\"], \"port\": 1}", "port", "2",
              "{\"allow_hosts\": [\"]\", // ]\n \"b\"], \"port\": 2}");
}

static void a_value_is_added(void **state)
{
    (void)state;
    set_gives("{}", "port", "2", "{\n    \"port\": 2\n}");
    set_gives("{\n}\n", "port", "2", "{\n    \"port\": 2\n}\n");
    set_gives("{ // none yet\n}", "port", "2", "{ // none yet\n    \"port\": 2\n}");
    set_gives("{\"per_host\": 3}", "port", "2", "{\"per_host\": 3,\n    \"port\": 2\n}");
    set_gives("{\n    \"per_host\": 3 // three\n    // last\n}\n", "port", "2",
              "{\n    \"per_host\": 3, // three\n    // last\n    \"port\": 2\n}\n");
    set_gives("{\n    \"per_host\": 3, // three\n}\n", "port", "2",
              "{\n    \"per_host\": 3, // three\n    \"port\": 2\n}\n");
    set_gives("{\r\n\t\"per_host\": 3\r\n\t}\r\n", "port", "2",
              "{\r\n\t\"per_host\": 3,\r\n    \"port\": 2\n\t}\r\n");
}

static void words_become_json(void **state)
{
    (void)state;
    set_gives("{}", "operator_name", "Kansas \"K\"",
              "{\n    \"operator_name\": \"Kansas \\\"K\\\"\"\n}");
    set_gives("{}", "operator_name", "\"a\\u0062\"", "{\n    \"operator_name\": \"ab\"\n}");
    set_gives("{}", "operator_name", "123", "{\n    \"operator_name\": \"123\"\n}");
    set_gives("{}", "operator_name", "", "{\n    \"operator_name\": \"\"\n}");
    set_gives("{}", "allow_hosts", "a", "{\n    \"allow_hosts\": [\"a\"]\n}");
    set_gives("{}", "allow_hosts", "a, b:80", "{\n    \"allow_hosts\": [\"a\", \"b:80\"]\n}");
    set_gives("{}", "allow_hosts", "", "{\n    \"allow_hosts\": []\n}");
    set_gives("{}", "allow_hosts", "[ \"a\",\n\"b\" ]",
              "{\n    \"allow_hosts\": [\"a\", \"b\"]\n}");
}

static void set_refuses(const char *before, const char *name, const char *value, enum rc want,
                        const char *field)
{
    char got[4096];
    unit_write(path, before);
    assert_rc(conf_set_file(path, name, value, &err), want);
    assert_string_equal(err.field, field);
    unit_read(path, got, sizeof got);
    assert_string_equal(got, before);
}

static void a_refused_value_leaves_the_file(void **state)
{
    (void)state;
    set_refuses("{\"port\":1}", "port", "0", RC_INVALID, "port");
    assert_non_null(strstr(err.msg, "between 1 and 65535"));
    set_refuses("{\"port\":1}", "port", "many", RC_INVALID, "port");
    assert_non_null(strstr(err.msg, "between 1 and 65535"));
    set_refuses("{\"port\":1}", "port", "1,\"per_host\":2", RC_INVALID, "port");
    set_refuses("{\"port\":1}", "port", "", RC_INVALID, "port");
    set_refuses("{\"port\":1}", "operator_name", "\"x\", \"port\": 2, \"log_level\": \"info\"",
                RC_INVALID, "operator_name");
    set_refuses("{\"port\":1}", "operator_name", "\"open", RC_INVALID, "operator_name");
    set_refuses("{\"port\":1}", "operator_name", "a\nb", RC_INVALID, "operator_name");
    set_refuses("{\"port\":1}", "log_level", "loud", RC_INVALID, "log_level");
    set_refuses("{\"port\":1}", "allow_hosts", "a,,b", RC_INVALID, "allow_hosts");
    set_refuses("{\"port\":1}", "prot", "2", RC_NOT_FOUND, "prot");
    set_refuses("{\"p\\u006frt\":1}", "port", "2", RC_INVALID, "port");
    set_refuses("{\"port\":1", "port", "2", RC_INVALID, "");
    set_refuses("[]", "port", "2", RC_INVALID, "");
    set_refuses("", "port", "2", RC_INVALID, "");
}

/* A bad value is no reason to refuse the good one that replaces it. */
static void a_wrong_file_can_be_mended(void **state)
{
    (void)state;
    set_gives("{\"port\": \"x\"}", "port", "2", "{\"port\": 2}");
    set_refuses("{\"port\": \"x\"}", "per_host", "2", RC_INVALID, "port");
}

static void setting_in_the_sample(void **state)
{
    (void)state;
    struct buf b;
    struct conf c;
    buf_init(&b, 1u << 20);
    conf_sample(&b);
    unit_write(path, b.data);
    assert_rc(conf_set_file(path, "port", "81", &err), RC_OK);
    assert_rc(conf_set_file(path, "log_level", "debug", &err), RC_OK);
    assert_rc(conf_set_file(path, "allow_hosts", "a,b", &err), RC_OK);
    assert_rc(conf_load(&memory, path, &c, &err), RC_OK);
    assert_int_equal(c.port, 81);
    assert_string_equal(c.log_level, "debug");
    assert_int_equal(c.allow_hosts.n, 2);
    assert_rc(conf_set_file(path, "port", "8080", &err), RC_OK);
    assert_rc(conf_set_file(path, "log_level", "info", &err), RC_OK);
    assert_rc(conf_set_file(path, "allow_hosts", "", &err), RC_OK);
    static char got[65536];
    unit_read(path, got, sizeof got);
    assert_string_equal(got, b.data);
    buf_release(&b);
}

static void no_file_to_set(void **state)
{
    (void)state;
    assert_rc(conf_set_file("/tmp/freshet-none/x.json", "port", "2", &err), RC_NOT_FOUND);
}

/* Every beginning of a text, and every byte of it replaced: the scanner must come to an end. */
static void the_scanner_survives_anything(void **state)
{
    (void)state;
    static const char text[] = "//a\n{\"b\":[1,{\"c\":\"\\\"\"}],/*d*/\"e\":tr,\"f\" : 2 , }//";
    static const char bytes[] = "\0\"\\{}[]:,/* \n";
    struct buf out;
    buf_init(&out, 10000);
    for (size_t n = 0; n < sizeof text; n++) {
        (void)!conf_edit((struct str){text, n}, STR("f"), STR("3"), &out);
        for (size_t k = 0; k < sizeof bytes && n > 0; k++) {
            char copy[sizeof text];
            memcpy(copy, text, sizeof text);
            copy[n - 1] = bytes[k];
            buf_clear(&out);
            (void)!conf_edit((struct str){copy, sizeof text - 1}, STR("f"), STR("3"), &out);
        }
        buf_clear(&out);
    }
    buf_release(&out);
}

#define CONF_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONF_TEST(defaults_are_complete),
        CONF_TEST(a_file_overrides),
        CONF_TEST(bounds_are_named),
        CONF_TEST(every_bound_holds),
        CONF_TEST(unknown_names_get_a_hint),
        CONF_TEST(no_file),
        CONF_TEST(loading_under_torture),
        CONF_TEST(the_sample_is_the_defaults),
        CONF_TEST(getting_one),
        CONF_TEST(a_value_in_its_place),
        CONF_TEST(a_value_is_added),
        CONF_TEST(words_become_json),
        CONF_TEST(a_refused_value_leaves_the_file),
        CONF_TEST(a_wrong_file_can_be_mended),
        CONF_TEST(setting_in_the_sample),
        CONF_TEST(no_file_to_set),
        CONF_TEST(the_scanner_survives_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
