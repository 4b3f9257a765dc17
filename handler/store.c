/* store: see store.h for the rules; here is how they are kept.
 *
 * All names are relative to the descriptor of store/, so that neither chdir nor a moved instance
 * matters. The folder of a name is synced on every keep. That the folder itself has its name is
 * synced once per process, also when it was there before: an earlier process may have made it and
 * been killed before it synced it, and nobody could tell. Nobody ever removes one. */
#include "handler/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "core/fd.h"
#include "core/log.h"

#define TMP "tmp"
#define TMP_PREFIX_MAX 24
#define CHUNK (256u << 10)
#define SYNC_ALL_FROM 8 /* objects: with fewer their files and folders are synced one by one */
#define FLOOR_EVERY (16 << 20) /* bytes written between two looks at the free space */

struct store {
    int dir, slot;
    int64_t free_min;
    bool top_synced[TIER_COUNT];
    bool known[TIER_COUNT][256];               /* ab/, and */
    uint8_t known_deep[TIER_COUNT][65536 / 8]; /* ab/cd/, a bit each: made, and synced by us */
    uint64_t puts;                             /* begun so far: temporary names differ */
};

struct store_put {
    struct store *store;
    int fd;
    struct digest *digest;
    int64_t size, floor_at; /* floor_at: look at the free space again from this size on */
    struct sha256 sha;
    bool sealed;
    char name[TMP_PREFIX_MAX + 40];
};

const char *tier_name(enum tier t)
{
    return t == TIER_PUBLIC ? "public" : "restricted";
}

void store_path(enum tier tier, const struct sha256 *sha, char out[STORE_PATH_MAX])
{
    char hex[SHA256_HEX];
    sha256_hex(sha, hex);
    snprintf(out, STORE_PATH_MAX, "%s/sha256/%.2s/%.2s/%s", tier_name(tier), hex, hex + 2, hex);
}

/* ---- syncing --------------------------------------------------------------------------------- */

/* Invariant 4. */
static void die_of_sync(const char *what)
{
    log_event(LOG_ERROR, "store.fsync_failed", LOG_S("what", what), LOG_S("why", strerror(errno)));
    abort();
}

static void sync_or_die(int fd, const char *what)
{
    if (fsync(fd) != 0)
        die_of_sync(what);
}

static enum rc sync_dir(const struct store *s, const char *path, struct err *err)
{
    int fd = openat(s->dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, RC_IO, "", "cannot open store/%s: %s", path, strerror(errno));
    sync_or_die(fd, "directory");
    close(fd);
    return RC_OK;
}

static enum rc make_dir(const struct store *s, const char *path, struct err *err)
{
    if (mkdirat(s->dir, path, 0750) == 0 || errno == EEXIST)
        return RC_OK;
    return err_set(err, RC_IO, "", "cannot make store/%s: %s", path, strerror(errno));
}

/* The n-th parent of a path, outermost first: "public", "public/sha256", ... False beyond
 * the last. */
static bool parent_of(const char *path, size_t n, char out[STORE_PATH_MAX])
{
    const char *slash = strchr(path, '/');
    while (slash && n-- > 0)
        slash = strchr(slash + 1, '/');
    if (slash)
        snprintf(out, STORE_PATH_MAX, "%.*s", (int)(slash - path), path);
    return slash != NULL;
}

static enum rc make_parents(const struct store *s, const char *path, struct err *err)
{
    char dir[STORE_PATH_MAX];
    for (size_t i = 0; parent_of(path, i, dir); i++)
        TRY(make_dir(s, dir, err));
    return RC_OK;
}

static bool is_known(const struct store *s, enum tier tier, const struct sha256 *sha)
{
    unsigned n = sha->b[0] * 256u + sha->b[1];
    return s->known_deep[tier][n / 8] >> n % 8 & 1;
}

static void set_known(struct store *s, enum tier tier, const struct sha256 *sha)
{
    unsigned n = sha->b[0] * 256u + sha->b[1];
    s->known_deep[tier][n / 8] |= (uint8_t)(1u << n % 8);
    s->known[tier][sha->b[0]] = true;
    s->top_synced[tier] = true;
}

