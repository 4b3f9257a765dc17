/* backup: folders, small files, the ledger, then the objects that it names. */
#include "handler/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/fd.h"
#include "core/file.h"
#include "handler/artifacts.h"
#include "handler/gc.h"
#include "handler/store.h"
#include "ledger/artifact.h"

#define CHUNK (256u << 10)
#define SMALL_MAX (16u << 20) /* freshet.json and the like */

#define ROOM (PATH_MAX + STORE_PATH_MAX + 16) /* a path of the instance and any name in it */

/* As `freshet init` makes them. */
static const struct {
    const char *name;
    mode_t mode;
} folders[] = {{"secrets", 0700},      {"store", 0750},
               {"store/public", 0750}, {"store/restricted", 0700},
               {"runs", 0750},         {"runs/change-detection", 0750},
               {"run", 0750},          {"log", 0750},
               {"spool", 0700}};
static const char *const small_files[] = {"freshet.json", "policy.json", "sources.json",
                                          "notify.json"};

struct copy {
    const struct instance *inst;
    const char *to; /* DIR.partial */
    backup_progress_fn *progress;
    void *ctx;
    int64_t total;
    struct backup_counts n;
};

static enum rc fail(struct err *err, const char *doing, const char *path)
{
    return err_set(err, errno == ENOSPC || errno == EDQUOT ? RC_FULL : RC_IO, "",
                   "cannot %s %s: %s", doing, path, strerror(errno));
}

static enum rc make_dir(const char *path, mode_t mode, struct err *err)
{
    return mkdir(path, mode) == 0 || errno == EEXIST ? RC_OK : fail(err, "make", path);
}

static enum rc make_folders(const struct copy *c, struct err *err)
{
    char path[ROOM];
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        snprintf(path, sizeof path, "%s/%s", c->to, folders[i].name);
        TRY(make_dir(path, folders[i].mode, err));
    }
    return RC_OK;
}

static enum rc copy_small(const struct copy *c, const char *name, struct err *err)
{
    char path[ROOM];
    struct stat st;
    struct buf text;
    snprintf(path, sizeof path, "%s/%s", c->inst->dir, name);
    if (stat(path, &st) != 0)
        return errno == ENOENT ? RC_OK : fail(err, "read", path);
    buf_init(&text, SMALL_MAX);
    enum rc rc = file_read(path, &text, err);
    snprintf(path, sizeof path, "%s/%s", c->to, name);
    if (rc == RC_OK)
        rc = file_replace(path, buf_view(&text), st.st_mode & 07777, err);
    buf_release(&text);
    return rc;
}

/* ---- objects --------------------------------------------------------------------------------- */

static enum rc pump(int from, int to, struct sha256 *ret, struct err *err)
{
    static char chunk[CHUNK]; /* of this call only; too large for a stack */
    CLEANUP(digest_free) struct digest *d = digest_new();
    ssize_t n = 0;
    if (!d)
        return err_set(err, RC_NOMEM, "", "no memory to copy");
    while ((n = fd_read_all(from, chunk, CHUNK)) > 0) {
        digest_add(d, chunk, (size_t)n);
        if (!fd_write_all(to, (struct str){chunk, (size_t)n}))
            return fail(err, "write", "an object");
    }
    digest_take(d, ret);
    return n < 0 || fsync(to) != 0 ? fail(err, "copy", "an object") : RC_OK;
}

static enum rc copy_object(const char *from, const char *to, const struct sha256 *sha,
                           struct err *err)
{
    struct sha256 got;
    CLEANUP(fd_close) int in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (in < 0)
        return fail(err, "read", from);
    CLEANUP(fd_close) int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    if (out < 0)
        return fail(err, "write", to);
    TRY(pump(in, out, &got, err));
    return sha256_eq(&got, sha) ? RC_OK
                                : err_set(err, RC_CORRUPT, "",
                                          "%s is not what its name says: run freshet verify", from);
}

static enum rc make_parents(const struct copy *c, const char *path, struct err *err)
{
    char part[ROOM];
    for (const char *s = strchr(path + strlen(c->to) + 1, '/'); s; s = strchr(s + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(s - path), path);
        TRY(make_dir(part, 0750, err));
    }
    return RC_OK;
}

