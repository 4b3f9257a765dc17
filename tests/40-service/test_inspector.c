/* The inspectors, one file at a time: good ones, hostile ones, and always the same report (I9). */
#include "tests/40-service/inspecting.h"

#include <dirent.h>

/* ---- good files ------------------------------------------------------------------------------ */

static const struct {
    const char *path, *format, *crs;
} good[] = {
    {OWN "counties", "geojson", "EPSG:4326"},
    {OWN "counties_rewritten", "geojson", "EPSG:4326"},
    {OWN "sequence", "geojsonseq", "EPSG:4326"},
    {OWN "lines", "geojsonseq", "EPSG:4326"},
    {OWN "crs84", "geojson", "EPSG:4326"},
    {GDAL "counties.zip", "shapefile", "EPSG:4326"},
    {GDAL "counties.gpkg", "gpkg", "EPSG:4326"},
    {GDAL "wal.gpkg", "gpkg", "EPSG:4326"},
    {GDAL "trigger.gpkg", "gpkg", "EPSG:4326"},
    {GDAL "counties.fgb", "flatgeobuf", "EPSG:4326"},
    {GDAL "zipped.geojson.zip", "geojson", "EPSG:4326"},
};

/* The same three counties, whatever the format, the order, the digits: one content digest. */
static void one_content_in_many_bytes(void **state)
{
    char first[SHA256_HEX] = "";
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct inspection r = inspect_path(good[i].path);
        if (strcmp(problems_of(&r), "") != 0)
            fail_msg("%s: %s", good[i].path, problems_of(&r));
        assert_string_equal(text_at(&r, "/format"), good[i].format);
        assert_string_equal(text_at(&r, "/layers/0/crs/code"), good[i].crs);
        assert_int_equal(number_at(&r, "/totals/features"), 3);
        assert_string_equal(text_at(&r, "/features/1/key"), "20003");
        if (!first[0])
            memcpy(first, text_at(&r, "/content_digest"), sizeof first);
        if (strcmp(text_at(&r, "/content_digest"), first) != 0)
            fail_msg("%s has another content digest", good[i].path);
    }
}

static void formats_without_types(void **state)
{
    static const struct {
        const char *path, *format;
        int64_t features;
    } cases[] = {{GDAL "counties.kml", "kml", 3},       {GDAL "counties.kmz", "kmz", 3},
                 {GDAL "counties.csv", "csv", 3},       {GDAL "points.csv", "csv", 2},
                 {GDAL "topology.json", "topojson", 1}, {GDAL "utm.zip", "shapefile", 3}};
    (void)state;
    options.feature_key = "";
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct inspection r = inspect_path(cases[i].path);
        if (strcmp(problems_of(&r), "") != 0)
            fail_msg("%s: %s", cases[i].path, problems_of(&r));
        assert_string_equal(text_at(&r, "/format"), cases[i].format);
        assert_int_equal(number_at(&r, "/totals/features"), cases[i].features);
    }
    options.feature_key = "GEOID";
}

/* A projection is undone: box and area are those of the same shapes in degrees. */
static void projected(void **state)
{
    struct inspection degrees = inspect_path(GDAL "counties.zip");
    struct inspection metres = inspect_path(GDAL "utm.zip");
    (void)state;
    assert_string_equal(text_at(&metres, "/layers/0/crs/code"), "EPSG:26914");
    assert_string_equal(text_at(&metres, "/layers/0/crs/kind"), "projected");
    assert_true(number_at(&metres, "/layers/0/bbox_native/1") > 4000000);
    for (int i = 0; i < 4; i++) {
        char at[32];
        snprintf(at, sizeof at, "/bbox/%d", i);
        double d = yyjson_get_num(yyjson_ptr_get(degrees.root, at)) -
                   yyjson_get_num(yyjson_ptr_get(metres.root, at));
        assert_true(d < 1e-6 && d > -1e-6);
    }
    assert_int_equal(number_at(&metres, "/totals/area_km2"),
                     number_at(&degrees, "/totals/area_km2"));
    struct inspection old = inspect_path(GDAL "utm.geojson");
    assert_string_equal(text_at(&old, "/layers/0/crs/code"), "EPSG:26914");
    assert_string_equal(text_at(&old, "/format"), "geojson");
}

