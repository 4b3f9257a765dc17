/* test_lock: I13. Every byte that reaches the ledger file or its WAL is written while ledger.lock
 * is held, so a checkpoint can never run beside another connection's commit (the WAL-reset race).
 *
 * A VFS shim looks at each write: if a second descriptor can take the lock at that moment, nobody
 * holds it. The program carries a flock() of its own, so that the lock can be taken away and the
 * test be seen to fail.
 */
#include "tests/30-ledger/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "ledger/query.h"

static bool lock_removed;
static long writes_seen, writes_unlocked, checkpoints_seen;
static char lock_path[128];

int flock(int fd, int op)
{
    return lock_removed ? 0 : (int)syscall(SYS_flock, fd, op);
}

/* ---- the shim -------------------------------------------------------------------------------- */

struct shim_file {
    sqlite3_file base;
    bool watched, is_db;
    sqlite3_file *real;
};

static void look(const struct shim_file *f)
{
    if (!f->watched)
        return;
    writes_seen++;
    checkpoints_seen += f->is_db;
    int fd = open(lock_path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return; /* the ledger is being made: nobody else can know it yet */
    if (syscall(SYS_flock, fd, LOCK_EX | LOCK_NB) == 0)
        writes_unlocked++;
    close(fd);
}

#define REAL(f) (((struct shim_file *)(f))->real)

static int shim_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    look((struct shim_file *)f);
    return REAL(f)->pMethods->xWrite(REAL(f), p, n, at);
}
static int shim_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    look((struct shim_file *)f);
    return REAL(f)->pMethods->xTruncate(REAL(f), n);
}
static int shim_close(sqlite3_file *f)
{
    return REAL(f)->pMethods ? REAL(f)->pMethods->xClose(REAL(f)) : SQLITE_OK;
}
static int shim_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    return REAL(f)->pMethods->xRead(REAL(f), p, n, at);
}
static int shim_sync(sqlite3_file *f, int flags)
{
    return REAL(f)->pMethods->xSync(REAL(f), flags);
}
static int shim_size(sqlite3_file *f, sqlite3_int64 *n)
{
    return REAL(f)->pMethods->xFileSize(REAL(f), n);
}
static int shim_lock(sqlite3_file *f, int level)
{
    return REAL(f)->pMethods->xLock(REAL(f), level);
}
static int shim_unlock(sqlite3_file *f, int level)
{
    return REAL(f)->pMethods->xUnlock(REAL(f), level);
}
static int shim_reserved(sqlite3_file *f, int *ret)
{
    return REAL(f)->pMethods->xCheckReservedLock(REAL(f), ret);
}
static int shim_control(sqlite3_file *f, int op, void *arg)
{
    return REAL(f)->pMethods->xFileControl(REAL(f), op, arg);
}
static int shim_sector(sqlite3_file *f)
{
    return REAL(f)->pMethods->xSectorSize(REAL(f));
}
static int shim_traits(sqlite3_file *f)
{
    return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f));
}
static int shim_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **ret)
{
    return REAL(f)->pMethods->xShmMap(REAL(f), page, size, extend, ret);
}
static int shim_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
    return REAL(f)->pMethods->xShmLock(REAL(f), at, n, flags);
}
static void shim_shm_barrier(sqlite3_file *f)
{
    REAL(f)->pMethods->xShmBarrier(REAL(f));
}
static int shim_shm_unmap(sqlite3_file *f, int remove)
{
    return REAL(f)->pMethods->xShmUnmap(REAL(f), remove);
}

static const sqlite3_io_methods shim_methods = {.iVersion = 2,
                                                .xClose = shim_close,
                                                .xRead = shim_read,
                                                .xWrite = shim_write,
                                                .xTruncate = shim_truncate,
                                                .xSync = shim_sync,
                                                .xFileSize = shim_size,
                                                .xLock = shim_lock,
                                                .xUnlock = shim_unlock,
                                                .xCheckReservedLock = shim_reserved,
                                                .xFileControl = shim_control,
                                                .xSectorSize = shim_sector,
                                                .xDeviceCharacteristics = shim_traits,
                                                .xShmMap = shim_shm_map,
                                                .xShmLock = shim_shm_lock,
                                                .xShmBarrier = shim_shm_barrier,
                                                .xShmUnmap = shim_shm_unmap};

static sqlite3_vfs *real_vfs;

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret)
{
    (void)vfs;
    struct shim_file *f = (struct shim_file *)file;
    f->real = (sqlite3_file *)(f + 1);
    f->is_db = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    f->watched = (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) != 0;
    f->base.pMethods = &shim_methods;
    f->real->pMethods = NULL;
    int code = real_vfs->xOpen(real_vfs, name, f->real, flags, ret);
    if (code != SQLITE_OK)
        f->base.pMethods = NULL;
    return code;
}

