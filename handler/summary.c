/* summary: from reports, into and out of the ledger. */
#include "handler/summary.h"

#include <stdlib.h>

void summary_none(struct summary *ret)
{
    *ret = (struct summary){.format = "", .media_type = "", .features = -1};
}

static void copy_digest(yyjson_val *o, const char *key, char out[SHA256_HEX])
{
    const char *hex = json_member_text(o, key);
    snprintf(out, SHA256_HEX, "%s", strlen(hex) == SHA256_HEX - 1 ? hex : "");
}

/* ---- the schema ------------------------------------------------------------------------------ */

/* What one decimal point, or another format's habits, turn into each other is no change
 * of schema. */
static const char *plain_type(const char *type)
{
    static const char *const same[][2] = {
        {"integer", "number"}, {"date", "string"}, {"time", "string"}, {"datetime", "string"}};
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        if (strcmp(type, same[i][0]) == 0)
            return same[i][1];
    return type;
}

static void put_fields(struct buf *out, yyjson_val *fields)
{
    size_t i, n;
    yyjson_val *f;
    yyjson_arr_foreach(fields, i, n, f)
    {
        buf_add(out, "\n", 1);
        json_put_str(out, str_of(json_member_text(f, "name")));
        buf_printf(out, ":%s", plain_type(json_member_text(f, "type")));
    }
}

static uint64_t mark_of(const struct sha256 *sha)
{
    uint64_t v = 0;
    for (size_t i = 0; i < sizeof v; i++)
        v = v << 8 | sha->b[i];
    return v;
}

/* A mark of each field: enough to tell which of them are gone, without quoting names. */
static void mark_fields(yyjson_val *report, struct summary *s)
{
    yyjson_val *layers = yyjson_obj_get(report, "layers"), *l, *f;
    size_t i, n, k, m;
    char text[1024];
    struct sha256 sha;
    yyjson_arr_foreach(layers, i, n, l) yyjson_arr_foreach(yyjson_obj_get(l, "fields"), k, m, f)
    {
        snprintf(text, sizeof text, "%s\n%s\n%.512s", n > 1 ? json_member_text(l, "name") : "",
                 plain_type(json_member_text(f, "type")), json_member_text(f, "name"));
        digest_sha256(text, strlen(text), &sha);
        if (s->n_fields < SUMMARY_FIELDS_MAX)
            s->fields[s->n_fields] = mark_of(&sha);
        s->n_fields++;
    }
    s->fields_uncounted = s->n_fields > SUMMARY_FIELDS_MAX;
    if (s->fields_uncounted)
        s->n_fields = 0;
}

/* Layers and bands in their order; the name of a layer counts when there are several. */
static enum rc digest_schema(yyjson_val *report, char out[SHA256_HEX], struct err *err)
{
    yyjson_val *layers = yyjson_obj_get(report, "layers"), *v;
    yyjson_val *bands = yyjson_obj_get(yyjson_obj_get(report, "raster"), "bands");
    CLEANUP(buf_release) struct buf text = {0};
    struct sha256 sha;
    size_t i, n;
    buf_init(&text, INSPECT_REPORT_MAX);
    yyjson_arr_foreach(layers, i, n, v)
    {
        buf_add(&text, "\nlayer ", 7);
        if (n > 1)
            json_put_str(&text, str_of(json_member_text(v, "name")));
        put_fields(&text, yyjson_obj_get(v, "fields"));
    }
    yyjson_arr_foreach(bands, i, n, v) buf_printf(&text, "\nband %s", json_member_text(v, "type"));
    if (buf_rc(&text) != RC_OK)
        return err_set(err, RC_NOMEM, "", "no memory for the digest of a schema");
    digest_sha256(text.data, text.len, &sha);
    sha256_hex(&sha, out);
    return RC_OK;
}

/* ---- a report -------------------------------------------------------------------------------- */

static void count_problems(yyjson_val *report, int64_t ret[PROBLEM_COUNT])
{
    size_t i, n;
    yyjson_val *p;
    yyjson_arr_foreach(yyjson_obj_get(report, "problems"), i, n, p)
    {
        for (int k = 0; k < PROBLEM_COUNT; k++)
            if (strcmp(json_member_text(p, "code"),
                       inspect_problem_name((enum inspect_problem)k)) == 0)
                ret[k] = yyjson_get_sint(yyjson_obj_get(p, "count"));
    }
}

static bool read_box(yyjson_val *box, double ret[4])
{
    for (size_t i = 0; i < 4; i++) {
        yyjson_val *v = yyjson_arr_get(box, i);
        if (!yyjson_is_num(v))
            return false;
        ret[i] = yyjson_get_num(v);
    }
    return true;
}

enum rc summary_of(yyjson_val *report, struct summary *ret, struct err *err)
{
    struct summary s;
    yyjson_val *totals = yyjson_obj_get(report, "totals");
    bool layers = yyjson_arr_size(yyjson_obj_get(report, "layers")) > 0;
    summary_none(&s);
    s.geodata = layers || yyjson_is_obj(yyjson_obj_get(report, "raster"));
    s.format = json_member_text(report, "format");
    s.media_type = json_member_text(report, "media_type");
    if (layers)
        s.features = yyjson_get_sint(yyjson_obj_get(totals, "features"));
    s.area_km2 = yyjson_get_num(yyjson_obj_get(totals, "area_km2"));
    s.has_bbox = read_box(yyjson_obj_get(report, "bbox"), s.bbox);
    copy_digest(report, "content_digest", s.content_digest);
    count_problems(report, s.problems);
    s.precision_m = yyjson_get_num(yyjson_ptr_get(report, "/options/precision_m"));
    mark_fields(report, &s);
    if (s.geodata)
        TRY(digest_schema(report, s.schema_digest, err));
    *ret = s;
    return RC_OK;
}

