/* artifacts: renders the six files of a run, and keeps the folder of runs in order. */
#include "handler/artifacts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/fd.h"
#include "core/file.h"
#include "core/json.h"
#include "core/log.h"
#include "handler/prov_jsonld.h"

#define PLACE "runs/change-detection"
#define RUN_MEMORY_MAX (64u << 20)
#define FILES 6
#define HALF ".new" /* end of the name of a folder that is being made */

struct file {
    const char *name;
    struct str text;
};

static enum rc fail(struct err *err, const char *doing, const char *path)
{
    return err_set(err, RC_IO, "", "cannot %s %s: %s", doing, path, strerror(errno));
}

/* ---- rendering ------------------------------------------------------------------------------- */

/* A title is foreign text, and goes into a file that browsers and Markdown readers show. NULL:
 * no memory. */
static const char *plain(struct arena *a, const char *text)
{
    CLEANUP(buf_release) struct buf b = {0};
    buf_init(&b, RUN_MEMORY_MAX);
    for (const char *p = text; *p; p++) {
        if ((unsigned char)*p < ' ') /* a new line would begin a block */
            buf_byte(&b, ' ');
        else if (*p == '<' || *p == '>' || *p == '&')
            buf_puts(&b, *p == '<' ? "&lt;" : *p == '>' ? "&gt;" : "&amp;");
        else if (strchr("\\`*_{}[]()#+-.!|~", *p))
            buf_printf(&b, "\\%c", *p);
        else
            buf_byte(&b, *p);
    }
    return buf_rc(&b) == RC_OK ? arena_str(a, buf_view(&b)) : NULL;
}

static enum rc summary(struct arena *a, const struct outbox_run *r, struct str *ret,
                       struct err *err)
{
    yyjson_val *wal, *man, *det;
    TRY(json_parse(a, r->wal, 0, "a run", &wal, err));
    TRY(json_parse(a, r->manifest, 0, "a run", &man, err));
    TRY(json_parse(a, r->detector, 0, "a run", &det, err));
    const char *title = plain(a, r->title);
    if (!title)
        return err_set(err, RC_NOMEM, "", "no memory for a summary");
    char *text = arena_printf(
        a,
        "# %s: %s\n\n%s, version %lld, found by `%s` on %s, finalized %s.\n\n"
        "| | |\n|---|---|\n| run | `%s` |\n| event | `%s` |\n| class | %s |\n| sha256 | `%s` |\n"
        "| before | `%s` |\n| rules | %s |\n| policy | %s |\n\n"
        "Beside this file: `detector.json` (what was found), `wal.json` (the ledger's row), "
        "`manifest.json` (the version), `delta_manifest.json` (what changed), "
        "`provenance.prov.jsonld` (PROV-O).\n",
        r->source_id, json_member_text(wal, "change_type"), title,
        (long long)yyjson_get_sint(yyjson_obj_get(wal, "version")),
        json_member_text(det, "detector"), json_member_text(det, "detected_at"),
        json_member_text(wal, "finalized_at"), json_member_text(wal, "run_id"),
        json_member_text(wal, "change_event_id"), json_member_text(wal, "change_class"),
        json_member_text(man, "sha256"),
        *json_member_text(man, "previous_sha256") ? json_member_text(man, "previous_sha256")
                                                  : "nothing",
        json_member_text(wal, "rules_version"), json_member_text(wal, "policy_version"));
    if (!text)
        return err_set(err, RC_NOMEM, "", "no memory for a summary");
    *ret = str_of(text);
    return RC_OK;
}

static enum rc render(struct ledger *l, struct arena *a, const char *run_id,
                      struct file files[FILES], enum level *ret_level, struct err *err)
{
    struct outbox_run r;
    TRY(outbox_run(l, a, run_id, &r, err));
    *ret_level = r.level;
    files[0] = (struct file){"detector.json", r.detector};
    files[1] = (struct file){"wal.json", r.wal};
    files[2] = (struct file){"manifest.json", r.manifest};
    files[3] = (struct file){"delta_manifest.json", r.delta};
    files[4].name = "provenance.prov.jsonld";
    files[5].name = "summary.md";
    TRY(prov_jsonld(a, r.prov, &files[4].text, err));
    return summary(a, &r, &files[5].text, err);
}

