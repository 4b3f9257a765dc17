/* summary: from reports, into and out of the ledger. */
#include "handler/summary.h"

void summary_none(struct summary *ret)
{
    *ret = (struct summary){.format = "", .media_type = "", .features = -1};
}

static const char *text_of(yyjson_val *o, const char *key)
{
    const char *s = yyjson_get_str(yyjson_obj_get(o, key));
    return s ? s : "";
}

static void copy_digest(yyjson_val *o, const char *key, char out[SHA256_HEX])
{
    const char *hex = text_of(o, key);
    snprintf(out, SHA256_HEX, "%s", strlen(hex) == SHA256_HEX - 1 ? hex : "");
}

/* ---- the schema ------------------------------------------------------------------------------ */

/* What one decimal point, or another format's habits, turn into each other is no change of schema. */
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
        json_put_str(out, str_of(text_of(f, "name")));
        buf_printf(out, ":%s", plain_type(text_of(f, "type")));
    }
}

/* Layers and bands in their order; the name of a layer counts when there are several. */
static enum rc digest_schema(yyjson_val *report, char out[SHA256_HEX], struct err *err)
{
    yyjson_val *layers = yyjson_obj_get(report, "layers"), *v;
    yyjson_val *bands = yyjson_obj_get(yyjson_obj_get(report, "raster"), "bands");
    CLEANUP(buf_release) struct buf text;
    struct sha256 sha;
    size_t i, n;
    buf_init(&text, INSPECT_REPORT_MAX);
    yyjson_arr_foreach(layers, i, n, v)
    {
        buf_add(&text, "\nlayer ", 7);
        if (n > 1)
            json_put_str(&text, str_of(text_of(v, "name")));
        put_fields(&text, yyjson_obj_get(v, "fields"));
    }
    yyjson_arr_foreach(bands, i, n, v) buf_printf(&text, "\nband %s", text_of(v, "type"));
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
            if (strcmp(text_of(p, "code"), inspect_problem_name((enum inspect_problem)k)) == 0)
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
    s.format = text_of(report, "format");
    s.media_type = text_of(report, "media_type");
    if (layers)
        s.features = yyjson_get_sint(yyjson_obj_get(totals, "features"));
    s.area_km2 = yyjson_get_num(yyjson_obj_get(totals, "area_km2"));
    s.has_bbox = read_box(yyjson_obj_get(report, "bbox"), s.bbox);
    copy_digest(report, "content_digest", s.content_digest);
    count_problems(report, s.problems);
    if (s.geodata)
        TRY(digest_schema(report, s.schema_digest, err));
    *ret = s;
    return RC_OK;
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
    for (int k = 0; k < PROBLEM_COUNT; k++)
        if (s->problems[k] > 0)
            yyjson_mut_obj_add_int(d, problems, inspect_problem_name((enum inspect_problem)k),
                                   s->problems[k]);
    yyjson_mut_obj_add_val(d, o, "problems", problems);
    return o;
}

enum rc summary_read(struct arena *a, struct str qa, struct summary *ret, struct err *err)
{
    yyjson_val *root, *o;
    struct summary s;
    summary_none(&s);
    if (qa.n == 0)
        return RC_NOT_FOUND;
    TRY(json_parse(a, qa, 0, "the validation report of the head", &root, err));
    o = yyjson_obj_get(root, "inspection");
    if (strcmp(text_of(o, "inspect_version"), INSPECT_VERSION) != 0)
        return RC_NOT_FOUND;
    s.format = text_of(o, "format");
    s.features = yyjson_get_sint(yyjson_obj_get(o, "features"));
    s.area_km2 = yyjson_get_num(yyjson_obj_get(o, "area_km2"));
    copy_digest(o, "content_digest", s.content_digest);
    copy_digest(o, "schema_digest", s.schema_digest);
    s.geodata = *s.schema_digest != 0;
    *ret = s;
    return RC_OK;
}
