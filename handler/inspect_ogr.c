/* inspect_ogr: OGR's fields into attributes, OGR's geometries into ours. */
#include "handler/inspect_ogr.h"

#include <gdal/ogr_api.h>
#include "handler/inspect_attributes.h"
#include "handler/inspect_crs.h"

#define COLLECTION_DEPTH_MAX 32

struct reader {
    struct inspect *in;
    struct layer *layer;
    struct geom geom;
    struct attributes attributes;
    struct arena scratch; /* of one value */
    int key_field;        /* -1: none */
    char geometry_role; /* of a CSV: which columns are its geometry, 'w' or 'x'; 0: other formats */
};

/* ---- geometries ------------------------------------------------------------------------------ */

static void read_ring(struct geom *g, OGRGeometryH from, bool has_z)
{
    int n = OGR_G_GetPointCount(from);
    geom_ring(g);
    size_t at = n > 0 ? geom_vertices(g, (size_t)n) : SIZE_MAX;
    if (at == SIZE_MAX)
        return;
    const int step = sizeof(double);
    OGR_G_GetPoints(from, g->x + at, step, g->y + at, step, has_z ? g->z + at : NULL, step);
    if (!has_z)
        memset(g->z + at, 0, (size_t)n * sizeof *g->z);
}

static void read_geometry(struct geom *g, OGRGeometryH from, int depth)
{
    bool has_z = OGR_G_Is3D(from);
    int parts = OGR_G_GetGeometryCount(from);
    if (OGR_G_IsEmpty(from))
        return;
    g->has_z = g->has_z || has_z;
    switch (OGR_GT_Flatten(OGR_G_GetGeometryType(from))) {
    case wkbPoint:
    case wkbLineString:
    case wkbLinearRing:
        geom_part(g,
                  OGR_GT_Flatten(OGR_G_GetGeometryType(from)) == wkbPoint ? GEOM_POINT : GEOM_LINE);
        read_ring(g, from, has_z);
        return;
    case wkbPolygon:
    case wkbTriangle:
        geom_part(g, GEOM_POLYGON);
        for (int i = 0; i < parts; i++)
            read_ring(g, OGR_G_GetGeometryRef(from, i), has_z);
        return;
    default:
        if (parts == 0 || depth == 0)
            g->bad = GEOM_MALFORMED;
        for (int i = 0; depth > 0 && i < parts; i++)
            read_geometry(g, OGR_G_GetGeometryRef(from, i), depth - 1);
    }
}

/* Curves become the lines GDAL draws them with. */
static bool take_geometry(struct reader *r, OGRFeatureH f)
{
    OGRGeometryH from = OGR_F_GetGeometryRef(f);
    geom_clear(&r->geom);
    if (!from)
        return false;
    OGRGeometryH lines =
        OGR_G_HasCurveGeometry(from, TRUE) ? OGR_G_GetLinearGeometry(from, 0, NULL) : NULL;
    read_geometry(&r->geom, lines ? lines : from, COLLECTION_DEPTH_MAX);
    if (lines)
        OGR_G_DestroyGeometry(lines);
    return true;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void add_time(struct reader *r, struct str name, OGRFeatureH f, int i, unsigned type)
{
    int year, month, day, hour, minute, zone;
    float second;
    char date[40], text[96];
    if (!OGR_F_GetFieldAsDateTimeEx(f, i, &year, &month, &day, &hour, &minute, &second, &zone))
        return;
    snprintf(date, sizeof date, "%04d-%02d-%02d", year, month, day);
    if (type == FIELD_date)
        snprintf(text, sizeof text, "%s", date);
    else
        snprintf(text, sizeof text, "%s%s%02d:%02d:%06.3f", type == FIELD_time ? "" : date,
                 type == FIELD_time ? "" : "T", hour, minute, (double)second);
    /* 0 and 1 say that the zone is unknown or local; 100 is UTC, each step a quarter of an hour. */
    if (zone > 1) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%+03d:%02d", (zone - 100) / 4,
                 abs(zone - 100) % 4 * 15);
    }
    attributes_text(&r->attributes, name, str_of(text));
}

