/* nginx_conf: names are filled in, and a folder's name cannot become configuration. */
#include "tests/10-unit/unit.h"

#include "cli/nginx_conf.h"
#include "core/embedded.h"

static struct buf out;

static enum rc fill(const char *text, const char *dir)
{
    struct err err = {0};
    const struct nginx_value values[] = {{"DIR", dir, false}, {"USER_LINE", "user x;", true}};
    buf_clear(&out);
    return nginx_conf_fill(text, values, ARRAY_LEN(values), &out, &err);
}

static void names_are_filled_in(void **state)
{
    (void)state;
    assert_rc(fill("a \"@DIR@/x\" @DIR@;\n@USER_LINE@\n", "/tmp/i"), RC_OK);
    assert_str(buf_view(&out), "a \"/tmp/i/x\" /tmp/i;\nuser x;\n");
}

static void the_preface_stays_behind(void **state)
{
    (void)state;
    assert_rc(fill("# @NAME@ explained\n# more\n\n# kept\nx;\n", "/d"), RC_OK);
    assert_str(buf_view(&out), "\n# kept\nx;\n");
}

static void unknown_names_are_errors(void **state)
{
    (void)state;
    assert_rc(fill("x @NOBODY@;\n", "/d"), RC_INVALID);
    assert_rc(fill("a@b.org and c@d.org, @DIR@\n", "/d"), RC_OK);
    assert_str(buf_view(&out), "a@b.org and c@d.org, /d\n");
}

static void paths_cannot_break_out(void **state)
{
    static const char *const bad[] = {"/a\"b", "/a\\b", "/a$b", "/a;b", "/a{b", "/a\nb", "/a'b"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_rc(fill("x \"@DIR@\";\n", bad[i]), RC_INVALID);
    assert_rc(fill("x \"@DIR@\";\n", "/with space/é"), RC_OK);
}

/* Every name of the real template is one that nginx_conf.c knows. */
static void the_template_asks_for_nothing_else(void **state)
{
    const struct nginx_value values[] = {
        {"DIR", "/d", false},
        {"WWW", "/w", false},
        {"PORT", "1", false},
        {"WORKERS", "1", false},
        {"KEEPALIVE", "1", false},
        {"BODY_MAX", "1", false},
        {"USER_LINE", "", true},
        {"CACHE", "off", false},
        {"CACHE_S", "1", false},
        {"HOOK_BODY_MAX", "1", false},
        {"HOOK_RATE", "1", false},
        {"HOOK_BURST", "1", false},
        {"HOOK_FROM_RATE", "1", false},
        {"HOOK_FROM_BURST", "1", false},
        {"INTAKE_KEEPALIVE", "1", false},
    };
    struct err err = {0};
    (void)state;
    buf_clear(&out);
    assert_string_equal(templates_files[0].name, "nginx.conf.in");
    assert_rc(nginx_conf_fill(templates_files[0].text, values, ARRAY_LEN(values), &out, &err),
              RC_OK);
    assert_null(strstr(out.data, "@DIR"));
}

static int make_buf(void **state)
{
    (void)state;
    buf_init(&out, 1u << 20);
    return 0;
}
static int drop_buf(void **state)
{
    (void)state;
    buf_release(&out);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_filled_in),
        cmocka_unit_test(the_preface_stays_behind),
        cmocka_unit_test(unknown_names_are_errors),
        cmocka_unit_test(paths_cannot_break_out),
        cmocka_unit_test(the_template_asks_for_nothing_else),
    };
    return cmocka_run_group_tests(tests, make_buf, drop_buf);
}
