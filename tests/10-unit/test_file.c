/* file: replaced whole or not at all. */
#include "tests/10-unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "core/file.h"

static char dir[64], path[96], other[96];
static struct err err;

/* Stand before those of the C library, and keep the order of the calls: F file synced, R renamed,
 * D folder synced. */
static char calls[16];
static int fail_sync_of_file;

static void note(char what)
{
    size_t n = strlen(calls);
    if (n + 1 < sizeof calls)
        calls[n] = what;
}

int fsync(int fd)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    note(S_ISDIR(st.st_mode) ? 'D' : 'F');
    if (!S_ISDIR(st.st_mode) && fail_sync_of_file) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    note('R');
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/freshet-unit-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/file", dir);
    snprintf(other, sizeof other, "%s/other", dir);
    err = (struct err){0};
    memset(calls, 0, sizeof calls);
    fail_sync_of_file = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    unlink(other);
    rmdir(other);
    return rmdir(dir); /* fails when something was left beside the files */
}

static mode_t mode_of(const char *name)
{
    struct stat st;
    assert_int_equal(lstat(name, &st), 0);
    return st.st_mode;
}

static void assert_contents(const char *name, const char *want)
{
    struct buf b;
    buf_init(&b, 1000);
    assert_rc(file_read(name, &b, &err), RC_OK);
    assert_str(buf_view(&b), want);
    buf_release(&b);
}

static void a_new_file_gets_the_mode(void **state)
{
    (void)state;
    assert_rc(file_replace(path, STR("new"), 0640, &err), RC_OK);
    assert_contents(path, "new");
    assert_int_equal(mode_of(path) & 07777, 0640);
}

static void an_old_file_keeps_its_mode(void **state)
{
    (void)state;
    unit_write(path, "a longer text than before");
    chmod(path, 0604);
    assert_rc(file_replace(path, STR("new"), 0640, &err), RC_OK);
    assert_contents(path, "new");
    assert_int_equal(mode_of(path) & 07777, 0604);
}

static void a_link_stays_a_link(void **state)
{
    (void)state;
    unit_write(other, "old");
    assert_int_equal(symlink("other", path), 0);
    assert_rc(file_replace(path, STR("new"), 0640, &err), RC_OK);
    assert_true(S_ISLNK(mode_of(path)));
    assert_contents(other, "new");
}

/* rename refuses to put a file over a folder: the last step that can fail. */
static void a_failure_leaves_nothing_behind(void **state)
{
    (void)state;
    assert_int_equal(mkdir(other, 0700), 0);
    assert_rc(file_replace(other, STR("new"), 0640, &err), RC_IO);
    assert_true(S_ISDIR(mode_of(other)));
    DIR *d = opendir(dir);
    int entries = 0;
    while (readdir(d))
        entries++;
    closedir(d);
    assert_int_equal(entries, 3); /* ".", ".." and the folder */
}

/* Any other order loses the file in a power cut. */
static void synced_renamed_and_the_folder_synced(void **state)
{
    (void)state;
    assert_rc(file_replace(path, STR("new"), 0640, &err), RC_OK);
    assert_string_equal(calls, "FRD");
}

static void without_a_sync_no_rename(void **state)
{
    (void)state;
    unit_write(path, "old");
    fail_sync_of_file = 1;
    assert_rc(file_replace(path, STR("new"), 0640, &err), RC_IO);
    assert_string_equal(calls, "F");
    assert_contents(path, "old");
}

static void a_folder_that_is_not_there(void **state)
{
    (void)state;
    char deep[128];
    snprintf(deep, sizeof deep, "%s/none/file", dir);
    assert_rc(file_replace(deep, STR("new"), 0640, &err), RC_NOT_FOUND);
    assert_non_null(strstr(err.msg, deep));
}

static void reading_is_bounded(void **state)
{
    (void)state;
    struct buf b;
    unit_write(path, "12345");
    buf_init(&b, 4);
    assert_rc(file_read(path, &b, &err), RC_TOO_LARGE);
    buf_release(&b);
    buf_init(&b, 5);
    assert_rc(file_read(path, &b, &err), RC_OK);
    buf_release(&b);
    assert_rc(file_read(other, &b, &err), RC_NOT_FOUND);
    assert_rc(file_read(dir, &b, &err), RC_IO);
}

#define FILE_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_TEST(a_new_file_gets_the_mode),
        FILE_TEST(an_old_file_keeps_its_mode),
        FILE_TEST(a_link_stays_a_link),
        FILE_TEST(a_failure_leaves_nothing_behind),
        FILE_TEST(synced_renamed_and_the_folder_synced),
        FILE_TEST(without_a_sync_no_rename),
        FILE_TEST(a_folder_that_is_not_there),
        FILE_TEST(reading_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
