/* export_links: addresses of the api become files of the tree.
 *
 * Invariants
 *   1. Members keep their order, so that the same document makes the same bytes.
 * Called by export.c. */
#include "cli/export_links.h"

#include "cli/export.h"

struct links {
    yyjson_mut_doc *d;
    struct arena *a;
    struct str base;
    const char *file;
    export_ref_fn *fn;
    void *ctx;
};

/* X(address, file): {} stands for one name; a row with fewer names comes first. */
static const struct {
    const char *address, *file;
} table[] = {
    {"/stac", "catalog.json"},
    {"/stac/catalogs/{}", "catalogs/{}.json"},
    {"/stac/collections/{}", "collections/{}/collection.json"},
    {"/stac/collections/{}/items/{}", "collections/{}/items/{}.json"},
    {"/stac/collections/{}/years/{}", "collections/{}/years/{}.json"},
    {"/stac/collections/{}/years/{}/{}", "collections/{}/years/{}/{}.json"},
    {"/prov/{}", "prov/{}.json"},
    {"/deltas/{}", "deltas/{}.json"},
    {"/dcat/datasets/{}", "dcat/datasets/{}.jsonld"},
};

static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", s.p[i]))
            return false;
    return s.n > 0;
}

static bool match(struct str path, const char *pattern, struct str names[3])
{
    struct str rest = str_of(pattern), want, got;
    size_t n = 0;
    while (str_next(&rest, '/', &want)) {
        if (!str_next(&path, '/', &got))
            return false;
        bool any = str_is(want, "{}");
        if (any ? !is_name(got) : !str_eq(want, got))
            return false;
        if (any)
            names[n++] = got;
    }
    return path.n == 0;
}

static void fill(const char *pattern, const struct str names[3], char ret[EXPORT_PATH_MAX])
{
    size_t used = 0, n = 0;
    for (const char *p = pattern; *p && used < EXPORT_PATH_MAX - 1; p++)
        if (p[0] == '{' && p[1] == '}') {
            int more = snprintf(ret + used, EXPORT_PATH_MAX - used, "%.*s", STR_FMT(names[n]));
            used += more > 0 ? (size_t)more : 0;
            n++;
            p++;
        } else {
            ret[used++] = *p;
        }
    ret[used < EXPORT_PATH_MAX ? used : EXPORT_PATH_MAX - 1] = 0;
}

bool export_file_of(struct str path, char ret[EXPORT_PATH_MAX])
{
    struct str names[3] = {{0}};
    if (path.n > EXPORT_PATH_MAX / 2) /* names are at most 128 long */
        return false;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (match(path, table[i].address, names)) {
            fill(table[i].file, names, ret);
            return true;
        }
    return false;
}

/* The part after the base, when it is an address of the instance. */
static bool below(const struct links *x, struct str s, struct str *ret)
{
    if (s.n <= x->base.n || memcmp(s.p, x->base.p, x->base.n) != 0 || s.p[x->base.n] != '/')
        return false;
    *ret = (struct str){s.p + x->base.n, s.n - x->base.n};
    return true;
}

static enum rc set_relative(const struct links *x, yyjson_mut_val *v, struct str rel,
                            struct str path, const char *file, struct err *err)
{
    struct buf to;
    TRY(x->fn(x->ctx, rel, path, err));
    buf_init(&to, EXPORT_PATH_MAX * 2);
    buf_puts(&to, strchr(x->file, '/') ? "" : "./");
    for (const char *p = x->file; (p = strchr(p, '/')); p++)
        buf_puts(&to, "../");
    buf_puts(&to, file);
    const char *kept = buf_rc(&to) == RC_OK ? arena_str(x->a, buf_view(&to)) : NULL;
    buf_release(&to);
    if (!kept || !yyjson_mut_set_str(v, kept))
        return err_set(err, RC_NOMEM, "", "no memory for a link");
    return RC_OK;
}

static struct str text_of(yyjson_mut_val *v)
{
    const char *p = yyjson_mut_get_str(v);
    return p ? (struct str){p, yyjson_mut_get_len(v)} : STR("");
}

/* Which links of a document of the api mean nothing in a folder. */
static bool is_dropped(const struct links *x, yyjson_mut_val *link)
{
    char file[EXPORT_PATH_MAX];
    struct str href = text_of(yyjson_mut_obj_get(link, "href")), path;
    if (str_is(text_of(yyjson_mut_obj_get(link, "rel")), "self"))
        return true;
    return below(x, href, &path) && !export_file_of(path, file);
}

static enum rc walk(const struct links *x, yyjson_mut_val *v, struct str rel, struct err *err);

static enum rc walk_object(const struct links *x, yyjson_mut_val *v, struct err *err)
{
    struct str rel = text_of(yyjson_mut_obj_get(v, "rel"));
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(v);
    for (yyjson_mut_val *key; (key = yyjson_mut_obj_iter_next(&it));)
        TRY(walk(x, yyjson_mut_obj_iter_get_val(key), rel, err));
    return RC_OK;
}

static enum rc walk_array(const struct links *x, yyjson_mut_val *v, struct err *err)
{
    yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(v);
    for (yyjson_mut_val *item; (item = yyjson_mut_arr_iter_next(&it));)
        if (yyjson_mut_is_obj(item) && yyjson_mut_obj_get(item, "rel") && is_dropped(x, item))
            yyjson_mut_arr_iter_remove(&it);
        else
            TRY(walk(x, item, STR(""), err));
    return RC_OK;
}

static enum rc walk(const struct links *x, yyjson_mut_val *v, struct str rel, struct err *err)
{
    char file[EXPORT_PATH_MAX];
    struct str path;
    if (yyjson_mut_is_obj(v))
        return walk_object(x, v, err);
    if (yyjson_mut_is_arr(v))
        return walk_array(x, v, err);
    if (yyjson_mut_is_str(v) && below(x, text_of(v), &path) && export_file_of(path, file))
        return set_relative(x, v, rel, path, file, err);
    return RC_OK;
}

enum rc export_links(struct arena *a, struct str doc, struct str base, const char *file,
                     struct buf *out, export_ref_fn *fn, void *ctx, struct err *err)
{
    struct links x = {.a = a, .base = base, .file = file, .fn = fn, .ctx = ctx};
    yyjson_val *read = NULL;
    TRY(json_parse(a, doc, 0, "a document", &read, err));
    x.d = json_doc(a);
    yyjson_mut_val *root = x.d ? yyjson_val_mut_copy(x.d, read) : NULL;
    if (!root)
        return err_set(err, RC_NOMEM, "", "no memory for a document");
    yyjson_mut_doc_set_root(x.d, root);
    yyjson_mut_obj_remove_key(root, "conformsTo");
    TRY(walk(&x, root, STR(""), err));
    struct str text;
    TRY(json_write(a, x.d, JSON_PRETTY, &text, err));
    buf_str(out, text);
    return RC_OK;
}