static void shim_install(void)
{
    static sqlite3_vfs shim;
    if (real_vfs)
        return;
    real_vfs = sqlite3_vfs_find(NULL);
    shim = *real_vfs;
    shim.zName = "watch-lock";
    shim.szOsFile = (int)sizeof(struct shim_file) + real_vfs->szOsFile;
    shim.xOpen = shim_open;
    sqlite3_vfs_register(&shim, 1);
}

/* ---- the tests ------------------------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    shim_install();
    lock_removed = false;
    fix_make();
    snprintf(lock_path, sizeof lock_path, "%s/ledger.lock", fix_dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    lock_removed = false;
    fix_drop();
    return 0;
}

/* Enough commits, large enough to pass the checkpoint threshold more than once. */
static void write_a_lot(void)
{
    static char body[40000];
    struct ledger *l = fix_open(LEDGER_WRITE);
    struct ledger *second = fix_open(LEDGER_INBOX); /* closes last: it must not checkpoint then */
    memset(body, 'x', sizeof body);
    for (int i = 0; i < 400; i++) {
        OK(ledger_begin(l, &fix_err));
        OK(replay_append(l, i, "test", 0, "", (struct str){body, sizeof body}, &fix_err));
        OK(ledger_commit(l, &fix_err));
        OK(ledger_heartbeat(second, "handler", i, &fix_err));
    }
    ledger_close(&l);
    ledger_close(&second);
}

static void test_every_write_and_checkpoint_holds_the_lock(void **state)
{
    (void)state;
    writes_seen = writes_unlocked = checkpoints_seen = 0;
    write_a_lot();
    assert_true(writes_seen > 1000);
    assert_true(checkpoints_seen > 100); /* the threshold was passed, or the test proves nothing */
    assert_int_equal(writes_unlocked, 0);
}

static void test_without_the_lock_the_shim_sees_it(void **state)
{
    (void)state;
    writes_seen = writes_unlocked = 0;
    lock_removed = true;
    write_a_lot();
    assert_true(writes_unlocked > 1000);
}

#define STORM_MS 10000

static int writer_child(int who, int pipe_fd)
{
    struct ledger *l = NULL;
    struct err err;
    int64_t n = 0, end = clock_mono() + STORM_MS;
    char ref[32];
    if (ledger_open(fix_dir, LEDGER_WRITE, digest_sha256, &l, &err) != RC_OK)
        return 1;
    snprintf(ref, sizeof ref, "w%d", who);
    while (clock_mono() < end) {
        if (ledger_begin(l, &err) != RC_OK ||
            replay_append(l, n, "storm", 0, ref, STR("{}"), &err) != RC_OK ||
            ledger_commit(l, &err) != RC_OK)
            return 2;
        n++;
    }
    ledger_close(&l);
    return write(pipe_fd, &n, sizeof n) == sizeof n ? 0 : 3;
}

static int64_t storm_rows(struct ledger *reader)
{
    sqlite3_stmt *s = NULL;
    const char *sql = "SELECT count(*) FROM replay_log WHERE kind = 'storm'";
    assert_int_equal(sqlite3_prepare_v2(reader->db, sql, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return n;
}

static void test_two_writers_and_a_reader_lose_nothing(void **state)
{
    (void)state;
    int fds[2];
    pid_t kids[2];
    int64_t acknowledged = 0, n, seen = 0, before = 0;
    assert_int_equal(pipe(fds), 0);
    for (int i = 0; i < 2; i++)
        if ((kids[i] = fork()) == 0)
            _exit(writer_child(i, fds[1]));
    struct ledger *reader = fix_open(LEDGER_INBOX);
    for (int64_t end = clock_mono() + STORM_MS; clock_mono() < end; before = seen) {
        seen = storm_rows(reader);
        assert_true(seen >= before); /* a reader never sees a commit vanish */
    }
    for (int i = 0; i < 2; i++) {
        int status;
        assert_int_equal(waitpid(kids[i], &status, 0), kids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        assert_int_equal(read(fds[0], &n, sizeof n), sizeof n);
        assert_true(n > 0);
        acknowledged += n;
    }
    close(fds[0]);
    close(fds[1]);
    assert_int_equal(storm_rows(reader), acknowledged);
    ledger_close(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_write_and_checkpoint_holds_the_lock, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_without_the_lock_the_shim_sees_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_writers_and_a_reader_lose_nothing, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
