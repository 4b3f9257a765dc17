/* inspect_report: layers, totals, problems, the list of features, and the digest of all content. */
#include "handler/inspect_report.h"

#include <math.h>

#define NO_MEMORY(err) err_set((err), RC_NOMEM, "", "no memory for the report")

/* ---- pieces ---------------------------------------------------------------------------------- */

static yyjson_mut_val *box_of(yyjson_mut_doc *d, bool has, const double box[4])
{
    if (!has)
        return yyjson_mut_null(d);
    yyjson_mut_val *a = yyjson_mut_arr(d);
    for (int i = 0; i < 4; i++)
        yyjson_mut_arr_add_real(d, a, box[i]);
    return a;
}

/* Square metres are as fine as borders are known. */
static double km2(double v)
{
    return rint(v * 1e6) / 1e6;
}

static const char *geometry_type(unsigned kinds)
{
    switch (kinds) {
    case 0: return NULL;
    case 1u << GEOM_POINT: return "Point";
    case 1u << GEOM_LINE: return "LineString";
    case 1u << GEOM_POLYGON: return "Polygon";
    default: return "GeometryCollection";
    }
}

/* Names in files may be any bytes; in the report they are UTF-8. */
static yyjson_mut_val *text_of(yyjson_mut_doc *d, struct str s)
{
    static const char mark[] = "\xef\xbf\xbd";
    struct buf b;
    buf_init(&b, s.n * 3 + 1);
    for (size_t i = 0; i < s.n;) {
        size_t n = str_utf8_len((struct str){s.p + i, s.n - i});
        buf_add(&b, n ? s.p + i : mark, n ? n : 3);
        i += n ? n : 1;
    }
    yyjson_mut_val *v =
        buf_rc(&b) == RC_OK ? yyjson_mut_strncpy(d, b.data ? b.data : "", b.len) : NULL;
    buf_release(&b);
    return v;
}

static yyjson_mut_val *text_or_null(yyjson_mut_doc *d, const char *z)
{
    return z && *z ? text_of(d, str_of(z)) : yyjson_mut_null(d);
}

yyjson_mut_val *inspect_crs_json(yyjson_mut_doc *d, const struct crs *c)
{
    if (!c->kind)
        return yyjson_mut_null(d);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_obj_add_val(d, o, "code", text_or_null(d, c->code));
    yyjson_mut_obj_add_val(d, o, "wkt_digest", text_or_null(d, c->wkt_digest));
    json_add_str(d, o, "kind", c->kind);
    yyjson_mut_obj_add_bool(d, o, "assumed", c->assumed);
    /* Readers turn every order of axes into this one. */
    json_add_str(d, o, "axis", "east,north");
    return o;
}

static int by_name(const void *x, const void *y)
{
    const struct field *a = x, *b = y;
    size_t n = a->name.n < b->name.n ? a->name.n : b->name.n;
    int d = memcmp(a->name.p, b->name.p, n);
    return d ? d : (a->name.n > b->name.n) - (a->name.n < b->name.n);
}

static yyjson_mut_val *fields_json(yyjson_mut_doc *d, const struct layer *l, bool plain)
{
    yyjson_mut_val *list = yyjson_mut_arr(d);
    for (size_t i = 0; i < l->n_fields; i++) {
        const struct field *f = &l->fields[i];
        yyjson_mut_val *o = yyjson_mut_obj(d);
        yyjson_mut_obj_add_val(d, o, "name", text_of(d, f->name));
        json_add_str(d, o, "type", plain ? field_type_plain(f->types) : field_type_name(f->types));
        if (!plain) /* how many are filled follows from the features, which the digest has */
            yyjson_mut_obj_add_int(d, o, "filled", f->filled);
        yyjson_mut_arr_append(list, o);
    }
    return list;
}

static yyjson_mut_val *example_json(yyjson_mut_doc *d, const struct fault_example *e)
{
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_obj_add_int(d, o, "index", e->index);
    yyjson_mut_obj_add_val(d, o, "key", text_or_null(d, e->key));
    json_add_str(d, o, "reason", e->fault.reason);
    if (!e->fault.has_at || !isfinite(e->fault.at[0]) || !isfinite(e->fault.at[1]))
        return o;
    yyjson_mut_val *at = yyjson_mut_arr(d);
    yyjson_mut_arr_add_real(d, at, e->fault.at[0]);
    yyjson_mut_arr_add_real(d, at, e->fault.at[1]);
    yyjson_mut_obj_add_val(d, o, "at", at);
    return o;
}

