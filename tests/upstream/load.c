/* load: scenario files into a world. Behind world.h. Errors name the file, the resource and the
 * field, since a scenario is written by hand. */
#include "tests/upstream/world.h"

#include <dirent.h>
#include <sys/stat.h>
#include "tests/upstream/generate.h"

#define VERSIONS_MAX 10000 /* of one resource, and as many scripted replies */
#define YEARS_MAX 100
#define FILES_MAX 1000
#define SCRATCH_MAX (256u << 20) /* the parsed JSON of one scenario */
#define BULK_SIZE_MAX (1 << 20)

static const char *const resource_keys[] = {"path",  "versions", "replies", "cycle",
                                            "years", "about",    NULL};
static const char *const bulk_keys[] = {"path", "count", "size", "seed", "kind", "about", NULL};
static const char *const inner_keys[] = {"about", NULL};

/* Puts where it happened in front of the message. */
static enum rc at(struct err *err, enum rc rc, const char *where)
{
    struct err inner = *err;
    if (rc == RC_OK)
        return rc;
    return err_set(err, rc, inner.field, "%s: %s", where, inner.msg);
}

static enum rc load_layers(struct world *w, yyjson_val *obj, const char *key, int year,
                           struct layer **ret, size_t *ret_n, struct err *err)
{
    yyjson_val *list = yyjson_obj_get(obj, key), *v;
    size_t n = yyjson_arr_size(list), i, max;
    char where[64];
    if (!list)
        return RC_OK;
    if (!yyjson_is_arr(list) || n == 0 || n > VERSIONS_MAX)
        return err_set(err, RC_INVALID, key, "must be a list of 1 to %d objects", VERSIONS_MAX);
    struct layer *layers = arena_alloc(&w->home.arena, n * sizeof *layers);
    if (!layers)
        return err_set(err, RC_NOMEM, key, "the scenarios hold too much");
    yyjson_arr_foreach(list, i, max, v)
    {
        enum rc rc = layer_parse(&w->home, v, inner_keys, year, &layers[i], err);
        snprintf(where, sizeof where, "%s[%zu]", key, i);
        if (rc != RC_OK)
            return at(err, rc, where);
    }
    *ret = layers;
    *ret_n = n;
    return RC_OK;
}

/* The path with {year} filled in. */
static enum rc path_of(struct world *w, const char *text, int year, const char **ret,
                       struct err *err)
{
    const char *mark = year ? strstr(text, "{year}") : NULL;
    if (year && !mark)
        return err_set(err, RC_INVALID, "path", "must hold {year} when `years` is given");
    const char *path = mark ? arena_printf(&w->home.arena, "%.*s%d%s", (int)(mark - text), text,
                                           year, mark + strlen("{year}"))
                            : text;
    if (!path)
        return err_set(err, RC_NOMEM, "path", "the scenarios hold too much");
    *ret = path;
    return RC_OK;
}

static enum rc load_one(struct world *w, yyjson_val *obj, const char *text, int year,
                        const char *what, struct err *err)
{
    struct resource *r;
    const char *path = NULL;
    enum rc rc;
    if ((rc = path_of(w, text, year, &path, err)) != RC_OK ||
        (rc = world_add(w, path, what, &r, err)) != RC_OK ||
        (rc = layer_parse(&w->home, obj, resource_keys, year, &r->base, err)) != RC_OK ||
        (rc = load_layers(w, obj, "versions", year, &r->versions, &r->n_versions, err)) != RC_OK ||
        (rc = load_layers(w, obj, "replies", year, &r->replies, &r->n_replies, err)) != RC_OK)
        return rc;
    return json_get_bool(obj, "cycle", &r->cycle, err);
}

