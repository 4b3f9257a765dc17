/* listing: see the header for the form and its invariants. Pure.
 *
 * Texts are written straight into the canonical form: member names come in the order of the table
 * below, which is the one that RFC 8785 wants. */
#include "core/listing.h"

#include "core/json.h"

#define LISTING_VERSION 1
#define SIZE_TOLD_MAX ((1LL << 53) - 1) /* beyond, a JSON number is rounded */

/* The texts of an entry, sorted by name; size stands between sha256 and url. */
static const struct field {
    const char *name;
    size_t at, longest;
    bool required;
} fields[] = {
    {"etag", offsetof(struct listing_entry, etag), LISTING_TEXT_MAX, false},
    {"key", offsetof(struct listing_entry, key), LISTING_KEY_MAX, true},
    {"last_modified", offsetof(struct listing_entry, last_modified), LISTING_TEXT_MAX, false},
    {"sha256", offsetof(struct listing_entry, sha256), SHA256_HEX - 1, false},
    {"size", 0, 0, false},
    {"url", offsetof(struct listing_entry, url), LISTING_URL_MAX, true},
    {"version", offsetof(struct listing_entry, version), LISTING_TEXT_MAX, false},
};

static bool is_size(const struct field *f)
{
    return f->longest == 0;
}

static const char **text_at(struct listing_entry *e, const struct field *f)
{
    return (const char **)((char *)e + f->at);
}

/* "" when it is not told. */
static const char *text_of(const struct listing_entry *e, const struct field *f)
{
    const char *text = *(const char *const *)((const char *)e + f->at);
    return text ? text : "";
}

/* ---- adding ---------------------------------------------------------------------------------- */

void listing_init(struct listing *l, struct arena *a)
{
    *l = (struct listing){.arena = a};
}

/* How messages name an entry: its key, cut, when it may stand there at all. */
static enum rc refuse(const struct listing_entry *e, const char *field, const char *why,
                      struct err *err)
{
    struct str key = str_of(e->key);
    bool shown = str_is_clean(key) && str_is_utf8(key);
    key = shown ? str_cut(key, 100) : STR("?");
    return err_set(err, RC_INVALID, field, "entry %.*s: %s %s", STR_FMT(key), field, why);
}

static enum rc check_text(const struct listing_entry *e, const struct field *f, struct err *err)
{
    struct str s = str_of(text_of(e, f));
    struct sha256 ignored;
    if (f->required && s.n == 0)
        return refuse(e, f->name, "is missing", err);
    if (s.n > f->longest)
        return refuse(e, f->name, "is too long", err);
    if (!str_is_clean(s) || !str_is_utf8(s))
        return refuse(e, f->name, "is not clean UTF-8", err);
    if (strcmp(f->name, "sha256") == 0 && s.n > 0 && hex_decode(s, ignored.b, 32) != RC_OK)
        return refuse(e, f->name, "is not 64 hex digits", err);
    return RC_OK;
}

static enum rc check_entry(const struct listing_entry *e, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (!is_size(&fields[i]))
            TRY(check_text(e, &fields[i], err));
    if (e->size < -1 || e->size > SIZE_TOLD_MAX)
        return refuse(e, "size", "is out of bounds", err);
    return RC_OK;
}

static bool copy_sha(struct arena *a, const char **sha)
{
    struct sha256 s;
    char *text = arena_alloc(a, SHA256_HEX);
    if (!text || hex_decode(str_of(*sha), s.b, 32) != RC_OK)
        return false;
    sha256_hex(&s, text);
    *sha = text;
    return true;
}

static bool copy_entry(struct arena *a, const struct listing_entry *e, struct listing_entry *ret)
{
    *ret = *e;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const char *text = text_of(e, &fields[i]);
        if (is_size(&fields[i]))
            continue;
        *text_at(ret, &fields[i]) = *text ? arena_strdup(a, text) : NULL;
        if (*text && !*text_at(ret, &fields[i]))
            return false;
    }
    return !ret->sha256 || copy_sha(a, &ret->sha256);
}