static enum rc take_object(void *ctx, const struct sha256 *sha, const char *tier, int64_t size,
                           struct err *err)
{
    struct copy *c = ctx;
    char name[STORE_PATH_MAX], from[ROOM], to[ROOM];
    store_path(strcmp(tier, tier_name(TIER_PUBLIC)) == 0 ? TIER_PUBLIC : TIER_RESTRICTED, sha,
               name);
    snprintf(from, sizeof from, "%s/store/%s", c->inst->dir, name);
    snprintf(to, sizeof to, "%s/store/%s", c->to, name);
    TRY(make_parents(c, to, err));
    bool linked = link(from, to) == 0;
    if (!linked)
        TRY(copy_object(from, to, sha, err));
    c->n.objects++;
    c->n.bytes += size;
    c->n.linked += linked;
    if (c->progress)
        c->progress(c->ctx, c->n.objects, c->total);
    return RC_OK;
}

static enum rc count_object(void *ctx, const struct sha256 *sha, const char *tier, int64_t size,
                            struct err *err)
{
    (void)sha, (void)tier, (void)size, (void)err;
    ++*(int64_t *)ctx;
    return RC_OK;
}

/* Folders of runs are made of the copy's own rows. */
static enum rc write_runs(const struct copy *c, struct ledger *l, struct err *err)
{
    struct instance copy = *c->inst;
    int64_t n;
    copy.dir = c->to;
    return artifacts_mend(l, &copy, clock_now(), &n, err);
}

/* The rows of the copy, which stands still, not those of the ledger that goes on. */
static enum rc take_objects(struct copy *c, struct err *err)
{
    CLEANUP(ledger_close) struct ledger *l = NULL;
    TRY(ledger_open(c->to, LEDGER_WRITE, digest_sha256, &l, err));
    TRY(artifact_each(l, count_object, &c->total, err));
    TRY(artifact_each(l, take_object, c, err));
    return write_runs(c, l, err);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum rc fill(struct copy *c, struct ledger *l, struct err *err)
{
    char path[ROOM];
    TRY(make_folders(c, err));
    for (size_t i = 0; i < ARRAY_LEN(small_files); i++)
        TRY(copy_small(c, small_files[i], err));
    snprintf(path, sizeof path, "%s/ledger.db", c->to);
    TRY(ledger_backup(l, path, err));
    TRY(take_objects(c, err));
    /* Thousands of folders may be new: their filesystem is synced as a whole. */
    CLEANUP(fd_close) int fd = open(c->to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && syncfs(fd) == 0 ? RC_OK : fail(err, "sync", c->to);
}

static enum rc refuse_present(const char *path, struct err *err)
{
    struct stat st;
    if (lstat(path, &st) != 0 && errno == ENOENT)
        return RC_OK;
    return err_set(err, RC_CONFLICT, "",
                   "%s is there already: nothing is overwritten, choose "
                   "another name or remove it",
                   path);
}

/* Its name survives a power cut. */
static enum rc appear(const struct copy *c, const char *dir, struct err *err)
{
    if (renameat2(AT_FDCWD, c->to, AT_FDCWD, dir, RENAME_NOREPLACE) != 0)
        return fail(err, "name", dir);
    CLEANUP(fd_close) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && syncfs(fd) == 0 ? RC_OK : fail(err, "sync", dir);
}

enum rc backup(struct ledger *l, const struct instance *inst, const char *dir,
               backup_progress_fn *progress, void *ctx, struct backup_counts *ret, struct err *err)
{
    char partial[PATH_MAX];
    CLEANUP(fd_close) int lock = -1;
    int n = snprintf(partial, sizeof partial, "%s.partial", dir);
    if (n >= (int)sizeof partial)
        return err_set(err, RC_INVALID, "", "the path is too long");
    TRY(gc_lock(inst, &lock, err));
    TRY(refuse_present(dir, err));
    TRY(refuse_present(partial, err));
    if (mkdir(partial, 0750) != 0)
        return fail(err, "make", partial);
    struct copy c = {.inst = inst, .to = partial, .progress = progress, .ctx = ctx};
    TRY(fill(&c, l, err));
    TRY(appear(&c, dir, err));
    *ret = c.n;
    return RC_OK;
}
