/* gc: walks store and spool; see gc.h for what may go and why that is safe. */
#include "handler/gc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/fd.h"
#include "core/lock.h"
#include "handler/artifacts.h"
#include "handler/store.h"
#include "handler/work.h"
#include "ledger/artifact.h"
#include "ledger/publish.h"

struct sweep {
    struct ledger *l;
    const struct instance *inst;
    int64_t now;
    bool dry;
    gc_fn *fn;
    void *ctx;
    enum tier tier; /* being walked */
    struct gc_counts n;
};

const char *gc_kind_name(enum gc_kind k)
{
    static const char *const names[] = {"object", "temp", "spool", "run"};
    return names[k];
}

enum rc gc_lock(const struct instance *inst, int *ret_fd, struct err *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/run", inst->dir);
    (void)mkdir(path, 0750);
    snprintf(path, sizeof path, "%s/run/keep.lock", inst->dir);
    enum rc rc = lock_take(path, 0600, ret_fd, err);
    if (rc == RC_BUSY)
        return err_set(err, RC_BUSY, "", "another gc or a backup is running: wait for its end");
    return rc;
}

/* ---- walking --------------------------------------------------------------------------------- */

typedef enum rc entry_fn(struct sweep *s, const char *path, const char *name, struct err *err);

/* Every entry of a folder, path relative to the instance; a folder that is not there has none.
 * Files may come and go meanwhile. */
static enum rc each_entry(struct sweep *s, const char *folder, entry_fn *fn, struct err *err)
{
    char path[PATH_MAX];
    struct dirent *e;
    enum rc rc = RC_OK;
    snprintf(path, sizeof path, "%s/%s", s->inst->dir, folder);
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT
                   ? RC_OK
                   : err_set(err, RC_IO, "", "cannot read %s: %s", path, strerror(errno));
    while (rc == RC_OK && (e = readdir(d))) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        rc = fn(s, path, e->d_name, err);
    }
    closedir(d);
    return rc;
}

/* A regular file of the instance; false when it is none, or went meanwhile. */
static bool look_at(const struct sweep *s, const char *path, char full[PATH_MAX], struct stat *st)
{
    return snprintf(full, PATH_MAX, "%s/%s", s->inst->dir, path) < PATH_MAX &&
           lstat(full, st) == 0 && S_ISREG(st->st_mode);
}

static bool is_young(const struct sweep *s, const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000 > s->now - GC_AGE_MS;
}

static enum rc take_away(struct sweep *s, enum gc_kind kind, const char *path, struct err *err)
{
    char full[PATH_MAX];
    struct stat st;
    if (!look_at(s, path, full, &st))
        return RC_OK;
    if (!s->dry && unlink(full) != 0)
        return errno == ENOENT
                   ? RC_OK
                   : err_set(err, RC_IO, "", "cannot remove %s: %s", full, strerror(errno));
    s->n.files[kind]++;
    s->n.bytes[kind] += st.st_size;
    if (s->fn)
        s->fn(s->ctx, kind, path, st.st_size);
    return RC_OK;
}

/* ---- the store ------------------------------------------------------------------------------- */

/* Invariant 1: asked again under the lock. A dry run holds it all the time. */
static enum rc remove_object(struct sweep *s, const struct sha256 *sha, const char *path,
                             struct err *err)
{
    bool known = true;
    if (!s->dry)
        TRY(ledger_begin(s->l, err));
    enum rc rc = artifact_known(s->l, sha, tier_name(s->tier), &known, err);
    if (rc == RC_OK && !known)
        rc = take_away(s, GC_OBJECT, path, err);
    if (!s->dry)
        ledger_abort(s->l); /* nothing was written: the lock was what we wanted */
    return rc;
}

static enum rc see_object(struct sweep *s, const char *path, const char *name, struct err *err)
{
    char full[PATH_MAX];
    struct stat st;
    struct sha256 sha;
    bool known = false;
    if (hex_decode(str_of(name), sha.b, sizeof sha.b) != RC_OK || !look_at(s, path, full, &st))
        return RC_OK;
    TRY(artifact_known(s->l, &sha, tier_name(s->tier), &known, err));
    if (known)
        return RC_OK;
    if (is_young(s, &st)) {
        s->n.young++;
        return RC_OK;
    }
    return remove_object(s, &sha, path, err);
}

