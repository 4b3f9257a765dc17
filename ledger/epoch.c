/* epoch: a link that is taken away and set anew. */
#include "ledger/epoch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"

static enum rc path_of(const char *dir, const char *name, char ret[PATH_MAX], struct err *err)
{
    int n = snprintf(ret, PATH_MAX, "%s/run/%s", dir, name);
    return n > 0 && n < PATH_MAX ? RC_OK : err_set(err, RC_INVALID, "", "the path is too long");
}

enum rc epoch_close(const char *dir, bool *ret_was, struct err *err)
{
    char link[PATH_MAX];
    TRY(path_of(dir, "epoch", link, err));
    bool was = unlink(link) == 0;
    if (!was && errno != ENOENT && errno != ENOTDIR)
        return err_set(err, RC_IO, "", "cannot close the cache: %s: %s", link, strerror(errno));
    *ret_was = was;
    return RC_OK;
}

/* Folders of past epochs: a process that died has left one. */
static void remove_others(const char *folder, const char *keep)
{
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.' && strcmp(e->d_name, keep) != 0)
            unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
    if (d)
        closedir(d);
}

enum rc epoch_open(const char *dir, int64_t number, struct err *err)
{
    char link[PATH_MAX], folder[PATH_MAX], target[PATH_MAX], name[96];
    snprintf(name, sizeof name, "%lld-%lld-%ld", (long long)number, (long long)clock_mono(),
             (long)getpid());
    TRY(path_of(dir, "epoch", link, err));
    TRY(path_of(dir, "epochs", folder, err));
    int n = snprintf(target, sizeof target, "%s/%s", folder, name);
    if (n < 0 || (size_t)n >= sizeof target)
        return err_set(err, RC_INVALID, "", "the path is too long");
    if ((mkdir(folder, 0755) != 0 && errno != EEXIST) || mkdir(target, 0755) != 0)
        return err_set(err, RC_IO, "", "cannot make %s: %s", target, strerror(errno));
    remove_others(folder, name);
    if (symlink(target, link) != 0)
        return err_set(err, RC_IO, "", "cannot make %s: %s", link, strerror(errno));
    return RC_OK;
}