static enum rc load_resource(struct world *w, yyjson_val *obj, const char *what, struct err *err)
{
    const char *path = NULL;
    yyjson_val *years = yyjson_obj_get(obj, "years"), *v;
    size_t i, max;
    enum rc rc = yyjson_is_obj(obj) ? json_get_str(obj, "path", &path, err) : RC_OK;
    if (rc != RC_OK)
        return rc;
    if (!path)
        return err_set(err, RC_INVALID, "path", "every resource needs one");
    if (!years)
        return at(err, load_one(w, obj, path, 0, what, err), path);
    if (!yyjson_is_arr(years) || yyjson_arr_size(years) > YEARS_MAX)
        return err_set(err, RC_INVALID, "years", "must be a list of at most %d years", YEARS_MAX);
    yyjson_arr_foreach(years, i, max, v)
    {
        int64_t year = yyjson_is_int(v) ? yyjson_get_sint(v) : 0;
        if (year < 1000 || year > 9999)
            return err_set(err, RC_INVALID, "years", "%s: must be years of four digits", path);
        rc = load_one(w, obj, path, (int)year, what, err);
        if (rc != RC_OK)
            return at(err, rc, path);
    }
    return RC_OK;
}

static enum rc bulk_numbers(yyjson_val *obj, struct bulk *b, struct err *err)
{
    int64_t count = 1000, size = 300, seed = 1;
    const char *kind = "json";
    enum rc rc;
    if ((rc = json_get_i64(obj, "count", 1, WORLD_BULK_MAX, &count, err)) != RC_OK ||
        (rc = json_get_i64(obj, "size", 0, BULK_SIZE_MAX, &size, err)) != RC_OK ||
        (rc = json_get_i64(obj, "seed", 0, INT64_MAX, &seed, err)) != RC_OK ||
        (rc = json_get_str(obj, "kind", &kind, err)) != RC_OK)
        return rc;
    CLEANUP(buf_release) struct buf probe = {0};
    buf_init(&probe, 4u << 20);
    if (generate_body(kind, 0, 1, &probe) != RC_OK)
        return err_set(err, RC_INVALID, "kind", "no such kind of generated body: %s", kind);
    b->count = (uint32_t)count;
    b->size = (size_t)size;
    b->seed = (uint64_t)seed;
    b->kind = kind;
    return RC_OK;
}

static enum rc load_bulk(struct world *w, yyjson_val *obj, struct err *err)
{
    struct bulk b = {0};
    const char *path = NULL;
    enum rc rc;
    if (!yyjson_is_obj(obj) || w->n_bulks == WORLD_BULKS_MAX)
        return err_set(err, RC_INVALID, "bulk", "must be an object, or at most %d of them",
                       WORLD_BULKS_MAX);
    if ((rc = json_get_str(obj, "path", &path, err)) != RC_OK ||
        (rc = bulk_numbers(obj, &b, err)) != RC_OK ||
        (rc = layer_parse(&w->home, obj, bulk_keys, 0, &b.base, err)) != RC_OK)
        return rc;
    const char *mark = path && *path == '/' ? strstr(path, "{n}") : NULL;
    if (!mark)
        return err_set(err, RC_INVALID, "path", "must start with / and hold {n}");
    char *copy = arena_strdup(&w->home.arena, path), *kind = arena_strdup(&w->home.arena, b.kind);
    b.versions = calloc(b.count, sizeof *b.versions);
    if (!copy || !kind || !b.versions) {
        free(b.versions);
        return err_set(err, RC_NOMEM, "bulk", "the scenarios hold too much");
    }
    b.path = copy;
    b.kind = kind;
    b.before = (struct str){copy, (size_t)(mark - path)};
    b.after = str_of(copy + (mark - path) + 3);
    w->bulks[w->n_bulks++] = b;
    return RC_OK;
}

static enum rc check_keys(yyjson_val *root, struct err *err)
{
    static const char known[] = " name about trap latency_ms resources bulk expect ";
    size_t i, max;
    yyjson_val *key, *v;
    if (!yyjson_is_obj(root))
        return err_set(err, RC_INVALID, "", "a scenario is a JSON object");
    yyjson_obj_foreach(root, i, max, key, v)
    {
        char word[64];
        snprintf(word, sizeof word, " %s ", yyjson_get_str(key));
        if (!strstr(known, word))
            return err_set(err, RC_INVALID, yyjson_get_str(key), "no such field; known are:%s",
                           known);
    }
    return RC_OK;
}

