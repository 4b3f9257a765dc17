/* validate: the first and the last bytes of a file, its JSON where it is no geodata, its inspection,
 * and a function per rule over them. A new rule is a row in rules.def and a function here. */
#include "handler/validate.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>
#include "handler/facts.h"

#define HEAD_MAX (64 << 10)
#define TAIL_MAX (22 + 65535) /* a zip's end record and the longest comment behind it */
#define CSV_LINES 20          /* enough to see that columns do not line up */
#define PARSE_MEMORY_MAX ((size_t)VALIDATE_PARSE_MAX * 32)

enum kind {
    KIND_any,
#define X(name, type, types, endings) KIND_##name,
#include "handler/kinds.def"
#undef X
    KIND_COUNT
};

static const struct {
    const char *type, *types, *endings;
} kinds[KIND_COUNT] = {
    [KIND_any] = {"application/octet-stream", "", ""},
#define X(name, type, types, endings) [KIND_##name] = {type, types, endings},
#include "handler/kinds.def"
#undef X
};

/* What the rules look at. */
struct view {
    const struct expectation *expect;
    int64_t size;
    struct str head, tail;
    enum kind kind; /* expected */
    bool parsed, parse_failed;
    yyjson_val *root;                   /* when parsed */
    const struct summary *now, *before; /* before NULL: no head */
};

const char *verdict_name(enum verdict v)
{
    static const char *const names[] = {"pass", "hold", "fail"};
    return names[v];
}

/* ---- kinds ----------------------------------------------------------------------------------- */

static bool in_list(const char *list, struct str word)
{
    struct str rest = str_of(list), item;
    while (str_next(&rest, ' ', &item))
        if (str_ieq(item, word))
            return true;
    return false;
}

static struct str type_alone(const char *media_type)
{
    struct str s = str_of(media_type), type = {"", 0};
    (void)str_next(&s, ';', &type);
    return str_trim(type);
}

/* "shp.zip" of https://host/a/shp.zip?x=1 ends in "zip". */
static struct str url_ending(const char *url)
{
    struct str path = {url, strcspn(url, "?#")};
    size_t i = path.n;
    while (i > 0 && path.p[i - 1] != '.' && path.p[i - 1] != '/')
        i--;
    if (i == 0 || path.p[i - 1] != '.')
        return STR("");
    return (struct str){path.p + i, path.n - i};
}

static enum kind expected_kind(const struct expectation *e)
{
    struct str type = type_alone(e->media_type);
    struct str ending = url_ending(e->url);
    for (int k = 1; k < KIND_COUNT; k++) {
        if (type.n > 0 ? in_list(kinds[k].types, type)
                       : ending.n > 0 && in_list(kinds[k].endings, ending))
            return (enum kind)k;
    }
    return KIND_any;
}

static struct str skip_space(struct str s)
{
    if (str_starts(s, STR("\xEF\xBB\xBF")))
        s.p += 3, s.n -= 3;
    while (s.n > 0 && (*s.p == ' ' || *s.p == '\t' || *s.p == '\r' || *s.p == '\n'))
        s.p++, s.n--;
    return s;
}

static bool looks_like_json(const struct view *v)
{
    struct str s = skip_space(v->head);
    return s.n > 0 && (*s.p == '{' || *s.p == '[');
}

static bool contains(struct str s, struct str word)
{
    for (size_t i = 0; i + word.n <= s.n; i++)
        if (str_ieq((struct str){s.p + i, word.n}, word))
            return true;
    return false;
}

static bool looks_like_html(struct str head)
{
    struct str s = skip_space(head);
    if (s.n == 0 || *s.p != '<')
        return false;
    if (s.n > 1024)
        s.n = 1024;
    return contains(s, STR("<!doctype html")) || contains(s, STR("<html"));
}

/* ---- rules ----------------------------------------------------------------------------------- */

static const char *rule_not_empty(const struct view *v)
{
    return v->size > 0 ? NULL : "there is not a single byte";
}

static const char *rule_size_cap(const struct view *v)
{
    return v->size <= v->expect->max_bytes ? NULL : "larger than the limit";
}

static const char *rule_no_html(const struct view *v)
{
    return looks_like_html(v->head) ? "a web page instead of data" : NULL;
}