/* ---- one folder ------------------------------------------------------------------------------ */

static bool same(const char *dir, const struct file *f)
{
    char path[PATH_MAX];
    struct buf b;
    struct err ignored;
    buf_init(&b, f->text.n + 1);
    int n = snprintf(path, sizeof path, "%s/%s", dir, f->name);
    bool is = n < (int)sizeof path && file_read(path, &b, &ignored) == RC_OK &&
              str_eq(buf_view(&b), f->text);
    buf_release(&b);
    return is;
}

static bool whole(const char *dir, const struct file files[FILES])
{
    for (size_t i = 0; i < FILES; i++)
        if (!same(dir, &files[i]))
            return false;
    return true;
}

static void remove_folder(const char *dir)
{
    char path[PATH_MAX];
    DIR *d = opendir(dir);
    const struct dirent *e;
    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.' &&
            snprintf(path, sizeof path, "%s/%s", dir, e->d_name) < (int)sizeof path)
            (void)unlink(path);
    if (d)
        closedir(d);
    (void)rmdir(dir);
}

/* Not synced: artifacts_settle does that for many at once. */
static enum rc put_file(const char *path, struct str text, mode_t mode, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    enum rc rc = fd >= 0 && fd_write_all(fd, text) ? RC_OK : fail(err, "write", path);
    if (fd >= 0 && close(fd) != 0 && rc == RC_OK)
        rc = fail(err, "write", path);
    return rc;
}

static enum rc write_folder(const char *dir, const struct file files[FILES], bool withheld,
                            struct err *err)
{
    char half[PATH_MAX], path[PATH_MAX + 64];
    if (snprintf(half, sizeof half, "%s" HALF, dir) >= (int)sizeof half)
        return err_set(err, RC_INVALID, "", "the path of a run is too long");
    remove_folder(half);
    if (mkdir(half, withheld ? 0700 : 0750) != 0)
        return fail(err, "make", half);
    for (size_t i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", half, files[i].name);
        TRY(put_file(path, files[i].text, withheld ? 0600 : 0640, err));
    }
    remove_folder(dir);
    return rename(half, dir) == 0 ? RC_OK : fail(err, "name", dir);
}

static enum rc place_of(struct arena *a, const struct instance *inst, const char *run_id,
                        char **ret, struct err *err)
{
    *ret = arena_printf(a, "%s/" PLACE "/%s", inst->dir, run_id);
    return *ret ? RC_OK : err_set(err, RC_NOMEM, "", "no memory for a path");
}

static void make_place(struct arena *a, const struct instance *inst)
{
    const char *runs = instance_path(a, inst, "runs"), *place = instance_path(a, inst, PLACE);
    if (runs && place) {
        (void)mkdir(runs, 0750);
        (void)mkdir(place, 0750);
    }
}

enum rc artifacts_write(const struct outbox_env *env, const char *run_id, struct err *err)
{
    struct file files[FILES] = {0};
    enum level level;
    char *dir;
    TRY(place_of(env->arena, env->inst, run_id, &dir, err));
    TRY(render(env->ledger, env->arena, run_id, files, &level, err));
    if (whole(dir, files))
        return RC_OK;
    make_place(env->arena, env->inst);
    return write_folder(dir, files, level >= LEVEL_RESTRICTED, err);
}

/* One sync for all folders since the last: file by file it took longer than to promote
 * the change. */
enum rc artifacts_settle(const struct instance *inst, struct err *err)
{
    char place[PATH_MAX];
    snprintf(place, sizeof place, "%s/" PLACE, inst->dir);
    int fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? RC_OK : fail(err, "open", place);
    if (syncfs(fd) != 0) { /* what is on disk now is unknown: as store.h 4 */
        log_event(LOG_ERROR, "artifacts.sync_failed", LOG_S("why", strerror(errno)));
        abort();
    }
    close(fd);
    return RC_OK;
}

/* ---- all of them ----------------------------------------------------------------------------- */

struct walk {
    struct ledger *l;
    const struct instance *inst;
    struct arena a;
    int64_t oldest, n; /* finalized before `oldest`: need no folder */
    bool mend;
    artifacts_problem_fn *fn;
    void *ctx;
};

