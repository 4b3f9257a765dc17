/* validate: rules over bytes; the same bytes give the same report (I9). */
#include <fcntl.h>
#include <locale.h>
#include "core/clock.h"
#include "handler/inspect_geojson.h"
#include "handler/validate.h"
#include "unit.h"

#define FEATURES(list) "{\"type\":\"FeatureCollection\",\"features\":[" list "]}"
#define FEATURE(geometry) "{\"type\":\"Feature\",\"properties\":{},\"geometry\":" geometry "}"
#define POINT(x, y) FEATURE("{\"type\":\"Point\",\"coordinates\":[" #x "," #y "]}")
#define EOCD "PK\x05\x06\0\0\0\0\x01\0\x01\0\0\0\0\0\0\0\0\0"

struct outcome {
    struct validation v;
    struct arena a;
};

/* What the inspector says of bytes, without its processes. Only GeoJSON is read here. */
static void inspect(struct arena *a, struct str bytes, const char *key, struct summary *ret)
{
    struct inspect_options o;
    struct buf report;
    struct err err;
    yyjson_val *root;
    char *copy = arena_str(a, bytes);
    enum inspect_format f = inspect_sniff(bytes);
    inspect_options_default(&o);
    o.feature_key = key;
    buf_init(&report, INSPECT_REPORT_MAX);
    if (inspect_formats[f].engine == ENGINE_GDAL)
        assert_rc(inspect_unread(f, (int64_t)bytes.n, &o, PROBLEM_WRONG_SHAPE, &report, &err),
                  RC_OK);
    else
        assert_rc(inspect_bytes((struct str){copy, bytes.n}, &o, inspect_geojson, &report, &err),
                  RC_OK);
    assert_rc(json_parse(a, (struct str){arena_str(a, buf_view(&report)), report.len}, 0, "report",
                         &root, &err),
              RC_OK);
    assert_rc(summary_of(root, ret, &err), RC_OK);
    buf_release(&report);
}

static void judge_after(struct str bytes, const struct expectation *e, const char *key,
                        const struct summary *before, struct outcome *ret)
{
    struct summary now;
    char path[64];
    struct err err;
    unit_temp(path);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, bytes.p, bytes.n), bytes.n);
    arena_init(&ret->a, 256u << 20);
    inspect(&ret->a, bytes, key, &now);
    assert_rc(validate(&ret->a, fd, (int64_t)bytes.n, e, &now, before, &ret->v, &err), RC_OK);
    close(fd);
}

static void judge(struct str bytes, const struct expectation *e, struct outcome *ret)
{
    judge_after(bytes, e, "", NULL, ret);
}

static struct expectation expect(const char *media_type, const char *url)
{
    return (struct expectation){.media_type = media_type,
                                .url = url,
                                .max_bytes = 1 << 20,
                                .count_drift_pct = -1,
                                .area_drift_pct = -1};
}

struct verdict_case {
    const char *what, *type, *url;
    struct str bytes;
    enum verdict outcome;
    const char *reason; /* "" for none */
};