static void add_binary(struct reader *r, struct str name, OGRFeatureH f, int i)
{
    int n = 0;
    const GByte *bytes = OGR_F_GetFieldAsBinary(f, i, &n);
    struct sha256 sha;
    char hex[SHA256_HEX];
    digest_sha256(bytes, (size_t)n, &sha);
    sha256_hex(&sha, hex);
    attributes_text(&r->attributes, name, str_of(hex));
}

/* Text that its column declares to be JSON is compared as JSON, where it is. */
static void add_json(struct reader *r, struct str name, struct str text)
{
    yyjson_val *v;
    struct err why;
    arena_reset(&r->scratch);
    if (json_parse(&r->scratch, text, 0, "a value", &v, &why) != RC_OK ||
        attributes_json(&r->attributes, name, v, &why) != RC_OK)
        attributes_text(&r->attributes, name, text);
}

static unsigned type_of(OGRFieldDefnH d)
{
    switch (OGR_Fld_GetType(d)) {
    case OFTInteger: return OGR_Fld_GetSubType(d) == OFSTBoolean ? FIELD_boolean : FIELD_integer;
    case OFTInteger64: return FIELD_integer;
    case OFTReal: return FIELD_number;
    case OFTDate: return FIELD_date;
    case OFTTime: return FIELD_time;
    case OFTDateTime: return FIELD_datetime;
    case OFTBinary: return FIELD_binary;
    case OFTString: return OGR_Fld_GetSubType(d) == OFSTJSON ? FIELD_object : FIELD_string;
    default: return FIELD_list;
    }
}

static void add_value(struct reader *r, OGRFeatureH f, int i)
{
    OGRFieldDefnH d = OGR_F_GetFieldDefnRef(f, i);
    struct str name = str_of(OGR_Fld_GetNameRef(d));
    unsigned type = type_of(d);
    switch (type) {
    case FIELD_boolean:
        attributes_raw(&r->attributes, name,
                       OGR_F_GetFieldAsInteger(f, i) ? STR("true") : STR("false"));
        return;
    case FIELD_integer:
        attributes_integer(&r->attributes, name, OGR_F_GetFieldAsInteger64(f, i));
        return;
    case FIELD_number:
        attributes_number(&r->attributes, name, OGR_F_GetFieldAsDouble(f, i));
        return;
    case FIELD_date:
    case FIELD_time:
    case FIELD_datetime: add_time(r, name, f, i, type); return;
    case FIELD_binary: add_binary(r, name, f, i); return;
    case FIELD_object: add_json(r, name, str_of(OGR_F_GetFieldAsString(f, i))); return;
    default: attributes_text(&r->attributes, name, str_of(OGR_F_GetFieldAsString(f, i)));
    }
}

