/* source_parse: from a JSON declaration to a checked struct source and its canonical spec.
 * Plain fields come from source_fields.def; the functions here read the structured ones.
 */
#include "ledger/source.h"
#include "ledger/source_check.h"

static const char *const level_names[LEVEL_COUNT] = {"public", "generalized", "restricted",
                                                     "sovereign"};
static const char *const detector_names[] = {
#define X(name) #name,
#include "ledger/detectors.def"
#undef X
};
#define X(name) " " #name
static const char detector_list[] =
#include "ledger/detectors.def"
    ;
#undef X
static const char *const trigger_names[] = {"annual", "redistricting", "census", "interval",
                                            "manual"};
/* Headers whose literal value would be a secret in the ledger (I12). */
static const char *const secret_headers[] = {"authorization", "cookie", "proxy-authorization",
                                             "x-api-key", "x-auth-token"};

const char *level_name(enum level l)
{
    return level_names[l];
}

/* Index of s in a list of names, or -1. */
static int name_index(const char *const *names, size_t n, const char *s)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], s) == 0)
            return (int)i;
    return -1;
}

enum rc level_parse(const char *s, enum level *ret)
{
    int i = name_index(level_names, LEVEL_COUNT, s);
    if (i < 0)
        return RC_INVALID;
    *ret = (enum level)i;
    return RC_OK;
}

enum rc trigger_parse(const char *s, enum trigger_type *ret)
{
    int i = name_index(trigger_names, ARRAY_LEN(trigger_names), s);
    if (i < 0)
        return RC_INVALID;
    *ret = (enum trigger_type)i;
    return RC_OK;
}

/* The error of a member of `what` names it whole: triggers.month, not month. */
static enum rc within(const char *what, enum rc rc, struct err *err)
{
    char inner[sizeof err->field];
    if (rc != RC_INVALID)
        return rc;
    memcpy(inner, err->field, sizeof inner);
    snprintf(err->field, sizeof err->field, "%s.%.40s", what, inner);
    return rc;
}

static bool known_field(const char *name)
{
    static const char *const fields[] = {
#define TEXT(name, required, longest) #name,
#define NUMBER(name, def, min, max) #name,
#define OTHER(name) #name,
#include "ledger/source_fields.def"
#undef TEXT
#undef NUMBER
#undef OTHER
    };
    return name_index(fields, ARRAY_LEN(fields), name) >= 0;
}

static enum rc check_names(yyjson_val *decl, struct err *err)
{
    size_t i, n;
    yyjson_val *key, *val;
    if (!yyjson_is_obj(decl))
        return err_set(err, RC_INVALID, "",
                       "a source is a JSON object, such as {\"id\":…, \"url\":…}");
    yyjson_obj_foreach(decl, i, n, key, val)
    {
        if (!known_field(yyjson_get_str(key)))
            return err_set(err, RC_INVALID, yyjson_get_str(key), "is not a field of a source");
        if (yyjson_obj_get(decl, yyjson_get_str(key)) != val)
            return err_set(err, RC_INVALID, yyjson_get_str(key), "is given twice");
    }
    return RC_OK;
}

/* A member that is a text or a number and nothing more. */
struct plain {
    struct str name;
    size_t at; /* in struct source */
    bool is_text, required;
    int64_t def, min, max; /* of a text only max, its length */
};
static const struct plain plains[] = {
#define NAMED(field) .name = {#field, sizeof #field - 1}, .at = offsetof(struct source, field)
#define TEXT(field, needed, longest)                                                               \
    {NAMED(field), .is_text = true, .required = (needed), .max = (longest)},
#define NUMBER(field, value, least, most)                                                          \
    {NAMED(field), .def = (value), .min = (least), .max = (most)},
#define OTHER(name)
#include "ledger/source_fields.def"
#undef NAMED
#undef TEXT
#undef NUMBER
#undef OTHER
};

static const char **text_at(struct source *s, const struct plain *p)
{
    return (const char **)((char *)s + p->at);
}

static int64_t *number_at(struct source *s, const struct plain *p)
{
    return (int64_t *)((char *)s + p->at);
}

static const struct plain *plain_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(plains); i++)
        if (str_eq(plains[i].name, name))
            return &plains[i];
    return NULL;
}

static enum rc read_one(const struct plain *p, yyjson_val *v, struct source *s, struct err *err)
{
    if (!p->is_text)
        return json_read_i64(v, p->name.p, p->min, p->max, number_at(s, p), err);
    TRY(json_read_str(v, p->name.p, text_at(s, p), err));
    if (yyjson_get_len(v) > (size_t)p->max)
        return err_set(err, RC_INVALID, p->name.p, "is longer than %lld bytes", (long long)p->max);
    return RC_OK;
}

