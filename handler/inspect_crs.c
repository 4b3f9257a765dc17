/* inspect_crs: EPSG code, WKT digest, unit, and the way back to longitude and latitude. */
#include "handler/inspect_crs.h"

#include <gdal/cpl_conv.h>
#include <math.h>

#define EPSG_MAX 1000000 /* codes have five digits, ESRI's in the same column six */

/* ---- identity -------------------------------------------------------------------------------- */

static void read_code(OGRSpatialReferenceH srs, struct crs *ret)
{
    const char *name = OSRGetAuthorityName(srs, NULL), *code = OSRGetAuthorityCode(srs, NULL);
    if (!code && OSRAutoIdentifyEPSG(srs) == OGRERR_NONE) {
        name = OSRGetAuthorityName(srs, NULL);
        code = OSRGetAuthorityCode(srs, NULL);
    }
    if (name && code)
        snprintf(ret->code, sizeof ret->code, "%s:%s", name, code);
    if (!str_is_clean(str_of(ret->code)) || !str_is_utf8(str_of(ret->code)))
        ret->code[0] = 0;
}

static void read_wkt(OGRSpatialReferenceH srs, struct crs *ret)
{
    static const char *const options[] = {"FORMAT=WKT2_2019", "MULTILINE=NO", NULL};
    char *wkt = NULL;
    struct sha256 sha;
    if (OSRExportToWktEx(srs, &wkt, options) == OGRERR_NONE && wkt) {
        digest_sha256(wkt, strlen(wkt), &sha);
        sha256_hex(&sha, ret->wkt_digest);
    }
    CPLFree(wkt);
}

/* ---- longitude and latitude ------------------------------------------------------------------ */

static bool transform(void *ctx, double *x, double *y, size_t n)
{
    return n <= INT32_MAX && OCTTransform(ctx, (int)n, x, y, NULL);
}

static void destroy(void *ctx)
{
    OCTDestroyCoordinateTransformation(ctx);
}

static bool has_plain_degrees(OGRSpatialReferenceH srs)
{
    char *unit = NULL, *meridian = NULL;
    double radians = OSRGetAngularUnits(srs, &unit), from = OSRGetPrimeMeridian(srs, &meridian);
    return fabs(radians - M_PI / 180) < 1e-12 && fabs(from) < 1e-9;
}

static OGRSpatialReferenceH with_east_first(OGRSpatialReferenceH srs)
{
    if (srs)
        OSRSetAxisMappingStrategy(srs, OAMS_TRADITIONAL_GIS_ORDER);
    return srs;
}

/* The CRS's own longitude and latitude (inspect_layer.h says why not WGS84), unless those have
 * other units or another meridian. */
static OGRSpatialReferenceH target_of(OGRSpatialReferenceH srs)
{
    OGRSpatialReferenceH own = OSRCloneGeogCS(srs);
    if (own && has_plain_degrees(own))
        return with_east_first(own);
    if (own)
        OSRDestroySpatialReference(own);
    OGRSpatialReferenceH wgs84 = OSRNewSpatialReference(NULL);
    OSRImportFromEPSG(wgs84, 4326);
    return with_east_first(wgs84);
}

static void find_way(OGRSpatialReferenceH srs, struct crs *ret)
{
    char *unit = NULL;
    if (OSRIsGeographic(srs) && has_plain_degrees(srs)) {
        ret->known = true;
        return;
    }
    ret->unit_m = OSRIsGeographic(srs) ? 0 : OSRGetLinearUnits(srs, &unit);
    OGRSpatialReferenceH target = target_of(srs);
    ret->ctx = target ? OCTNewCoordinateTransformation(srs, target) : NULL;
    ret->to_lonlat = transform;
    ret->release = ret->ctx ? destroy : NULL;
    ret->known = ret->ctx != NULL;
    if (target)
        OSRDestroySpatialReference(target);
}

void crs_of(OGRSpatialReferenceH srs, struct crs *ret)
{
    *ret = (struct crs){0};
    if (!srs)
        return;
    OGRSpatialReferenceH own = with_east_first(OSRClone(srs));
    if (!own)
        return;
    bool on_earth = OSRIsGeographic(own) || OSRIsProjected(own);
    ret->kind = OSRIsGeographic(own) ? "geographic" : OSRIsProjected(own) ? "projected" : "other";
    read_code(own, ret);
    read_wkt(own, ret);
    if (on_earth)
        find_way(own, ret);
    OSRDestroySpatialReference(own);
}

enum rc crs_of_geojson(struct inspect *in, yyjson_val *member, struct crs *ret, struct err *err)
{
    const char *name = yyjson_get_str(yyjson_ptr_get(member, "/properties/name"));
    const char *digits = name ? strrchr(name, ':') : NULL;
    int64_t code = 0;
    (void)in, (void)err;
    *ret = (struct crs){0};
    if (!digits || !strstr(name, "EPSG") || str_to_i64(str_of(digits + 1), &code) != RC_OK ||
        code <= 0 || code > EPSG_MAX)
        return RC_OK;
    OGRSpatialReferenceH srs = OSRNewSpatialReference(NULL);
    if (srs && OSRImportFromEPSG(srs, (int)code) == OGRERR_NONE)
        crs_of(srs, ret);
    if (srs)
        OSRDestroySpatialReference(srs);
    return RC_OK;
}