static const char *rule_zip_begin(const struct view *v)
{
    bool ok = str_starts(v->head, STR("PK\x03\x04")) || str_starts(v->head, STR("PK\x05\x06"));
    return ok ? NULL : "does not start as a zip does";
}

/* The end record sits where its comment reaches exactly to the end of the file. */
static const char *rule_zip_end(const struct view *v)
{
    const unsigned char *t = (const unsigned char *)v->tail.p;
    for (size_t i = v->tail.n; i-- > 0;) {
        size_t left = v->tail.n - i;
        if (left < 22 || memcmp(t + i, "PK\x05\x06", 4) != 0)
            continue;
        if ((size_t)(t[i + 20] | t[i + 21] << 8) != left - 22)
            continue;
        return t[i + 10] | t[i + 11] ? NULL : "the zip holds no entries";
    }
    return "the zip has no end record: it is cut off";
}

/* Too large to parse: at least the ends must fit each other. */
static bool ends_match(const struct view *v)
{
    struct str head = skip_space(v->head), tail = str_trim(v->tail);
    if (head.n == 0 || tail.n == 0)
        return false;
    char last = tail.p[tail.n - 1];
    return (*head.p == '{' && last == '}') || (*head.p == '[' && last == ']');
}

static const char *rule_json_whole(const struct view *v)
{
    if (v->parse_failed)
        return "does not parse as JSON";
    return v->parsed || v->now->geodata || ends_match(v) ? NULL : "does not end as JSON does";
}

/* ArcGIS and its kin answer 200 with {"error":{"code":498,...}}. */
static const char *rule_json_no_error(const struct view *v)
{
    yyjson_val *e = v->parsed ? yyjson_obj_get(v->root, "error") : NULL;
    bool error = yyjson_obj_get(e, "code") || yyjson_obj_get(e, "message");
    return error ? "an error document of a service" : NULL;
}

static const char *rule_geojson_type(const struct view *v)
{
    bool other = v->now->geodata && !str_starts(str_of(v->now->format), STR("geojson"));
    return v->parsed || other ? "not of a GeoJSON type" : NULL;
}

static const char *rule_csv_text(const struct view *v)
{
    return memchr(v->head.p, 0, v->head.n) ? "a NUL byte in what should be text" : NULL;
}

static char csv_separator(struct str line)
{
    static const char choice[] = ",;\t|";
    char best = ',';
    size_t most = 0;
    for (const char *c = choice; *c; c++) {
        size_t n = 0;
        for (size_t i = 0; i < line.n; i++)
            n += line.p[i] == *c;
        if (n > most) {
            most = n;
            best = *c;
        }
    }
    return best;
}

/* Columns of the record that *s starts with; *s moves behind it. 0 when it is not complete. */
static size_t csv_record(struct str *s, char separator)
{
    size_t columns = 1;
    bool quoted = false;
    for (size_t i = 0; i < s->n; i++) {
        char c = s->p[i];
        if (c == '"')
            quoted = !quoted;
        else if (!quoted && c == separator)
            columns++;
        else if (!quoted && c == '\n') {
            s->p += i + 1;
            s->n -= i + 1;
            return columns;
        }
    }
    return 0;
}

static const char *rule_csv_columns(const struct view *v)
{
    struct str rest = skip_space(v->head), line = {"", 0}, look = rest;
    (void)str_next(&look, '\n', &line);
    char separator = csv_separator(line);
    size_t first = csv_record(&rest, separator);
    for (int i = 1; i < CSV_LINES && rest.n > 0; i++) {
        bool blank = *rest.p == '\n' || *rest.p == '\r';
        size_t columns = csv_record(&rest, separator);
        if (columns == 0)
            break;
        if (columns != first && !blank)
            return "the first lines differ in their number of columns";
    }
    return NULL;
}

static const char *rule_xml_begin(const struct view *v)
{
    return str_starts(skip_space(v->head), STR("<")) ? NULL : "does not start with a tag";
}

static const char *rule_gzip_begin(const struct view *v)
{
    return str_starts(v->head, STR("\x1f\x8b")) ? NULL : "does not start as gzip does";
}

static const char *rule_gpkg_begin(const struct view *v)
{
    bool ok = str_starts(v->head, STR("SQLite format 3\0"));
    return ok ? NULL : "does not start as an SQLite file does";
}