/* ---- what a source asks for ------------------------------------------------------------------ */

static int64_t filled_in(yyjson_val *layer, const char *name)
{
    size_t i, n;
    yyjson_val *f;
    yyjson_arr_foreach(yyjson_obj_get(layer, "fields"), i, n, f)
    {
        if (strcmp(json_member_text(f, "name"), name) == 0)
            return yyjson_get_sint(yyjson_obj_get(f, "filled"));
    }
    return 0;
}

static int64_t missing_of(yyjson_val *report, const char *name)
{
    size_t i, n;
    yyjson_val *l;
    int64_t missing = 0;
    yyjson_arr_foreach(yyjson_obj_get(report, "layers"), i, n, l)
    {
        int64_t all = yyjson_get_sint(yyjson_obj_get(l, "features")), filled = filled_in(l, name);
        missing += filled < all ? all - filled : 0;
    }
    return missing;
}

/* 0: not a type whose GEOIDs have one length. */
static size_t geoid_digits(const char *boundary_type)
{
    static const struct {
        const char *type;
        size_t digits;
    } rows[] = {
#define X(type, digits) {type, digits},
#include "handler/geoids.def"
#undef X
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].type, boundary_type) == 0)
            return rows[i].digits;
    return 0;
}

/* Fully qualified ones ("0500000US20001") have theirs behind "US". Districts that are not drawn yet
 * have letters ("20ZZ"): only the state's two are digits always. */
static bool is_geoid(const char *key, size_t digits)
{
    const char *us = strstr(key, "US");
    const char *id = us ? us + 2 : key;
    return strlen(id) == digits && strspn(id, "0123456789") >= 2 &&
           strspn(id, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == digits;
}

void summary_expect(yyjson_val *report, const struct source *s, struct summary *ret)
{
    size_t i, n, digits = geoid_digits(s->boundary_type);
    yyjson_val *f;
    for (size_t k = 0; k < s->n_required; k++) {
        int64_t missing = missing_of(report, s->required_fields[k]);
        ret->missing = missing > ret->missing ? missing : ret->missing;
    }
    if (digits == 0 || !strcasestr(s->feature_key, "GEOID"))
        return;
    yyjson_arr_foreach(yyjson_obj_get(report, "features"), i, n, f)
    {
        const char *key = yyjson_get_str(yyjson_obj_get(f, "key"));
        ret->bad_keys += key && !is_geoid(key, digits);
    }
}

/* ---- stored ---------------------------------------------------------------------------------- */

static void add_digest(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key, const char *hex)
{
    json_add_str(d, o, key, *hex ? hex : NULL);
}

yyjson_mut_val *summary_json(yyjson_mut_doc *d, const struct summary *s)
{
    yyjson_mut_val *o = yyjson_mut_obj(d), *problems = yyjson_mut_obj(d);
    json_add_str(d, o, "inspect_version", INSPECT_VERSION);
    json_add_str(d, o, "format", s->format);
    yyjson_mut_obj_add_int(d, o, "features", s->features);
    yyjson_mut_obj_add_real(d, o, "area_km2", s->area_km2);
    add_digest(d, o, "content_digest", s->content_digest);
    add_digest(d, o, "schema_digest", s->schema_digest);
    yyjson_mut_obj_add_real(d, o, "precision_m", s->precision_m);
    yyjson_mut_val *fields = s->fields_uncounted ? yyjson_mut_null(d) : yyjson_mut_arr(d);
    for (size_t i = 0; i < s->n_fields; i++)
        yyjson_mut_arr_append(fields, json_fmt(d, "%016llx", (unsigned long long)s->fields[i]));
    yyjson_mut_obj_add_val(d, o, "fields", fields);
    for (int k = 0; k < PROBLEM_COUNT; k++)
        if (s->problems[k] > 0)
            yyjson_mut_obj_add_int(d, problems, inspect_problem_name((enum inspect_problem)k),
                                   s->problems[k]);
    yyjson_mut_obj_add_val(d, o, "problems", problems);
    return o;
}

static void read_fields(yyjson_val *list, struct summary *s)
{
    size_t i, n;
    yyjson_val *v;
    s->fields_uncounted = yyjson_is_null(list);
    yyjson_arr_foreach(list, i, n, v)
    {
        if (s->n_fields < SUMMARY_FIELDS_MAX && yyjson_is_str(v))
            s->fields[s->n_fields++] = strtoull(yyjson_get_str(v), NULL, 16);
    }
}

enum rc summary_read(struct arena *a, struct str qa, double precision_m, struct summary *ret,
                     struct err *err)
{
    yyjson_val *root, *o;
    struct summary s;
    summary_none(&s);
    if (qa.n == 0)
        return RC_NOT_FOUND;
    TRY(json_parse(a, qa, 0, "the validation report of the head", &root, err));
    o = yyjson_obj_get(root, "inspection");
    s.precision_m = yyjson_get_num(yyjson_obj_get(o, "precision_m"));
    if (strcmp(json_member_text(o, "inspect_version"), INSPECT_VERSION) != 0 ||
        (s.precision_m > 0 && s.precision_m != precision_m))
        return RC_NOT_FOUND;
    read_fields(yyjson_obj_get(o, "fields"), &s);
    s.format = json_member_text(o, "format");
    s.features = yyjson_get_sint(yyjson_obj_get(o, "features"));
    s.area_km2 = yyjson_get_num(yyjson_obj_get(o, "area_km2"));
    copy_digest(o, "content_digest", s.content_digest);
    copy_digest(o, "schema_digest", s.schema_digest);
    s.geodata = *s.schema_digest != 0;
    *ret = s;
    return RC_OK;
}