/* Compression and tiling are bytes, not content. */
static void rasters(void **state)
{
    struct inspection plain = inspect_path(GDAL "plain.tif"),
                      tiled = inspect_path(GDAL "tiled.tif");
    (void)state;
    assert_string_equal(problems_of(&plain), "");
    assert_string_equal(text_at(&plain, "/format"), "geotiff");
    assert_int_equal(number_at(&plain, "/raster/bands/0/max"), 7);
    assert_int_equal(number_at(&plain, "/raster/bands/0/nodata"), 0);
    assert_string_equal(text_at(&plain, "/raster/crs/code"), "EPSG:4326");
    assert_int_equal(number_at(&plain, "/bbox/0"), -100);
    assert_string_equal(text_at(&plain, "/content_digest"), text_at(&tiled, "/content_digest"));
}

/* ---- hostile files --------------------------------------------------------------------------- */

static const struct {
    const char *path, *problems;
} hostile[] = {
    {GDAL "absolute.zip", "ARCHIVE_UNSAFE"},
    {GDAL "backslash.zip", "ARCHIVE_UNSAFE"},
    {GDAL "bomb.zip", "ARCHIVE_UNSAFE"},
    {GDAL "symlink.zip", "ARCHIVE_UNSAFE"},
    {GDAL "traversal.zip", "ARCHIVE_UNSAFE"},
    {GDAL "twins.zip", "ARCHIVE_UNSAFE"},
    {GDAL "claims_4gb.zip", "TOO_LARGE"},
    {GDAL "claims_zip64.zip", "TOO_LARGE"},
    {GDAL "lies_small.zip", "PARSE_ERROR"},
    {GDAL "no_shp.zip", "WRONG_SHAPE"},
    {GDAL "empty.zip", "WRONG_SHAPE"},
    {GDAL "no_prj.zip", "CRS_MISSING_OR_INVALID"},
    {GDAL "no_shx.zip", "PARSE_ERROR"},
    {GDAL "cut.zip", "PARSE_ERROR"},
    {GDAL "claims_shx.zip", "PARSE_ERROR"},
    {GDAL "laughs.kml", "PARSE_ERROR"},
    {GDAL "external.kml", "PARSE_ERROR"},
    {GDAL "deep.kml", "PARSE_ERROR"},
    {GDAL "cut.kml", "PARSE_ERROR"},
    {GDAL "not_finite.csv", "GEOMETRY_INVALID COORDINATES_OUT_OF_RANGE KEY_MISSING"},
    {GDAL "bowtie.csv", "GEOMETRY_INVALID KEY_MISSING"},
    {GDAL "broken_wkt.csv", "GEOMETRY_INVALID KEY_MISSING"},
    {GDAL "claims.fgb", "PARSE_ERROR"},
    {GDAL "cut.fgb", "PARSE_ERROR"},
    {GDAL "cut.tif", "PARSE_ERROR CRS_MISSING_OR_INVALID"},
    {GDAL "claims.tif", "TOO_LARGE CRS_MISSING_OR_INVALID"},
    {GDAL "claims_4gb.tif", "TOO_LARGE CRS_MISSING_OR_INVALID"},
    {GDAL "claims.gpkg", "PARSE_ERROR"},
    {GDAL "cut.gpkg", "PARSE_ERROR"},
    {GDAL "scrambled.gpkg", "PARSE_ERROR"},
    {GDAL "extension.gpkg", "PARSE_ERROR"},
    {OWN "deep", "PARSE_ERROR"},
    {OWN "deep_collections", "PARSE_ERROR"},
    {OWN "unclosed", "PARSE_ERROR"},
    {OWN "nan", "PARSE_ERROR"},
    {OWN "infinite", "PARSE_ERROR"},
    {OWN "huge", "GEOMETRY_INVALID COORDINATES_OUT_OF_RANGE KEY_MISSING"},
    {OWN "not_numbers", "GEOMETRY_INVALID KEY_MISSING"},
    {OWN "bowtie", "GEOMETRY_INVALID"},
    {OWN "open_ring", "GEOMETRY_INVALID"},
    {OWN "two_points", "GEOMETRY_INVALID"},
    {OWN "zigzag", "GEOMETRY_INVALID"},
    {OWN "metres", "CRS_MISSING_OR_INVALID"},
    {OWN "same_key", "KEY_COLLISION"},
    {OWN "no_key", "KEY_MISSING"},
    {OWN "empties", "KEY_MISSING"},
    {OWN "features_twice", "PARSE_ERROR"},
    {OWN "features_no_list", "WRONG_SHAPE"},
    {OWN "feature_no_object", "WRONG_SHAPE"},
    {OWN "bytes_behind", "PARSE_ERROR"},
    {OWN "cut", "PARSE_ERROR"},
    {OWN "not_utf8", "PARSE_ERROR"},
    {OWN "many_columns", "TOO_LARGE"},
};