static const struct verdict_case cases[] = {
    {"empty", "", "", STR(""), VERDICT_FAIL, "WRONG_SHAPE"},
    {"anything undeclared", "", "https://x/a", STR("\x01\x02"), VERDICT_PASS, ""},
    {"page undeclared", "", "https://x/a", STR(" \n<!DOCTYPE HTML><p>"), VERDICT_FAIL,
     "WRONG_SHAPE"},
    {"page behind an XML prolog", "", "", STR("<?xml version='1.0'?><html>"), VERDICT_FAIL,
     "WRONG_SHAPE"},
    {"page declared", "text/html; charset=utf-8", "", STR("<html></html>"), VERDICT_PASS, ""},
    {"page as zip", "application/zip", "", STR("<html><body>Not found"), VERDICT_FAIL,
     "WRONG_SHAPE"},
    {"zip", "application/zip", "", STR("PK\x03\x04 some entry" EOCD "\0\0"), VERDICT_PASS, ""},
    {"zip with comment", "application/zip", "", STR("PK\x03\x04 entry" EOCD "\x03\0abc"),
     VERDICT_PASS, ""},
    {"zip cut off", "application/zip", "", STR("PK\x03\x04 some entry PK\x05\x06"), VERDICT_FAIL,
     "PARSE_ERROR"},
    {"zip with bytes behind", "application/zip", "", STR("PK\x03\x04 x" EOCD "\0\0more"),
     VERDICT_FAIL, "PARSE_ERROR"},
    {"zip by its name", "", "https://x/tl_2026_us_county.ZIP?y=1", STR("no zip"), VERDICT_FAIL,
     "WRONG_SHAPE"},
    {"json", "application/json", "", STR("{\"a\":[1,2]}"), VERDICT_PASS, ""},
    {"json with a mark", "application/json", "", STR("\xEF\xBB\xBF{}"), VERDICT_PASS, ""},
    {"json cut off", "application/json", "", STR("{\"a\":[1,2"), VERDICT_FAIL, "PARSE_ERROR"},
    {"json and more", "application/json", "", STR("{} {}"), VERDICT_FAIL, "PARSE_ERROR"},
    {"json not utf-8", "application/json", "", STR("{\"a\":\"\xff\"}"), VERDICT_FAIL,
     "PARSE_ERROR"},
    {"error document", "application/json", "",
     STR("{\"error\":{\"code\":498,\"message\":\"Invalid token.\"}}"), VERDICT_FAIL, "WRONG_SHAPE"},
    {"error as plain data", "application/json", "", STR("{\"error\":0.5}"), VERDICT_PASS, ""},
    {"geojson", "application/geo+json", "", STR(FEATURES(POINT(-97, 38))), VERDICT_PASS, ""},
    {"geojson by its name", "", "https://x/a.geojson", STR(FEATURES("")), VERDICT_PASS, ""},
    {"json for geojson", "application/geo+json", "", STR("{\"a\":1}"), VERDICT_FAIL, "WRONG_SHAPE"},
    {"metres for degrees", "application/geo+json", "", STR(FEATURES(POINT(350000, 4200000))),
     VERDICT_HOLD, "CRS_MISSING_OR_INVALID"},
    {"one beyond the world", "application/geo+json", "",
     STR(FEATURES(POINT(-97, 38) "," POINT(1004.5, 38))), VERDICT_HOLD, "GEOMETRY_INVALID"},
    {"half a position", "application/geo+json", "",
     STR(FEATURES(FEATURE("{\"type\":\"Point\",\"coordinates\":[1]}"))), VERDICT_HOLD,
     "GEOMETRY_INVALID"},
    {"csv", "text/csv", "", STR("a,b\n1,2\n3,\"x,y\n\"\"z\"\n"), VERDICT_PASS, ""},
    {"csv, one column", "text/csv", "", STR("a\n1\n2\n"), VERDICT_PASS, ""},
    {"csv, semicolons", "text/csv", "", STR("a;b;c\n1,5;2;3\n"), VERDICT_PASS, ""},
    {"csv, ragged", "text/csv", "", STR("a,b,c\n1,2,3\n1,2\n"), VERDICT_HOLD, "PARSE_ERROR"},
    {"csv, last line open", "text/csv", "", STR("a,b\n1,2\n3"), VERDICT_PASS, ""},
    {"csv, binary", "text/csv", "", STR("a,b\n\0\0"), VERDICT_FAIL, "WRONG_SHAPE"},
    {"xml", "application/xml", "", STR("\n<a/>"), VERDICT_PASS, ""},
    {"xml, none", "application/xml", "", STR("plain"), VERDICT_FAIL, "WRONG_SHAPE"},
    {"gzip", "application/gzip", "", STR("\x1f\x8b\x08"), VERDICT_PASS, ""},
    {"gzip, none", "", "https://x/a.tgz", STR("plain"), VERDICT_FAIL, "WRONG_SHAPE"},
    {"gpkg", "application/geopackage+sqlite3", "", STR("SQLite format 3\0.."), VERDICT_PASS, ""},
    {"pdf, none", "application/pdf", "", STR("%PS-"), VERDICT_FAIL, "WRONG_SHAPE"},
};