static bool make_room(struct listing *l)
{
    size_t room = l->room ? l->room * 2 : 64, one = sizeof *l->entries;
    void *more = arena_resize(l->arena, l->entries, l->room * one, room * one);
    if (!more)
        return false;
    l->entries = more;
    l->room = room;
    return true;
}

enum rc listing_add(struct listing *l, const struct listing_entry *e, struct err *err)
{
    TRY(check_entry(e, err));
    if (l->n == LISTING_MAX)
        return err_set(err, RC_TOO_LARGE, "entries", "there are more than %d", LISTING_MAX);
    if ((l->n == l->room && !make_room(l)) || !copy_entry(l->arena, e, &l->entries[l->n]))
        return err_set(err, RC_NOMEM, "entries", "no memory for more than %zu", l->n);
    l->n++;
    return RC_OK;
}

/* ---- closing --------------------------------------------------------------------------------- */

static int by_key(const void *x, const void *y)
{
    return strcmp(((const struct listing_entry *)x)->key, ((const struct listing_entry *)y)->key);
}

static bool field_same(const struct listing_entry *x, const struct listing_entry *y,
                       const struct field *f)
{
    return is_size(f) ? x->size == y->size : strcmp(text_of(x, f), text_of(y, f)) == 0;
}

static bool alike(const struct listing_entry *x, const struct listing_entry *y)
{
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (!field_same(x, y, &fields[i]))
            return false;
    return true;
}

enum rc listing_close(struct listing *l, struct err *err)
{
    size_t kept = 0;
    if (l->n > 0)
        qsort(l->entries, l->n, sizeof *l->entries, by_key);
    for (size_t i = 0; i < l->n; i++) {
        const struct listing_entry *e = &l->entries[i];
        if (kept == 0 || strcmp(l->entries[kept - 1].key, e->key) != 0)
            l->entries[kept++] = *e;
        else if (!alike(&l->entries[kept - 1], e))
            return refuse(e, "key", "is there twice, with different facts", err);
    }
    l->n = kept;
    return RC_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_entry(struct buf *out, const struct listing_entry *e)
{
    char sep = '{';
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const struct field *f = &fields[i];
        bool told = is_size(f) ? e->size >= 0 : *text_of(e, f);
        if (!told)
            continue;
        buf_byte(out, sep);
        json_put_str(out, str_of(f->name));
        buf_byte(out, ':');
        if (is_size(f))
            buf_printf(out, "%lld", (long long)e->size);
        else
            json_put_str(out, str_of(text_of(e, f)));
        sep = ',';
    }
    buf_byte(out, '}');
}

static void put_entries(struct buf *out, const struct listing *l)
{
    buf_byte(out, '[');
    for (size_t i = 0; i < l->n; i++) {
        if (i > 0)
            buf_byte(out, ',');
        put_entry(out, &l->entries[i]);
    }
    buf_byte(out, ']');
}