static const char *rule_pdf_begin(const struct view *v)
{
    return str_starts(v->head, STR("%PDF-")) ? NULL : "does not start as a PDF does";
}

/* ---- rules about the inspection ---------------------------------------------------------------- */

static const char *told(const struct view *v, enum inspect_problem p, const char *why)
{
    return v->now->problems[p] > 0 ? why : NULL;
}

static const char *rule_inspected(const struct view *v)
{
    return told(v, PROBLEM_INSPECTOR_CRASHED, "its inspection ended without a report");
}

static const char *rule_in_time(const struct view *v)
{
    return told(v, PROBLEM_TIME_LIMIT, "its inspection took longer than inspect_timeout_s");
}

static const char *rule_inspect_cap(const struct view *v)
{
    return told(v, PROBLEM_TOO_LARGE, "beyond a limit of the inspector");
}

static const char *rule_archive_safe(const struct view *v)
{
    return told(v, PROBLEM_ARCHIVE_UNSAFE, "names, links or sizes that no honest archive has");
}

static const char *rule_parses(const struct view *v)
{
    return told(v, PROBLEM_PARSE_ERROR, "does not parse as its format");
}

/* JSON that only mentions GeoJSON, an archive of texts: no harm, unless geodata is asked for. */
static const char *rule_has_geodata(const struct view *v)
{
    return v->expect->geodata && !v->now->geodata ? "no layer with features, no pixels" : NULL;
}

static bool in_degrees(const struct summary *s)
{
    const double *b = s->bbox;
    return b[0] >= -180 && b[1] >= -90 && b[2] <= 180 && b[3] <= 90;
}

static const char *rule_crs_known(const struct view *v)
{
    if (v->now->has_bbox && !in_degrees(v->now))
        return "coordinates are not degrees of longitude and latitude";
    return told(v, PROBLEM_CRS_MISSING_OR_INVALID, "cannot be brought to longitude and latitude");
}

static const char *rule_geometry_valid(const struct view *v)
{
    const char *why = told(v, PROBLEM_GEOMETRY_INVALID, "a geometry is not valid");
    return why ? why : told(v, PROBLEM_COORDINATES_OUT_OF_RANGE, "a coordinate is no place");
}

static const char *rule_inside_region(const struct view *v)
{
    const double *b = v->now->bbox, *r = v->expect->region;
    if (!v->expect->has_region || !v->now->has_bbox)
        return NULL;
    bool inside = b[0] >= r[0] && b[1] >= r[1] && b[2] <= r[2] && b[3] <= r[3];
    return inside ? NULL : "the data reaches out of the region of the source";
}

static const char *rule_min_features(const struct view *v)
{
    bool few = v->now->features >= 0 && v->now->features < v->expect->min_features;
    return few ? "fewer features than the source asks for" : NULL;
}

static const char *rule_key_there(const struct view *v)
{
    return told(v, PROBLEM_KEY_MISSING, "a feature has no value for the feature key");
}

static const char *rule_key_unique(const struct view *v)
{
    return told(v, PROBLEM_KEY_COLLISION, "two features have the same feature key");
}

/* From nothing to something is more than any limit; from nothing to nothing is none. */
static bool drifts(double before, double now, double limit_pct)
{
    return limit_pct >= 0 && fabs(now - before) * 100 > limit_pct * before;
}

static bool comparable(const struct view *v)
{
    return v->before && v->before->features >= 0 && v->now->features >= 0;
}

static const char *rule_count_drift(const struct view *v)
{
    if (!comparable(v) ||
        !drifts((double)v->before->features, (double)v->now->features, v->expect->count_drift_pct))
        return NULL;
    return "the number of features moved more than limits.count_drift_pct allows";
}

static const char *rule_area_drift(const struct view *v)
{
    if (!comparable(v) || !drifts(v->before->area_km2, v->now->area_km2, v->expect->area_drift_pct))
        return NULL;
    return "the area moved more than limits.area_drift_pct allows";
}

