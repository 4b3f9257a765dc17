/* instance: the folder, and secrets that stay where they are. */
#include "tests/10-unit/unit.h"

#include <limits.h>
#include <sys/stat.h>

#include "core/instance.h"

static struct arena arena;
static char dir[PATH_MAX];
static struct instance inst;

static void put(const char *name, const char *bytes, size_t n)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static enum rc secret(const char *name, const char **ret, struct err *err)
{
    memset(err, 0, sizeof *err);
    return instance_secret(&arena, &inst, name, ret, err);
}

static void a_folder_without_settings_names_the_fix(void **state)
{
    struct instance i = {0};
    struct err err = {0};
    (void)state;
    assert_rc(instance_load(&arena, dir, &i, &err), RC_NOT_FOUND);
    assert_non_null(strstr(err.msg, "freshet init"));
    assert_null(i.dir);
    assert_rc(instance_load(&arena, "/no/such/folder", &i, &err), RC_NOT_FOUND);
    assert_non_null(strstr(err.msg, "freshet init /no/such/folder"));
}

/* What is there and cannot be looked at (here: a link to itself; mostly a missing right) is
 * not missing. */
static void settings_out_of_reach_are_not_missing(void **state)
{
    char path[PATH_MAX + 16];
    struct instance i = {0};
    struct err err = {0};
    (void)state;
    snprintf(path, sizeof path, "%s/freshet.json", dir);
    assert_int_equal(symlink("freshet.json", path), 0);
    assert_rc(instance_load(&arena, dir, &i, &err), RC_IO);
    assert_non_null(strstr(err.msg, "cannot read"));
    assert_null(strstr(err.msg, "init"));
    assert_int_equal(unlink(path), 0);
}

/* What `freshet up --port` serves is what links name. */
static void the_served_port_stands_above_the_setting(void **state)
{
    char path[PATH_MAX + 16];
    struct instance i = {0};
    struct err err = {0};
    (void)state;
    snprintf(path, sizeof path, "%s/freshet.json", dir);
    unit_write(path, "{\"port\":8081}");
    assert_int_equal(setenv(INSTANCE_PORT_VARIABLE, "18850", 1), 0);
    assert_rc(instance_load(&arena, dir, &i, &err), RC_OK);
    assert_int_equal(i.conf.port, 18850);
    assert_int_equal(setenv(INSTANCE_PORT_VARIABLE, "65536", 1), 0);
    assert_rc(instance_load(&arena, dir, &i, &err), RC_INVALID);
    assert_string_equal(err.field, INSTANCE_PORT_VARIABLE);
    assert_int_equal(unsetenv(INSTANCE_PORT_VARIABLE), 0);
    assert_rc(instance_load(&arena, dir, &i, &err), RC_OK);
    assert_int_equal(i.conf.port, 8081);
    assert_int_equal(unlink(path), 0);
}

static void the_folder_is_absolute_and_without_links(void **state)
{
    char link[PATH_MAX + 8], real[PATH_MAX];
    struct instance i = {0};
    struct err err = {0};
    (void)state;
    put("freshet.json", "{}", 2);
    snprintf(link, sizeof link, "%s/link", dir);
    assert_int_equal(symlink(dir, link), 0);
    assert_rc(instance_load(&arena, link, &i, &err), RC_OK);
    assert_non_null(realpath(dir, real));
    assert_string_equal(i.dir, real);
    assert_int_equal(i.conf.port, 8080);
    snprintf(link, sizeof link, "%s/run/x", real);
    assert_string_equal(instance_path(&arena, &i, "run/x"), link);
    inst = i;
}

static void a_secret_loses_its_newline_only(void **state)
{
    const char *value = NULL;
    struct err err;
    (void)state;
    put("secrets/key", " s3cret \r\n", 10);
    assert_rc(secret("key", &value, &err), RC_OK);
    assert_string_equal(value, " s3cret ");
}

static void the_environment_wins(void **state)
{
    const char *value = NULL;
    struct err err;
    (void)state;
    setenv("FRESHET_SECRET_API_KEY", "from-environment", 1);
    assert_rc(secret("api-key", &value, &err), RC_OK);
    assert_string_equal(value, "from-environment");
    unsetenv("FRESHET_SECRET_API_KEY");
    assert_rc(secret("api-key", &value, &err), RC_NOT_FOUND);
    assert_string_equal(err.field, "api-key");
}

static void a_name_cannot_leave_the_folder(void **state)
{
    static const char *const bad[] = {
        "../freshet.json",
        "a/b",
        "",
        ".",
        "A",
        "a b",
        "x234567890123456789012345678901234567890123456789012345678901"
        "2345"};
    const char *value = "untouched";
    struct err err;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_rc(secret(bad[i], &value, &err), RC_INVALID);
    assert_string_equal(value, "untouched");
}

static void broken_secrets_are_errors_that_hold_no_value(void **state)
{
    static char large[65537];
    const char *value = "untouched";
    struct err err;
    (void)state;
    put("secrets/empty", "\n\n", 2);
    assert_rc(secret("empty", &value, &err), RC_INVALID);
    put("secrets/nul", "abc\0def", 7);
    assert_rc(secret("nul", &value, &err), RC_INVALID);
    assert_null(strstr(err.msg, "abc"));
    memset(large, 'x', sizeof large);
    put("secrets/large", large, sizeof large);
    assert_rc(secret("large", &value, &err), RC_TOO_LARGE);
    put("secrets/fits", large, sizeof large - 1);
    assert_string_equal(value, "untouched");
    assert_rc(secret("fits", &value, &err), RC_OK);
    assert_int_equal(strlen(value), sizeof large - 1);
}

static int make(void **state)
{
    char secrets[PATH_MAX];
    (void)state;
    arena_init(&arena, 8u << 20);
    snprintf(dir, sizeof dir, "/tmp/freshet-unit-XXXXXX");
    if (!mkdtemp(dir))
        return 1;
    snprintf(secrets, sizeof secrets, "%.200s/secrets", dir);
    return mkdir(secrets, 0700);
}

static int drop(void **state)
{
    static const char *const names[] = {"link",          "freshet.json", "secrets/key",
                                        "secrets/empty", "secrets/nul",  "secrets/large",
                                        "secrets/fits",  "secrets"};
    char path[PATH_MAX + 64];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        remove(path);
    }
    remove(dir);
    arena_release(&arena);
    return 0;
}

static void links_begin_with_the_public_address_or_the_port(void **state)
{
    struct instance i = {.conf = {.public_base_url = "", .port = 8123}};
    (void)state;
    assert_str(instance_base(&arena, &i), "http://127.0.0.1:8123");
    i.conf.public_base_url = "https://data.example.org/sub";
    assert_str(instance_base(&arena, &i), "https://data.example.org/sub");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_without_settings_names_the_fix),
        cmocka_unit_test(settings_out_of_reach_are_not_missing),
        cmocka_unit_test(the_served_port_stands_above_the_setting),
        cmocka_unit_test(the_folder_is_absolute_and_without_links),
        cmocka_unit_test(links_begin_with_the_public_address_or_the_port),
        cmocka_unit_test(a_secret_loses_its_newline_only),
        cmocka_unit_test(the_environment_wins),
        cmocka_unit_test(a_name_cannot_leave_the_folder),
        cmocka_unit_test(broken_secrets_are_errors_that_hold_no_value),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