enum rc listing_write(const struct listing *l, struct buf *out, struct err *err)
{
    static const char no_digest[SHA256_HEX] =
        "0000000000000000000000000000000000000000000000000000000000000000";
    struct sha256 sha;
    char hex[SHA256_HEX];
    /* The checksum stands before what it is of, so its place is filled at the end. */
    buf_puts(out, "{\"checksum\":\"sha256:");
    size_t checksum_at = out->len;
    buf_printf(out, "%s\",\"count\":%zu,\"entries\":", no_digest, l->n);
    size_t entries_at = out->len;
    put_entries(out, l);
    size_t entries_end = out->len;
    buf_printf(out, ",\"listing_version\":%d}", LISTING_VERSION);
    if (buf_rc(out) != RC_OK)
        return err_set(err, buf_rc(out), "entries", "the listing exceeds %zu bytes", out->max);
    digest_sha256(out->data + entries_at, entries_end - entries_at, &sha);
    sha256_hex(&sha, hex);
    memcpy(out->data + checksum_at, hex, SHA256_HEX - 1);
    return RC_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static enum rc read_entry(yyjson_val *v, struct listing_entry *ret, struct err *err)
{
    struct listing_entry e = {.size = -1};
    if (!yyjson_is_obj(v))
        return err_set(err, RC_INVALID, "entries", "must hold objects with key and url");
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (is_size(&fields[i]))
            TRY(json_get_i64(v, "size", 0, SIZE_TOLD_MAX, &e.size, err));
        else
            TRY(json_get_str(v, fields[i].name, text_at(&e, &fields[i]), err));
    *ret = e;
    return RC_OK;
}

static enum rc read_entries(yyjson_val *list, struct listing *l, struct err *err)
{
    size_t i, n;
    yyjson_val *v;
    if (!yyjson_is_arr(list))
        return err_set(err, RC_INVALID, "entries", "is missing: a listing has a list of entries");
    yyjson_arr_foreach(list, i, n, v)
    {
        struct listing_entry e;
        TRY(read_entry(v, &e, err));
        TRY(listing_add(l, &e, err));
    }
    return listing_close(l, err);
}

static enum rc check_sum(const struct listing *l, const char *told, struct err *err)
{
    struct sha256 sha;
    char hex[SHA256_HEX];
    struct buf b;
    buf_init(&b, LISTING_BYTES_MAX);
    put_entries(&b, l);
    enum rc rc = buf_rc(&b);
    digest_sha256(buf_view(&b).p, b.len, &sha);
    buf_release(&b);
    if (rc != RC_OK)
        return err_set(err, rc, "checksum", "no memory to verify it");
    sha256_hex(&sha, hex);
    struct str s = str_of(told);
    if (!str_starts(s, STR("sha256:")) || strcmp(told + strlen("sha256:"), hex) != 0)
        return err_set(err, RC_CORRUPT, "checksum", "is not that of the entries, sha256:%s", hex);
    return RC_OK;
}

enum rc listing_read(struct arena *a, struct str text, struct listing *ret, struct err *err)
{
    struct listing l;
    yyjson_val *root;
    const char *checksum = NULL;
    int64_t count = -1, version = LISTING_VERSION;
    TRY(json_parse(a, text, 0, "listing", &root, err));
    if (!yyjson_is_obj(root))
        return err_set(err, RC_INVALID, "entries", "is missing: a listing is an object with it");
    TRY(json_get_i64(root, "listing_version", 1, LISTING_VERSION, &version, err));
    TRY(json_get_i64(root, "count", 0, LISTING_MAX, &count, err));
    TRY(json_get_str(root, "checksum", &checksum, err));
    listing_init(&l, a);
    TRY(read_entries(yyjson_obj_get(root, "entries"), &l, err));
    if (count >= 0 && (size_t)count != l.n)
        return err_set(err, RC_CORRUPT, "count", "is %lld, but there are %zu entries",
                       (long long)count, l.n);
    if (checksum)
        TRY(check_sum(&l, checksum, err));
    *ret = l;
    return RC_OK;
}

/* ---- comparing ------------------------------------------------------------------------------- */

bool listing_differs(const struct listing_entry *old, const struct listing_entry *now)
{
    if (strcmp(old->url, now->url) != 0)
        return true;
    if (old->sha256 && now->sha256)
        return strcmp(old->sha256, now->sha256) != 0;
    return !alike(old, now);
}

const char *listing_change_name(enum listing_change c)
{
    static const char *const names[] = {"added", "modified", "removed"};
    return names[c];
}

enum rc listing_diff(const struct listing *old, const struct listing *now, listing_diff_fn *fn,
                     void *ctx, struct err *err)
{
    size_t i = 0, j = 0;
    while (i < old->n || j < now->n) {
        const struct listing_entry *o = i < old->n ? &old->entries[i] : NULL;
        const struct listing_entry *n = j < now->n ? &now->entries[j] : NULL;
        int order = !n ? -1 : !o ? 1 : by_key(o, n);
        i += order <= 0;
        j += order >= 0;
        if (order < 0)
            TRY(fn(ctx, LISTING_REMOVED, o, NULL, err));
        else if (order > 0)
            TRY(fn(ctx, LISTING_ADDED, NULL, n, err));
        else if (listing_differs(o, n))
            TRY(fn(ctx, LISTING_MODIFIED, o, n, err));
    }
    return RC_OK;
}
