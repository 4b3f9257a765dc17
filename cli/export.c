/* export: answers of the route table, written as files.
 *
 * Invariants (those of export.h, and)
 *   1. A document is made once: what is there has been made.
 * Called by cmd_export.c. */
#include "cli/export.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/route.h"
#include "cli/export_links.h"
#include "core/fd.h"
#include "core/file.h"
#include "ledger/public_items.h"

#define MARK ".freshet-export" /* by which an export is known; its text is its format */
#define MARK_TEXT                                                                                  \
    "Made by freshet export, format 1. The whole folder is replaced by the next one.\n"
#define PAGE "1000"            /* datasets and changes read at once */
#define DOC_MEMORY (64u << 20) /* for one document and its rewritten form */
#define PARTIAL ".partial"

struct tree {
    const struct instance *inst;
    struct ledger *ledger;
    struct str base;
    int64_t now; /* of the newest public change: the clock is not in the bytes */
    int at;      /* the folder that is filled */
    export_fn *fn;
    void *ctx;
    int64_t total;
    struct export_counts n;
    struct buf index; /* rows of index.html */
};

/* ---- files ----------------------------------------------------------------------------------- */

static enum rc make_folders(const struct tree *t, const char *file, struct err *err)
{
    char path[EXPORT_PATH_MAX];
    for (const char *p = file; (p = strchr(p, '/')); p++) {
        snprintf(path, sizeof path, "%.*s", (int)(p - file), file);
        if (mkdirat(t->at, path, 0755) == 0 ? fchmodat(t->at, path, 0755, 0) != 0 : errno != EEXIST)
            return err_set(err, RC_IO, "", "cannot make %s: %s", path, strerror(errno));
    }
    return RC_OK;
}

static bool is_made(const struct tree *t, const char *file)
{
    return faccessat(t->at, file, F_OK, 0) == 0;
}

static enum rc put_file(struct tree *t, const char *file, struct str text, struct err *err)
{
    TRY(make_folders(t, file, err));
    int fd = openat(t->at, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd >= 0)
        (void)fchmod(fd, 0644); /* it is public, and a web server is often somebody else */
    bool whole = fd >= 0 && fd_write_all(fd, text);
    if (fd < 0 || close(fd) != 0 || !whole)
        return err_set(err, RC_IO, "", "cannot write %s: %s", file, strerror(errno));
    t->n.bytes += (int64_t)text.n;
    return RC_OK;
}

/* ---- answers --------------------------------------------------------------------------------- */

struct answer {
    struct arena arena;
    struct req r;
    struct resp w;
};

static void answer_release(struct answer *a)
{
    resp_release(&a->w);
    arena_release(&a->arena);
}

static enum rc ask(struct tree *t, struct answer *a, size_t memory, const char *path,
                   const char *query, struct err *err)
{
    arena_init(&a->arena, memory);
    resp_init(&a->w);
    a->r = (struct req){.arena = &a->arena,
                        .base = t->base,
                        .method = STR("GET"),
                        .path = str_of(path),
                        .query = str_of(query),
                        .accept = STR("*/*"),
                        .ledger = t->ledger,
                        .inst = t->inst,
                        .now = t->now};
    route_serve(&router_api, &a->r, &a->w);
    if (a->w.status != 200)
        return err_set(err, RC_INTERNAL, "", "%s%s%s answers %d", path, *query ? "?" : "", query,
                       a->w.status);
    return RC_OK;
}

/* The address of the next page, "" when there is none: from the Link header. */
static struct str next_page(const struct answer *a)
{
    struct str rest = buf_view(&a->w.headers), line;
    while (str_next(&rest, '\n', &line)) {
        const char *open = memchr(line.p, '<', line.n), *shut = memchr(line.p, '>', line.n);
        struct str rel = shut ? (struct str){shut + 1, line.n - (size_t)(shut + 1 - line.p)}
                              : (struct str){line.p, 0};
        if (open && str_starts(line, STR("Link:")) && str_starts(rel, STR("; rel=\"next\"")))
            return (struct str){open + 1, (size_t)(shut - open - 1)};
    }
    return STR("");
}

/* path?query as it is answered, into a file; further pages into file-2, file-3 before
 * the suffix. */
