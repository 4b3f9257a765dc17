/* shape: see the header. One function per row of shapes.def. */
#include "detectors/shape.h"

#define PROBLEM_MEMBERS_MAX 8

/* ---- which shape ----------------------------------------------------------------------------- */

typedef const char *check_fn(const struct shape_view *v);
#define X(name, types, endings, check) static check_fn check;
#include "detectors/shapes.def"
#undef X

static const struct row {
    const char *name, *types, *endings;
    check_fn *check;
} rows[SHAPE_COUNT] = {
#define X(name, types, endings, check) [SHAPE_##name] = {#name, types, endings, check},
#include "detectors/shapes.def"
#undef X
};

static bool in_words(const char *words, struct str w)
{
    struct str list = str_of(words), item;
    while (str_next(&list, ' ', &item))
        if (str_ieq(item, w))
            return true;
    return false;
}

enum shape shape_of_type(const char *media_type)
{
    struct str rest = str_of(media_type), type, suffix;
    if (!str_next(&rest, ';', &type))
        return SHAPE_unknown;
    type = str_trim(type);
    for (int i = 1; i < SHAPE_COUNT; i++)
        if (in_words(rows[i].types, type))
            return (enum shape)i;
    const char *plus = memrchr(type.p, '+', type.n);
    if (!plus)
        return SHAPE_unknown;
    suffix = (struct str){plus + 1, (size_t)(type.p + type.n - plus - 1)};
    for (int i = 1; i < SHAPE_COUNT; i++)
        if (str_ieq(suffix, str_of(rows[i].name)))
            return (enum shape)i;
    return SHAPE_unknown;
}

static enum shape shape_of_url(const char *url)
{
    struct str path = {url, strcspn(url, "?#")};
    const char *dot = memrchr(path.p, '.', path.n), *slash = memrchr(path.p, '/', path.n);
    if (!dot || !slash || dot < slash)
        return SHAPE_unknown;
    struct str ending = {dot + 1, (size_t)(path.p + path.n - dot - 1)};
    for (int i = 1; i < SHAPE_COUNT; i++)
        if (in_words(rows[i].endings, ending))
            return (enum shape)i;
    return SHAPE_unknown;
}

enum shape shape_expected(const char *media_type, const char *url, const char *content_type)
{
    enum shape s = shape_of_type(media_type);
    if (s == SHAPE_unknown)
        s = shape_of_url(url);
    return s == SHAPE_unknown ? shape_of_type(content_type) : s;
}

enum shape shape_expected_again(const char *media_type, const char *url, const char *content_type,
                                const char *seen)
{
    enum shape s = shape_expected(media_type, url, "");
    if (s != SHAPE_unknown || !*seen)
        return s == SHAPE_unknown ? shape_of_type(content_type) : s;
    if (strcmp(seen, SHAPE_SEEN_GEOJSON) == 0)
        return SHAPE_json;
    for (int i = 1; i < SHAPE_COUNT; i++)
        if (strcmp(rows[i].name, seen) == 0)
            return (enum shape)i;
    s = shape_of_type(content_type); /* another kind, that no name is known for; but no web page */
    return s == SHAPE_html ? SHAPE_unknown : s;
}

/* ---- JSON, followed as it streams by --------------------------------------------------------- */

static void scan_outside(struct json_scan *s, char c)
{
    switch (c) {
    case ' ':
    case '\t':
    case '\r':
    case '\n': return;
    case '}':
    case ']':
        s->depth--;
        s->broken |= s->depth < 0;
        s->ended |= s->depth == 0;
        return;
    default: break;
    }
    s->broken |= s->ended; /* something follows the value */
    s->begun = true;
    s->in_string = c == '"';
    if (c == '{' || c == '[')
        s->depth++;
}

void json_scan_add(struct json_scan *s, struct str part)
{
    for (size_t i = 0; i < part.n; i++) {
        char c = part.p[i];
        if (!s->in_string)
            scan_outside(s, c);
        else if (s->escaped)
            s->escaped = false;
        else if (c == '\\')
            s->escaped = true;
        else if (c == '"')
            s->in_string = false;
    }
}

bool json_scan_whole(const struct json_scan *s)
{
    return s->begun && !s->in_string && !s->broken && s->depth == 0;
}

/* ---- sniffing -------------------------------------------------------------------------------- */

/* Without byte order mark and white space. */
static struct str start_of(struct str s)
{
    s = str_skip_bom(s);
    while (s.n > 0 && strchr(" \t\r\n\f", s.p[0]) && s.p[0] != '\0')
        s = (struct str){s.p + 1, s.n - 1};
    return s;
}

static bool starts_nocase(struct str s, const char *z)
{
    size_t n = strlen(z);
    return s.n >= n && str_ieq((struct str){s.p, n}, str_of(z));
}

/* What follows the prologue of a markup document: XML declaration, comments. */
static struct str skip_prologue(struct str s)
{
    bool comment;
    s = start_of(s);
    while ((comment = str_starts(s, STR("<!--"))) || str_starts(s, STR("<?"))) {
        const char *end = comment ? memmem(s.p, s.n, "-->", 3) : memmem(s.p, s.n, "?>", 2);
        if (!end)
            return s;
        end += comment ? 3 : 2;
        s = start_of((struct str){end, (size_t)(s.p + s.n - end)});
    }
    return s;
}

