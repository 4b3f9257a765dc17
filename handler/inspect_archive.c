/* inspect_archive: what of an archive is read, and what counts by its bytes. */
#include "handler/inspect_archive.h"

#include <gdal/cpl_vsi.h>
#include <stdlib.h>
#include "core/digest.h"
#include "handler/inspect_crs.h"
#include "handler/inspect_gdal.h"
#include "handler/inspect_geojson.h"
#include "handler/inspect_zip.h"

#define PATH_ROOM (ZIP_NAME_MAX + 64)

struct archive {
    const char *path; /* GDAL's */
    struct zip zip;
};

static bool ends_in(struct str name, const char *ending)
{
    struct str e = str_of(ending);
    return name.n >= e.n && str_ieq((struct str){name.p + name.n - e.n, e.n}, e);
}

/* ---- what is read ---------------------------------------------------------------------------- */

static void path_of(const struct archive *z, const struct zip_entry *e, char path[PATH_ROOM])
{
    snprintf(path, PATH_ROOM, "/vsizip/{%s}/%.*s", z->path, STR_FMT(e->name));
}

static enum rc read_entry(struct inspect *in, const struct archive *z, enum inspect_format f,
                          const struct zip_entry *e)
{
    char path[PATH_ROOM];
    path_of(z, e, path);
    in->format = f;
    return inspect_gdal_set(in, f, path);
}

static enum rc read_json_entry(struct inspect *in, const struct archive *z,
                               const struct zip_entry *e, struct err *err)
{
    char path[PATH_ROOM];
    path_of(z, e, path);
    VSILFILE *f = VSIFOpenL(path, "rb");
    char *text = arena_alloc(in->arena, (size_t)e->inflated + 1);
    size_t n = f && text ? VSIFReadL(text, 1, (size_t)e->inflated, f) : 0;
    if (f)
        VSIFCloseL(f);
    if (!f || !text || n != (size_t)e->inflated) {
        inspect_problem(in, f && !text ? PROBLEM_TOO_LARGE : PROBLEM_PARSE_ERROR);
        return RC_OK;
    }
    in->bytes = (struct str){text, n};
    in->format = inspect_sniff(in->bytes);
    if (in->format == FORMAT_geojson || in->format == FORMAT_geojson_crs ||
        in->format == FORMAT_geojsonseq)
        return inspect_geojson_with(in, crs_of_geojson, err);
    in->format = FORMAT_zip;
    inspect_problem(in, PROBLEM_WRONG_SHAPE);
    return RC_OK;
}

/* ---- what of an archive nobody reads --------------------------------------------------------- */

static bool is_json(struct str name)
{
    return ends_in(name, ".geojson") || ends_in(name, ".json");
}

/* Does a .shp of the archive bear this name up to the ending? */
static bool is_of_shapefile(const struct archive *z, struct str name)
{
    for (size_t i = 0; i < z->zip.n; i++) {
        struct str shp = z->zip.entries[i].name;
        if (ends_in(shp, ".shp") && name.n > shp.n - 4 && name.p[shp.n - 4] == '.' &&
            str_eq((struct str){name.p, shp.n - 4}, (struct str){shp.p, shp.n - 4}))
            return true;
    }
    return false;
}

/* Read, or saying nothing that is not said elsewhere: indexes, and what describes the data. */
static bool is_accounted(const struct archive *z, enum inspect_format read,
                         const struct zip_entry *e, const struct zip_entry *json)
{
    static const char *const silent[] = {".xml", ".txt", ".md", ".html", ".htm", ".pdf", ".lyr"};
    for (size_t i = 0; i < ARRAY_LEN(silent); i++)
        if (ends_in(e->name, silent[i]))
            return true;
    return e == json || (read == FORMAT_shapefile && is_of_shapefile(z, e->name)) ||
           (read == FORMAT_kmz && ends_in(e->name, ".kml"));
}