static void verdicts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct expectation e = expect(cases[i].type, cases[i].url);
        struct outcome o;
        judge(cases[i].bytes, &e, &o);
        const char *reason = o.v.n_reasons ? o.v.reasons[0] : "";
        if (o.v.outcome != cases[i].outcome || strcmp(reason, cases[i].reason) != 0)
            fail_msg("%s: %s %s", cases[i].what, verdict_name(o.v.outcome), reason);
        arena_release(&o.a);
    }
}

static void limits(void **state)
{
    static const char data[] = FEATURES(POINT(-97, 38) "," POINT(-96, 39));
    struct expectation e = expect("application/geo+json", "");
    struct outcome o;
    (void)state;
    e.max_bytes = 10;
    judge(str_of(data), &e, &o);
    assert_string_equal(o.v.reasons[0], "TOO_LARGE");
    arena_release(&o.a);
    e.max_bytes = 1 << 20;
    e.min_features = 3;
    judge(str_of(data), &e, &o);
    assert_int_equal(o.v.outcome, VERDICT_HOLD);
    assert_string_equal(o.v.reasons[0], "MISSINGNESS_EXCEEDED");
    arena_release(&o.a);
    e.min_features = 2;
    e.has_region = true;
    memcpy(e.region, (double[]){-98, 37, -96.5, 40}, sizeof e.region);
    judge(str_of(data), &e, &o);
    assert_string_equal(o.v.reasons[0], "OUTSIDE_REGION");
    e.region[2] = -96;
    arena_release(&o.a);
    judge(str_of(data), &e, &o);
    assert_int_equal(o.v.outcome, VERDICT_PASS);
    arena_release(&o.a);
}

/* Of a declared region: what is at no place is not in it, and neither is a file that names none. */
static void nowhere_is_outside(void **state)
{
    static const char far[] = FEATURES(POINT(-97, 38) "," POINT(1004.5, 38));
    struct expectation e = expect("application/geo+json", "");
    struct outcome o;
    (void)state;
    e.has_region = true;
    memcpy(e.region, (double[]){-98, 37, -96, 40}, sizeof e.region);
    judge(str_of(far), &e, &o);
    assert_int_equal(o.v.n_reasons, 2);
    assert_string_equal(o.v.reasons[0], "GEOMETRY_INVALID");
    assert_string_equal(o.v.reasons[1], "OUTSIDE_REGION");
    arena_release(&o.a);
    judge(STR(FEATURES(FEATURE("null"))), &e, &o);
    assert_int_equal(o.v.outcome, VERDICT_HOLD);
    assert_string_equal(o.v.reason, "OUTSIDE_REGION");
    arena_release(&o.a);
    judge(STR(FEATURES(FEATURE("null") "," POINT(-97, 38))), &e, &o); /* one may lack its own */
    assert_int_equal(o.v.outcome, VERDICT_PASS);
    arena_release(&o.a);
    judge(STR(FEATURES("")), &e, &o);
    assert_int_equal(o.v.outcome, VERDICT_PASS);
    arena_release(&o.a);
}

static void assert_reason(const char *data, const struct expectation *e, const char *key,
                          const struct summary *before, const char *reason)
{
    struct outcome o;
    judge_after(str_of(data), e, key, before, &o);
    assert_string_equal(o.v.reason, reason);
    assert_int_equal(o.v.outcome, *reason ? VERDICT_HOLD : VERDICT_PASS);
    arena_release(&o.a);
}