static enum rc put_pages(struct tree *t, const char *path, const char *query, const char *name,
                         const char *suffix, struct err *err)
{
    char file[EXPORT_PATH_MAX], ask_for[EXPORT_PATH_MAX];
    snprintf(ask_for, sizeof ask_for, "%s", query);
    for (int page = 1; ask_for[0] || page == 1; page++) {
        CLEANUP(answer_release) struct answer a = {0};
        TRY(ask(t, &a, DOC_MEMORY, path, ask_for, err));
        if (page == 1)
            snprintf(file, sizeof file, "%s%s", name, suffix);
        else
            snprintf(file, sizeof file, "%s-%d%s", name, page, suffix);
        TRY(put_file(t, file, buf_view(&a.w.body), err));
        t->n.files++;
        struct str next = next_page(&a);
        const char *mark = next.n ? memchr(next.p, '?', next.n) : NULL;
        snprintf(ask_for, sizeof ask_for, "%.*s", mark ? (int)(next.p + next.n - mark - 1) : 0,
                 mark ? mark + 1 : "");
    }
    return RC_OK;
}

/* ---- evidence -------------------------------------------------------------------------------- */

/* /prov/{run} in its three forms, /deltas/{d} as it is. The files are called like the address. */
static enum rc put_evidence(struct tree *t, struct str path, struct err *err)
{
    char from[EXPORT_PATH_MAX], file[EXPORT_PATH_MAX];
    if (!export_file_of(path, file) || is_made(t, file))
        return RC_OK;
    snprintf(from, sizeof from, "%.*s", STR_FMT(path));
    if (str_starts(path, STR("/deltas/"))) {
        t->n.deltas++;
        return put_pages(t, from, "", from + 1, ".json", err);
    }
    t->n.provenance++;
    TRY(put_pages(t, from, "f=provjson", from + 1, ".json", err));
    TRY(put_pages(t, from, "f=jsonld", from + 1, ".jsonld", err));
    return put_pages(t, from, "f=ttl", from + 1, ".ttl", err);
}

/* ---- STAC ------------------------------------------------------------------------------------ */

static enum rc put_stac(struct tree *t, struct str path, struct err *err);

/* What hangs below a document is made with it; evidence, too. Other files are made from above. */
static enum rc follow(void *ctx, struct str rel, struct str path, struct err *err)
{
    if (str_is(rel, "child") || str_is(rel, "item"))
        return put_stac(ctx, path, err);
    if (str_starts(path, STR("/prov/")) || str_starts(path, STR("/deltas/")))
        return put_evidence(ctx, path, err);
    return RC_OK;
}

static enum rc put_dataset(struct tree *t, struct str id, struct err *err)
{
    char from[EXPORT_PATH_MAX];
    snprintf(from, sizeof from, "/dcat/datasets/%.*s", STR_FMT(id));
    TRY(put_pages(t, from, "f=jsonld", from + 1, ".jsonld", err));
    TRY(put_pages(t, from, "f=ttl", from + 1, ".ttl", err));
    buf_printf(&t->index,
               "<li><a href=\"collections/%.*s/collection.json\">%.*s</a> "
               "(<a href=\"dcat/datasets/%.*s.ttl\">DCAT</a>)</li>\n",
               STR_FMT(id), STR_FMT(id), STR_FMT(id));
    t->n.collections++;
    return RC_OK;
}

static enum rc count_kind(struct tree *t, struct str path, struct err *err)
{
    struct str rest = path, name = {0}, kind = {0};
    for (int i = 0; i < 3; i++) /* "", stac, collections */
        if (!str_next(&rest, '/', &name))
            return RC_OK;
    if (!str_is(name, "collections") || !str_next(&rest, '/', &name))
        return RC_OK;
    if (!str_next(&rest, '/', &kind))
        return put_dataset(t, name, err);
    if (str_is(kind, "items"))
        t->fn(t->ctx, ++t->n.items, t->total);
    return RC_OK;
}

