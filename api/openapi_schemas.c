/* openapi_schemas: the files of schemas/ as parts of one document.
 *
 * Invariants
 *   1. A file refers to another by its file name, or to its own parts by #/...; both are turned to
 *      #/components/schemas/..., so that the document refers to nothing outside of itself.
 * Called by openapi.c. */
#include "api/openapi.h"

#include "core/embedded.h"

#define SUFFIX ".schema.json"
#define AT "#/components/schemas/"

static struct str name_of(const struct embedded *f)
{
    struct str s = str_of(f->name), tail = STR(SUFFIX);
    return str_ends(s, tail) ? (struct str){s.p, s.n - tail.n} : s;
}

static bool find_file(struct str name, size_t *ret)
{
    for (size_t i = 0; schemas_files[i].name && i < OPENAPI_SCHEMAS_MAX; i++)
        if (str_eq(name_of(&schemas_files[i]), name)) {
            *ret = i;
            return true;
        }
    return false;
}

static enum rc read_file(struct arena *a, size_t i, yyjson_val **ret, struct err *err)
{
    struct str text = {schemas_files[i].text, schemas_files[i].len};
    return json_parse(a, text, 0, schemas_files[i].name, ret, err);
}

/* What stands before ".schema.json" in a reference to another file; .n 0 for one to its
 * own parts. */
static struct str target_of(struct str ref)
{
    const char *at = memmem(ref.p, ref.n, SUFFIX, strlen(SUFFIX));
    return at ? (struct str){ref.p, (size_t)(at - ref.p)} : (struct str){ref.p, 0};
}

static bool is_ref(yyjson_val *key, yyjson_val *val)
{
    return yyjson_equals_str(key, "$ref") && yyjson_is_str(val);
}

/* ---- which ----------------------------------------------------------------------------------- */

static enum rc want_refs(struct openapi_schemas *s, struct arena *a, yyjson_val *v, struct err *err)
{
    yyjson_val *key, *val;
    yyjson_obj_iter members = yyjson_obj_iter_with(v);
    yyjson_arr_iter items = yyjson_arr_iter_with(v);
    while ((key = yyjson_obj_iter_next(&members))) {
        val = yyjson_obj_iter_get_val(key);
        struct str to = is_ref(key, val) ? target_of(json_text(val)) : STR("");
        if (to.n)
            TRY(openapi_want(s, a, to, err));
        else
            TRY(want_refs(s, a, val, err));
    }
    while ((val = yyjson_arr_iter_next(&items)))
        TRY(want_refs(s, a, val, err));
    return RC_OK;
}

enum rc openapi_want(struct openapi_schemas *s, struct arena *a, struct str name, struct err *err)
{
    size_t i;
    yyjson_val *doc = NULL;
    if (!find_file(name, &i))
        return err_set(err, RC_CORRUPT, "schemas", "there is no schemas/%.*s" SUFFIX,
                       STR_FMT(name));
    if (s->wanted[i])
        return RC_OK;
    s->wanted[i] = true;
    TRY(read_file(a, i, &doc, err));
    return want_refs(s, a, doc, err);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_ref(struct buf *out, struct str ref, struct str self)
{
    struct str to = target_of(ref);
    size_t cut = to.n ? to.n + strlen(SUFFIX) : 0; /* what is left is "#/..." or nothing */
    buf_puts(out, "\"" AT);
    buf_str(out, to.n ? to : self);
    if (ref.n > cut + 1)
        buf_str(out, (struct str){ref.p + cut + 1, ref.n - cut - 1});
    buf_byte(out, '"');
}

static void put_value(struct buf *out, yyjson_val *v, struct str self, bool top);

static void put_members(struct buf *out, yyjson_val *v, struct str self, bool top)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(v);
    yyjson_val *key;
    size_t n = 0;
    buf_byte(out, '{');
    while ((key = yyjson_obj_iter_next(&it))) {
        yyjson_val *val = yyjson_obj_iter_get_val(key);
        /* The document has one dialect and one base for references. */
        if (top && (yyjson_equals_str(key, "$schema") || yyjson_equals_str(key, "$id")))
            continue;
        buf_puts(out, n++ ? "," : "");
        json_put_str(out, json_text(key));
        buf_byte(out, ':');
        if (is_ref(key, val))
            put_ref(out, json_text(val), self);
        else
            put_value(out, val, self, false);
    }
    buf_byte(out, '}');
}

static void put_value(struct buf *out, yyjson_val *v, struct str self, bool top)
{
    char scalar[32];
    yyjson_arr_iter it;
    yyjson_val *item;
    if (yyjson_is_obj(v)) {
        put_members(out, v, self, top);
    } else if (yyjson_is_arr(v)) {
        it = yyjson_arr_iter_with(v);
        buf_byte(out, '[');
        for (size_t n = 0; (item = yyjson_arr_iter_next(&it)); n++) {
            buf_puts(out, n ? "," : "");
            put_value(out, item, self, false);
        }
        buf_byte(out, ']');
    } else if (yyjson_is_str(v)) {
        json_put_str(out, json_text(v));
    } else {
        buf_puts(out, json_scalar(v, scalar) ? scalar : "null");
    }
}

enum rc openapi_put_schemas(const struct openapi_schemas *s, struct buf *out, struct arena *a,
                            struct err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < OPENAPI_SCHEMAS_MAX && schemas_files[i].name; i++) {
        yyjson_val *doc = NULL;
        struct str name = name_of(&schemas_files[i]);
        if (!s->wanted[i])
            continue;
        TRY(read_file(a, i, &doc, err));
        buf_puts(out, n++ ? ",\"" : "\"");
        buf_str(out, name);
        buf_puts(out, "\":");
        put_value(out, doc, name, true);
    }
    return RC_OK;
}