static enum rc load_root(struct world *w, yyjson_val *root, const char *what, struct err *err)
{
    yyjson_val *list = yyjson_obj_get(root, "resources"), *bulk = yyjson_obj_get(root, "bulk"), *v;
    size_t i, max;
    enum rc rc = check_keys(root, err);
    if (rc == RC_OK)
        rc = json_get_i64(root, "latency_ms", 0, 60000, &w->latency_ms, err);
    if (rc == RC_OK && list && !yyjson_is_arr(list))
        rc = err_set(err, RC_INVALID, "resources", "must be a list");
    yyjson_arr_foreach(list, i, max, v)
    {
        if (rc == RC_OK)
            rc = load_resource(w, v, what, err);
    }
    if (rc == RC_OK && bulk && !yyjson_is_arr(bulk))
        rc = load_bulk(w, bulk, err);
    yyjson_arr_foreach(bulk, i, max, v)
    {
        if (rc == RC_OK)
            rc = load_bulk(w, v, err);
    }
    return at(err, rc, what);
}

enum rc world_load_text(struct world *w, struct str text, const char *what, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    arena_init(&scratch, SCRATCH_MAX);
    yyjson_val *root = NULL;
    enum rc rc = json_parse(&scratch, text, JSON_RELAXED, what, &root, err);
    return rc == RC_OK ? load_root(w, root, what, err) : rc;
}

static enum rc load_file(struct world *w, const char *path, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    arena_init(&scratch, SCRATCH_MAX);
    yyjson_val *root = NULL;
    const char *slash = strrchr(path, '/');
    snprintf(w->home.dir, sizeof w->home.dir, "%.*s", slash ? (int)(slash - path) : 1,
             slash ? path : ".");
    enum rc rc = json_parse_file(&scratch, path, JSON_RELAXED, &root, err);
    return rc == RC_OK ? load_root(w, root, path, err) : rc;
}

static int is_scenario(const struct dirent *e)
{
    return e->d_name[0] != '.' && str_ends(str_of(e->d_name), STR(".json"));
}

enum rc world_load(struct world *w, const char *path, struct err *err)
{
    struct stat st;
    struct dirent **files = NULL;
    if (stat(path, &st) != 0)
        return err_set(err, RC_INVALID, "scenario", "cannot be read: %s", path);
    if (!S_ISDIR(st.st_mode))
        return load_file(w, path, err);
    int n = scandir(path, &files, is_scenario, alphasort);
    enum rc rc = n > 0 && n <= FILES_MAX ? RC_OK
                                         : err_set(err, RC_INVALID, "scenario",
                                                   "%s holds no (or too many) *.json", path);
    for (int i = 0; i < n; i++) {
        char name[1024];
        snprintf(name, sizeof name, "%s/%s", path, files[i]->d_name);
        if (rc == RC_OK)
            rc = load_file(w, name, err);
        free(files[i]);
    }
    free(files);
    return rc;
}

enum rc world_expect(const char *path, struct buf *out, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    arena_init(&scratch, SCRATCH_MAX);
    yyjson_val *root = NULL;
    enum rc rc = json_parse_file(&scratch, path, JSON_RELAXED, &root, err);
    if (rc != RC_OK)
        return rc;
    yyjson_mut_doc *d = json_doc(&scratch);
    yyjson_val *expect = yyjson_obj_get(root, "expect");
    yyjson_mut_val *list =
        yyjson_is_arr(expect) ? yyjson_val_mut_copy(d, expect) : yyjson_mut_arr(d);
    if (yyjson_is_obj(expect))
        yyjson_mut_arr_append(list, yyjson_val_mut_copy(d, expect));
    struct str text;
    yyjson_mut_doc_set_root(d, list);
    rc = json_write(&scratch, d, JSON_PRETTY, &text, err);
    if (rc == RC_OK)
        buf_str(out, text);
    return rc;
}