static bool add_file(const struct archive *z, struct digest *sha, const struct zip_entry *e)
{
    char path[PATH_ROOM], chunk[65536], size[24];
    path_of(z, e, path);
    VSILFILE *f = VSIFOpenL(path, "rb");
    int64_t sum = 0;
    digest_add(sha, e->name.p, e->name.n);
    digest_add(sha, "", 1);
    for (size_t n; f && (n = VSIFReadL(chunk, 1, sizeof chunk, f)) > 0; sum += (int64_t)n)
        digest_add(sha, chunk, n);
    snprintf(size, sizeof size, "%lld", (long long)sum);
    digest_add(sha, size, strlen(size) + 1);
    if (f)
        VSIFCloseL(f);
    return f && sum == e->inflated;
}

static int by_entry_name(const void *x, const void *y)
{
    const struct zip_entry *a = *(const struct zip_entry *const *)x;
    const struct zip_entry *b = *(const struct zip_entry *const *)y;
    int d = memcmp(a->name.p, b->name.p, a->name.n < b->name.n ? a->name.n : b->name.n);
    return d ? d : (a->name.n > b->name.n) - (a->name.n < b->name.n);
}

static enum rc note_unread(struct inspect *in, const struct archive *z, enum inspect_format read,
                           const struct zip_entry *json)
{
    const struct zip_entry **list = arena_alloc(in->arena, (z->zip.n + 1) * sizeof *list);
    CLEANUP(digest_free) struct digest *sha = digest_new();
    size_t n = 0;
    if (!list || !sha)
        return RC_NOMEM;
    for (size_t i = 0; i < z->zip.n; i++)
        if (!is_accounted(z, read, &z->zip.entries[i], json))
            list[n++] = &z->zip.entries[i];
    qsort(list, n, sizeof *list, by_entry_name);
    for (size_t i = 0; i < n; i++)
        if (!add_file(z, sha, list[i])) {
            inspect_problem(in, PROBLEM_PARSE_ERROR);
            return RC_OK;
        }
    in->has_unread = n > 0;
    digest_take(sha, &in->unread);
    return RC_OK;
}

/* All shapefiles of the archive, or else all its KML, or its first GeoJSON. */
static enum rc read_entries(struct inspect *in, const struct archive *z, struct err *err)
{
    static const struct {
        const char *ending;
        enum inspect_format format;
    } kinds[] = {{".shp", FORMAT_shapefile}, {".kml", FORMAT_kmz}};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        bool found = false;
        for (size_t i = 0; i < z->zip.n; i++)
            if (ends_in(z->zip.entries[i].name, kinds[k].ending)) {
                TRY(read_entry(in, z, kinds[k].format, &z->zip.entries[i]));
                found = true;
            }
        if (found)
            return note_unread(in, z, kinds[k].format, NULL);
    }
    for (size_t i = 0; i < z->zip.n; i++)
        if (is_json(z->zip.entries[i].name)) {
            TRY(note_unread(in, z, FORMAT_zip, &z->zip.entries[i]));
            return read_json_entry(in, z, &z->zip.entries[i], err);
        }
    inspect_problem(in, PROBLEM_WRONG_SHAPE);
    return RC_OK;
}

enum rc inspect_archive(struct inspect *in, const char *path, struct err *err)
{
    static const enum inspect_problem problems[] = {[ZIP_BROKEN] = PROBLEM_PARSE_ERROR,
                                                    [ZIP_TOO_LARGE] = PROBLEM_TOO_LARGE,
                                                    [ZIP_UNSAFE] = PROBLEM_ARCHIVE_UNSAFE};
    struct archive z = {.path = path};
    enum zip_verdict verdict;
    enum rc rc = zip_read(in->arena, in->bytes, &verdict, &z.zip);
    if (rc == RC_OK && verdict == ZIP_OK)
        rc = read_entries(in, &z, err);
    else if (rc == RC_OK)
        inspect_problem(in, problems[verdict]);
    return rc == RC_NOMEM ? err_set(err, rc, "", "no memory for what an archive holds") : rc;
}
