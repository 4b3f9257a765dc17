/* killat: preloaded into a program, kills it (SIGKILL) at its n-th call that writes, or lets it
 * fail: no handler, no destructor, no buffer gets a chance. What the kernel has been given stays,
 * the rest is lost.
 *
 *   KILLAT=n         die instead of the n-th call,
 *   KILLAT_KIND=fsync  of this kind alone
 *   KILLAT_HALF=1    where that call is a write, half of its bytes go out first
 *   KILLAT_ERRNO=e   do not die: that call fails once with this errno (EIO); with ENOSPC it and
 *                    every later one that wants room (all but unlink), as on a disk that is full
 *   KILLAT_COUNT=f   append the numbers of calls to the file f at a normal exit: "KIND N", and
 *                    "all N"
 *
 * The crash sweeps use it. Not linked with anything of ours. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define KINDS(X)                                                                                   \
    X(open)                                                                                        \
    X(write) X(pwrite) X(fsync) X(fdatasync) X(truncate) X(mkdir) X(unlink) X(rename) X(other)
enum kind {
#define X(name) KIND_##name,
    KINDS(X)
#undef X
        KIND_COUNT
};
static const char *const kind_names[] = {
#define X(name) #name,
    KINDS(X)
#undef X
};

static atomic_long calls, calls_of[KIND_COUNT];
static long kill_at;
static int kill_kind = -1; /* any */
static bool half;
static int fail_with; /* errno; 0: die */

__attribute__((constructor)) static void start(void)
{
    const char *n = getenv("KILLAT"), *kind = getenv("KILLAT_KIND");
    kill_at = n ? strtol(n, NULL, 10) : 0;
    half = getenv("KILLAT_HALF") != NULL;
    const char *e = getenv("KILLAT_ERRNO");
    fail_with = e ? (int)strtol(e, NULL, 10) : 0;
    for (int i = 0; kind && i < KIND_COUNT; i++)
        if (strcmp(kind, kind_names[i]) == 0)
            kill_kind = i;
}

__attribute__((destructor)) static void end(void)
{
    const char *file = getenv("KILLAT_COUNT");
    int fd =
        file ? (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (fd < 0)
        return;
    for (int i = 0; i <= KIND_COUNT; i++) {
        char line[64];
        int n = snprintf(line, sizeof line, "%s %ld\n", i < KIND_COUNT ? kind_names[i] : "all",
                         atomic_load(i < KIND_COUNT ? &calls_of[i] : &calls));
        syscall(SYS_write, fd, line, n);
    }
}

static void die(void)
{
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;)
        pause();
}

/* Is this call the one? */
static bool due(enum kind kind)
{
    long n = atomic_fetch_add(&calls, 1) + 1, of = atomic_fetch_add(&calls_of[kind], 1) + 1;
    if (fail_with == ENOSPC && kill_kind < 0 && kill_at > 0 && n > kill_at)
        return kind != KIND_unlink;
    return kill_kind < 0 ? n == kill_at : (int)kind == kill_kind && of == kill_at;
}

/* Dies, or returns true when the call must fail. */
static bool point(enum kind kind)
{
    if (!due(kind))
        return false;
    if (!fail_with)
        die();
    errno = fail_with;
    return true;
}

/* ---- writes ---------------------------------------------------------------------------------- */

ssize_t write(int fd, const void *p, size_t n)
{
    if (fd <= STDERR_FILENO && fail_with) /* what it says is not what it does */
        return syscall(SYS_write, fd, p, n);
    if (half && due(KIND_write)) {
        syscall(SYS_write, fd, p, n / 2);
        die();
    }
    if (!half && point(KIND_write))
        return -1;
    return syscall(SYS_write, fd, p, n);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    if (half && due(KIND_pwrite)) {
        syscall(SYS_pwrite64, fd, p, n / 2, at);
        die();
    }
    if (!half && point(KIND_pwrite))
        return -1;
    return syscall(SYS_pwrite64, fd, p, n, at);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    return pwrite64(fd, p, n, at);
}

ssize_t writev(int fd, const struct iovec *v, int n)
{
    if (point(KIND_other))
        return -1;
    return syscall(SYS_writev, fd, v, n);
}

/* ---- the rest: die before it ----------------------------------------------------------------- */

#define POINT(kind, name, number, params, ...)                                                     \
    int name params                                                                                \
    {                                                                                              \
        if (point(KIND_##kind))                                                                    \
            return -1;                                                                             \
        return (int)syscall(number, __VA_ARGS__);                                                  \
    }
POINT(fsync, fsync, SYS_fsync, (int fd), fd)
POINT(fsync, syncfs, SYS_syncfs, (int fd), fd)
POINT(fdatasync, fdatasync, SYS_fdatasync, (int fd), fd)
POINT(truncate, ftruncate, SYS_ftruncate, (int fd, off_t n), fd, n)
POINT(truncate, ftruncate64, SYS_ftruncate, (int fd, off64_t n), fd, n)
POINT(other, fallocate, SYS_fallocate, (int fd, int m, off_t at, off_t n), fd, m, at, n)
POINT(mkdir, mkdirat, SYS_mkdirat, (int d, const char *p, mode_t m), d, p, m)
POINT(mkdir, mkdir, SYS_mkdirat, (const char *p, mode_t m), AT_FDCWD, p, m)
POINT(unlink, unlinkat, SYS_unlinkat, (int d, const char *p, int f), d, p, f)
POINT(unlink, unlink, SYS_unlinkat, (const char *p), AT_FDCWD, p, 0)
POINT(unlink, rmdir, SYS_unlinkat, (const char *p), AT_FDCWD, p, AT_REMOVEDIR)
POINT(rename, renameat, SYS_renameat2, (int d, const char *a, int e, const char *b), d, a, e, b, 0)
POINT(rename, rename, SYS_renameat2, (const char *a, const char *b), AT_FDCWD, a, AT_FDCWD, b, 0)
POINT(other, linkat, SYS_linkat, (int d, const char *a, int e, const char *b, int f), d, a, e, b, f)
POINT(other, link, SYS_linkat, (const char *a, const char *b), AT_FDCWD, a, AT_FDCWD, b, 0)
POINT(other, fchmod, SYS_fchmod, (int fd, mode_t m), fd, m)

/* Opening counts where it can make or empty a file. */
static int open_at(int dir, const char *path, int flags, mode_t mode)
{
    if (flags & (O_CREAT | O_TRUNC) && point(KIND_open))
        return -1;
    return (int)syscall(SYS_openat, dir, path, flags, mode);
}

#define OPEN(name, first, dir)                                                                     \
    int name(first const char *path, int flags, ...)                                               \
    {                                                                                              \
        va_list ap;                                                                                \
        va_start(ap, flags);                                                                       \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;                      \
        va_end(ap);                                                                                \
        return open_at(dir, path, flags, mode);                                                    \
    }
#define NOTHING
#define DIR_PARAM int dir,
OPEN(open, NOTHING, AT_FDCWD)
OPEN(open64, NOTHING, AT_FDCWD)
OPEN(openat, DIR_PARAM, dir)
OPEN(openat64, DIR_PARAM, dir)
