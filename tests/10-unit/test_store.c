/* store: what is kept is there, whole, durable and named by its digest. System calls are counted
 * and made to fail by definitions of our own, which the linker takes before those of libc. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "handler/store.h"
#include "unit.h"

/* ---- watching system calls ------------------------------------------------------------------- */

static char trace[4096]; /* "file dir dir rename ..." */
static int fail_fsync_at = -1, fsyncs;

static void note(const char *what)
{
    size_t n = strlen(trace);
    snprintf(trace + n, sizeof trace - n, "%s ", what);
}

int fsync(int fd)
{
    struct stat st;
    char link[64], path[256] = "";
    assert_int_equal(fstat(fd, &st), 0);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    const char *base = n > 0 ? strrchr(path, '/') + 1 : "";
    char what[300];
    snprintf(what, sizeof what, "%s:%.6s", S_ISDIR(st.st_mode) ? "dir" : "file",
             S_ISDIR(st.st_mode) ? base : "");
    note(what);
    if (fsyncs++ == fail_fsync_at) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

int syncfs(int fd)
{
    note("all");
    return (int)syscall(SYS_syncfs, fd);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    note("rename");
    return (int)syscall(SYS_renameat, from_dir, from, to_dir, to);
}

/* ---- a store in a scratch folder ------------------------------------------------------------- */

struct fixture {
    char dir[64];
    struct store *s;
    struct err err;
};

static int setup(void **state)
{
    static struct fixture x;
    memset(&x, 0, sizeof x);
    snprintf(x.dir, sizeof x.dir, "/tmp/freshet-store-XXXXXX");
    if (!mkdtemp(x.dir) || store_open(x.dir, 3, 0, &x.s, &x.err) != RC_OK)
        return -1;
    trace[0] = 0;
    fsyncs = 0;
    fail_fsync_at = -1;
    *state = &x;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *x = *state;
    char command[128];
    store_close(&x->s);
    snprintf(command, sizeof command, "rm -r %s", x->dir);
    return system(command); /* NOLINT(cert-env33-c): a scratch folder of this test */
}

static struct sha256 sha_of(const char *text)
{
    struct sha256 sha;
    digest_sha256(text, strlen(text), &sha);
    return sha;
}

static enum rc put(struct fixture *x, const char *text, enum tier tier)
{
    struct store_put *p = NULL;
    struct sha256 sha, want = sha_of(text);
    int64_t size;
    enum rc rc = store_begin(x->s, &p, &x->err);
    if (rc != RC_OK)
        return rc;
    assert_rc(store_add(p, text, strlen(text), &x->err), RC_OK);
    store_seal(p, &sha, &size);
    assert_true(sha256_eq(&sha, &want));
    assert_int_equal(size, strlen(text));
    rc = store_keep(&p, tier, &x->err);
    store_drop(&p);
    return rc;
}

static int files_in(const struct fixture *x, const char *sub)
{
    char path[128];
    int n = 0;
    snprintf(path, sizeof path, "%s/%s", x->dir, sub);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void path_of(const struct fixture *x, enum tier tier, const char *text, char out[256])
{
    char rel[STORE_PATH_MAX];
    struct sha256 sha = sha_of(text);
    store_path(tier, &sha, rel);
    snprintf(out, 256, "%s/%s", x->dir, rel);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void kept_under_its_digest(void **state)
{
    struct fixture *x = *state;
    char path[256], text[32];
    struct sha256 sha = sha_of("hello");
    assert_rc(put(x, "hello", TIER_PUBLIC), RC_OK);
    path_of(x, TIER_PUBLIC, "hello", path);
    assert_non_null(strstr(path, "/public/sha256/2c/f2/2cf24dba5fb0a30e"));
    unit_read(path, text, sizeof text);
    assert_string_equal(text, "hello");
    assert_rc(store_check(x->s, TIER_PUBLIC, &sha, 5, &x->err), RC_OK);
    assert_rc(store_check(x->s, TIER_RESTRICTED, &sha, 5, &x->err), RC_NOT_FOUND);
    assert_int_equal(files_in(x, "tmp"), 0);
}

/* I4. Whatever is not synced, a power cut loses: the file first, then its name, then every folder
 * on the way. */
static void synced_in_order(void **state)
{
    struct fixture *x = *state;
    const char *base = strrchr(x->dir, '/') + 1;
    char want[256];
    assert_rc(put(x, "hello", TIER_PUBLIC), RC_OK);
    snprintf(want, sizeof want, "file: rename dir:sha256 dir:2c dir:f2 dir:public dir:%.6s ", base);
    assert_string_equal(trace, want);
    /* Again: this process has synced the folders above, so only the new name is left. */
    trace[0] = 0;
    assert_rc(put(x, "hello", TIER_PUBLIC), RC_OK);
    assert_string_equal(trace, "file: rename dir:f2 ");
}

static struct store_put *sealed(struct fixture *x, const char *text)
{
    struct store_put *p = NULL;
    struct sha256 sha;
    int64_t size;
    assert_rc(store_begin(x->s, &p, &x->err), RC_OK);
    assert_rc(store_add(p, text, strlen(text), &x->err), RC_OK);
    store_seal(p, &sha, &size);
    return p;
}

/* Two at once: files first, each folder once. */
static void few_are_synced_one_by_one(void **state)
{
    struct fixture *x = *state;
    struct store_put *a = sealed(x, "hello"), *b = sealed(x, "hello");
    const struct store_keep both[] = {{&a, TIER_PUBLIC}, {&b, TIER_PUBLIC}};
    assert_rc(put(x, "other", TIER_PUBLIC), RC_OK);
    trace[0] = 0;
    assert_rc(store_keep_all(x->s, both, 2, &x->err), RC_OK);
    assert_string_equal(trace, "file: file: rename rename dir:sha256 dir:2c dir:f2 ");
    assert_null(a);
    assert_null(b);
}

/* Many: all bytes are on disk before the first has its name, and all names before anybody
 * is told. */
static void many_are_synced_together(void **state)
{
    enum { MANY = 12 };
    struct fixture *x = *state;
    struct store_put *puts[MANY];
    struct store_keep all[MANY];
    char text[24];
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "object %d", i);
        puts[i] = sealed(x, text);
        all[i] = (struct store_keep){&puts[i], i % 2 ? TIER_PUBLIC : TIER_RESTRICTED};
    }
    assert_int_equal(files_in(x, "tmp"), MANY);
    assert_rc(store_keep_all(x->s, all, MANY, &x->err), RC_OK);
    assert_string_equal(trace, "all rename rename rename rename rename rename rename rename rename "
                               "rename rename rename all ");
    assert_int_equal(files_in(x, "tmp"), 0);
    struct sha256 sha = sha_of("object 11");
    assert_rc(store_check(x->s, TIER_PUBLIC, &sha, 9, &x->err), RC_OK);
    /* The folders are known to be there: the next one needs its own alone. */
    trace[0] = 0;
    assert_rc(put(x, "object 11", TIER_PUBLIC), RC_OK);
    assert_int_equal(fsyncs, 2);
}

static void keeping_twice_is_keeping_once(void **state)
{
    struct fixture *x = *state;
    struct sha256 sha = sha_of("twice");
    assert_rc(put(x, "twice", TIER_RESTRICTED), RC_OK);
    assert_rc(put(x, "twice", TIER_RESTRICTED), RC_OK);
    assert_rc(store_check(x->s, TIER_RESTRICTED, &sha, 5, &x->err), RC_OK);
    assert_int_equal(files_in(x, "tmp"), 0);
}

static void dropped_leaves_nothing(void **state)
{
    struct fixture *x = *state;
    struct store_put *p = NULL;
    assert_rc(store_begin(x->s, &p, &x->err), RC_OK);
    assert_rc(store_add(p, "gone", 4, &x->err), RC_OK);
    assert_int_equal(files_in(x, "tmp"), 1);
    store_drop(&p);
    assert_null(p);
    assert_int_equal(files_in(x, "tmp"), 0);
    assert_int_equal(fsyncs, 0);
}

static void restart_forgets(void **state)
{
    struct fixture *x = *state;
    struct store_put *p = NULL;
    struct sha256 sha, want = sha_of("second");
    int64_t size;
    assert_rc(store_begin(x->s, &p, &x->err), RC_OK);
    assert_rc(store_add(p, "the first try", 13, &x->err), RC_OK);
    assert_rc(store_restart(p, &x->err), RC_OK);
    assert_rc(store_add(p, "second", 6, &x->err), RC_OK);
    store_seal(p, &sha, &size);
    assert_true(sha256_eq(&sha, &want));
    assert_rc(store_keep(&p, TIER_PUBLIC, &x->err), RC_OK);
    assert_rc(store_check(x->s, TIER_PUBLIC, &want, 6, &x->err), RC_OK);
}

/* Files of a killed worker go when its slot is taken again; those of others stay. */
static void slot_is_swept(void **state)
{
    struct fixture *x = *state;
    struct store *again = NULL;
    char path[128];
    snprintf(path, sizeof path, "%s/tmp/slot-3-99999", x->dir);
    unit_write(path, "left by a killed worker");
    snprintf(path, sizeof path, "%s/tmp/slot-31-99999", x->dir);
    unit_write(path, "of a living one");
    assert_rc(store_open(x->dir, 3, 0, &again, &x->err), RC_OK);
    assert_int_equal(files_in(x, "tmp"), 1);
    store_sweep(again, 31);
    assert_int_equal(files_in(x, "tmp"), 0);
    store_close(&again);
}

static void damage_is_found(void **state)
{
    struct fixture *x = *state;
    struct sha256 sha = sha_of("sound");
    char path[256];
    assert_rc(put(x, "sound", TIER_PUBLIC), RC_OK);
    path_of(x, TIER_PUBLIC, "sound", path);
    unit_write(path, "sOund");
    assert_rc(store_check(x->s, TIER_PUBLIC, &sha, 5, &x->err), RC_CORRUPT);
    assert_rc(put(x, "sound", TIER_PUBLIC), RC_OK); /* and mended by the same bytes */
    assert_rc(store_check(x->s, TIER_PUBLIC, &sha, 5, &x->err), RC_OK);
}

static void deleted_durably(void **state)
{
    struct fixture *x = *state;
    struct sha256 sha = sha_of("bye");
    assert_rc(put(x, "bye", TIER_PUBLIC), RC_OK);
    trace[0] = 0;
    assert_rc(store_delete(x->s, TIER_PUBLIC, &sha, &x->err), RC_OK);
    assert_int_equal(strncmp(trace, "dir:", 4), 0);
    assert_rc(store_check(x->s, TIER_PUBLIC, &sha, 3, &x->err), RC_NOT_FOUND);
    assert_rc(store_delete(x->s, TIER_PUBLIC, &sha, &x->err), RC_OK);
}

static void floor_is_kept(void **state)
{
    struct fixture *x = *state;
    store_close(&x->s);
    assert_rc(store_open(x->dir, 3, INT64_MAX, &x->s, &x->err), RC_OK);
    assert_rc(put(x, "too much", TIER_PUBLIC), RC_FULL);
    assert_string_equal(x->err.field, "free_bytes_min");
    assert_int_equal(files_in(x, "tmp"), 0);
}

/* Invariant 4: whichever fsync fails, the process dies there and then. */
static void failed_fsync_aborts(void **state)
{
    struct fixture *x = *state;
    for (int at = 0; at < 6; at++) {
        pid_t pid = fork();
        int status;
        assert_true(pid >= 0);
        if (pid == 0) {
            int null = open("/dev/null", O_WRONLY);
            dup2(null, 2);
            fsyncs = 0;
            fail_fsync_at = at;
            _exit(put(x, "unlucky", TIER_PUBLIC) == RC_OK ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(kept_under_its_digest),
                                       T(synced_in_order),
                                       T(few_are_synced_one_by_one),
                                       T(many_are_synced_together),
                                       T(few_are_synced_one_by_one),
                                       T(many_are_synced_together),
                                       T(keeping_twice_is_keeping_once),
                                       T(dropped_leaves_nothing),
                                       T(restart_forgets),
                                       T(slot_is_swept),
                                       T(damage_is_found),
                                       T(deleted_durably),
                                       T(floor_is_kept),
                                       T(failed_fsync_aborts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