/* Declarations are short and the table is long, so it is the members that are gone through. */
static enum rc read_plain(yyjson_val *decl, struct source *s, struct err *err)
{
    size_t i, n;
    yyjson_val *key, *val;
    for (i = 0; i < ARRAY_LEN(plains); i++)
        if (plains[i].is_text)
            *text_at(s, &plains[i]) = "";
        else
            *number_at(s, &plains[i]) = plains[i].def;
    yyjson_obj_foreach(decl, i, n, key, val)
    {
        const struct plain *p = yyjson_is_null(val) ? NULL : plain_find(json_text(key));
        if (p)
            TRY(read_one(p, val, s, err));
    }
    for (i = 0; i < ARRAY_LEN(plains); i++)
        if (plains[i].required && !**text_at(s, &plains[i]))
            return err_set(err, RC_INVALID, plains[i].name.p, "is required");
    return RC_OK;
}

static enum rc check_slug(const char *value, const char *field, struct err *err)
{
    if (!str_is_slug(str_of(value), SOURCE_ID_MAX))
        return err_set(err, RC_INVALID, field,
                       "must be 1 to %d of the characters a-z, 0-9, _ and -, not \"%.80s\"",
                       SOURCE_ID_MAX, value);
    return RC_OK;
}

static enum rc check_url(const char *url, const char *field, struct err *err)
{
    struct str s = str_of(url), host;
    if (str_starts(s, STR("https://")))
        s.p += 8, s.n -= 8;
    else if (str_starts(s, STR("http://")))
        s.p += 7, s.n -= 7;
    else
        return err_set(err, RC_INVALID, field, "must start with https:// or http://");
    size_t end = strcspn(s.p, "/?#");
    host = (struct str){s.p, end};
    if (!host.n || host.p[0] == ':')
        return err_set(err, RC_INVALID, field, "has no host");
    if (memchr(host.p, '@', host.n))
        return err_set(err, RC_INVALID, field,
                       "holds credentials: put them into secrets/ and name them in headers");
    for (const char *p = url; *p; p++)
        if (*p == ' ' || *p == '"' || *p == '<' || *p == '>' || *p == '\\')
            return err_set(err, RC_INVALID, field, "has a character that must be percent-encoded");
    return RC_OK;
}

/* Braces stand for a vintage and nothing else; the ids of the vintages must fit as well. */
static enum rc check_template(const struct source *s, struct err *err)
{
    const char *p = s->url;
    while ((p = strpbrk(p, "{}")) != NULL) {
        if (strncmp(p, SOURCE_YEAR, strlen(SOURCE_YEAR)) != 0)
            return err_set(err, RC_INVALID, "url",
                           "has a brace: only " SOURCE_YEAR " is known, others must be encoded");
        p += strlen(SOURCE_YEAR);
    }
    if (source_is_template(s) && strlen(s->id) > SOURCE_ID_MAX - strlen("-2030"))
        return err_set(err, RC_INVALID, "id", "must leave room for a year: at most %zu characters",
                       SOURCE_ID_MAX - strlen("-2030"));
    return RC_OK;
}

static enum rc read_trigger_years(yyjson_val *v, struct trigger *t, struct err *err)
{
    size_t i, n;
    yyjson_val *y, *years = yyjson_obj_get(v, "years");
    if (!yyjson_is_arr(years) || yyjson_arr_size(years) == 0 ||
        yyjson_arr_size(years) > SOURCE_YEARS_MAX)
        return err_set(err, RC_INVALID, "triggers.years", "must be a list of 1 to %d years",
                       SOURCE_YEARS_MAX);
    yyjson_arr_foreach(years, i, n, y)
    {
        if (!yyjson_is_int(y) || yyjson_get_sint(y) < 1900 || yyjson_get_sint(y) > 9999)
            return err_set(err, RC_INVALID, "triggers.years", "holds something that is no year");
        t->years[t->n_years++] = (int)yyjson_get_sint(y);
    }
    return RC_OK;
}