static enum rc see_inner(struct sweep *s, const char *path, const char *name, struct err *err)
{
    return strlen(name) == 2 ? each_entry(s, path, see_object, err) : RC_OK;
}

static enum rc see_outer(struct sweep *s, const char *path, const char *name, struct err *err)
{
    return strlen(name) == 2 ? each_entry(s, path, see_inner, err) : RC_OK;
}

static enum rc see_temp(struct sweep *s, const char *path, const char *name, struct err *err)
{
    struct str rest = str_of(name), word, number;
    int64_t slot;
    if (!str_next(&rest, '-', &word) || !str_is(word, "slot") || !str_next(&rest, '-', &number) ||
        str_to_i64(number, &slot) != RC_OK || slot < 0 || slot > INT_MAX)
        return RC_OK;
    CLEANUP(fd_close) int lock = work_lock_slot(s->inst, (int)slot);
    return lock < 0 ? RC_OK : take_away(s, GC_TEMP, path, err);
}

/* ---- the spool ------------------------------------------------------------------------------- */

/* A writer holds the lock of its file as long as it lives. */
static enum rc see_writing(struct sweep *s, const char *path, struct err *err)
{
    char full[PATH_MAX];
    struct stat st;
    if (!look_at(s, path, full, &st) || is_young(s, &st))
        return RC_OK;
    CLEANUP(fd_close) int fd = open(full, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    bool dead = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    return dead ? take_away(s, GC_SPOOL, path, err) : RC_OK;
}

/* Folders of runs: past their age, half-made, or of no run. */
static void see_run(void *ctx, const char *path)
{
    const struct sweep *s = ctx;
    if (s->fn)
        s->fn(s->ctx, GC_RUN, path, 0);
}

/* A file of the spool saves a download, no more: one that goes too early is fetched again. */
static enum rc see_spooled(struct sweep *s, const char *path, const char *name, struct err *err)
{
    char full[PATH_MAX];
    struct stat st;
    struct sha256 sha;
    bool awaited = true;
    if (str_starts(str_of(name), STR("tmp-")))
        return see_writing(s, path, err);
    if (hex_decode(str_of(name), sha.b, sizeof sha.b) != RC_OK || !look_at(s, path, full, &st) ||
        is_young(s, &st))
        return RC_OK;
    TRY(artifact_awaited(s->l, &sha, &awaited, err));
    return awaited ? RC_OK : take_away(s, GC_SPOOL, path, err);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum rc sweep_all(struct sweep *s, struct err *err)
{
    static const char *const tiers[] = {"store/public/sha256", "store/restricted/sha256"};
    for (size_t i = 0; i < TIER_COUNT; i++) {
        s->tier = (enum tier)i;
        TRY(each_entry(s, tiers[i], see_outer, err));
    }
    TRY(each_entry(s, "store/tmp", see_temp, err));
    TRY(each_entry(s, "spool", see_spooled, err));
    return artifacts_sweep(s->l, s->inst, s->now, s->dry, see_run, s, &s->n.files[GC_RUN], err);
}

/* Rows first and for good: an object whose row goes is one without a row. */
static enum rc sweep(struct sweep *s, struct err *err)
{
    TRY(ledger_begin(s->l, err));
    enum rc rc = artifact_forget(s->l, &s->n.rows, err);
    if (rc == RC_OK && s->dry)
        rc = sweep_all(s, err);
    if (rc != RC_OK || s->dry || s->n.rows == 0)
        ledger_abort(s->l);
    else
        rc = ledger_commit(s->l, err);
    return rc == RC_OK && !s->dry ? sweep_all(s, err) : rc;
}

enum rc gc(struct ledger *l, const struct instance *inst, int64_t now, bool dry_run, gc_fn *fn,
           void *ctx, struct gc_counts *ret, struct err *err)
{
    struct sweep s = {.l = l, .inst = inst, .now = now, .dry = dry_run, .fn = fn, .ctx = ctx};
    CLEANUP(fd_close) int lock = -1;
    int64_t days = inst->conf.feed_retention_days;
    TRY(gc_lock(inst, &lock, err));
    TRY(sweep(&s, err));
    if (days > 0 && !dry_run)
        TRY(feed_forget(l, now - days * DAY_MS, now, &s.n.feed, err));
    *ret = s.n;
    return RC_OK;
}
