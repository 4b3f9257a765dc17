/* inspect_gdal: setting up, opening by format. */
#include "handler/inspect_gdal.h"

#include <gdal/cpl_conv.h>
#include <gdal/cpl_error.h>
#include <gdal/cpl_vsi.h>
#include <gdal/gdal.h>
#include <iconv.h>
#include "handler/inspect_archive.h"
#include "handler/inspect_crs.h"
#include "handler/inspect_geojson.h"
#include "handler/inspect_ogr.h"
#include "handler/inspect_raster.h"

#define FOLDER "/vsimem/inspect/"

/* ---- setting up ------------------------------------------------------------------------------ */

/* GDAL's C++ header declares them; they are plain C. */
#define NONE none_
#define X(name, type, engine, driver, fn, ending) void fn(void);
#include "handler/inspect_formats.def"
#undef X
#undef NONE
#define NONE NULL

static void register_drivers(void)
{
    static void (*const registers[])(void) = {
#define X(name, type, engine, driver, fn, ending) fn,
#include "handler/inspect_formats.def"
#undef X
    };
    for (size_t i = 0; i < ARRAY_LEN(registers); i++)
        if (registers[i])
            registers[i]();
}

static void configure(void)
{
    static const char *const options[][2] = {
        {"GDAL_PAM_ENABLED", "NO"},      /* no .aux.xml */
        {"GDAL_DRIVER_PATH", "disable"}, /* no plug-ins */
        {"GDAL_NUM_THREADS", "1"},       /* no threads */
        {"GDAL_CACHEMAX", "64"},         /* MB of raster blocks */
        {"GDAL_HTTP_MAX_RETRY", "0"},    /* nor any network */
        {"CPL_VSIL_CURL_ALLOWED_EXTENSIONS", "{none}"},
        {"OGR_SQLITE_LIST_VIRTUAL_OGR", "NO"}, /* no tables that point to other files */
        {"OSR_DEFAULT_AXIS_MAPPING_STRATEGY", "TRADITIONAL_GIS_ORDER"},
    };
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        CPLSetConfigOption(options[i][0], options[i][1]);
    OSRSetPROJEnableNetwork(FALSE);
}

/* Attribute tables of shapefiles name their character set. The C library loads a table on first use
 * and keeps it while a converter is open: these stay open. Others fall back to the bytes as they
 * are. */
static volatile iconv_t held_open[32];

static void load_encodings(void)
{
    static const char *const names[] = {
        "CP1250",     "CP1251",     "CP1252",      "CP1253",    "CP1254", "CP1257", "CP437",
        "CP850",      "CP852",      "CP932",       "CP936",     "CP949",  "CP950",  "GB18030",
        "ISO-8859-1", "ISO-8859-2", "ISO-8859-15", "SHIFT-JIS", "BIG5",   "EUC-KR"};
    _Static_assert(ARRAY_LEN(names) <= ARRAY_LEN(held_open), "room for each");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        held_open[i] = iconv_open("UTF-8", names[i]);
}

/* Opens PROJ's database and fills its caches with what is asked for most. */
static void load_crs(void)
{
    static const int codes[] = {4326, 4269, 3857};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        OGRSpatialReferenceH srs = OSRNewSpatialReference(NULL);
        struct crs crs;
        if (srs && OSRImportFromEPSG(srs, codes[i]) == OGRERR_NONE) {
            crs_of(srs, &crs);
            crs_release(&crs);
        }
        if (srs)
            OSRDestroySpatialReference(srs);
    }
}

enum rc inspect_gdal_warm(struct err *err)
{
    static const char *const samples[] = {
        "{\"type\":\"Polygon\",\"coordinates\":[[[0,0],[1,0],[1,1],[0,0]]]}",
        "wkt,a\n\"POLYGON((0 0,1 0,1 1,0 0))\",1\n"};
    struct inspect_options o;
    struct buf out;
    enum rc rc = RC_OK;
    configure();
    register_drivers();
    load_encodings();
    load_crs();
    inspect_options_default(&o);
    buf_init(&out, 1u << 20);
    for (size_t i = 0; rc == RC_OK && i < ARRAY_LEN(samples); i++)
        rc = inspect_bytes(str_of(samples[i]), &o, inspect_gdal, &out, err);
    buf_release(&out);
    return rc;
}

/* ---- one data set ---------------------------------------------------------------------------- */

/* What GDAL complains about while a file is read. */
static void CPL_STDCALL note_error(CPLErr level, CPLErrorNum number, const char *text)
{
    struct inspect *in = CPLGetErrorHandlerUserData();
    (void)text;
    if (level >= CE_Failure)
        in->problems[number == CPLE_OutOfMemory ? PROBLEM_TOO_LARGE : PROBLEM_PARSE_ERROR] = 1;
}