static enum rc read_trigger(yyjson_val *v, struct trigger *t, struct err *err)
{
    const char *type = "";
    int64_t month = 0, through = 0, year = 0;
    if (!yyjson_is_obj(v))
        return err_set(err, RC_INVALID, "triggers",
                       "must hold objects such as {\"type\":\"annual\",\"month\":7}");
    TRY(within("triggers", json_get_str(v, "type", &type, err), err));
    if (trigger_parse(type, &t->type) != RC_OK)
        return err_set(err, RC_INVALID, "triggers.type",
                       "must be annual, redistricting, census, interval or manual");
    TRY(within("triggers", json_get_i64(v, "month", 1, 12, &month, err), err));
    TRY(within("triggers", json_get_i64(v, "through", 1, 12, &through, err), err));
    TRY(within("triggers", json_get_i64(v, "year", 1900, 9999, &year, err), err));
    TRY(within("triggers", json_get_i64(v, "seconds", 1, 31536000, &t->seconds, err), err));
    t->month = (int)month;
    t->through = through ? (int)through : (int)month;
    if (t->type == TRIGGER_ANNUAL && !month)
        return err_set(err, RC_INVALID, "triggers.month",
                       "is required for an annual trigger (1 to 12)");
    if (t->type == TRIGGER_INTERVAL && !t->seconds)
        return err_set(err, RC_INVALID, "triggers.seconds", "is required for an interval trigger");
    if (t->type == TRIGGER_CENSUS && !year)
        return err_set(err, RC_INVALID, "triggers.year", "is required for a census trigger");
    if (t->type == TRIGGER_CENSUS)
        t->years[t->n_years++] = (int)year;
    return t->type == TRIGGER_REDISTRICTING ? read_trigger_years(v, t, err) : RC_OK;
}

enum rc source_read_triggers(yyjson_val *decl, struct source *s, struct err *err)
{
    yyjson_val *list = yyjson_obj_get(decl, "triggers"), *v;
    size_t i, n;
    if (!list || yyjson_is_null(list))
        return RC_OK;
    if (!yyjson_is_arr(list) || yyjson_arr_size(list) > SOURCE_TRIGGERS_MAX)
        return err_set(err, RC_INVALID, "triggers", "must be a list of at most %d triggers",
                       SOURCE_TRIGGERS_MAX);
    yyjson_arr_foreach(list, i, n, v) TRY(read_trigger(v, &s->triggers[s->n_triggers++], err));
    return RC_OK;
}

const char *source_header_secret(const struct source_header *h)
{
    const struct str mark = STR("secret:");
    return str_starts(str_of(h->value), mark) ? h->value + mark.n : NULL;
}