static void hostile_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
        struct inspection r = inspect_path(hostile[i].path);
        if (strcmp(problems_of(&r), hostile[i].problems) != 0)
            fail_msg("%s: %s, signal %d", hostile[i].path, problems_of(&r), r.signal);
    }
}

/* A virtual table that reads the password file finds no file; its view of the world is
 * the bytes. */
static void no_other_file_is_read(void **state)
{
    struct inspection r = inspect_path(GDAL "virtual.gpkg");
    (void)state;
    assert_null(memmem(r.report.p, r.report.n, "root:", 5));
    assert_int_equal(number_at(&r, "/totals/features"), 3);
}

/* Every start of every good file: a report, and never a crash. */
static void cut_files(void **state)
{
    static const char *const names[] = {"counties.zip", "counties.gpkg", "counties.fgb",
                                        "tiled.tif", "counties.kmz"};
    static char bytes[1 << 18];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[128];
        snprintf(path, sizeof path, GDAL "%s", names[i]);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        size_t n = fread(bytes, 1, sizeof bytes, f);
        fclose(f);
        for (size_t k = 1; k < 8; k++) {
            struct inspection r = inspect_text((struct str){bytes, n * k / 8});
            if (inspection_has(&r, PROBLEM_INSPECTOR_CRASHED) || strcmp(problems_of(&r), "") == 0)
                fail_msg("%s, %zu eighths: %s, signal %d", path, k, problems_of(&r), r.signal);
        }
    }
}

/* A view without end. */
static void time_limit(void **state)
{
    struct inspector *in = started(1, 512);
    int fd = open(GDAL "endless.gpkg", O_RDONLY | O_CLOEXEC);
    int64_t begin = clock_mono();
    (void)state;
    struct inspection r = inspect_fd(in, fd);
    assert_string_equal(problems_of(&r), "TIME_LIMIT");
    assert_string_equal(text_at(&r, "/format"), "gpkg");
    assert_true(clock_mono() - begin < 30000);
    /* and the next is served */
    struct inspection next = inspect_fd(in, fd);
    assert_string_equal(problems_of(&next), "TIME_LIMIT");
    close(fd);
    inspector_free(&in);
}

/* One feature of 40 MB needs more than 64 MB to be parsed. */
static void memory_limit(void **state)
{
    static const char begin[] = "{\"type\":\"MultiPoint\",\"coordinates\":[";
    struct inspector *in = started(60, 64);
    const size_t points = 4 << 20;
    int fd = file_of(str_of(begin));
    FILE *f = fdopen(dup(fd), "a");
    (void)state;
    assert_non_null(f);
    for (size_t i = 0; i < points; i++)
        fprintf(f, "[%zu,1],", i % 90);
    fputs("[1,1]]}", f);
    fclose(f);
    struct inspection r = inspect_fd(in, fd);
    assert_string_equal(problems_of(&r), SANDBOX_LIMITS_MEMORY ? "TOO_LARGE" : "KEY_MISSING");
    close(fd);
    inspector_free(&in);
}

/* Beyond the limit features are counted and digested, but not listed. */
static void many_features(void **state)
{
    int fd = file_of(STR("{\"type\":\"FeatureCollection\",\"features\":["));
    FILE *f = fdopen(dup(fd), "a");
    (void)state;
    assert_non_null(f);
    for (int i = 0; i <= INSPECT_LISTED_MAX; i++)
        fprintf(f, "%s{\"type\":\"Feature\",\"properties\":{\"GEOID\":%d}}", i ? "," : "", i);
    fputs("]}", f);
    fclose(f);
    struct inspection r = inspect_fd(inspector, fd);
    assert_string_equal(problems_of(&r), "");
    assert_int_equal(number_at(&r, "/totals/features"), INSPECT_LISTED_MAX + 1);
    assert_true(yyjson_is_null(yyjson_obj_get(r.root, "features")));
    assert_int_equal(strlen(text_at(&r, "/content_digest")), 64);
    close(fd);
}

/* ---- I9 -------------------------------------------------------------------------------------- */

