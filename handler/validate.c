/* validate: looks at a file, asks every rule, writes the report. A new rule is a row in rules.def
 * and a function in rules_bytes.c or rules_inspection.c. */
#include "handler/validate_internal.h"

#include <errno.h>
#include "core/fd.h"
#include "handler/facts.h"

#define HEAD_MAX (64 << 10)
#define TAIL_MAX (22 + 65535) /* a zip's end record and the longest comment behind it */
#define PARSE_MEMORY_MAX ((size_t)VALIDATE_PARSE_MAX * 32)

static const struct {
    const char *type, *types, *endings;
} kinds[KIND_COUNT] = {
    [KIND_any] = {"application/octet-stream", "", ""},
#define X(name, type, types, endings) [KIND_##name] = {type, types, endings},
#include "handler/kinds.def"
#undef X
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

static bool looks_like_json(const struct view *v)
{
    struct str s = str_skip_space(str_skip_bom(v->head));
    return s.n > 0 && (*s.p == '{' || *s.p == '[');
}

/* ---- rules ----------------------------------------------------------------------------------- */

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
    ssize_t got = fd_read_all_at(fd, out, n, at);
    if (got == (ssize_t)n)
        return RC_OK;
    return err_set(err, RC_IO, "", "cannot read the bytes to validate: %s",
                   got < 0 ? strerror(errno) : "the file is shorter than it was");
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
    if (v->size > VALIDATE_PARSE_MAX || v->now->geodata || rule_unread(v->now))
        return false;
    return v->kind == KIND_json || v->kind == KIND_geojson ||
           (v->kind == KIND_any && looks_like_json(v));
}

static enum rc parse(struct arena *a, int fd, struct view *v, struct err *err)
{
    struct str text;
    struct err why;
    TRY(read_part(a, fd, 0, v->size, &text, err));
    enum rc rc = json_parse(a, str_skip_bom(text), 0, "the data", &v->root, &why);
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
        r->failed += rules[i].verdict != VERDICT_PASS;
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
    r->has_bbox = v->now->has_bbox && rule_in_degrees(v->now);
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
                                .area_drift_pct = s->area_drift_pct,
                                .size_drift_pct = s->size_drift_pct,
                                .missing_pct = s->missing_pct};
    memcpy(ret->region, s->region_bbox, sizeof ret->region);
    ret->geodata = *s->feature_key || s->has_region || s->min_features > 0 || s->n_required > 0 ||
                   s->count_drift_pct >= 0 || s->area_drift_pct >= 0;
}

enum rc validate(struct arena *a, int fd, int64_t size, const struct expectation *e,
                 const struct summary *now, const struct summary *before, struct validation *ret,
                 struct err *err)
{
    CLEANUP(arena_release) struct arena work = {0};
    struct view v = {.expect = e, .size = size, .now = now, .before = before};
    arena_init(&work, PARSE_MEMORY_MAX);
    TRY(look(&work, fd, &v, err));
    return report(a, &v, ret, err);
}