static void keys(void **state)
{
    static const char keyed[] =
        FEATURES("{\"type\":\"Feature\",\"properties\":{\"id\":1},\"geometry\":null},"
                 "{\"type\":\"Feature\",\"properties\":{\"id\":1},\"geometry\":null}");
    struct expectation e = expect("application/geo+json", "");
    (void)state;
    assert_reason(keyed, &e, "", NULL, "");
    assert_reason(keyed, &e, "id", NULL, "KEY_COLLISION");
    assert_reason(keyed, &e, "name", NULL, "MISSINGNESS_EXCEEDED");
}

#define SQUARE(w, n)                                                                               \
    FEATURE("{\"type\":\"Polygon\",\"coordinates\":[[[0,0],[" #w ",0],[" #w "," #n "],[0," #n      \
            "],[0,0]]]}")

/* A limit that is met exactly is kept; without a head nothing can drift. */
static void drift(void **state)
{
    struct expectation e = expect("application/geo+json", "");
    struct summary before;
    (void)state;
    summary_none(&before);
    before.features = 4;
    e.count_drift_pct = 25;
    assert_reason(FEATURES(POINT(1, 1)), &e, "", NULL, "");
    assert_reason(FEATURES(POINT(1, 1) "," POINT(2, 2) "," POINT(3, 3)), &e, "", &before, "");
    assert_reason(FEATURES(POINT(1, 1) "," POINT(2, 2)), &e, "", &before,
                  "DISTRIBUTION_SHIFT_HIGH");
    e.count_drift_pct = -1;
    e.area_drift_pct = 10;
    before.area_km2 = 12308.8; /* a degree squared at the equator */
    assert_reason(FEATURES(SQUARE(1, 1)), &e, "", &before, "");
    assert_reason(FEATURES(SQUARE(1, 1.05)), &e, "", &before, "");
    assert_reason(FEATURES(SQUARE(1, 1.2)), &e, "", &before, "DISTRIBUTION_SHIFT_HIGH");
}

/* Geodata is asked for by a key, a region or a number of features, never guessed. */
static void no_geodata_is_fine_unless_asked_for(void **state)
{
    static const struct str zip = STR("PK\x03\x04 some entry" EOCD "\0\0");
    struct expectation e = expect("application/zip", "");
    struct outcome o;
    (void)state;
    judge(zip, &e, &o);
    assert_int_equal(o.v.outcome, VERDICT_PASS);
    arena_release(&o.a);
    e.geodata = true;
    judge(zip, &e, &o);
    assert_int_equal(o.v.outcome, VERDICT_FAIL);
    assert_string_equal(o.v.reason, "WRONG_SHAPE");
    arena_release(&o.a);
}

/* What the inspector could not read has its reason and no other. */
static void unread_has_one_reason(void **state)
{
    static const struct {
        enum inspect_problem problem;
        enum verdict outcome;
    } ends[] = {{PROBLEM_INSPECTOR_CRASHED, VERDICT_FAIL},
                {PROBLEM_TIME_LIMIT, VERDICT_HOLD},
                {PROBLEM_TOO_LARGE, VERDICT_FAIL},
                {PROBLEM_ARCHIVE_UNSAFE, VERDICT_FAIL},
                {PROBLEM_PARSE_ERROR, VERDICT_FAIL}};
    static const char data[] = FEATURES(POINT(-97, 38));
    struct expectation e = expect("application/geo+json", "");
    (void)state;
    e.geodata = true;
    e.min_features = 3;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct summary now;
        struct validation v;
        struct arena a;
        struct err err;
        char path[64];
        unit_temp(path);
        unit_write(path, data);
        int fd = open(path, O_RDONLY);
        unlink(path);
        arena_init(&a, 1 << 20);
        summary_none(&now);
        now.format = "geojson";
        now.problems[ends[i].problem] = 1;
        assert_rc(validate(&a, fd, sizeof data - 1, &e, &now, NULL, &v, &err), RC_OK);
        assert_int_equal(v.outcome, ends[i].outcome);
        assert_int_equal(v.n_reasons, 1);
        assert_string_equal(v.reason, inspect_problem_name(ends[i].problem));
        arena_release(&a);
        close(fd);
    }
}