static bool is_token(const char *s)
{
    return *s && strspn(s, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                           "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == strlen(s);
}

static enum rc read_header(const char *name, const char *value, struct source *s, struct err *err)
{
    if (!is_token(name) || !value || !str_is_clean(str_of(value)))
        return err_set(err, RC_INVALID, "headers",
                       "must map header names to strings without controls");
    for (size_t i = 0; i < ARRAY_LEN(secret_headers); i++)
        if (str_ieq(str_of(name), str_of(secret_headers[i])) &&
            !str_starts(str_of(value), STR("secret:")))
            return err_set(err, RC_INVALID, "headers",
                           "%s must be \"secret:name\": put its value into secrets/name", name);
    s->headers[s->n_headers++] = (struct source_header){name, value};
    return RC_OK;
}

static enum rc read_headers(yyjson_val *decl, struct source *s, struct err *err)
{
    yyjson_val *obj = yyjson_obj_get(decl, "headers"), *key, *val;
    size_t i, n;
    if (!obj || yyjson_is_null(obj))
        return RC_OK;
    if (!yyjson_is_obj(obj) || yyjson_obj_size(obj) > SOURCE_HEADERS_MAX)
        return err_set(err, RC_INVALID, "headers", "must be an object of at most %d headers",
                       SOURCE_HEADERS_MAX);
    yyjson_obj_foreach(obj, i, n, key, val)
        TRY(read_header(yyjson_get_str(key), yyjson_get_str(val), s, err));
    return RC_OK;
}

static enum rc read_region(yyjson_val *decl, struct source *s, struct err *err)
{
    yyjson_val *box = yyjson_obj_get(decl, "region_bbox"), *v;
    size_t i, n;
    if (!box || yyjson_is_null(box))
        return RC_OK;
    bool ok = yyjson_is_arr(box) && yyjson_arr_size(box) == 4;
    if (ok)
        yyjson_arr_foreach(box, i, n, v)
        {
            ok = ok && yyjson_is_num(v);
            s->region_bbox[i] = yyjson_get_num(v);
        }
    if (!ok || s->region_bbox[1] > s->region_bbox[3])
        return err_set(err, RC_INVALID, "region_bbox", "must be [west, south, east, north]");
    s->has_region = true;
    return RC_OK;
}

static enum rc read_limits(yyjson_val *decl, struct source *s, struct err *err)
{
    yyjson_val *obj = yyjson_obj_get(decl, "limits");
    s->count_drift_pct = s->area_drift_pct = s->size_drift_pct = -1;
    if (!obj || yyjson_is_null(obj))
        return RC_OK;
    if (!yyjson_is_obj(obj))
        return err_set(err, RC_INVALID, "limits",
                       "must be an object, such as {\"max_bytes\":10000000}");
    TRY(within("limits", json_get_i64(obj, "max_bytes", 1, 1LL << 40, &s->max_bytes, err), err));
    TRY(within("limits", json_get_i64(obj, "min_features", 0, 1LL << 40, &s->min_features, err),
               err));
    TRY(within("limits", json_get_num(obj, "count_drift_pct", &s->count_drift_pct, err), err));
    TRY(within("limits", json_get_num(obj, "size_drift_pct", &s->size_drift_pct, err), err));
    TRY(within("limits", json_get_num(obj, "missing_pct", &s->missing_pct, err), err));
    return within("limits", json_get_num(obj, "area_drift_pct", &s->area_drift_pct, err), err);
}

static enum rc read_required(yyjson_val *decl, struct source *s, struct err *err)
{
    yyjson_val *list = yyjson_obj_get(decl, "required_fields"), *v;
    size_t i, n;
    if (!list || yyjson_is_null(list))
        return RC_OK;
    if (!yyjson_is_arr(list) || yyjson_arr_size(list) > SOURCE_REQUIRED_MAX)
        return err_set(err, RC_INVALID, "required_fields", "must be a list of at most %d names",
                       SOURCE_REQUIRED_MAX);
    yyjson_arr_foreach(list, i, n, v)
    {
        if (!yyjson_is_str(v) || yyjson_get_len(v) == 0 || yyjson_get_len(v) > 64)
            return err_set(err, RC_INVALID, "required_fields",
                           "must hold names of fields, of 1 to 64 bytes each");
        s->required_fields[s->n_required++] = yyjson_get_str(v);
    }
    return RC_OK;
}

static enum rc read_precision(yyjson_val *decl, struct source *s, struct err *err)
{
    s->precision_m = SOURCE_PRECISION_M;
    TRY(json_get_num(decl, "precision_m", &s->precision_m, err));
    if (!(s->precision_m >= 1e-6 && s->precision_m <= 1e4))
        return err_set(err, RC_INVALID, "precision_m", "must be between 0.000001 and 10000 metres");
    return RC_OK;
}

static enum rc read_level(yyjson_val *decl, struct source *s, struct err *err)
{
    const char *name = "public";
    TRY(json_get_str(decl, "sensitivity", &name, err));
    if (level_parse(name, &s->level) != RC_OK)
        return err_set(err, RC_INVALID, "sensitivity",
                       "must be public, generalized, restricted or sovereign, not \"%.40s\"", name);
    s->grid_deg = 0.1;
    TRY(json_get_num(decl, "grid_deg", &s->grid_deg, err));
    if (!(s->grid_deg >= 0.001 && s->grid_deg <= 90))
        return err_set(err, RC_INVALID, "grid_deg", "must be between 0.001 and 90 degrees");
    return RC_OK;
}

/* ---- options of detectors: objects of texts -------------------------------------------------- */

#define OPTION_MAX 1024 /* a pointer, a glob, a name: longer ones are a mistake */

struct option {
    const char *name, **to;
    enum { WORD, POINTER, FORMAT, URL, OBJECT } kind;
};

static enum rc check_option(const struct option *o, const char *field, struct err *err)
{
    static const char *const formats[] = {"json", "csv", "s3", "html"};
    const char *v = *o->to;
    if (strlen(v) > OPTION_MAX)
        return err_set(err, RC_INVALID, field, "is longer than %d bytes", OPTION_MAX);
    if (o->kind == URL)
        return check_url(v, field, err);
    if (o->kind == POINTER && *v != '/')
        return err_set(err, RC_INVALID, field,
                       "must be a JSON pointer (RFC 6901), such as /editingInfo/lastEditDate");
    if (o->kind == FORMAT && name_index(formats, ARRAY_LEN(formats), v) < 0)
        return err_set(err, RC_INVALID, field, "must be json, csv, s3 or html, not \"%.40s\"", v);
    return RC_OK;
}

static const struct option *option_find(const struct option *options, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    return NULL;
}

static enum rc refuse_option(const char *field, const struct option *options, size_t n,
                             struct err *err)
{
    char known[256] = "";
    for (size_t i = 0, at = 0; i < n && at < sizeof known; i++)
        at += (size_t)snprintf(known + at, sizeof known - at, " %s", options[i].name);
    return err_set(err, RC_INVALID, field, "is not known here, only:%s", known);
}

/* obj, the member `what` of a declaration, may hold these and nothing else. */
static enum rc read_options(yyjson_val *obj, const char *what, const struct option *options,
                            size_t n_options, struct err *err)
{
    char field[64];
    size_t i, n;
    yyjson_val *key, *val;
    if (!yyjson_is_obj(obj))
        return err_set(err, RC_INVALID, what, "must be an object");
    yyjson_obj_foreach(obj, i, n, key, val)
    {
        const char *name = unsafe_yyjson_get_str(key); /* a key is a text */
        const struct option *o = option_find(options, n_options, name);
        snprintf(field, sizeof field, "%s.%s", what, name);
        if (!o)
            return refuse_option(field, options, n_options, err);
        if (o->kind == OBJECT)
            continue;
        if (!yyjson_is_str(val) || !str_is_clean(str_of(yyjson_get_str(val))))
            return err_set(err, RC_INVALID, field, "must be a text without control characters");
        *o->to = yyjson_get_str(val);
        TRY(check_option(o, field, err));
    }
    return RC_OK;
}

/* What must stand somewhere in a document: options are pointer and equals. */
static enum rc read_expect(yyjson_val *obj, const char *what, const struct option options[2],
                           struct err *err)
{
    TRY(read_options(obj, what, options, 2, err));
    if (!**options[0].to || !**options[1].to)
        return err_set(err, RC_INVALID, what,
                       "needs both, such as {\"pointer\":\"/name\", \"equals\":\"Counties\"}");
    return RC_OK;
}

static enum rc read_probe(yyjson_val *decl, struct source *s, struct err *err)
{
    const struct option options[] = {{"url", &s->probe_url, URL},
                                     {"pointer", &s->probe_pointer, POINTER},
                                     {"expect", NULL, OBJECT}};
    const struct option expect[] = {{"pointer", &s->probe_expect, POINTER},
                                    {"equals", &s->probe_equals, WORD}};
    yyjson_val *obj = yyjson_obj_get(decl, "probe");
    bool wanted = strcmp(s->detector, "probe") == 0, given = obj && !yyjson_is_null(obj);
    s->probe_url = s->probe_pointer = s->probe_expect = s->probe_equals = "";
    if (!given && wanted)
        return err_set(err, RC_INVALID, "probe",
                       "is required for detector probe, such as "
                       "{\"url\":…, \"pointer\":\"/editingInfo/lastEditDate\"}");
    if (!given)
        return RC_OK;
    TRY(read_options(obj, "probe", options, ARRAY_LEN(options), err));
    if (!*s->probe_pointer)
        return err_set(err, RC_INVALID, "probe.pointer",
                       "is required: a JSON pointer, such as /editingInfo/lastEditDate");
    yyjson_val *of_doc = yyjson_obj_get(obj, "expect");
    return of_doc ? read_expect(of_doc, "probe.expect", expect, err) : RC_OK;
}

static enum rc read_sse(yyjson_val *decl, struct source *s, struct err *err)
{
    const struct option options[] = {
        {"url", &s->sse_url, URL}, {"event", &s->sse_event, WORD}, {"expect", NULL, OBJECT}};
    const struct option expect[] = {{"pointer", &s->sse_expect, POINTER},
                                    {"equals", &s->sse_equals, WORD}};
    yyjson_val *obj = yyjson_obj_get(decl, "sse");
    s->sse_url = s->sse_event = s->sse_expect = s->sse_equals = "";
    if (!obj || yyjson_is_null(obj))
        return RC_OK;
    TRY(read_options(obj, "sse", options, ARRAY_LEN(options), err));
    yyjson_val *of_data = yyjson_obj_get(obj, "expect");
    return of_data ? read_expect(of_data, "sse.expect", expect, err) : RC_OK;
}

static enum rc read_manifest(yyjson_val *decl, struct source *s, struct err *err)
{
    const struct option options[] = {
#define X(name, kind, help) {#name, &s->manifest.name, kind},
#include "ledger/manifest_fields.def"
#undef X
    };
    yyjson_val *obj = yyjson_obj_get(decl, "manifest");
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        *options[i].to = "";
    if (!obj || yyjson_is_null(obj))
        return RC_OK;
    return read_options(obj, "manifest", options, ARRAY_LEN(options), err);
}

/* The spec: the declaration with the defaults that queries rely on written out, canonical. */
static enum rc write_spec(struct arena *a, yyjson_val *decl, struct source *s, struct err *err)
{
    yyjson_mut_doc *d = json_doc(a);
    yyjson_mut_val *o = yyjson_val_mut_copy(d, decl);
    const struct {
        const char *name, *value;
    } defaults[] = {{"title", s->title},
                    {"detector", s->detector},
                    {"collection", s->collection},
                    {"sensitivity", level_name(s->level)}};
    for (size_t i = 0; i < ARRAY_LEN(defaults); i++)
        if (!yyjson_obj_get(decl, defaults[i].name))
            json_add_str(d, o, defaults[i].name, defaults[i].value);
    struct buf b;
    buf_init(&b, SOURCE_SPEC_MAX);
    bool copied = json_doc_rc(d) == RC_OK; /* else it may be too long for the arena already */
    enum rc rc = copied ? json_canon_mut(&b, o, err) : json_canon(&b, decl, err);
    if (rc == RC_TOO_LARGE) {
        rc = err_set(err, RC_INVALID, "",
                     "the declaration is longer than %d bytes: keep keys and certificates as files "
                     "in secrets/, and leave out what is not needed",
                     SOURCE_SPEC_MAX);
    } else if (rc == RC_OK && !copied) {
        rc = err_set(err, RC_NOMEM, "", "no memory for a source");
    } else if (rc == RC_OK) {
        s->spec = (struct str){arena_str(a, buf_view(&b)), b.len};
        if (!s->spec.p)
            rc = err_set(err, RC_NOMEM, "", "no memory for a source");
    }
    buf_release(&b);
    return rc;
}

static enum rc read_all(yyjson_val *decl, struct source *s, struct err *err)
{
    s->retired_at = s->unlisted_at = -1;
    s->declared_triggers = yyjson_obj_get(decl, "triggers");
    s->adapter_options = yyjson_obj_get(decl, "adapter_options");
    s->secrets = yyjson_obj_get(decl, "secrets");
    s->entry = "";
    TRY(read_plain(decl, s, err));
    TRY(check_slug(s->id, "id", err));
    s->title = *s->title ? s->title : s->id;
    s->detector = *s->detector ? s->detector : "etag";
    s->collection = *s->collection ? s->collection : s->id;
    TRY(check_slug(s->collection, "collection", err));
    TRY(check_url(s->url, "url", err));
    TRY(check_template(s, err));
    if (name_index(detector_names, ARRAY_LEN(detector_names), s->detector) < 0)
        return err_set(err, RC_INVALID, "detector", "must be one of%s, not \"%.40s\"",
                       detector_list, s->detector);
    TRY(read_level(decl, s, err));
    TRY(read_probe(decl, s, err));
    TRY(read_sse(decl, s, err));
    TRY(read_manifest(decl, s, err));
    TRY(source_read_triggers(decl, s, err));
    TRY(read_headers(decl, s, err));
    TRY(read_region(decl, s, err));
    TRY(read_required(decl, s, err));
    TRY(read_precision(decl, s, err));
    return read_limits(decl, s, err);
}

static enum rc read_new(struct arena *a, yyjson_val *decl, bool strict, struct source *ret,
                        struct err *err)
{
    struct source s = {0};
    TRY(check_names(decl, err));
    TRY(read_all(decl, &s, err));
    if (strict)
        TRY(source_check(decl, &s, err));
    TRY(write_spec(a, decl, &s, err));
    *ret = s;
    return RC_OK;
}

enum rc source_parse(struct arena *a, yyjson_val *decl, struct source *ret, struct err *err)
{
    return read_new(a, decl, true, ret, err);
}

enum rc source_derive(struct arena *a, yyjson_val *decl, struct source *ret, struct err *err)
{
    return read_new(a, decl, false, ret, err);
}

enum rc source_reread(struct arena *a, struct str spec, struct source *ret, struct err *err)
{
    struct source s = {.spec = spec};
    yyjson_val *decl;
    TRY(json_parse(a, spec, 0, "source", &decl, err));
    TRY(read_all(decl, &s, err));
    *ret = s;
    return RC_OK;
}
