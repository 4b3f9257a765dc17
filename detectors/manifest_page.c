/* manifest_page: which language a page is in, and how its facts become an entry. Pure. */
#include "detectors/manifest_page.h"

#include <fnmatch.h>
#include "detectors/manifest_url.h"
#include "detectors/shape.h"

/* ---- names ----------------------------------------------------------------------------------- */

static const struct name_row {
    size_t item_at, told_at;
    const char *names;
} name_rows[] = {
#define X(field, names)                                                                            \
    {offsetof(struct manifest_item, field), offsetof(struct source_manifest, field), names},
#include "detectors/manifest_names.def"
#undef X
};
_Static_assert(ARRAY_LEN(name_rows) == MANIFEST_NAMES, "rows of manifest_names.def");

const char **manifest_item_field(struct manifest_item *item, size_t i)
{
    return (const char **)((char *)item + name_rows[i].item_at);
}

const char *manifest_name_told(const struct source_manifest *options, size_t i)
{
    return *(const char *const *)((const char *)options + name_rows[i].told_at);
}

bool manifest_name_usual(size_t i, size_t nth, struct str *ret)
{
    struct str list = str_of(name_rows[i].names);
    do
        if (!str_next(&list, ' ', ret))
            return false;
    while (nth-- > 0);
    return true;
}

/* ---- the language ---------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum shape shape;
    enum rc (*read)(struct manifest_page *p, struct err *err);
} formats[MANIFEST_FORMATS] = {
    [MANIFEST_JSON] = {"json", SHAPE_json, manifest_json_read},
    [MANIFEST_CSV] = {"csv", SHAPE_csv, manifest_csv_read},
    [MANIFEST_S3] = {"s3", SHAPE_xml, manifest_s3_read},
    [MANIFEST_HTML] = {"html", SHAPE_html, manifest_html_read},
};

const char *manifest_format_name(enum manifest_format f)
{
    return formats[f].name;
}

static enum manifest_format sniff(struct str text)
{
    text = str_trim(str_skip_bom(text));
    if (str_starts(text, STR("{")) || str_starts(text, STR("[")))
        return MANIFEST_JSON;
    if (str_starts(text, STR("<?xml")) || str_starts(text, STR("<ListBucketResult")))
        return MANIFEST_S3;
    return str_starts(text, STR("<")) ? MANIFEST_HTML : MANIFEST_CSV;
}

/* What the source says; else the end of the URL, the Content-Type, the content. */
static enum manifest_format format_of(const struct manifest_page *p)
{
    enum shape shape = shape_expected("", p->url, p->content_type);
    for (int f = 0; f < MANIFEST_FORMATS; f++)
        if (p->options->format[0] && strcmp(formats[f].name, p->options->format) == 0)
            return (enum manifest_format)f;
    for (int f = 0; f < MANIFEST_FORMATS; f++)
        if (formats[f].shape == shape)
            return (enum manifest_format)f;
    return sniff(p->text);
}

enum rc manifest_page_read(struct manifest_page *p, struct err *err)
{
    p->next = "";
    p->format = format_of(p);
    const char *wrong = shape_wrong_text(formats[p->format].shape, p->text);
    if (wrong)
        return err_set(err, RC_INVALID, "", "%s", wrong);
    return formats[p->format].read(p, err);
}

/* ---- entries --------------------------------------------------------------------------------- */

static bool told(const char *text)
{
    return text && *text;
}

static bool is_wanted(const struct source_manifest *o, const char *key)
{
    if (o->include[0] && fnmatch(o->include, key, 0) != 0)
        return false;
    return !o->exclude[0] || fnmatch(o->exclude, key, 0) != 0;
}

/* The last part of a URL's path, decoded, where it is text. */
static const char *key_of_url(struct arena *a, const char *url)
{
    struct str s = {url, strcspn(url, "?#")};
    while (s.n > 0 && s.p[s.n - 1] == '/')
        s.n--;
    const char *slash = memrchr(s.p, '/', s.n);
    if (slash)
        s = (struct str){slash + 1, (size_t)(s.p + s.n - slash - 1)};
    const char *key = manifest_url_decode(a, s, false);
    bool text = key && str_is_clean(str_of(key)) && str_is_utf8(str_of(key));
    return text || !key ? key : arena_str(a, s);
}

static enum rc put_url(struct manifest_page *p, const struct manifest_item *item, const char *key,
                       struct listing_entry *e, struct err *err)
{
    char url[FETCH_URL_MAX];
    const char *ref = item->url;
    if (!told(ref)) {
        const char *folder = manifest_url_folder(p->scratch, p->final_url);
        const char *path = manifest_url_encode(p->scratch, key);
        ref = folder && path ? arena_printf(p->scratch, "%s%s", folder, path) : NULL;
    }
    if (!ref)
        return err_set(err, RC_NOMEM, "", "no memory for the page");
    if (fetch_url_join(p->final_url, ref, url, err) != RC_OK) {
        struct str name = str_of(key);
        name = str_is_utf8(name) && str_is_clean(name) ? str_cut(name, 100) : STR("?");
        return err_set(err, RC_INVALID, "manifest.exclude",
                       "entry %.*s leads to no http or https URL: exclude it", STR_FMT(name));
    }
    e->url = arena_strdup(p->scratch, url);
    return e->url ? RC_OK : err_set(err, RC_NOMEM, "", "no memory for the page");
}

/* What cannot be said exactly still tells one version from the next. */
static void put_inexact(struct listing_entry *e, const char *text)
{
    if (!told(e->version))
        e->version = text;
}

static void put_facts(const struct manifest_item *item, struct listing_entry *e)
{
    struct str sha = str_of(item->sha256);
    struct sha256 ignored;
    if (str_starts(sha, STR("sha256:")))
        sha = (struct str){sha.p + 7, sha.n - 7};
    bool is_sha = hex_decode(sha, ignored.b, 32) == RC_OK;
    bool is_size =
        told(item->size) && str_to_i64(str_of(item->size), &e->size) == RC_OK && e->size >= 0;
    e->version = item->version;
    e->etag = item->etag;
    e->last_modified = item->last_modified;
    e->sha256 = is_sha ? sha.p : NULL;
    e->size = is_size ? e->size : -1;
    if (!is_sha && told(item->sha256))
        put_inexact(e, item->sha256);
    if (!is_size && told(item->size) && strcmp(item->size, "-") != 0)
        put_inexact(e, item->size);
}

enum rc manifest_page_add(struct manifest_page *p, const struct manifest_item *item,
                          struct err *err)
{
    struct listing_entry e = {.size = -1};
    const char *key = item->key;
    if (!told(key) && told(item->url))
        key = key_of_url(p->scratch, item->url);
    if (!told(key))
        return err_set(err, RC_INVALID, "manifest.key",
                       "an entry has no key: name the member or column that tells entries apart");
    if (str_ends(str_of(key), STR("/")) || !is_wanted(p->options, key))
        return RC_OK;
    put_facts(item, &e);
    e.key = key;
    TRY(put_url(p, item, key, &e, err));
    return listing_add(p->to, &e, err);
}
