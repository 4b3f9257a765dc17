/* slots: empty files that say "not in these ten seconds". */
#include "ledger/slots.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/file.h"

#define SLOT_MS 10000 /* as long as $freshet_slot of nginx/nginx.conf.in */

static enum rc path_of(const char *dir, const char *name, char ret[PATH_MAX], struct err *err)
{
    int n = snprintf(ret, PATH_MAX, "%s/run/%s", dir, name);
    return n > 0 && n < PATH_MAX ? RC_OK : err_set(err, RC_INVALID, "", "the path is too long");
}

static enum rc failed(struct err *err, const char *path)
{
    return err_set(err, RC_IO, "", "cannot close the cache: %s: %s", path, strerror(errno));
}

static enum rc mark(int folder, const char *path, int64_t slot, struct err *err)
{
    char name[24];
    snprintf(name, sizeof name, "%lld", (long long)slot);
    int fd = openat(folder, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0)
        return failed(err, path);
    close(fd);
    return RC_OK;
}

static void remove_before(DIR *d, int64_t slot)
{
    int64_t n;
    for (const struct dirent *e; (e = readdir(d));)
        if (str_to_i64(str_of(e->d_name), &n) == RC_OK && n < slot)
            unlinkat(dirfd(d), e->d_name, 0);
}

enum rc slots_close(const char *dir, struct err *err)
{
    char path[PATH_MAX];
    int64_t now = clock_real() / SLOT_MS;
    enum rc rc = RC_OK;
    TRY(path_of(dir, "closed", path, err));
    if (mkdir(path, 0755) != 0 && errno != EEXIST)
        return errno == ENOENT ? RC_OK : failed(err, path); /* no run/: nothing was ever kept */
    DIR *d = opendir(path);
    if (!d)
        return failed(err, path);
    for (int64_t slot = now - 1; slot <= now + 2 && rc == RC_OK; slot++)
        rc = mark(dirfd(d), path, slot, err);
    remove_before(d, now - 1);
    closedir(d);
    return rc;
}

enum rc slots_reset(const char *dir, struct err *err)
{
    static const char *const folders[] = {"cache", "closed"};
    char path[PATH_MAX];
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        TRY(path_of(dir, folders[i], path, err));
        TRY(file_remove_tree(path, err));
    }
    return RC_OK;
}
