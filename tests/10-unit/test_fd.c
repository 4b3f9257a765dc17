/* fd: all bytes or a failure that is told, whatever the calls below do. */
#include "tests/10-unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include "core/fd.h"

/* Stand before those of the C library: every other call is interrupted, and none moves more than
 * `most` bytes, while `most` is set. */
static size_t most;
static int calls;

static bool interrupted(size_t *n)
{
    if (!most)
        return false;
    *n = *n < most ? *n : most;
    errno = EINTR;
    return calls++ % 2 == 0;
}

ssize_t write(int fd, const void *p, size_t n)
{
    return interrupted(&n) ? -1 : syscall(SYS_write, fd, p, n);
}

ssize_t read(int fd, void *p, size_t n)
{
    return interrupted(&n) ? -1 : syscall(SYS_read, fd, p, n);
}

ssize_t pread(int fd, void *p, size_t n, off_t at)
{
    return interrupted(&n) ? -1 : syscall(SYS_pread64, fd, p, n, at);
}

static char path[64];

static int setup(void **state)
{
    (void)state;
    unit_temp(path);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    most = 0;
    unlink(path);
    return 0;
}

static void writes_all(void **state)
{
    (void)state;
    char got[32];
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CLOEXEC);
    most = 3;
    assert_true(fd_write_all(fd, STR("ten  bytes")));
    assert_true(fd_write_all(fd, STR("")));
    most = 0;
    unit_read(path, got, sizeof got);
    assert_string_equal(got, "ten  bytes");
}

static void tells_why_not(void **state)
{
    (void)state;
    char got[4];
    CLEANUP(fd_close) int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_false(fd_write_all(fd, STR("x")));
    assert_int_equal(errno, ENOSPC);
    assert_false(fd_write_all(-1, STR("x")));
    assert_int_equal(errno, EBADF);
    assert_int_equal(fd_read_all(-1, got, sizeof got), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(fd_read_all_at(fd, got, sizeof got, 0), -1);
    assert_int_equal(errno, EBADF); /* it is open for writing only */
    assert_int_equal(fd_read_all_at(fd, got, sizeof got, -1), -1);
    assert_int_equal(errno, EINVAL);
}

static void fewer_is_the_end(void **state)
{
    (void)state;
    char got[32] = "";
    unit_write(path, "0123456789");
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    most = 3;
    assert_int_equal(fd_read_all(fd, got, 4), 4);
    assert_memory_equal(got, "0123", 4);
    assert_int_equal(fd_read_all_at(fd, got, 5, 1), 5);
    assert_memory_equal(got, "12345", 5);
    assert_int_equal(fd_read_all(fd, got, sizeof got), 6); /* where the first had left it */
    assert_memory_equal(got, "456789", 6);
    assert_int_equal(fd_read_all(fd, got, sizeof got), 0);
    assert_int_equal(fd_read_all_at(fd, got, sizeof got, 8), 2);
    assert_int_equal(fd_read_all_at(fd, got, sizeof got, 100), 0);
}

static void closes_once(void **state)
{
    (void)state;
    int fd = open(path, O_RDONLY | O_CLOEXEC), was = fd;
    fd_close(&fd);
    assert_int_equal(fd, -1);
    assert_int_equal(fcntl(was, F_GETFD), -1);
    fd_close(&fd);
    assert_int_equal(fd, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_all, setup, teardown),
        cmocka_unit_test_setup_teardown(tells_why_not, setup, teardown),
        cmocka_unit_test_setup_teardown(fewer_is_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(closes_once, setup, teardown),
    };
    return cmocka_run_group_tests_name("fd", tests, NULL, NULL);
}