static void check_pure(const char *folder, struct inspector *other, FILE *reports)
{
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[512];
        if (e->d_name[0] == '.' || strcmp(e->d_name, "endless.gpkg") == 0)
            continue;
        snprintf(path, sizeof path, "%s%s", folder, e->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        struct inspection a = inspect_path(path), b = inspect_fd(other, fd);
        if (!str_eq(a.report, b.report))
            fail_msg("%s: two reports", path);
        struct buf again;
        struct err err;
        buf_init(&again, INSPECT_REPORT_MAX);
        assert_rc(json_canon(&again, a.root, &err), RC_OK);
        assert_true(str_eq(buf_view(&again), a.report));
        buf_release(&again);
        fprintf(reports, "%.*s\n", STR_FMT(a.report));
        close(fd);
        arena_reset(&arena);
    }
    closedir(d);
}

/* Where the machine has the Python package jsonschema. */
static void check_schema(const char *reports)
{
    char command[1024];
    snprintf(command, sizeof command,
             "python3 -c 'import sys, json\n"
             "try: import jsonschema as j\n"
             "except ImportError: sys.exit(0)\n"
             "s = json.load(open(\"schemas/inspect-report.schema.json\"))\n"
             "v = j.validators.validator_for(s)(s)\n"
             "for line in open(sys.argv[1]): v.validate(json.loads(line))' %s",
             reports);
    assert_int_equal(system(command), 0);
}

/* Another process, another order: the same bytes; and they are canonical and fit their schema. */
static void pure(void **state)
{
    struct inspector *other = started(20, 512);
    char path[64];
    (void)state;
    unit_temp(path);
    FILE *reports = fopen(path, "w");
    assert_non_null(reports);
    (void)inspect_path(GDAL "utm.zip");
    check_pure(OWN, other, reports);
    check_pure(GDAL, other, reports);
    inspector_free(&other);
    assert_int_equal(fclose(reports), 0);
    check_schema(path);
    unlink(path);
}

static void read_output(const char *command, struct buf *out)
{
    char part[4096];
    FILE *p = popen(command, "r");
    size_t n;
    assert_non_null(p);
    while ((n = fread(part, 1, sizeof part, p)) > 0)
        buf_add(out, part, n);
    assert_int_equal(pclose(p), 0);
}

/* The program prints what the server says, also with an environment that asks for other things. */
static void program_prints_the_same(void **state)
{
    static const char *const paths[] = {OWN "counties", GDAL "utm.zip", "Makefile"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        char command[1024];
        struct buf out;
        buf_init(&out, 1 << 20);
        snprintf(
            command, sizeof command,
            "LC_ALL=de_DE.UTF-8 TZ=Asia/Tokyo PROJ_DATA=/nowhere GDAL_DATA=/nowhere CPL_DEBUG=ON "
            "OGR_ENABLE_PARTIAL_REPROJECTION=YES %s/freshet-inspect --feature-key GEOID %s",
            programs(), paths[i]);
        read_output(command, &out);
        struct inspection r = inspect_path(paths[i]);
        assert_int_equal(out.len, r.report.n + 1);
        assert_memory_equal(out.data, r.report.p, r.report.n);
        buf_release(&out);
    }
}

static int exit_of(const char *arguments)
{
    char command[512];
    snprintf(command, sizeof command, "%s/freshet-inspect %s >/dev/null 2>&1", programs(),
             arguments);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void exit_codes(void **state)
{
    (void)state;
    assert_int_equal(exit_of("--help"), 0);
    assert_int_equal(exit_of(OWN "random"), 0);
    assert_int_equal(exit_of("--precision-m 1 --timeout-s 5 --memory-mb 100 " OWN "counties"), 0);
    assert_int_equal(exit_of("/nowhere"), 1);
    assert_int_equal(exit_of("tests"), 1);
    assert_int_equal(exit_of(""), 2);
    assert_int_equal(exit_of("--precision-m 0 x"), 2);
    assert_int_equal(exit_of("--unknown x"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_content_in_many_bytes),
        TEST(formats_without_types),
        TEST(projected),
        TEST(rasters),
        TEST(hostile_files),
        TEST(no_other_file_is_read),
        TEST(cut_files),
        TEST(time_limit),
        TEST(memory_limit),
        TEST(many_features),
        TEST(exit_codes),
        TEST(pure),
        TEST(program_prints_the_same),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
