/* scratch: removing the folder of a test, and looking into one. */
#ifndef FRESHET_TESTS_SCRATCH_H
#define FRESHET_TESTS_SCRATCH_H

#include <dirent.h>
#include <ftw.h>
#include "core/str.h"

static inline int scratch_remove_one(const char *path, const struct stat *st, int type,
                                     struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

/* The folder and all that is in it; 0 when it is gone. */
static inline int scratch_remove(const char *dir)
{
    return nftw(dir, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* How many entries of the folder start with prefix; -1 when there is no such folder. */
static inline int scratch_count(const char *dir, const char *prefix)
{
    DIR *d = opendir(dir);
    int n = 0;
    if (!d)
        return -1;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.' && str_starts(str_of(e->d_name), str_of(prefix));
    closedir(d);
    return n;
}

#endif