static int64_t oldest_kept(const struct instance *inst, int64_t now)
{
    int64_t days = inst->conf.run_artifacts_days;
    return days ? now - days * DAY_MS : INT64_MIN;
}

static enum rc see_run(void *ctx, const char *run_id, int64_t at, bool pending, struct err *err)
{
    struct walk *w = ctx;
    struct file files[FILES] = {0};
    enum level level;
    char *dir, text[640];
    if (at < w->oldest || pending)
        return RC_OK;
    arena_reset(&w->a);
    TRY(place_of(&w->a, w->inst, run_id, &dir, err));
    enum rc rc = render(w->l, &w->a, run_id, files, &level, err);
    if (!w->mend && (rc == RC_NOT_FOUND || rc == RC_INVALID || rc == RC_CORRUPT)) {
        snprintf(text, sizeof text, "run %s: its folder cannot be made: %s", run_id, err->msg);
        w->fn(w->ctx, text);
        return RC_OK;
    }
    TRY(rc);
    w->n += !w->mend;
    if (whole(dir, files))
        return RC_OK;
    if (w->mend) {
        make_place(&w->a, w->inst);
        w->n++;
        return write_folder(dir, files, level >= LEVEL_RESTRICTED, err);
    }
    snprintf(text, sizeof text, "run %s lacks its artifacts, or has others: freshet rebuild",
             run_id);
    w->fn(w->ctx, text);
    return RC_OK;
}

static enum rc walk(struct walk *w, int64_t now, int64_t *ret_n, struct err *err)
{
    w->oldest = oldest_kept(w->inst, now);
    arena_init(&w->a, RUN_MEMORY_MAX);
    enum rc rc = outbox_each_run(w->l, see_run, w, err);
    arena_release(&w->a);
    *ret_n = w->n;
    return rc;
}

enum rc artifacts_check(struct ledger *l, const struct instance *inst, int64_t now,
                        artifacts_problem_fn *fn, void *ctx, int64_t *ret_n, struct err *err)
{
    struct walk w = {.l = l, .inst = inst, .fn = fn, .ctx = ctx};
    return walk(&w, now, ret_n, err);
}

enum rc artifacts_mend(struct ledger *l, const struct instance *inst, int64_t now, int64_t *ret_n,
                       struct err *err)
{
    struct walk w = {.l = l, .inst = inst, .mend = true};
    TRY(walk(&w, now, ret_n, err));
    return *ret_n ? artifacts_settle(inst, err) : RC_OK;
}

/* A run's time is in its id. Half-made ones of a writer that lives are younger than an hour. */
static bool may_go(struct ledger *l, const struct instance *inst, const char *name, int64_t now)
{
    char run[37];
    struct err ignored;
    int64_t at;
    snprintf(run, sizeof run, "%.36s", name);
    at = uuid7_time(run);
    if (at < 0)
        return false; /* not ours */
    if (strcmp(name + 36, HALF) == 0)
        return at < now - DAY_MS / 24;
    if (name[36])
        return false;
    if (at < oldest_kept(inst, now))
        return true;
    return outbox_knows(l, run, &ignored) == RC_NOT_FOUND;
}

enum rc artifacts_sweep(struct ledger *l, const struct instance *inst, int64_t now, bool dry,
                        artifacts_gone_fn *fn, void *ctx, int64_t *ret_n, struct err *err)
{
    char path[PATH_MAX];
    const struct dirent *e;
    *ret_n = 0;
    snprintf(path, sizeof path, "%s/" PLACE, inst->dir);
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT ? RC_OK : fail(err, "read", path);
    while ((e = readdir(d))) {
        if (strlen(e->d_name) < 36 || !may_go(l, inst, e->d_name, now))
            continue;
        ++*ret_n;
        snprintf(path, sizeof path, PLACE "/%s", e->d_name);
        if (fn)
            fn(ctx, path);
        snprintf(path, sizeof path, "%s/" PLACE "/%s", inst->dir, e->d_name);
        if (!dry)
            remove_folder(path);
    }
    closedir(d);
    return RC_OK;
}