/* Folders that are to be synced, each once. */
struct folders {
    char path[SYNC_ALL_FROM * 3 + TIER_COUNT + 1][STORE_PATH_MAX];
    size_t n;
};

static void add_folder(struct folders *f, const char *path)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->path[i], path) == 0)
            return;
    snprintf(f->path[f->n++], STORE_PATH_MAX, "%s", path);
}

/* The name is in ab/cd: every time. cd is in ab, ab is in sha256, and so on: once. */
static void add_folders(struct folders *f, const struct store *s, enum tier tier,
                        const struct sha256 *sha)
{
    char path[STORE_PATH_MAX], dir[STORE_PATH_MAX];
    store_path(tier, sha, path);
    for (size_t i = is_known(s, tier, sha)      ? 3
                    : s->known[tier][sha->b[0]] ? 2
                                                : 1;
         parent_of(path, i, dir); i++)
        add_folder(f, dir);
    if (s->top_synced[tier])
        return;
    add_folder(f, tier_name(tier));
    add_folder(f, ".");
}

/* ---- opening --------------------------------------------------------------------------------- */

static void slot_prefix(int slot, char out[TMP_PREFIX_MAX])
{
    snprintf(out, TMP_PREFIX_MAX, "slot-%d-", slot);
}

void store_sweep(struct store *s, int slot)
{
    char prefix[TMP_PREFIX_MAX];
    struct dirent *e;
    int fd = openat(s->dir, TMP, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        fd_close(&fd);
        return;
    }
    slot_prefix(slot, prefix);
    while ((e = readdir(d)))
        if (strncmp(e->d_name, prefix, strlen(prefix)) == 0)
            (void)unlinkat(fd, e->d_name, 0);
    closedir(d);
}

enum rc store_open(const char *dir, int slot, int64_t free_bytes_min, struct store **ret,
                   struct err *err)
{
    if (mkdir(dir, 0750) != 0 && errno != EEXIST)
        return err_set(err, RC_IO, "", "cannot make %s: %s", dir, strerror(errno));
    struct store *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(err, RC_NOMEM, "", "no memory for the store");
    *s = (struct store){.slot = slot, .free_min = free_bytes_min};
    s->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum rc rc = s->dir >= 0 ? make_dir(s, TMP, err)
                             : err_set(err, RC_IO, "", "cannot open %s: %s", dir, strerror(errno));
    if (rc != RC_OK) {
        store_close(&s);
        return rc;
    }
    store_sweep(s, slot);
    *ret = s;
    return RC_OK;
}

