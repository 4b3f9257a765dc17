/* file: small files, read and replaced whole. Invariants in file.h. Called by json, conf, cli. */
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/fd.h"

static enum rc fail(struct err *err, const char *doing, const char *path)
{
    int why = errno;
    return err_set(err, why == ENOENT ? RC_NOT_FOUND : RC_IO, "", "cannot %s %s: %s", doing, path,
                   strerror(why));
}

enum rc file_read(const char *path, struct buf *out, struct err *err)
{
    char chunk[16384];
    ssize_t n;
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(err, "open", path);
    while ((n = fd_read_all(fd, chunk, sizeof chunk)) != 0) {
        if (n < 0)
            return fail(err, "read", path);
        buf_add(out, chunk, (size_t)n);
        if (buf_rc(out) == RC_TOO_LARGE)
            return err_set(err, RC_TOO_LARGE, "", "%s is larger than %zu bytes", path, out->max);
        if (buf_rc(out) != RC_OK)
            return err_set(err, buf_rc(out), "", "no memory to read %s", path);
    }
    return RC_OK;
}

static bool sync_dir_of(const char *path)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int n = slash ? (int)(slash - path) + 1 : 0;
    snprintf(dir, sizeof dir, "%.*s", slash ? n : 1, slash ? path : ".");
    CLEANUP(fd_close) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && fsync(fd) == 0;
}

enum rc file_replace(const char *path, struct str text, unsigned mode, struct err *err)
{
    char target[PATH_MAX], temp[PATH_MAX + 16];
    struct stat st;
    if (!realpath(path, target)) {
        if (errno != ENOENT || strlen(path) >= sizeof target)
            return fail(err, "replace", path);
        snprintf(target, sizeof target, "%s", path);
    }
    mode = stat(target, &st) == 0 ? st.st_mode & 07777 : mode;
    snprintf(temp, sizeof temp, "%s.XXXXXX", target);
    CLEANUP(fd_close) int fd = mkostemp(temp, O_CLOEXEC);
    if (fd < 0)
        return fail(err, "write beside", path);
    if (!fd_write_all(fd, text) || fchmod(fd, mode) != 0 || fsync(fd) != 0 ||
        rename(temp, target) != 0) {
        enum rc rc = fail(err, "replace", path);
        unlink(temp);
        return rc;
    }
    return sync_dir_of(target) ? RC_OK : fail(err, "sync the folder of", path);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

enum rc file_remove_tree(const char *path, struct err *err)
{
    if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0 && errno != ENOENT)
        return fail(err, "remove", path);
    return RC_OK;
}