/* Bounds come from geometries alone, in every place that may hold one. */
static void bounds(void **state)
{
    static const char data[] = FEATURES(
        "{\"type\":\"Feature\",\"properties\":{\"coordinates\":[179,89],\"geometry\":{\"type\":"
        "\"Point\",\"coordinates\":[178,88]}},\"geometry\":{\"type\":\"GeometryCollection\","
        "\"geometries\":[{\"type\":\"Point\",\"coordinates\":[-97.5,38.25,400]},{\"type\":"
        "\"Polygon\",\"coordinates\":[[[-98,37],[-96,37],[-96,39.5],[-98,37]]]}]}},"
        "{\"type\":\"Feature\",\"geometry\":null},"
        "{\"type\":\"Feature\",\"geometry\":{\"type\":\"MultiPoint\",\"coordinates\":[]}}");
    struct expectation e = expect("", "");
    struct outcome o;
    (void)state;
    judge(str_of(data), &e, &o);
    assert_true(o.v.has_bbox);
    assert_memory_equal(o.v.bbox, ((double[]){-98, 37, -96, 39.5}), sizeof o.v.bbox);
    assert_int_equal(o.v.features, 3);
    assert_string_equal(o.v.media_type, "application/geo+json");
    arena_release(&o.a);
}

static void type_is_told_by_bytes(void **state)
{
    static const struct {
        struct str bytes;
        const char *type;
    } told[] = {{STR("PK\x03\x04"), "application/zip"},
                {STR("\x1f\x8b\x08"), "application/gzip"},
                {STR("{}"), "application/json"},
                {STR("{not json"), "application/octet-stream"},
                {STR("%PDF-1.7"), "application/pdf"}};
    struct expectation e = expect("", "https://x/download");
    struct outcome o;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(told); i++) {
        judge(told[i].bytes, &e, &o);
        assert_string_equal(o.v.media_type, told[i].type);
        arena_release(&o.a);
    }
    e.media_type = "application/x-own";
    judge(STR("{}"), &e, &o);
    assert_string_equal(o.v.media_type, "application/x-own");
    arena_release(&o.a);
}