static GDALDatasetH open_set(enum inspect_format f, const char *path)
{
    static const char *const csv[] = {
        "X_POSSIBLE_NAMES=lon,lng,long,longitude", "Y_POSSIBLE_NAMES=lat,latitude",
        "GEOM_POSSIBLE_NAMES=wkt,geom,geometry,the_geom,geom_wkt", "KEEP_GEOM_COLUMNS=YES", NULL};
    static const char *const gpkg[] = {"LIST_ALL_TABLES=NO", NULL};
    static const char *const none[] = {NULL};
    const char *drivers[] = {inspect_formats[f].driver, NULL};
    unsigned kind = f == FORMAT_geotiff ? GDAL_OF_RASTER : GDAL_OF_VECTOR;
    return GDALOpenEx(path, kind | GDAL_OF_READONLY | GDAL_OF_INTERNAL, drivers,
                      f == FORMAT_csv    ? csv
                      : f == FORMAT_gpkg ? gpkg
                                         : none,
                      none);
}

/* Places that lie in other files. */
static bool has_links(enum inspect_format f, struct str bytes)
{
    return f == FORMAT_kml && memmem(bytes.p, bytes.n, "NetworkLink", strlen("NetworkLink"));
}

/* Beside features, a GeoPackage may hold tiles. */
static bool has_tiles(enum inspect_format f, const char *path)
{
    const char *drivers[] = {inspect_formats[FORMAT_gpkg].driver, NULL};
    if (f != FORMAT_gpkg)
        return false;
    CPLPushErrorHandler(CPLQuietErrorHandler);
    GDALDatasetH tiles =
        GDALOpenEx(path, GDAL_OF_RASTER | GDAL_OF_READONLY | GDAL_OF_INTERNAL, drivers, NULL, NULL);
    CPLPopErrorHandler();
    if (tiles)
        GDALClose(tiles);
    return tiles != NULL;
}

enum rc inspect_gdal_set(struct inspect *in, enum inspect_format f, const char *path)
{
    bool by_definition =
        f == FORMAT_csv || f == FORMAT_kml || f == FORMAT_kmz || f == FORMAT_topojson;
    GDALDatasetH set = open_set(f, path);
    enum rc rc = RC_OK;
    if (!set)
        in->problems[in->problems[PROBLEM_TOO_LARGE] ? PROBLEM_TOO_LARGE : PROBLEM_PARSE_ERROR] = 1;
    else if (f == FORMAT_geotiff)
        rc = inspect_raster(in, set);
    else
        rc = inspect_ogr_layers(in, set, by_definition);
    if (set)
        GDALClose(set);
    if (set && rc == RC_OK && (has_links(f, in->bytes) || has_tiles(f, path)))
        inspect_has_unread(in);
    return rc;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A GeoPackage in WAL mode asks for a second file that is not there, and its header is then all
 * that stands in the way. The bytes are ours alone. */
static void leave_wal_mode(struct str bytes)
{
    char *version = (char *)(uintptr_t)bytes.p + 18;
    if (bytes.n >= 20 && version[0] == 2 && version[1] == 2)
        version[0] = version[1] = 1;
}

static uint32_t big_endian(const char *p, size_t bytes)
{
    uint32_t v = 0;
    for (size_t i = 0; i < bytes; i++)
        v = v << 8 | (unsigned char)p[i];
    return v;
}

/* SQLite reads what is there of a file that is cut off, and says nothing. Its header has the size
 * of a page (1 stands for 65536) and their number. */
static bool is_whole_sqlite(struct str bytes)
{
    if (bytes.n < 100)
        return false;
    uint64_t page = big_endian(bytes.p + 16, 2), pages = big_endian(bytes.p + 28, 4);
    return pages * (page == 1 ? 65536 : page) <= bytes.n;
}

static enum rc read_gpkg(struct inspect *in, const char *path)
{
    if (!is_whole_sqlite(in->bytes)) {
        inspect_problem(in, PROBLEM_PARSE_ERROR);
        return RC_OK;
    }
    leave_wal_mode(in->bytes);
    return inspect_gdal_set(in, FORMAT_gpkg, path);
}

static enum rc read_format(struct inspect *in, const char *path, struct err *err)
{
    switch (in->format) {
    case FORMAT_geojson:
    case FORMAT_geojsonseq:
    case FORMAT_geojson_crs: return inspect_geojson_with(in, crs_of_geojson, err);
    case FORMAT_zip: return inspect_archive(in, path, err);
    case FORMAT_gpkg: return read_gpkg(in, path);
    default: return inspect_gdal_set(in, in->format, path);
    }
}

enum rc inspect_gdal(struct inspect *in, struct err *err)
{
    char path[64];
    snprintf(path, sizeof path, FOLDER "data%s", inspect_formats[in->format].ending);
    VSILFILE *f = VSIFileFromMemBuffer(path, (GByte *)(uintptr_t)in->bytes.p, in->bytes.n, FALSE);
    if (!f)
        return err_set(err, RC_NOMEM, "", "no memory for the file");
    VSIFCloseL(f);
    CPLPushErrorHandlerEx(note_error, in);
    enum rc rc = read_format(in, path, err);
    CPLPopErrorHandler();
    VSIUnlink(path);
    bool told = false;
    for (int i = 0; i < PROBLEM_COUNT; i++)
        told = told || in->problems[i] > 0;
    if (rc == RC_OK && in->n_layers == 0 && !in->raster && !told)
        inspect_problem(in, PROBLEM_WRONG_SHAPE);
    return rc;
}
