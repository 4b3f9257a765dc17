/* inspect_raster: bands read in slices of whole blocks; the footprint from the four corners. */
#include "handler/inspect_raster.h"

#include <math.h>
#include "handler/inspect_crs.h"
#include "handler/inspect_report.h"

#define SLICE_BYTES (8 << 20)

struct band {
    double min, max;
    int64_t valid;
    struct sha256 digest;
};

static yyjson_mut_val *number_or_null(yyjson_mut_doc *d, double v)
{
    return isfinite(v) ? yyjson_mut_real(d, v) : yyjson_mut_null(d);
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* NaNs differ in bits that mean nothing: all become the same one. */
static void count_pixels(double *p, size_t n, bool has_nodata, double nodata, struct band *b)
{
    for (size_t i = 0; i < n; i++) {
        if (isnan(p[i])) {
            p[i] = NAN;
            continue;
        }
        if (has_nodata && p[i] == nodata)
            continue;
        b->min = fmin(b->min, p[i]);
        b->max = fmax(b->max, p[i]);
        b->valid++;
    }
}

static int slice_rows(GDALRasterBandH from, int width)
{
    int block_x, block_y;
    GDALGetBlockSize(from, &block_x, &block_y);
    int64_t rows = SLICE_BYTES / ((int64_t)width * (int64_t)sizeof(double));
    rows = rows > block_y ? rows - rows % block_y : rows;
    return rows > 0 ? (int)rows : 1;
}

static enum rc read_band(struct inspect *in, GDALRasterBandH from, struct band *b)
{
    int w = GDALGetRasterBandXSize(from), h = GDALGetRasterBandYSize(from), has_nodata = 0;
    int rows = slice_rows(from, w);
    double nodata = GDALGetRasterNoDataValue(from, &has_nodata);
    CLEANUP(digest_free) struct digest *sha = digest_new();
    double *slice = malloc((size_t)w * (size_t)rows * sizeof *slice);
    enum rc rc = sha && slice ? RC_OK : RC_NOMEM;
    *b = (struct band){.min = INFINITY, .max = -INFINITY};
    for (int y = 0; rc == RC_OK && y < h; y += rows) {
        int n = h - y < rows ? h - y : rows;
        size_t pixels = (size_t)w * (size_t)n;
        if (GDALRasterIO(from, GF_Read, 0, y, w, n, slice, w, n, GDT_Float64, 0, 0) != CE_None) {
            inspect_problem(in, PROBLEM_PARSE_ERROR);
            break;
        }
        count_pixels(slice, pixels, has_nodata, nodata, b);
        digest_add(sha, slice, pixels * sizeof *slice);
    }
    if (rc == RC_OK)
        digest_take(sha, &b->digest);
    free(slice);
    return rc;
}

/* Four numbers an entry, as bytes in a fixed order. */
static bool palette_digest(GDALRasterBandH from, char hex[SHA256_HEX])
{
    GDALColorTableH table = GDALGetRasterColorTable(from);
    CLEANUP(digest_free) struct digest *sha = table ? digest_new() : NULL;
    struct sha256 all;
    for (int i = 0; sha && i < GDALGetColorEntryCount(table); i++) {
        const GDALColorEntry *e = GDALGetColorEntry(table, i);
        const short parts[] = {e->c1, e->c2, e->c3, e->c4};
        for (size_t k = 0; k < ARRAY_LEN(parts); k++) {
            const uint8_t bytes[] = {(uint8_t)(parts[k] >> 8), (uint8_t)parts[k]};
            digest_add(sha, bytes, sizeof bytes);
        }
    }
    if (!sha)
        return false;
    digest_take(sha, &all);
    sha256_hex(&all, hex);
    return true;
}

/* What turns the numbers of a band into what they mean. */
static void add_meaning(yyjson_mut_doc *d, yyjson_mut_val *o, GDALRasterBandH from)
{
    char hex[SHA256_HEX];
    int has_scale = 0, has_offset = 0;
    double scale = GDALGetRasterScale(from, &has_scale);
    double offset = GDALGetRasterOffset(from, &has_offset);
    const char *unit = GDALGetRasterUnitType(from);
    json_add_str(d, o, "palette", palette_digest(from, hex) ? hex : NULL);
    yyjson_mut_obj_add_val(d, o, "scale", number_or_null(d, has_scale ? scale : NAN));
    yyjson_mut_obj_add_val(d, o, "offset", number_or_null(d, has_offset ? offset : NAN));
    json_add_str(d, o, "unit", unit && *unit ? unit : NULL);
}

static enum rc add_band(struct inspect *in, yyjson_mut_val *list, GDALRasterBandH from, bool read)
{
    struct band b = {.min = NAN, .max = NAN};
    char hex[SHA256_HEX];
    int has_nodata = 0;
    double nodata = GDALGetRasterNoDataValue(from, &has_nodata);
    yyjson_mut_doc *d = in->doc;
    yyjson_mut_val *o = yyjson_mut_obj(d);
    if (read)
        TRY(read_band(in, from, &b));
    sha256_hex(&b.digest, hex);
    json_add_str(d, o, "type", GDALGetDataTypeName(GDALGetRasterDataType(from)));
    json_add_str(d, o, "color",
                 GDALGetColorInterpretationName(GDALGetRasterColorInterpretation(from)));
    add_meaning(d, o, from);
    yyjson_mut_obj_add_val(d, o, "nodata",
                           has_nodata ? number_or_null(d, nodata) : yyjson_mut_null(d));
    yyjson_mut_obj_add_val(d, o, "min", number_or_null(d, b.min));
    yyjson_mut_obj_add_val(d, o, "max", number_or_null(d, b.max));
    yyjson_mut_obj_add_int(d, o, "valid_pixels", b.valid);
    json_add_str(d, o, "digest", read ? hex : NULL);
    yyjson_mut_arr_append(list, o);
    return RC_OK;
}

static enum rc add_bands(struct inspect *in, yyjson_mut_val *o, GDALDatasetH set)
{
    int n = GDALGetRasterCount(set);
    int64_t pixels = (int64_t)GDALGetRasterXSize(set) * GDALGetRasterYSize(set);
    bool read = n <= RASTER_BANDS_MAX && pixels <= RASTER_PIXELS_MAX / (n > 0 ? n : 1);
    yyjson_mut_val *list = yyjson_mut_arr(in->doc);
    if (!read)
        inspect_problem(in, PROBLEM_TOO_LARGE);
    for (int i = 1; i <= n && i <= RASTER_BANDS_MAX; i++)
        TRY(add_band(in, list, GDALGetRasterBand(set, i), read));
    yyjson_mut_obj_add_val(in->doc, o, "bands", list);
    return RC_OK;
}

/* ---- place ----------------------------------------------------------------------------------- */

static double rounded(double v)
{
    return rint(v * 1e9) / 1e9;
}

/* The corners, closed, from the upper left; false when one has no place. */
static bool corners_of(GDALDatasetH set, const struct crs *crs, double x[5], double y[5])
{
    double t[6];
    double w = GDALGetRasterXSize(set), h = GDALGetRasterYSize(set);
    const double px[5] = {0, w, w, 0, 0}, py[5] = {0, 0, h, h, 0};
    if (!crs->known || GDALGetGeoTransform(set, t) != CE_None)
        return false;
    for (int i = 0; i < 5; i++) {
        x[i] = t[0] + px[i] * t[1] + py[i] * t[2];
        y[i] = t[3] + px[i] * t[4] + py[i] * t[5];
    }
    if (crs->to_lonlat && !crs->to_lonlat(crs->ctx, x, y, 5))
        return false;
    for (int i = 0; i < 5; i++)
        if (!(fabs(x[i]) <= 360 && fabs(y[i]) <= 90.001))
            return false;
    return true;
}

static void add_place(struct inspect *in, yyjson_mut_val *o, GDALDatasetH set)
{
    struct crs crs;
    double x[5], y[5], box[4] = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    yyjson_mut_doc *d = in->doc;
    yyjson_mut_val *footprint = yyjson_mut_arr(d), *bbox = yyjson_mut_arr(d);
    crs_of(GDALGetSpatialRef(set), &crs);
    yyjson_mut_obj_add_val(d, o, "crs", inspect_crs_json(d, &crs));
    bool placed = corners_of(set, &crs, x, y);
    crs_release(&crs);
    if (!placed) {
        inspect_problem(in, PROBLEM_CRS_MISSING_OR_INVALID);
        yyjson_mut_obj_add_null(d, o, "footprint");
        yyjson_mut_obj_add_null(d, o, "bbox");
        return;
    }
    for (int i = 0; i < 5; i++) {
        yyjson_mut_val *p = yyjson_mut_arr(d);
        yyjson_mut_arr_add_real(d, p, rounded(x[i]));
        yyjson_mut_arr_add_real(d, p, rounded(y[i]));
        yyjson_mut_arr_append(footprint, p);
        box[0] = fmin(box[0], x[i]), box[1] = fmin(box[1], y[i]);
        box[2] = fmax(box[2], x[i]), box[3] = fmax(box[3], y[i]);
    }
    for (int i = 0; i < 4; i++)
        yyjson_mut_arr_add_real(d, bbox, rounded(box[i]));
    yyjson_mut_obj_add_val(d, o, "footprint", footprint);
    yyjson_mut_obj_add_val(d, o, "bbox", bbox);
}

enum rc inspect_raster(struct inspect *in, GDALDatasetH set)
{
    yyjson_mut_val *o = yyjson_mut_obj(in->doc);
    if (GDALGetMetadata(set, "SUBDATASETS")) /* further pages */
        inspect_has_unread(in);
    yyjson_mut_obj_add_int(in->doc, o, "width", GDALGetRasterXSize(set));
    yyjson_mut_obj_add_int(in->doc, o, "height", GDALGetRasterYSize(set));
    add_place(in, o, set);
    TRY(add_bands(in, o, set));
    in->raster = o;
    return RC_OK;
}