static yyjson_mut_val *validity_json(yyjson_mut_doc *d, const struct layer *l)
{
    yyjson_mut_val *o = yyjson_mut_obj(d), *reasons = yyjson_mut_obj(d), *list = yyjson_mut_arr(d);
    for (size_t i = 0; i < l->n_reasons; i++)
        yyjson_mut_obj_add_int(d, reasons, l->reasons[i].reason, l->reasons[i].n);
    for (size_t i = 0; i < l->n_examples; i++)
        yyjson_mut_arr_append(list, example_json(d, &l->examples[i]));
    yyjson_mut_obj_add_int(d, o, "checked", l->checked);
    yyjson_mut_obj_add_int(d, o, "invalid", l->invalid);
    yyjson_mut_obj_add_int(d, o, "empty", l->empty);
    yyjson_mut_obj_add_val(d, o, "reasons", reasons);
    yyjson_mut_obj_add_val(d, o, "examples", list);
    return o;
}

static yyjson_mut_val *layer_json(yyjson_mut_doc *d, const struct layer *l)
{
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_obj_add_val(d, o, "name", text_of(d, str_of(l->name)));
    json_add_str(d, o, "geometry_type", geometry_type(l->kinds));
    yyjson_mut_obj_add_int(d, o, "features", (int64_t)l->n);
    yyjson_mut_obj_add_val(d, o, "fields", fields_json(d, l, false));
    yyjson_mut_obj_add_val(d, o, "crs", inspect_crs_json(d, &l->crs));
    yyjson_mut_obj_add_val(d, o, "bbox", box_of(d, l->has_bbox, l->bbox));
    yyjson_mut_obj_add_val(d, o, "bbox_native", box_of(d, l->has_native, l->native));
    yyjson_mut_obj_add_real(d, o, "area_km2", km2(l->area_km2));
    yyjson_mut_obj_add_val(d, o, "validity", validity_json(d, l));
    return o;
}

/* ---- the list of features -------------------------------------------------------------------- */

static void put_number(struct buf *out, double v)
{
    char text[32];
    buf_puts(out, json_number(v, text) ? text : "0");
}

/* Members in canonical order already: such lists are long. */
static void put_record(struct buf *out, const struct feature_record *r, size_t layer, bool several)
{
    char hex[SHA256_HEX];
    buf_puts(out, "{\"area_km2\":");
    put_number(out, km2(r->area_km2));
    buf_puts(out, ",\"bbox\":");
    for (int i = 0; r->has_bbox && i < 4; i++) {
        buf_byte(out, i ? ',' : '[');
        put_number(out, r->bbox[i]);
    }
    buf_puts(out, r->has_bbox ? "]" : "null");
    sha256_hex(&r->digest, hex);
    buf_printf(out, ",\"digest\":\"%s\"", hex);
    sha256_hex(&r->geometry, hex);
    buf_printf(out, ",\"geometry_digest\":\"%s\",\"key\":", hex);
    if (r->key)
        json_put_str(out, str_of(r->key));
    else
        buf_puts(out, "null");
    if (several)
        buf_printf(out, ",\"layer\":%zu", layer);
    buf_byte(out, '}');
}

/* False: too many, or too long. */
static bool put_list(const struct inspect *in, struct buf *out)
{
    bool first = true;
    if (in->features > INSPECT_LISTED_MAX)
        return false;
    buf_byte(out, '[');
    for (size_t i = 0; i < in->n_layers; i++)
        for (size_t k = 0; k < in->layers[i]->n; k++) {
            if (!first)
                buf_byte(out, ',');
            put_record(out, &in->layers[i]->records[k], i, in->n_layers > 1);
            first = false;
        }
    buf_byte(out, ']');
    return buf_rc(out) == RC_OK;
}

/* ---- the digest of all content --------------------------------------------------------------- */

