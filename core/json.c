/* json: reading, checking, building and writing, with yyjson allocating from the arena.
 *
 * Invariants
 *   1. A parsed value is at most JSON_DEPTH_MAX deep, so that recursion over it is safe.
 *   2. An allocation that fails while a document is built is remembered in the document: yyjson
 *      would only leave the member out, and half a document must not be written.
 *   3. A parse error tells where, never what: foreign text does not reach messages and logs.
 * Called from everywhere. The canonical form is in json_canon.c. */
#include "core/json.h"

#include "core/clock.h"
#include "core/file.h"

/* ---- yyjson's allocator ---------------------------------------------------------------------- */

struct pool {
    struct arena *arena;
    bool failed;
};

static void *pool_malloc(void *ctx, size_t n)
{
    struct pool *pool = ctx;
    void *p = arena_alloc(pool->arena, n);
    pool->failed |= !p;
    return p;
}

static void *pool_realloc(void *ctx, void *p, size_t old, size_t n)
{
    struct pool *pool = ctx;
    void *fresh = arena_resize(pool->arena, p, old, n);
    pool->failed |= !fresh;
    return fresh;
}

static void pool_free(void *ctx, void *p)
{
    (void)ctx; /* the arena frees all together */
    (void)p;
}

static yyjson_alc pool_alc(struct pool *pool)
{
    return (yyjson_alc){pool_malloc, pool_realloc, pool_free, pool};
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool too_deep(yyjson_val *v, int left)
{
    size_t i, n;
    yyjson_val *key, *item;
    if (!yyjson_is_ctn(v))
        return false;
    if (left == 0)
        return true;
    yyjson_arr_foreach(v, i, n, item)
    {
        if (too_deep(item, left - 1))
            return true;
    }
    yyjson_obj_foreach(v, i, n, key, item)
    {
        if (too_deep(item, left - 1))
            return true;
    }
    return false;
}

static enum rc parse_error(struct str text, const char *what, const yyjson_read_err *why,
                           struct err *err)
{
    size_t line = 0, column = 0, chr = 0;
    if (why->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
        return err_set(err, RC_NOMEM, "", "%s does not fit into the memory limit", what);
    yyjson_locate_pos(text.p, text.n, why->pos, &line, &column, &chr);
    return err_set(err, RC_INVALID, "", "%s is not valid JSON: %s at line %zu, column %zu", what,
                   why->msg, line, column);
}

enum rc json_parse(struct arena *a, struct str text, unsigned flags, const char *what,
                   yyjson_val **ret, struct err *err)
{
    yyjson_read_flag how = YYJSON_READ_NOFLAG;
    yyjson_read_err why;
    struct pool pool = {.arena = a};
    yyjson_alc alc = pool_alc(&pool);
    if (text.n > JSON_MAX)
        return err_set(err, RC_TOO_LARGE, "", "%s is larger than %u bytes", what, JSON_MAX);
    if (flags & JSON_RELAXED)
        how = YYJSON_READ_ALLOW_COMMENTS | YYJSON_READ_ALLOW_TRAILING_COMMAS;
    /* Without YYJSON_READ_INSITU the text is copied, so the cast gives no write access. */
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text.p, text.n, how, &alc, &why);
    if (!doc)
        return parse_error(text, what, &why, err);
    if (too_deep(yyjson_doc_get_root(doc), JSON_DEPTH_MAX))
        return err_set(err, RC_INVALID, "", "%s is nested deeper than %d levels", what,
                       JSON_DEPTH_MAX);
    *ret = yyjson_doc_get_root(doc);
    return RC_OK;
}

enum rc json_parse_file(struct arena *a, const char *path, unsigned flags, yyjson_val **ret,
                        struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    buf_init(&text, JSON_MAX);
    enum rc rc = file_read(path, &text, err);
    if (rc != RC_OK)
        return rc;
    return json_parse(a, buf_view(&text), flags, path, ret, err);
}

/* ---- checked getters ------------------------------------------------------------------------- */

/* The member, or NULL where it is missing or null. */
static enum rc member(yyjson_val *obj, const char *key, yyjson_val **ret, struct err *err)
{
    if (obj && !yyjson_is_obj(obj))
        return err_set(err, RC_INVALID, key, "must be the member of an object");
    yyjson_val *v = yyjson_obj_get(obj, key);
    *ret = yyjson_is_null(v) ? NULL : v;
    return RC_OK;
}

enum rc json_read_str(yyjson_val *v, const char *key, const char **ret, struct err *err)
{
    if (!yyjson_is_str(v))
        return err_set(err, RC_INVALID, key, "must be a string");
    if (!str_is_clean((struct str){yyjson_get_str(v), yyjson_get_len(v)}))
        return err_set(err, RC_INVALID, key, "must not hold control characters");
    *ret = yyjson_get_str(v);
    return RC_OK;
}

enum rc json_get_str(yyjson_val *obj, const char *key, const char **ret, struct err *err)
{
    yyjson_val *v;
    TRY(member(obj, key, &v, err));
    return v ? json_read_str(v, key, ret, err) : RC_OK;
}

/* JSON knows one kind of number: 3e2 is as whole as 300. */
static bool whole(yyjson_val *v, int64_t *ret)
{
    double d = yyjson_get_num(v);
    if (yyjson_is_sint(v) || (yyjson_is_uint(v) && yyjson_get_uint(v) <= INT64_MAX)) {
        *ret = yyjson_get_sint(v);
        return true;
    }
    if (!yyjson_is_real(v) || d < -0x1p53 || d > 0x1p53 || (double)(int64_t)d != d)
        return false;
    *ret = (int64_t)d;
    return true;
}

enum rc json_read_i64(yyjson_val *v, const char *key, int64_t min, int64_t max, int64_t *ret,
                      struct err *err)
{
    int64_t n;
    if (!whole(v, &n) || n < min || n > max)
        return err_set(err, RC_INVALID, key, "must be a whole number between %lld and %lld",
                       (long long)min, (long long)max);
    *ret = n;
    return RC_OK;
}

enum rc json_get_i64(yyjson_val *obj, const char *key, int64_t min, int64_t max, int64_t *ret,
                     struct err *err)
{
    yyjson_val *v;
    TRY(member(obj, key, &v, err));
    return v ? json_read_i64(v, key, min, max, ret, err) : RC_OK;
}

enum rc json_get_num(yyjson_val *obj, const char *key, double *ret, struct err *err)
{
    yyjson_val *v;
    enum rc rc = member(obj, key, &v, err);
    if (rc != RC_OK || !v)
        return rc;
    if (!yyjson_is_num(v))
        return err_set(err, RC_INVALID, key, "must be a number");
    *ret = yyjson_get_num(v);
    return RC_OK;
}

enum rc json_get_bool(yyjson_val *obj, const char *key, bool *ret, struct err *err)
{
    yyjson_val *v;
    enum rc rc = member(obj, key, &v, err);
    if (rc != RC_OK || !v)
        return rc;
    if (!yyjson_is_bool(v))
        return err_set(err, RC_INVALID, key, "must be true or false");
    *ret = yyjson_get_bool(v);
    return RC_OK;
}

/* ---- building -------------------------------------------------------------------------------- */

yyjson_mut_doc *json_doc(struct arena *a)
{
    struct pool *pool = ARENA_NEW(a, struct pool);
    if (!pool)
        return NULL;
    pool->arena = a;
    yyjson_alc alc = pool_alc(pool);
    return yyjson_mut_doc_new(&alc);
}

static struct pool *pool_of(const yyjson_mut_doc *d)
{
    return d && d->alc.malloc == pool_malloc ? d->alc.ctx : NULL;
}

enum rc json_doc_rc(const yyjson_mut_doc *d)
{
    const struct pool *pool = pool_of(d);
    return !d || (pool && pool->failed) ? RC_NOMEM : RC_OK;
}

void json_add_str(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, const char *s)
{
    if (s)
        yyjson_mut_obj_add_strcpy(d, obj, key, s);
    else
        yyjson_mut_obj_add_null(d, obj, key);
}

void json_add_count(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, int64_t n)
{
    if (n >= 0)
        yyjson_mut_obj_add_int(d, obj, key, n);
    else
        yyjson_mut_obj_add_null(d, obj, key);
}

void json_add_time(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, int64_t at_ms)
{
    char text[TIME_MAX];
    time_format(at_ms, text);
    json_add_str(d, obj, key, at_ms < 0 ? NULL : text);
}

void json_add_raw(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, struct str json)
{
    yyjson_mut_obj_add_val(d, obj, key, yyjson_mut_rawncpy(d, json.p, json.n));
}

yyjson_mut_val *json_fmt(yyjson_mut_doc *d, const char *fmt, ...)
{
    struct pool *pool = pool_of(d);
    if (!pool)
        return NULL;
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(pool->arena, fmt, ap);
    va_end(ap);
    pool->failed |= !text;
    return yyjson_mut_str(d, text);
}

/* ---- writing --------------------------------------------------------------------------------- */

enum rc json_write(struct arena *a, const yyjson_mut_doc *d, unsigned flags, struct str *ret,
                   struct err *err)
{
    yyjson_write_flag how = YYJSON_WRITE_NOFLAG;
    yyjson_write_err why = {0};
    struct pool pool = {.arena = a};
    yyjson_alc alc = pool_alc(&pool);
    size_t n = 0;
    char *text = NULL;
    if (flags & JSON_PRETTY)
        how = YYJSON_WRITE_PRETTY_TWO_SPACES | YYJSON_WRITE_NEWLINE_AT_END;
    if (json_doc_rc(d) == RC_OK)
        text = yyjson_mut_write_opts(d, how, &alc, &n, &why);
    if (!text && (json_doc_rc(d) != RC_OK || pool.failed))
        return err_set(err, RC_NOMEM, "", "the document does not fit into the memory limit");
    if (!text)
        return err_set(err, RC_INTERNAL, "", "the document cannot be written: %s", why.msg);
    *ret = (struct str){text, n};
    return RC_OK;
}

yyjson_val *json_fixed(struct arena *a, yyjson_mut_doc *d)
{
    struct pool pool = {.arena = a};
    yyjson_alc alc = pool_alc(&pool);
    return json_doc_rc(d) == RC_OK ? yyjson_doc_get_root(yyjson_mut_doc_imut_copy(d, &alc)) : NULL;
}