static enum rc put_stac(struct tree *t, struct str path, struct err *err)
{
    char file[EXPORT_PATH_MAX], from[EXPORT_PATH_MAX];
    struct buf out;
    if (!export_file_of(path, file) || is_made(t, file))
        return RC_OK;
    snprintf(from, sizeof from, "%.*s", STR_FMT(path));
    /* Its name is taken first: a document that led back to itself would end here. */
    TRY(put_file(t, file, STR(""), err));
    t->n.files++;
    CLEANUP(answer_release) struct answer a = {0};
    TRY(ask(t, &a, DOC_MEMORY, from, "", err));
    TRY(count_kind(t, str_of(from), err));
    buf_init(&out, RESP_BODY_MAX);
    enum rc rc = export_links(&a.arena, buf_view(&a.w.body), t->base, file, &out, follow, t, err);
    if (rc == RC_OK && (rc = buf_rc(&out)) != RC_OK)
        err_set(err, rc, "", "%s is too large", file);
    if (rc == RC_OK)
        rc = put_file(t, file, buf_view(&out), err);
    buf_release(&out);
    return rc;
}

/* ---- feed ------------------------------------------------------------------------------------ */

/* The evidence of one entry: also of changes that left no item, such as deletions. */
static enum rc put_entry(struct tree *t, yyjson_val *entry, struct err *err)
{
    static const char *const refs[] = {"prov_ref", "delta_manifest_ref"};
    for (size_t i = 0; i < ARRAY_LEN(refs); i++) {
        yyjson_val *v = yyjson_obj_get(entry, refs[i]);
        if (yyjson_is_str(v) && yyjson_get_len(v) > t->base.n)
            TRY(put_evidence(
                t, (struct str){yyjson_get_str(v) + t->base.n, yyjson_get_len(v) - t->base.n},
                err));
    }
    t->n.changes++;
    return RC_OK;
}

static enum rc put_lines(struct tree *t, const struct answer *a, struct err *err)
{
    struct str rest = buf_view(&a->w.body), line;
    while (str_next(&rest, '\n', &line)) {
        CLEANUP(arena_release) struct arena memory = {0};
        yyjson_val *entry = NULL;
        if (line.n == 0)
            continue;
        arena_init(&memory, DOC_MEMORY);
        TRY(json_parse(&memory, line, 0, "a change", &entry, err));
        TRY(put_entry(t, entry, err));
    }
    return put_file(t, "changes.ndjson", buf_view(&a->w.body), err);
}