static void add_layer_content(yyjson_mut_doc *d, yyjson_mut_val *list, struct layer *l,
                              const struct sha256 *features, bool several)
{
    char hex[SHA256_HEX];
    yyjson_mut_val *o = yyjson_mut_obj(d);
    sha256_hex(features, hex);
    json_add_str(d, o, "features", hex);
    yyjson_mut_obj_add_val(d, o, "fields", fields_json(d, l, true));
    json_add_str(d, o, "crs", *l->crs.code ? l->crs.code : l->crs.wkt_digest);
    if (several)
        yyjson_mut_obj_add_val(d, o, "layer", text_of(d, str_of(l->name)));
    yyjson_mut_arr_append(list, o);
}

static void add_unread(yyjson_mut_doc *d, yyjson_mut_val *o, const struct inspect *in)
{
    char hex[SHA256_HEX];
    sha256_hex(&in->unread, hex);
    json_add_str(d, o, "unread_digest", in->has_unread ? hex : NULL);
}

static enum rc content_digest(struct inspect *in, char hex[SHA256_HEX], struct err *err)
{
    yyjson_mut_doc *d = json_doc(in->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d), *list = yyjson_mut_arr(d);
    struct sha256 sha;
    struct buf text;
    for (size_t i = 0; i < in->n_layers; i++) {
        struct layer *l = in->layers[i];
        qsort(l->fields, l->n_fields, sizeof *l->fields, by_name);
        if (layer_finish(l, &sha) != RC_OK)
            return NO_MEMORY(err);
        add_layer_content(d, list, l, &sha, in->n_layers > 1);
    }
    yyjson_mut_obj_add_val(d, o, "layers", list);
    yyjson_mut_obj_add_real(d, o, "precision_m", in->options->precision_m);
    if (in->raster)
        yyjson_mut_obj_add_val(d, o, "raster", yyjson_mut_val_mut_copy(d, in->raster));
    if (in->has_unread)
        add_unread(d, o, in);
    TRY(json_doc_rc(d));
    buf_init(&text, INSPECT_REPORT_MAX);
    enum rc rc = json_canon_mut(&text, o, err);
    if (rc == RC_OK) {
        digest_sha256(text.data, text.len, &sha);
        sha256_hex(&sha, hex);
    }
    buf_release(&text);
    return rc;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int by_layer_name(const void *x, const void *y)
{
    return strcmp((*(struct layer *const *)x)->name, (*(struct layer *const *)y)->name);
}

/* What the layers show beyond what their reader has told. */
static void add_problems(struct inspect *in)
{
    for (size_t i = 0; i < in->n_layers; i++) {
        const struct layer *l = in->layers[i];
        bool placed = l->checked > 0 && l->n_fields + l->n > 0;
        in->problems[PROBLEM_GEOMETRY_INVALID] += l->invalid;
        /* Where all are nowhere, it is the CRS that is another. */
        in->problems[PROBLEM_COORDINATES_OUT_OF_RANGE] +=
            l->not_finite + (l->has_bbox ? l->nowhere : 0);
        in->problems[PROBLEM_CRS_MISSING_OR_INVALID] += placed && l->has_native && !l->has_bbox;
        if (*in->options->feature_key == 0)
            continue;
        in->problems[PROBLEM_KEY_MISSING] += l->without_key;
        in->problems[PROBLEM_KEY_COLLISION] += layer_collisions(l);
    }
}

static yyjson_mut_val *problems_json(yyjson_mut_doc *d, const struct inspect *in)
{
    static const char *const details[] = {
#define X(code, detail) detail,
#include "handler/inspect_problems.def"
#undef X
    };
    yyjson_mut_val *list = yyjson_mut_arr(d);
    for (int i = 0; i < PROBLEM_COUNT; i++) {
        if (in->problems[i] == 0)
            continue;
        yyjson_mut_val *o = yyjson_mut_obj(d);
        json_add_str(d, o, "code", inspect_problem_name((enum inspect_problem)i));
        json_add_str(d, o, "detail", details[i]);
        yyjson_mut_obj_add_int(d, o, "count", in->problems[i]);
        yyjson_mut_arr_append(list, o);
    }
    return list;
}

static yyjson_mut_val *totals_json(yyjson_mut_doc *d, const struct inspect *in)
{
    int64_t invalid = 0, empty = 0;
    double area = 0;
    for (size_t i = 0; i < in->n_layers; i++) {
        invalid += in->layers[i]->invalid;
        empty += in->layers[i]->empty;
        area += in->layers[i]->area_km2;
    }
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_obj_add_int(d, o, "layers", (int64_t)in->n_layers);
    yyjson_mut_obj_add_int(d, o, "features", in->features);
    yyjson_mut_obj_add_int(d, o, "invalid", invalid);
    yyjson_mut_obj_add_int(d, o, "empty", empty);
    yyjson_mut_obj_add_real(d, o, "area_km2", km2(area));
    return o;
}

static yyjson_mut_val *whole_box(yyjson_mut_doc *d, const struct inspect *in)
{
    double box[4] = {0};
    bool has = false;
    for (size_t i = 0; i < in->n_layers; i++) {
        const struct layer *l = in->layers[i];
        for (int k = 0; l->has_bbox && k < 4; k++)
            if (!has || (k < 2 ? l->bbox[k] < box[k] : l->bbox[k] > box[k]))
                box[k] = l->bbox[k];
        has = has || l->has_bbox;
    }
    if (!has && in->raster && yyjson_mut_is_arr(yyjson_mut_obj_get(in->raster, "bbox")))
        return yyjson_mut_val_mut_copy(d, yyjson_mut_obj_get(in->raster, "bbox"));
    return box_of(d, has, box);
}

/* How GeoJSON names its CRS decides who reads it, not what it is. */
static const char *format_name(enum inspect_format f)
{
    if (inspect_formats[f].engine == ENGINE_NONE)
        return "other";
    return inspect_formats[f == FORMAT_geojson_crs ? FORMAT_geojson : f].name;
}

static void add_head(const struct inspect *in, yyjson_mut_val *o, int64_t size)
{
    const struct inspect_format_row *f = &inspect_formats[in->format];
    yyjson_mut_doc *d = in->doc;
    yyjson_mut_val *options = yyjson_mut_obj(d);
    json_add_str(d, o, "inspect_version", INSPECT_VERSION);
    json_add_str(d, o, "format", format_name(in->format));
    json_add_str(d, o, "driver", *f->driver ? f->driver : NULL);
    json_add_str(d, o, "media_type", f->media_type);
    yyjson_mut_obj_add_int(d, o, "size", size);
    yyjson_mut_obj_add_val(d, options, "feature_key", text_or_null(d, in->options->feature_key));
    yyjson_mut_obj_add_real(d, options, "precision_m", in->options->precision_m);
    yyjson_mut_obj_add_val(d, o, "options", options);
}

static void add_content(const struct inspect *in, yyjson_mut_val *o, struct str list,
                        const char *digest)
{
    yyjson_mut_doc *d = in->doc;
    yyjson_mut_val *layers = yyjson_mut_arr(d);
    for (size_t i = 0; i < in->n_layers; i++)
        yyjson_mut_arr_append(layers, layer_json(d, in->layers[i]));
    yyjson_mut_obj_add_val(d, o, "layers", layers);
    yyjson_mut_obj_add_val(d, o, "raster", in->raster ? in->raster : yyjson_mut_null(d));
    yyjson_mut_obj_add_val(d, o, "bbox", whole_box(d, in));
    yyjson_mut_obj_add_val(d, o, "totals", totals_json(d, in));
    json_add_str(d, o, "content_digest", digest);
    add_unread(d, o, in);
    if (list.n > 0)
        json_add_raw(d, o, "features", list);
    else
        yyjson_mut_obj_add_null(d, o, "features");
    yyjson_mut_obj_add_val(d, o, "problems", problems_json(d, in));
}

enum rc inspect_render(struct inspect *in, int64_t size, struct buf *out, struct err *err)
{
    char digest[SHA256_HEX] = "";
    struct buf list;
    yyjson_mut_val *o = yyjson_mut_obj(in->doc);
    qsort(in->layers, in->n_layers, sizeof in->layers[0], by_layer_name);
    bool has_content = in->n_layers > 0 || in->raster;
    if (has_content)
        TRY(content_digest(in, digest, err));
    add_problems(in);
    buf_init(&list, INSPECT_LISTED_BYTES);
    bool listed = put_list(in, &list);
    add_head(in, o, size);
    add_content(in, o, listed ? buf_view(&list) : STR(""), has_content ? digest : NULL);
    yyjson_mut_doc_set_root(in->doc, o);
    enum rc rc = json_doc_rc(in->doc);
    if (rc == RC_OK)
        rc = json_canon_mut(out, o, err);
    else
        rc = NO_MEMORY(err);
    buf_release(&list);
    return rc;
}