static bool is_html(struct str head)
{
    static const char *const starts[] = {"<!doctype html", "<html",   "<head", "<body",
                                         "<title",         "<script", "<meta"};
    struct str s = skip_prologue(head);
    for (size_t i = 0; i < ARRAY_LEN(starts); i++)
        if (starts_nocase(s, starts[i]))
            return true;
    return false;
}

/* ---- one check per shape --------------------------------------------------------------------- */

static uint32_t le32(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    return u[0] | (uint32_t)u[1] << 8 | (uint32_t)u[2] << 16 | (uint32_t)u[3] << 24;
}

/* The end record at p (at least 22 bytes): do its comment and its directory lie within the file? */
static bool zip_end_fits(const char *p, int64_t at, int64_t size)
{
    int64_t comment = (unsigned char)p[20] | (unsigned char)p[21] << 8;
    uint32_t dir_size = le32(p + 12), dir_at = le32(p + 16);
    bool zip64 = dir_size == UINT32_MAX || dir_at == UINT32_MAX;
    return at + 22 + comment <= size && (zip64 || (int64_t)dir_at + dir_size <= at);
}

static const char *wrong_zip(const struct shape_view *v)
{
    if (!str_starts(v->head, STR("PK\3\4")) && !str_starts(v->head, STR("PK\5\6")))
        return is_html(v->head) ? "HTML where a zip was expected"
                                : "no zip: it does not start like one";
    int64_t base = v->size - (int64_t)v->tail.n;
    for (size_t i = v->tail.n >= 22 ? v->tail.n - 22 + 1 : 0; i-- > 0;)
        if (memcmp(v->tail.p + i, "PK\5\6", 4) == 0 &&
            zip_end_fits(v->tail.p + i, base + (int64_t)i, v->size))
            return NULL;
    return "a zip without its end record: truncated";
}

static const char *const geojson_types[] = {
    "FeatureCollection", "Feature",         "Point",        "LineString",        "Polygon",
    "MultiPoint",        "MultiLineString", "MultiPolygon", "GeometryCollection"};

/* 401, "498", "error", "InvalidKey": as a code of an error says it. "OK" or 200 do not. */
static bool is_bad_code(yyjson_val *v)
{
    static const char *const words[] = {"error", "Error", "ERROR", "fail", "failed", "failure"};
    int64_t n;
    if (yyjson_is_int(v))
        return yyjson_get_sint(v) >= 400;
    if (!yyjson_is_str(v))
        return false;
    struct str s = json_text(v);
    return str_is_one_of(s, words, ARRAY_LEN(words)) || (str_to_i64(s, &n) == RC_OK && n >= 400);
}

/* RFC 9457 and what services make up: a code, and words about it. Data has more members. */
static bool is_problem(yyjson_val *doc)
{
    static const char *const codes[] = {"status", "code", "statusCode"}, *const words[] = {
                                                                             "message", "title",
                                                                             "detail", "details"};
    bool bad = false, told = false;
    if (yyjson_obj_size(doc) > PROBLEM_MEMBERS_MAX)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        bad |= is_bad_code(yyjson_obj_get(doc, codes[i]));
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        told |= yyjson_obj_get(doc, words[i]) != NULL;
    return bad && told;
}

bool shape_says_error(yyjson_val *doc)
{
    yyjson_val *error = yyjson_obj_get(doc, "error");
    bool said = error && !yyjson_is_null(error) && !yyjson_is_false(error);
    said = said || yyjson_is_false(yyjson_obj_get(doc, "success")) || is_problem(doc);
    return said && !yyjson_obj_get(doc, "features") &&
           !str_is_one_of(json_text(yyjson_obj_get(doc, "type")), geojson_types,
                          ARRAY_LEN(geojson_types));
}

/* Such documents are small. */
static bool is_error_document(const struct shape_view *v)
{
    if (v->size > (int64_t)v->tail.n || !str_starts(start_of(v->head), STR("{")))
        return false;
    struct arena a;
    arena_init(&a, 16u * SHAPE_TAIL);
    struct err err;
    yyjson_val *doc;
    bool yes =
        json_parse(&a, start_of(v->tail), 0, "body", &doc, &err) == RC_OK && shape_says_error(doc);
    arena_release(&a);
    return yes;
}

static const char *wrong_json(const struct shape_view *v)
{
    struct str s = start_of(v->head);
    if (is_html(s))
        return "HTML where JSON was expected";
    if (s.n == 0 || !strchr("{[\"-0123456789tfn", s.p[0]))
        return "no JSON: it does not start like it";
    if (!v->json_whole)
        return "the JSON is not whole: truncated, or something follows it";
    return is_error_document(v) ? "an error document with status 200" : NULL;
}

/* Errors of map servers (OGC) and object stores, said with status 200. Their root has a name that
 * no data has, behind a namespace or not. */