static void report_is_bytes(void **state)
{
    struct expectation e = expect("application/geo+json", "");
    struct outcome o;
    (void)state;
    e.min_features = 2;
    judge(STR(FEATURES(POINT(-97.5, 38))), &e, &o);
    assert_str(
        o.v.report,
        "{\"rules_version\":\"4\",\"outcome\":\"hold\",\"media_type\":\"application/geo+json\","
        "\"size\":129,\"checks\":25,\"failed\":1,\"reasons\":[\"MISSINGNESS_EXCEEDED\"],"
        "\"features\":1,\"bbox\":[-97.5,38.0,-97.5,38.0],\"inspection\":{\"inspect_version\":\"4\","
        "\"format\":\"geojson\",\"features\":1,\"area_km2\":0.0,\"content_digest\":"
        "\"ed20ef832772387a4187f3df1793fe3f58241e59390629bd90fda681ddb624d2\",\"schema_digest\":"
        "\"23641e2f2e431efa8ada1f4f2db51460c9b901a7d8b0c54c0cfce3ebf8aabe08\",\"precision_m\":0.01,"
        "\"fields\":[],\"problems\":{}},"
        "\"rules\":["
        "{\"rule\":\"not_empty\",\"outcome\":\"pass\"},"
        "{\"rule\":\"size_cap\",\"outcome\":\"pass\"},"
        "{\"rule\":\"size_drift\",\"outcome\":\"pass\"},"
        "{\"rule\":\"no_html\",\"outcome\":\"pass\"},"
        "{\"rule\":\"json_whole\",\"outcome\":\"pass\"},"
        "{\"rule\":\"json_no_error\",\"outcome\":\"pass\"},"
        "{\"rule\":\"geojson_type\",\"outcome\":\"pass\"},"
        "{\"rule\":\"inspected\",\"outcome\":\"pass\"},"
        "{\"rule\":\"archive_safe\",\"outcome\":\"pass\"},"
        "{\"rule\":\"inspect_cap\",\"outcome\":\"pass\"},"
        "{\"rule\":\"parses\",\"outcome\":\"pass\"},"
        "{\"rule\":\"has_geodata\",\"outcome\":\"pass\"},"
        "{\"rule\":\"in_time\",\"outcome\":\"pass\"},"
        "{\"rule\":\"crs_known\",\"outcome\":\"pass\"},"
        "{\"rule\":\"geometry_valid\",\"outcome\":\"pass\"},"
        "{\"rule\":\"inside_region\",\"outcome\":\"pass\"},"
        "{\"rule\":\"min_features\",\"outcome\":\"hold\",\"reason\":\"MISSINGNESS_EXCEEDED\","
        "\"detail\":\"fewer features than the source asks for\"},"
        "{\"rule\":\"key_there\",\"outcome\":\"pass\"},"
        "{\"rule\":\"required_there\",\"outcome\":\"pass\"},"
        "{\"rule\":\"key_pattern\",\"outcome\":\"pass\"},"
        "{\"rule\":\"key_unique\",\"outcome\":\"pass\"},"
        "{\"rule\":\"count_drift\",\"outcome\":\"pass\"},"
        "{\"rule\":\"area_drift\",\"outcome\":\"pass\"},"
        "{\"rule\":\"schema_kept\",\"outcome\":\"pass\"},"
        "{\"rule\":\"schema_same\",\"outcome\":\"pass\"}]}");
    arena_release(&o.a);
}

/* I9: another time, another locale, another file: the same report. */
static void pure(void **state)
{
    struct expectation e = expect("", "");
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct outcome one, two;
        clock_set(1);
        judge(cases[i].bytes, &e, &one);
        clock_set(2000000000000);
        setlocale(LC_ALL, "de_DE.UTF-8");
        judge(cases[i].bytes, &e, &two);
        setlocale(LC_ALL, "C");
        clock_set(-1);
        assert_int_equal(one.v.report.n, two.v.report.n);
        assert_memory_equal(one.v.report.p, two.v.report.p, one.v.report.n);
        arena_release(&one.a);
        arena_release(&two.a);
    }
}

/* Above the limit of parsing only the ends are looked at. */
static void too_large_to_parse(void **state)
{
    static char data[VALIDATE_PARSE_MAX + 16];
    struct expectation e = expect("application/json", "");
    struct outcome o;
    (void)state;
    e.max_bytes = INT64_MAX;
    memset(data, ' ', sizeof data);
    data[0] = '[';
    data[sizeof data - 3] = ']';
    judge((struct str){data, sizeof data}, &e, &o);
    assert_int_equal(o.v.outcome, VERDICT_PASS);
    arena_release(&o.a);
    data[sizeof data - 3] = ',';
    judge((struct str){data, sizeof data}, &e, &o);
    assert_string_equal(o.v.reasons[0], "PARSE_ERROR");
    arena_release(&o.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(verdicts),
                                       cmocka_unit_test(limits),
                                       cmocka_unit_test(nowhere_is_outside),
                                       cmocka_unit_test(keys),
                                       cmocka_unit_test(drift),
                                       cmocka_unit_test(no_geodata_is_fine_unless_asked_for),
                                       cmocka_unit_test(unread_has_one_reason),
                                       cmocka_unit_test(bounds),
                                       cmocka_unit_test(type_is_told_by_bytes),
                                       cmocka_unit_test(report_is_bytes),
                                       cmocka_unit_test(pure),
                                       cmocka_unit_test(too_large_to_parse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