void store_close(struct store **s)
{
    if (!*s)
        return;
    fd_close(&(*s)->dir);
    free(*s);
    *s = NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

static enum rc check_floor(const struct store *s, struct err *err)
{
    struct statvfs v;
    if (s->free_min <= 0)
        return RC_OK;
    if (fstatvfs(s->dir, &v) != 0)
        return err_set(err, RC_IO, "", "cannot ask for free space: %s", strerror(errno));
    uint64_t unit = v.f_frsize ? v.f_frsize : v.f_bsize;
    if (v.f_bavail >= (uint64_t)s->free_min / unit + 1)
        return RC_OK;
    return err_set(err, RC_FULL, "free_bytes_min",
                   "less than %lld bytes are free: make room, or lower free_bytes_min",
                   (long long)s->free_min);
}

static enum rc open_temp(struct store_put *p, struct err *err)
{
    char prefix[TMP_PREFIX_MAX], path[sizeof TMP + sizeof p->name];
    slot_prefix(p->store->slot, prefix);
    snprintf(p->name, sizeof p->name, "%s%ld-%llu", prefix, (long)getpid(),
             (unsigned long long)p->store->puts++);
    snprintf(path, sizeof path, TMP "/%s", p->name);
    p->fd = openat(p->store->dir, path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640);
    if (p->fd < 0)
        return err_set(err, RC_IO, "", "cannot write store/%s: %s", path, strerror(errno));
    return RC_OK;
}

enum rc store_begin(struct store *s, struct store_put **ret, struct err *err)
{
    TRY(check_floor(s, err));
    struct store_put *p = calloc(1, sizeof *p);
    if (!p)
        return err_set(err, RC_NOMEM, "", "no memory for an object of the store");
    *p = (struct store_put){.store = s, .fd = -1, .floor_at = FLOOR_EVERY};
    p->digest = digest_new();
    enum rc rc = p->digest ? open_temp(p, err) : err_set(err, RC_NOMEM, "", "no memory to hash");
    if (rc != RC_OK) {
        store_drop(&p);
        return rc;
    }
    *ret = p;
    return RC_OK;
}

enum rc store_add(struct store_put *p, const void *bytes, size_t n, struct err *err)
{
    if (p->sealed)
        return err_set(err, RC_INTERNAL, "", "bytes after the end of an object");
    if (p->size >= p->floor_at) {
        TRY(check_floor(p->store, err));
        p->floor_at = p->size + FLOOR_EVERY;
    }
    if (!fd_write_all(p->fd, (struct str){bytes, n}))
        return err_set(err, errno == ENOSPC || errno == EDQUOT ? RC_FULL : RC_IO, "",
                       "cannot write to the store: %s", strerror(errno));
    digest_add(p->digest, bytes, n);
    p->size += (int64_t)n;
    return RC_OK;
}

enum rc store_restart(struct store_put *p, struct err *err)
{
    struct sha256 unused;
    if (ftruncate(p->fd, 0) != 0 || lseek(p->fd, 0, SEEK_SET) != 0)
        return err_set(err, RC_IO, "", "cannot empty a file of the store: %s", strerror(errno));
    digest_take(p->digest, &unused);
    p->size = 0;
    p->floor_at = FLOOR_EVERY;
    p->sealed = false;
    return RC_OK;
}

void store_seal(struct store_put *p, struct sha256 *ret, int64_t *ret_size)
{
    if (!p->sealed)
        digest_take(p->digest, &p->sha);
    p->sealed = true;
    *ret = p->sha;
    *ret_size = p->size;
}

int store_put_fd(const struct store_put *p)
{
    return p->fd;
}

int64_t store_put_size(const struct store_put *p)
{
    return p->size;
}

static void put_free(struct store_put **p)
{
    fd_close(&(*p)->fd);
    digest_free(&(*p)->digest);
    free(*p);
    *p = NULL;
}

static enum rc prepare_name(const struct store_keep *k, struct err *err)
{
    const struct store_put *p = *k->put;
    char path[STORE_PATH_MAX];
    if (!p->sealed)
        return err_set(err, RC_INTERNAL, "", "an object must be sealed before it is kept");
    store_path(k->tier, &p->sha, path);
    return is_known(p->store, k->tier, &p->sha) ? RC_OK : make_parents(p->store, path, err);
}

static enum rc give_name(const struct store_keep *k, struct err *err)
{
    struct store_put *p = *k->put;
    char path[STORE_PATH_MAX], temp[sizeof TMP + sizeof p->name];
    if (!p->name[0])
        return RC_OK; /* by an earlier try, which failed later */
    store_path(k->tier, &p->sha, path);
    snprintf(temp, sizeof temp, TMP "/%s", p->name);
    if (renameat(p->store->dir, temp, p->store->dir, path) != 0)
        return err_set(err, RC_IO, "", "cannot name an object: %s", strerror(errno));
    p->name[0] = 0; /* nothing is left to remove */
    return RC_OK;
}

/* Many files and folders at once are cheaper with the whole filesystem. What others write to it
 * meanwhile is waited for too, which is why few are not. */
static void sync_all_or_die(const struct store *s)
{
    if (syncfs(s->dir) != 0)
        die_of_sync("filesystem");
}

static void sync_files(const struct store *s, const struct store_keep *k, size_t n)
{
    if (n >= SYNC_ALL_FROM) {
        sync_all_or_die(s);
        return;
    }
    for (size_t i = 0; i < n; i++)
        sync_or_die((*k[i].put)->fd, "file");
}

static enum rc sync_folders(const struct store *s, const struct store_keep *k, size_t n,
                            struct err *err)
{
    struct folders f = {.n = 0};
    for (size_t i = 0; i < n; i++)
        add_folders(&f, s, k[i].tier, &(*k[i].put)->sha);
    for (size_t i = 0; i < f.n; i++)
        TRY(sync_dir(s, f.path[i], err));
    return RC_OK;
}

static enum rc sync_names(struct store *s, const struct store_keep *k, size_t n, struct err *err)
{
    if (n >= SYNC_ALL_FROM)
        sync_all_or_die(s);
    else
        TRY(sync_folders(s, k, n, err));
    for (size_t i = 0; i < n; i++)
        set_known(s, k[i].tier, &(*k[i].put)->sha);
    return RC_OK;
}

enum rc store_keep_all(struct store *s, const struct store_keep *k, size_t n, struct err *err)
{
    if (n > STORE_KEEP_MAX)
        return err_set(err, RC_INTERNAL, "", "more than %d objects at once", STORE_KEEP_MAX);
    for (size_t i = 0; i < n; i++)
        TRY(prepare_name(&k[i], err));
    sync_files(s, k, n);
    for (size_t i = 0; i < n; i++)
        TRY(give_name(&k[i], err));
    TRY(sync_names(s, k, n, err));
    for (size_t i = 0; i < n; i++)
        put_free(k[i].put);
    return RC_OK;
}

enum rc store_keep(struct store_put **put, enum tier tier, struct err *err)
{
    return store_keep_all((*put)->store, &(struct store_keep){put, tier}, 1, err);
}

void store_drop(struct store_put **p)
{
    char path[sizeof TMP + sizeof(*p)->name];
    if (!*p)
        return;
    if ((*p)->fd >= 0 && (*p)->name[0]) {
        snprintf(path, sizeof path, TMP "/%s", (*p)->name);
        (void)unlinkat((*p)->store->dir, path, 0);
    }
    put_free(p);
}

/* ---- kept objects ---------------------------------------------------------------------------- */

enum rc store_read(struct store *s, enum tier tier, const struct sha256 *sha, int *ret_fd,
                   struct err *err)
{
    char path[STORE_PATH_MAX];
    store_path(tier, sha, path);
    int fd = openat(s->dir, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, errno == ENOENT ? RC_NOT_FOUND : RC_IO, "", "store/%s: %s", path,
                       strerror(errno));
    *ret_fd = fd;
    return RC_OK;
}

static void buffer_free(char **p)
{
    free(*p);
}

static enum rc hash_fd(int fd, struct digest *d, int64_t *ret_size, struct err *err)
{
    int64_t size = 0;
    ssize_t n = 0;
    CLEANUP(buffer_free) char *chunk = d ? malloc(CHUNK) : NULL;
    if (!chunk)
        return err_set(err, RC_NOMEM, "", "no memory to hash");
    while ((n = fd_read_all_at(fd, chunk, CHUNK, size)) > 0) {
        digest_add(d, chunk, (size_t)n);
        size += n;
    }
    if (n < 0)
        return err_set(err, RC_IO, "", "cannot read an object: %s", strerror(errno));
    *ret_size = size;
    return RC_OK;
}

enum rc store_check(struct store *s, enum tier tier, const struct sha256 *sha, int64_t size,
                    struct err *err)
{
    CLEANUP(fd_close) int fd = -1;
    CLEANUP(digest_free) struct digest *d = digest_new();
    struct sha256 got;
    int64_t there = 0;
    TRY(store_read(s, tier, sha, &fd, err));
    TRY(hash_fd(fd, d, &there, err));
    digest_take(d, &got);
    if (there == size && sha256_eq(&got, sha))
        return RC_OK;
    return err_set(err, RC_CORRUPT, "",
                   "an object of the store does not match its name: run "
                   "`freshet verify`");
}

enum rc store_delete(struct store *s, enum tier tier, const struct sha256 *sha, struct err *err)
{
    char path[STORE_PATH_MAX];
    store_path(tier, sha, path);
    if (unlinkat(s->dir, path, 0) != 0)
        return errno == ENOENT
                   ? RC_OK
                   : err_set(err, RC_IO, "", "cannot remove store/%s: %s", path, strerror(errno));
    *strrchr(path, '/') = 0;
    return sync_dir(s, path, err);
}