#define KIND(name) (1u << KIND_##name)
#define INSPECTED (1u << 31) /* any kind, when there was something to inspect */
#define ANY (~INSPECTED)
#define ANY_BUT(name) (ANY & ~KIND(name))
static const struct {
    const char *name, *reason;
    unsigned applies;
    enum verdict verdict;
    const char *(*broken)(const struct view *v);
} rules[] = {
#define X(name, applies, verdict, reason, help)                                                    \
    {#name, #reason, applies, VERDICT_##verdict, rule_##name},
#include "handler/rules.def"
#undef X
};
_Static_assert(ARRAY_LEN(rules) <= VALIDATE_REASONS_MAX, "every rule may be broken at once");

/* ---- the file -------------------------------------------------------------------------------- */

static enum rc read_at(int fd, char *out, size_t n, int64_t at, struct err *err)
{
    while (n > 0) {
        ssize_t got = pread(fd, out, n, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return err_set(err, RC_IO, "", "cannot read the bytes to validate: %s",
                           got < 0 ? strerror(errno) : "the file is shorter than it was");
        out += got;
        n -= (size_t)got;
        at += got;
    }
    return RC_OK;
}

static enum rc read_part(struct arena *a, int fd, int64_t at, int64_t n, struct str *ret,
                         struct err *err)
{
    char *p = arena_alloc(a, (size_t)n);
    if (!p)
        return err_set(err, RC_NOMEM, "", "no memory to validate");
    TRY(read_at(fd, p, (size_t)n, at, err));
    *ret = (struct str){p, (size_t)n};
    return RC_OK;
}

static bool wants_parsing(const struct view *v)
{
    if (v->size > VALIDATE_PARSE_MAX || v->now->geodata)
        return false;
    return v->kind == KIND_json || v->kind == KIND_geojson ||
           (v->kind == KIND_any && looks_like_json(v));
}

static enum rc parse(struct arena *a, int fd, struct view *v, struct err *err)
{
    struct str text;
    struct err why;
    TRY(read_part(a, fd, 0, v->size, &text, err));
    struct str body =
        str_starts(text, STR("\xEF\xBB\xBF")) ? (struct str){text.p + 3, text.n - 3} : text;
    enum rc rc = json_parse(a, body, 0, "the data", &v->root, &why);
    if (rc == RC_NOMEM)
        return err_set(err, RC_NOMEM, "", "no memory to parse the data");
    v->parsed = rc == RC_OK;
    v->parse_failed = !v->parsed;
    return RC_OK;
}

static enum rc look(struct arena *a, int fd, struct view *v, struct err *err)
{
    int64_t head = v->size < HEAD_MAX ? v->size : HEAD_MAX;
    int64_t tail = v->size < TAIL_MAX ? v->size : TAIL_MAX;
    TRY(read_part(a, fd, 0, head, &v->head, err));
    TRY(read_part(a, fd, v->size - tail, tail, &v->tail, err));
    v->kind = expected_kind(v->expect);
    return wants_parsing(v) ? parse(a, fd, v, err) : RC_OK;
}

/* Undeclared, with an address that tells nothing: what do the bytes say? */
static const char *told_type(const struct view *v)
{
    if (v->kind != KIND_any)
        return kinds[v->kind].type;
    if (v->now->geodata)
        return v->now->media_type;
    if (v->parsed)
        return kinds[KIND_json].type;
    if (!rule_zip_begin(v))
        return kinds[KIND_zip].type;
    if (!rule_gzip_begin(v))
        return kinds[KIND_gzip].type;
    if (!rule_gpkg_begin(v))
        return kinds[KIND_gpkg].type;
    if (!rule_pdf_begin(v))
        return kinds[KIND_pdf].type;
    return kinds[KIND_any].type;
}

/* ---- the report ------------------------------------------------------------------------------ */

static void add_reason(struct validation *r, const char *code)
{
    for (size_t i = 0; i < r->n_reasons; i++)
        if (strcmp(r->reasons[i], code) == 0)
            return;
    r->reasons[r->n_reasons++] = code;
}

static bool was_inspected(const struct view *v)
{
    const char *f = v->now->format;
    return v->expect->geodata || (*f && strcmp(f, "other") != 0);
}

static void apply_rules(const struct view *v, yyjson_mut_doc *d, yyjson_mut_val *list,
                        struct validation *r)
{
    unsigned applies = 1u << v->kind | (was_inspected(v) ? INSPECTED : 0);
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        if (!(rules[i].applies & applies))
            continue;
        const char *why = rules[i].broken(v);
        yyjson_mut_val *o = yyjson_mut_arr_add_obj(d, list);
        r->checks++;
        json_add_str(d, o, "rule", rules[i].name);
        json_add_str(d, o, "outcome", verdict_name(why ? rules[i].verdict : VERDICT_PASS));
        if (!why)
            continue;
        json_add_str(d, o, "reason", rules[i].reason);
        json_add_str(d, o, "detail", why);
        r->failed++;
        add_reason(r, rules[i].reason);
        if (rules[i].verdict <= r->outcome)
            continue;
        r->outcome = rules[i].verdict;
        r->reason = rules[i].reason;
    }
}

static void add_numbers(yyjson_mut_doc *d, yyjson_mut_val *o, const struct view *v,
                        struct validation *r)
{
    r->features = v->now->features;
    r->has_bbox = v->now->has_bbox && in_degrees(v->now);
    memcpy(r->bbox, v->now->bbox, sizeof r->bbox);
    if (r->features >= 0)
        yyjson_mut_obj_add_int(d, o, "features", r->features);
    else
        yyjson_mut_obj_add_null(d, o, "features");
    if (!r->has_bbox) {
        yyjson_mut_obj_add_null(d, o, "bbox");
        return;
    }
    yyjson_mut_val *box = yyjson_mut_obj_add_arr(d, o, "bbox");
    for (int i = 0; i < 4; i++)
        yyjson_mut_arr_add_real(d, box, r->bbox[i]);
}

static enum rc report(struct arena *a, const struct view *v, struct validation *ret,
                      struct err *err)
{
    struct validation r = {.outcome = VERDICT_PASS, .reason = "", .now = *v->now};
    yyjson_mut_doc *d = json_doc(a);
    yyjson_mut_val *o = yyjson_mut_obj(d), *list = yyjson_mut_arr(d);
    yyjson_mut_doc_set_root(d, o);
    apply_rules(v, d, list, &r);
    r.media_type = *v->expect->media_type ? v->expect->media_type : told_type(v);
    json_add_str(d, o, "rules_version", RULES_VERSION);
    json_add_str(d, o, "outcome", verdict_name(r.outcome));
    json_add_str(d, o, "media_type", r.media_type);
    yyjson_mut_obj_add_int(d, o, "size", v->size);
    yyjson_mut_obj_add_int(d, o, "checks", r.checks);
    yyjson_mut_obj_add_int(d, o, "failed", r.failed);
    yyjson_mut_val *codes = yyjson_mut_obj_add_arr(d, o, "reasons");
    for (size_t i = 0; i < r.n_reasons; i++)
        yyjson_mut_arr_add_str(d, codes, r.reasons[i]);
    add_numbers(d, o, v, &r);
    if (*v->now->format)
        yyjson_mut_obj_add_val(d, o, "inspection", summary_json(d, v->now));
    yyjson_mut_obj_add_val(d, o, "rules", list);
    TRY(json_write(a, d, 0, &r.report, err));
    *ret = r;
    return RC_OK;
}

void expectation_of(const struct source *s, int64_t max_bytes, struct expectation *ret)
{
    *ret = (struct expectation){.media_type = s->media_type,
                                .url = s->url,
                                .max_bytes = max_bytes,
                                .has_region = s->has_region,
                                .min_features = s->min_features,
                                .count_drift_pct = s->count_drift_pct,
                                .area_drift_pct = s->area_drift_pct};
    memcpy(ret->region, s->region_bbox, sizeof ret->region);
    ret->geodata = *s->feature_key || s->has_region || s->min_features > 0 ||
                   s->count_drift_pct >= 0 || s->area_drift_pct >= 0;
}

enum rc validate(struct arena *a, int fd, int64_t size, const struct expectation *e,
                 const struct summary *now, const struct summary *before, struct validation *ret,
                 struct err *err)
{
    CLEANUP(arena_release) struct arena work;
    struct view v = {.expect = e, .size = size, .now = now, .before = before};
    arena_init(&work, PARSE_MEMORY_MAX);
    TRY(look(&work, fd, &v, err));
    return report(a, &v, ret, err);
}