static enum rc put_feed(struct tree *t, struct err *err)
{
    char query[96] = "since=0&f=ndjson&limit=" PAGE;
    TRY(put_file(t, "changes.ndjson", STR(""), err));
    t->n.files++;
    for (int64_t before = -1; before < t->n.changes;) {
        CLEANUP(answer_release) struct answer a = {0};
        before = t->n.changes;
        TRY(ask(t, &a, DOC_MEMORY, "/changes", query, err));
        TRY(put_lines(t, &a, err));
        struct str next = next_page(&a);
        const char *mark = next.n ? memchr(next.p, '?', next.n) : NULL;
        if (!mark)
            break;
        snprintf(query, sizeof query, "%.*s", (int)(next.p + next.n - mark - 1), mark + 1);
    }
    return RC_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum rc put_index(struct tree *t, struct err *err)
{
    struct buf out;
    buf_init(&out, RESP_BODY_MAX);
    buf_puts(
        &out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width\">"
        "<title>Freshet: the catalog as files</title></head><body><main>\n"
        "<h1>The catalog as files</h1>\n<p>What was published, in which versions, and why to "
        "trust it.</p>\n<ul>\n<li><a href=\"catalog.json\">STAC catalog</a></li>\n"
        "<li>DCAT: <a href=\"dcat/catalog.ttl\">Turtle</a>, "
        "<a href=\"dcat/catalog.jsonld\">JSON-LD</a>, <a href=\"data.json\">data.json</a></li>\n"
        "<li><a href=\"changes.ndjson\">Changes</a>, one per line, oldest first</li>\n</ul>\n"
        "<h2>Collections</h2>\n<ul>\n");
    buf_str(&out, buf_view(&t->index));
    buf_puts(&out, "</ul>\n</main></body></html>\n");
    enum rc rc = buf_rc(&out) == RC_OK && buf_rc(&t->index) == RC_OK
                     ? put_file(t, "index.html", buf_view(&out), err)
                     : err_set(err, RC_TOO_LARGE, "", "index.html would be too large");
    t->n.files++;
    buf_release(&out);
    return rc;
}

static enum rc put_all(struct tree *t, struct err *err)
{
    static const struct item_query all = {0};
    struct answer a = {0};
    struct public_meta m;
    arena_init(&a.arena, DOC_MEMORY);
    enum rc rc = public_meta_get(t->ledger, &a.arena, &m, err);
    t->now = rc == RC_OK ? m.changed_at : 0;
    if (rc == RC_OK)
        rc = public_item_count(t->ledger, &a.arena, &all, &t->total, err);
    arena_release(&a.arena);
    TRY(rc);
    TRY(put_file(t, MARK, STR(MARK_TEXT), err));
    TRY(put_stac(t, STR("/stac"), err));
    TRY(put_pages(t, "/dcat/catalog.jsonld", "limit=" PAGE, "dcat/catalog", ".jsonld", err));
    TRY(put_pages(t, "/dcat/catalog.ttl", "limit=" PAGE, "dcat/catalog", ".ttl", err));
    TRY(put_pages(t, "/data.json", "limit=" PAGE, "data", ".json", err));
    TRY(put_feed(t, err));
    return put_index(t, err);
}

/* May this folder be replaced? *ret_there: it has an export in it. */
static enum rc check_target(const char *dir, bool *ret_there, struct err *err)
{
    char mark[PATH_MAX];
    struct stat st;
    snprintf(mark, sizeof mark, "%s/" MARK, dir);
    *ret_there = lstat(mark, &st) == 0 && S_ISREG(st.st_mode);
    if (*ret_there || (lstat(dir, &st) != 0 && errno == ENOENT))
        return RC_OK;
    if (rmdir(dir) == 0) /* it was empty */
        return RC_OK;
    return err_set(err, RC_CONFLICT, "",
                   "%s is there and is no export. It is not touched: name another folder, or "
                   "remove it first",
                   dir);
}

/* The new tree takes the name; what had it before goes. */
static enum rc take_name(const char *partial, const char *dir, bool there, struct err *err)
{
    unsigned how = there ? RENAME_EXCHANGE : RENAME_NOREPLACE;
    if (renameat2(AT_FDCWD, partial, AT_FDCWD, dir, how) != 0)
        return err_set(err, RC_IO, "", "cannot give %s its name: %s", dir, strerror(errno));
    return there ? file_remove_tree(partial, err) : RC_OK;
}

static enum rc fill(struct tree *t, const char *partial, struct err *err)
{
    if (mkdir(partial, 0755) != 0 || chmod(partial, 0755) != 0)
        return err_set(err, RC_IO, "", "cannot make %s: %s", partial, strerror(errno));
    t->at = open(partial, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (t->at < 0)
        return err_set(err, RC_IO, "", "cannot open %s: %s", partial, strerror(errno));
    enum rc rc = ledger_read_begin(t->ledger, err);
    if (rc == RC_OK)
        rc = put_all(t, err);
    ledger_read_end(t->ledger);
    if (rc == RC_OK && syncfs(t->at) != 0)
        rc = err_set(err, RC_IO, "", "cannot write to the disk: %s", strerror(errno));
    close(t->at);
    return rc;
}

enum rc export_tree(const struct instance *inst, const char *dir, struct str base, export_fn *fn,
                    void *ctx, struct export_counts *ret, struct err *err)
{
    struct tree t = {.inst = inst, .base = base, .fn = fn, .ctx = ctx};
    CLEANUP(ledger_close) struct ledger *ledger = NULL;
    char partial[PATH_MAX];
    bool there;
    int n = snprintf(partial, sizeof partial, "%s" PARTIAL, dir);
    if (n < 0 || (size_t)n >= sizeof partial)
        return err_set(err, RC_INVALID, "", "the path is too long");
    TRY(check_target(dir, &there, err));
    TRY(ledger_open(inst->dir, LEDGER_READ, NULL, &ledger, err));
    t.ledger = ledger;
    TRY(file_remove_tree(partial, err)); /* left by one that was killed */
    buf_init(&t.index, RESP_BODY_MAX);
    enum rc rc = fill(&t, partial, err);
    if (rc == RC_OK)
        rc = take_name(partial, dir, there, err);
    struct err first = *err;
    if (rc != RC_OK && file_remove_tree(partial, err) != RC_OK)
        *err = first; /* why it failed is what counts */
    buf_release(&t.index);
    *ret = t.n;
    return rc;
}