static bool is_error_report(struct str head)
{
    static const char *const roots[] = {"ServiceExceptionReport", "ExceptionReport", "Error"};
    struct str s = skip_prologue(head);
    if (!str_starts(s, STR("<")))
        return false;
    struct str name = {s.p + 1, 0};
    while (name.n + 1 < s.n && (s.p[name.n + 1] == '\0' || !strchr(" \t\r\n/>", s.p[name.n + 1])))
        name.n++;
    const char *colon = memchr(name.p, ':', name.n);
    if (colon)
        name = (struct str){colon + 1, (size_t)(name.p + name.n - colon - 1)};
    for (size_t i = 0; i < ARRAY_LEN(roots); i++)
        if (str_is(name, roots[i]))
            return true;
    return false;
}

static const char *wrong_csv(const struct shape_view *v)
{
    struct str s = start_of(v->head);
    if (is_html(s))
        return "HTML where a table was expected";
    if (str_starts(s, STR("<?xml")) || is_error_report(s))
        return "XML where a table was expected";
    if (str_starts(s, STR("{")))
        return "JSON where a table was expected";
    if (memchr(v->head.p, '\0', v->head.n) && !str_starts(v->head, STR("\xff\xfe")) &&
        !str_starts(v->head, STR("\xfe\xff")))
        return "binary data where a table was expected";
    return NULL;
}

static const char *wrong_xml(const struct shape_view *v)
{
    if (str_starts(v->head, STR("\xff\xfe")) || str_starts(v->head, STR("\xfe\xff")))
        return NULL; /* UTF-16: left to the inspector */
    struct str s = start_of(v->head);
    if (is_html(s))
        return "HTML where XML was expected";
    if (!str_starts(s, STR("<")))
        return "no XML: it does not start like it";
    if (is_error_report(s))
        return "an error document with status 200";
    return str_ends(str_trim(v->tail), STR(">")) ? NULL : "the XML does not end: truncated";
}

static const char *wrong_gzip(const struct shape_view *v)
{
    return str_starts(v->head, STR("\x1f\x8b")) ? NULL : "no gzip: it does not start like one";
}

static const char *wrong_gpkg(const struct shape_view *v)
{
    return str_starts(v->head, STR("SQLite format 3")) ? NULL
                                                       : "no database: it does not start like one";
}

static const char *wrong_pdf(const struct shape_view *v)
{
    return str_starts(v->head, STR("%PDF-")) ? NULL : "no PDF: it does not start like one";
}

static const char *wrong_always(const struct shape_view *v)
{
    (void)v;
    return "an error document with status 200";
}

static const char *wrong_never(const struct shape_view *v)
{
    (void)v;
    return NULL;
}

const char *shape_wrong(enum shape expected, const struct shape_view *v)
{
    if (v->size == 0)
        return "the body is empty";
    if (v->announced == SHAPE_problem)
        return wrong_always(v);
    if (expected != SHAPE_unknown)
        return rows[expected].check(v);
    /* Nothing is known of it, so a page that calls itself one is taken; in disguise it is not. */
    return v->announced != SHAPE_html && is_html(v->head) ? "HTML that is not called so" : NULL;
}

/* "type" and one of GeoJSON's, somewhere near the begin or the end: every feature says it. */
static bool tells_geojson(struct str s)
{
    const char *at;
    while ((at = memmem(s.p, s.n, "\"type\"", 6)) != NULL) {
        struct str rest = {at + 6, (size_t)(s.p + s.n - at - 6)};
        s = rest;
        rest = start_of(rest);
        if (!str_starts(rest, STR(":")))
            continue;
        rest = start_of((struct str){rest.p + 1, rest.n - 1});
        for (size_t i = 0; i < ARRAY_LEN(geojson_types); i++) {
            size_t n = strlen(geojson_types[i]);
            if (rest.n > n + 1 && rest.p[0] == '"' && rest.p[n + 1] == '"' &&
                memcmp(rest.p + 1, geojson_types[i], n) == 0)
                return true;
        }
    }
    return false;
}

const char *shape_seen(enum shape expected, const struct shape_view *v)
{
    if (expected == SHAPE_json)
        return tells_geojson(v->head) || tells_geojson(v->tail) ? SHAPE_SEEN_GEOJSON : "json";
    if (expected != SHAPE_unknown)
        return rows[expected].name;
    return is_html(v->head) ? "html" : SHAPE_SEEN_OTHER;
}

const char *shape_wrong_text(enum shape expected, struct str text)
{
    size_t head = text.n < SHAPE_HEAD ? text.n : SHAPE_HEAD;
    size_t tail = text.n < SHAPE_TAIL ? text.n : SHAPE_TAIL;
    struct json_scan scan = {0};
    if (expected == SHAPE_json)
        json_scan_add(&scan, text);
    struct shape_view v = {.head = {text.p, head},
                           .tail = {text.p + (text.n - tail), tail},
                           .size = (int64_t)text.n,
                           .json_whole = json_scan_whole(&scan),
                           .announced = expected};
    return shape_wrong(expected, &v);
}