static bool read_key(const struct reader *r, OGRFeatureH f, char key[])
{
    if (r->key_field < 0 || !OGR_F_IsFieldSetAndNotNull(f, r->key_field))
        return false;
    if (OGR_Fld_GetType(OGR_F_GetFieldDefnRef(f, r->key_field)) == OFTReal)
        return json_number(OGR_F_GetFieldAsDouble(f, r->key_field), key);
    return attributes_key_text(str_of(OGR_F_GetFieldAsString(f, r->key_field)), key);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Columns that GDAL made the geometry from are no attributes; it prefers WKT where there
 * is some. */
static char geometry_role(const struct inspect *in, OGRFeatureDefnH d)
{
    if (in->format != FORMAT_csv)
        return 0;
    for (int i = 0; i < OGR_FD_GetFieldCount(d); i++) {
        const char *role = inspect_csv_role(str_of(OGR_Fld_GetNameRef(OGR_FD_GetFieldDefn(d, i))));
        if (role && *role == 'w')
            return 'w';
    }
    return 'x';
}

static bool is_geometry(const struct reader *r, OGRFieldDefnH d)
{
    const char *role = r->geometry_role ? inspect_csv_role(str_of(OGR_Fld_GetNameRef(d))) : NULL;
    return role && (*role == 'w') == (r->geometry_role == 'w');
}

/* ---- layers ---------------------------------------------------------------------------------- */

static enum rc add_feature(struct reader *r, OGRFeatureH f)
{
    char key[INSPECT_KEY_MAX + 1];
    struct str attributes;
    bool has_geometry = take_geometry(r, f);
    attributes_clear(&r->attributes);
    for (int i = 0; i < OGR_F_GetFieldCount(f); i++) {
        bool geometry = is_geometry(r, OGR_F_GetFieldDefnRef(f, i));
        if (!OGR_F_IsFieldSetAndNotNull(f, i) || (geometry && r->geom.n > 0))
            continue;
        /* Text that GDAL could make no geometry of stays what it is, and is told. */
        if (geometry && *OGR_F_GetFieldAsString(f, i)) {
            r->geom.bad = GEOM_MALFORMED;
            has_geometry = true;
        }
        add_value(r, f, i);
        if (!geometry && layer_text_fills(str_of(OGR_F_GetFieldAsString(f, i))))
            TRY(layer_field(r->layer, r->in->arena,
                            str_of(OGR_Fld_GetNameRef(OGR_F_GetFieldDefnRef(f, i))), 0, true));
    }
    bool keyed = read_key(r, f, key);
    if (++r->in->features > INSPECT_FEATURES_MAX || !attributes_finish(&r->attributes, &attributes))
        return RC_TOO_LARGE;
    return layer_add(r->layer, r->in->arena, &r->in->tools, has_geometry ? &r->geom : NULL,
                     attributes, keyed ? key : NULL);
}

static enum rc add_fields(struct reader *r, OGRFeatureDefnH d)
{
    for (int i = 0; i < OGR_FD_GetFieldCount(d); i++) {
        OGRFieldDefnH f = OGR_FD_GetFieldDefn(d, i);
        if (is_geometry(r, f))
            continue;
        TRY(layer_field(r->layer, r->in->arena, str_of(OGR_Fld_GetNameRef(f)), type_of(f), false));
    }
    return RC_OK;
}

static enum rc read_layer(struct reader *r, OGRLayerH from, bool assume_wgs84)
{
    struct crs crs;
    OGRFeatureDefnH d = OGR_L_GetLayerDefn(from);
    OGRFeatureH f;
    enum rc rc;
    crs_of(OGR_L_GetSpatialRef(from), &crs);
    if (!crs.kind && assume_wgs84) {
        crs = crs_wgs84;
        crs.assumed = true;
    }
    r->layer = inspect_layer(r->in, OGR_L_GetName(from), &crs);
    if (!r->layer)
        return RC_OK; /* told */
    const char *key = r->in->options->feature_key;
    r->key_field = *key ? OGR_FD_GetFieldIndex(d, key) : -1;
    r->geometry_role = geometry_role(r->in, d);
    rc = add_fields(r, d);
    OGR_L_ResetReading(from);
    while (rc == RC_OK && (f = OGR_L_GetNextFeature(from))) {
        rc = add_feature(r, f);
        OGR_F_Destroy(f);
    }
    /* A FlatGeobuf that is cut off ends without a complaint; its header has the count. */
    if (rc == RC_OK && r->in->format == FORMAT_flatgeobuf &&
        (int64_t)r->layer->n < OGR_L_GetFeatureCount(from, FALSE))
        r->in->problems[PROBLEM_PARSE_ERROR] = 1;
    if (rc == RC_TOO_LARGE)
        inspect_problem(r->in, PROBLEM_TOO_LARGE);
    return rc == RC_TOO_LARGE ? RC_OK : rc;
}

enum rc inspect_ogr_layers(struct inspect *in, GDALDatasetH set, bool assume_wgs84)
{
    struct reader r = {.in = in};
    enum rc rc = RC_OK;
    attributes_init(&r.attributes);
    arena_init(&r.scratch, (size_t)1 << 30);
    int n = GDALDatasetGetLayerCount(set);
    for (int i = 0; rc == RC_OK && i < n && in->problems[PROBLEM_TOO_LARGE] == 0; i++)
        rc = read_layer(&r, GDALDatasetGetLayer(set, i), assume_wgs84);
    attributes_release(&r.attributes);
    geom_release(&r.geom);
    arena_release(&r.scratch);
    return rc;
}
