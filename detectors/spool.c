/* spool: see the header. The only file of detectors/ that touches the disk. */
#include "detectors/spool.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/fd.h"

#define SPOOL_ROOM_STEP (16 << 20) /* written between two looks at the free space */

/* ---- the folder ------------------------------------------------------------------------------ */

enum rc spool_dir_open(const struct instance *inst, struct spool_dir *ret, struct err *err)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/spool", inst->dir);
    if (n < 0 || (size_t)n >= sizeof path)
        return err_set(err, RC_INVALID, "", "the path of the instance is too long");
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return err_set(err, RC_IO, "", "cannot make %s: %s", path, strerror(errno));
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, RC_IO, "", "cannot open %s: %s", path, strerror(errno));
    *ret = (struct spool_dir){fd, inst->conf.free_bytes_min, 0};
    return RC_OK;
}

void spool_dir_close(struct spool_dir *d)
{
    fd_close(&d->fd);
}

static bool is_temporary(const char *name)
{
    return str_starts(str_of(name), STR("tmp-"));
}

/* The writer holds the lock as long as it lives, so a lock to be had means that it does not. */
static bool writer_is_dead(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool dead = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return dead;
}

static bool is_older(int dir, const char *name, int64_t before)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (int64_t)st.st_mtim.tv_sec * 1000 < before;
}

void spool_dir_sweep(struct spool_dir *d, int64_t before)
{
    int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        fd_close(&fd);
        return;
    }
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        bool stale = is_temporary(e->d_name) ? writer_is_dead(d->fd, e->d_name)
                                             : is_older(d->fd, e->d_name, before);
        if (stale)
            (void)unlinkat(d->fd, e->d_name, 0);
    }
    closedir(dir);
}

/* ---- one body -------------------------------------------------------------------------------- */

void spool_init(struct spool *s)
{
    *s = (struct spool){.fd = -1};
}

static enum rc check_room(const struct spool *s, int64_t wanted, struct err *err)
{
    struct statvfs v;
    if (fstatvfs(s->dir->fd, &v) != 0)
        return err_set(err, RC_IO, "", "cannot tell the free space: %s", strerror(errno));
    int64_t left = (int64_t)v.f_bavail * (int64_t)v.f_frsize - wanted;
    if (left < s->dir->free_min)
        return err_set(err, RC_FULL, "free_bytes_min",
                       "too little disk space is free to take in %lld bytes", (long long)wanted);
    return RC_OK;
}

static enum rc make_file(struct spool *s, struct err *err)
{
    snprintf(s->name, sizeof s->name, "tmp-%ld-%llu", (long)getpid(),
             (unsigned long long)++s->dir->serial);
    s->fd = openat(s->dir->fd, s->name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->fd < 0 || flock(s->fd, LOCK_EX | LOCK_NB) != 0)
        return err_set(err, RC_IO, "", "cannot make spool/%s: %s", s->name, strerror(errno));
    return RC_OK;
}

static enum rc rewind_file(struct spool *s, struct err *err)
{
    struct sha256 ignored;
    digest_take(s->digest, &ignored);
    if (ftruncate(s->fd, 0) != 0 || lseek(s->fd, 0, SEEK_SET) != 0)
        return err_set(err, RC_IO, "", "cannot empty spool/%s: %s", s->name, strerror(errno));
    return RC_OK;
}

enum rc spool_begin(struct spool *s, struct spool_dir *d, enum shape expected, enum shape announced,
                    int64_t announced_size, struct err *err)
{
    s->dir = d;
    s->size = 0;
    s->room = SPOOL_ROOM_STEP;
    s->expected = expected;
    s->announced = announced;
    s->scan = (struct json_scan){0};
    TRY(check_room(s, announced_size > 0 ? announced_size : 0, err));
    if (!s->digest && !(s->digest = digest_new()))
        return err_set(err, RC_NOMEM, "", "no memory for a digest");
    return s->fd < 0 ? make_file(s, err) : rewind_file(s, err);
}

enum rc spool_add(struct spool *s, struct str part, struct err *err)
{
    if (!fd_write_all(s->fd, part))
        return err_set(err, RC_IO, "", "cannot write spool/%s: %s", s->name, strerror(errno));
    digest_add(s->digest, part.p, part.n);
    if (s->expected == SHAPE_json)
        json_scan_add(&s->scan, part);
    s->size += (int64_t)part.n;
    s->room -= (int64_t)part.n;
    if (s->room > 0)
        return RC_OK;
    s->room = SPOOL_ROOM_STEP;
    return check_room(s, 0, err);
}

static enum rc read_at(const struct spool *s, int64_t at, char *p, size_t n, struct err *err)
{
    ssize_t got = fd_read_all_at(s->fd, p, n, at);
    if (got == (ssize_t)n)
        return RC_OK;
    return err_set(err, RC_IO, "", "cannot read spool/%s: %s", s->name,
                   got < 0 ? strerror(errno) : "it is shorter than what was written");
}

enum rc spool_end(struct spool *s, struct body_facts *ret, struct err *err)
{
    static char head[SHAPE_HEAD], tail[SHAPE_TAIL]; /* of this call only; too large for a stack */
    size_t n_head = s->size < SHAPE_HEAD ? (size_t)s->size : SHAPE_HEAD;
    size_t n_tail = s->size < SHAPE_TAIL ? (size_t)s->size : SHAPE_TAIL;
    TRY(read_at(s, 0, head, n_head, err));
    TRY(read_at(s, s->size - (int64_t)n_tail, tail, n_tail, err));
    struct shape_view v = {.head = {head, n_head},
                           .tail = {tail, n_tail},
                           .size = s->size,
                           .json_whole = json_scan_whole(&s->scan),
                           .announced = s->announced};
    struct body_facts facts = {.read = true,
                               .size = s->size,
                               .wrong = shape_wrong(s->expected, &v),
                               .shape = shape_seen(s->expected, &v)};
    digest_take(s->digest, &facts.sha);
    *ret = facts;
    return RC_OK;
}

/* Gives up the handle; the file under `name` stays as it is. */
static void release(struct spool *s)
{
    fd_close(&s->fd);
    digest_free(&s->digest);
    spool_init(s);
}

enum rc spool_keep(struct spool *s, const struct sha256 *sha, struct err *err)
{
    char hex[SHA256_HEX];
    sha256_hex(sha, hex);
    if (renameat(s->dir->fd, s->name, s->dir->fd, hex) != 0) {
        enum rc rc = err_set(err, RC_IO, "", "cannot name spool/%s: %s", s->name, strerror(errno));
        spool_drop(s);
        return rc;
    }
    release(s);
    return RC_OK;
}

void spool_drop(struct spool *s)
{
    if (s->fd >= 0)
        (void)unlinkat(s->dir->fd, s->name, 0);
    release(s);
}
