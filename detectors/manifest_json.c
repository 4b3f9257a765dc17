/* manifest_json: a listing as JSON: an array of objects or of texts, or an object by key. Pure.
 *
 * The entries are at manifest.items, else the document itself is the array, else the first array
 * among the members below. The next page is at manifest.next, else `next`, else the link (OGC API,
 * STAC) whose rel is next. */
#include "detectors/manifest_page.h"
#include "detectors/shape.h"

static const char *const usual_items[] = {"entries",  "items",   "files", "resources",
                                          "features", "objects", "data"};

static enum rc find_items(const struct manifest_page *p, yyjson_val *root, yyjson_val **ret,
                          struct err *err)
{
    yyjson_val *v = NULL;
    if (p->options->items[0]) {
        v = yyjson_ptr_get(root, p->options->items);
        if (!yyjson_is_ctn(v))
            return err_set(err, RC_INVALID, "manifest.items", "nothing to list at %.*s",
                           STR_CUT(p->options->items, 200));
    } else if (yyjson_is_arr(root)) {
        v = root;
    }
    for (size_t i = 0; !v && i < ARRAY_LEN(usual_items); i++)
        if (yyjson_is_arr(yyjson_obj_get(root, usual_items[i])))
            v = yyjson_obj_get(root, usual_items[i]);
    if (!v)
        return err_set(err, RC_INVALID, "manifest.items",
                       "no list of entries: say where it is with a JSON pointer");
    *ret = v;
    return RC_OK;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* NULL when v is no single value; a text with a NUL inside is refused later, as it is cut. */
static enum rc text_of(struct manifest_page *p, yyjson_val *v, const char **ret, struct err *err)
{
    char number[32];
    *ret = NULL;
    if (yyjson_is_str(v) && strlen(yyjson_get_str(v)) != yyjson_get_len(v))
        return err_set(err, RC_INVALID, "", "a text holds a NUL byte");
    if (yyjson_is_str(v))
        *ret = yyjson_get_str(v);
    else if (json_scalar(v, number) && !(*ret = arena_strdup(p->scratch, number)))
        return err_set(err, RC_NOMEM, "", "no memory for the page");
    return RC_OK;
}

static yyjson_val *member_nocase(yyjson_val *obj, struct str name)
{
    size_t i, n;
    yyjson_val *key, *val;
    yyjson_obj_foreach(obj, i, n, key, val)
    {
        if (str_ieq((struct str){yyjson_get_str(key), yyjson_get_len(key)}, name) &&
            !yyjson_is_ctn(val) && !yyjson_is_null(val))
            return val;
    }
    return NULL;
}

static enum rc read_field(struct manifest_page *p, yyjson_val *obj, size_t i,
                          struct manifest_item *item, struct err *err)
{
    const char *wanted = manifest_name_told(p->options, i);
    struct str name;
    yyjson_val *v = NULL;
    if (*wanted == '/')
        v = yyjson_ptr_get(obj, wanted);
    else if (*wanted)
        v = yyjson_obj_get(obj, wanted);
    if (yyjson_is_ctn(v))
        return err_set(err, RC_INVALID, "manifest", "%.*s is no single value in an entry",
                       STR_CUT(wanted, 100));
    for (size_t nth = 0; !*wanted && !v && manifest_name_usual(i, nth, &name); nth++)
        v = member_nocase(obj, name);
    return v ? text_of(p, v, manifest_item_field(item, i), err) : RC_OK;
}

/* An entry that is a single text: of ["a.zip"] where it is; of {"a.zip": "..."} that, or a digest,
 * or a version. */
static void read_bare(const char *text, bool keyed, struct manifest_item *item)
{
    bool absolute = strstr(text, "://") || text[0] == '/';
    if (!keyed || absolute)
        item->url = text;
    else
        item->sha256 = text; /* becomes the version when it is none */
    if (!keyed && !absolute)
        item->key = text;
}

/* key is NULL in an array. */
static enum rc read_item(struct manifest_page *p, yyjson_val *v, const char *key, struct err *err)
{
    struct manifest_item item = {0};
    const char *text;
    if (yyjson_is_arr(v) || yyjson_is_null(v))
        return err_set(err, RC_INVALID, "manifest.items", "an entry is no object and no text");
    if (yyjson_is_obj(v)) {
        for (size_t i = 0; i < MANIFEST_NAMES; i++)
            TRY(read_field(p, v, i, &item, err));
    } else {
        TRY(text_of(p, v, &text, err));
        read_bare(text ? text : "", key != NULL, &item);
    }
    item.key = key && !p->options->key[0] ? key : item.key;
    return manifest_page_add(p, &item, err);
}

static enum rc read_items(struct manifest_page *p, yyjson_val *items, struct err *err)
{
    size_t i, n;
    yyjson_val *key, *v;
    if (yyjson_is_arr(items)) {
        yyjson_arr_foreach(items, i, n, v) TRY(read_item(p, v, NULL, err));
        return RC_OK;
    }
    yyjson_obj_foreach(items, i, n, key, v)
    {
        const char *name;
        TRY(text_of(p, key, &name, err));
        TRY(read_item(p, v, name, err));
    }
    return RC_OK;
}

/* ---- the next page --------------------------------------------------------------------------- */

static yyjson_val *next_link(yyjson_val *root)
{
    size_t i, n;
    yyjson_val *link;
    yyjson_arr_foreach(yyjson_obj_get(root, "links"), i, n, link)
    {
        if (yyjson_equals_str(yyjson_obj_get(link, "rel"), "next"))
            return yyjson_obj_get(link, "href");
    }
    return NULL;
}

static enum rc find_next(struct manifest_page *p, yyjson_val *root, struct err *err)
{
    yyjson_val *v =
        p->options->next[0] ? yyjson_ptr_get(root, p->options->next) : yyjson_obj_get(root, "next");
    char url[FETCH_URL_MAX];
    const char *text;
    if (!v && !p->options->next[0])
        v = next_link(root);
    bool none = !v || yyjson_is_null(v) || yyjson_is_false(v) || yyjson_equals_str(v, "");
    if (none && yyjson_is_true(yyjson_obj_get(root, "exceededTransferLimit")))
        return err_set(err, RC_INVALID, "manifest.next", "there is more, but not said where");
    if (none)
        return RC_OK;
    if (!yyjson_is_str(v))
        return err_set(err, RC_INVALID, "manifest.next", "the next page is no URL");
    TRY(text_of(p, v, &text, err));
    if (fetch_url_join(p->final_url, text, url, err) != RC_OK)
        return err_set(err, RC_INVALID, "manifest.next", "the next page is no URL");
    p->next = arena_strdup(p->scratch, url);
    return p->next ? RC_OK : err_set(err, RC_NOMEM, "", "no memory for the page");
}

enum rc manifest_json_read(struct manifest_page *p, struct err *err)
{
    yyjson_val *root, *items;
    TRY(json_parse(p->scratch, p->text, 0, "the listing", &root, err));
    if (shape_says_error(root))
        return err_set(err, RC_INVALID, "", "an error document with status 200");
    TRY(find_items(p, root, &items, err));
    TRY(read_items(p, items, err));
    return find_next(p, root, err);
}
