/* lock: one holder at a time, and the file stays. */
#include "tests/10-unit/unit.h"

#include <sys/stat.h>
#include "core/fd.h"
#include "core/lock.h"

static char dir[64], path[96];
static struct err err;

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/freshet-unit-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/x.lock", dir);
    err = (struct err){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    rmdir(dir);
    return 0;
}

static void one_holds_it(void **state)
{
    (void)state;
    struct stat st;
    int first = -1, second = -1;
    assert_rc(lock_take(path, 0600, &first, &err), RC_OK);
    assert_true(first >= 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_rc(lock_take(path, 0600, &second, &err), RC_BUSY);
    assert_rc(err.rc, RC_BUSY);
    assert_int_equal(second, -1);
    fd_close(&first);
    assert_rc(lock_take(path, 0600, &second, &err), RC_OK);
    fd_close(&second);
    assert_int_equal(stat(path, &st), 0);
}

static void what_is_in_it_stays(void **state)
{
    (void)state;
    char text[16];
    CLEANUP(fd_close) int fd = -1;
    unit_write(path, "123\n");
    assert_rc(lock_take(path, 0640, &fd, &err), RC_OK);
    unit_read(path, text, sizeof text);
    assert_string_equal(text, "123\n");
}

static void no_folder(void **state)
{
    (void)state;
    int fd = -1;
    assert_rc(lock_take("/nowhere/at/all.lock", 0600, &fd, &err), RC_IO);
    assert_non_null(strstr(err.msg, "/nowhere/at/all.lock"));
    assert_int_equal(fd, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_holds_it, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_in_it_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(no_folder, setup, teardown),
    };
    return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
