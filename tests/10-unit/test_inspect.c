/* inspect: formats by their bytes, tables of contents, the normal form of shapes, and what two
 * documents must have in common to be the same content. */
#include <math.h>
#include "core/clock.h"
#include "handler/inspect_geojson.h"
#include "handler/inspect_zip.h"
#include "unit.h"

/* ---- sniffing -------------------------------------------------------------------------------- */

static void formats(void **state)
{
    static const struct {
        struct str bytes;
        const char *format;
    } cases[] = {
        {STR(""), "empty"},
        {STR(" \n"), "text"},
        {STR("{\"a\":1}"), "json"},
        {STR("[1,2]"), "json"},
        {STR("{\"a\":\"a Feature of it\"}"), "json"},
        {STR("{\"type\":\"Feature\"}"), "geojson"},
        {STR("\xEF\xBB\xBF {\"type\":\"Point\"}"), "geojson"},
        {STR("{\"features\":[],\"type\":\"FeatureCollection\"}"), "geojson"},
        {STR("{\"type\":\"Feature\",\"crs\":{\"name\":\"urn:ogc:def:crs:EPSG::26914\"}}"),
         "geojson_crs"},
        {STR("{\"type\":\"Feature\",\"crs\":{\"name\":\"urn:ogc:def:crs:OGC:1.3:CRS84\"}}"),
         "geojson"},
        {STR("{\"type\":\"Feature\"}\n{\"type\":\"Feature\"}\n"), "geojsonseq"},
        {STR("\x1e{\"type\":\"Feature\"}\n"), "geojsonseq"},
        {STR("{\"type\":\"Topology\"}"), "topojson"},
        {STR("PK\x03\x04"), "zip"},
        {STR("fgb\x03"
             "fgb\0"),
         "flatgeobuf"},
        {STR("II*\0"), "geotiff"},
        {STR("MM\0*"), "geotiff"},
        {STR("%PDF-1.7"), "pdf"},
        {STR("\x1f\x8b\x08"), "gzip"},
        {STR("SQLite format 3\0"), "sqlite"},
        {STR("<?xml version='1.0'?><kml xmlns='x'>"), "kml"},
        {STR("<?xml version='1.0'?><rss>"), "xml"},
        {STR("<!DOCTYPE HTML><p>"), "html"},
        {STR("id,name\n1,a\n"), "text"},
        {STR("id,WKT\n1,POINT(1 2)\n"), "csv"},
        {STR("id;\"Latitude\";Longitude\r\n1;2;3\n"), "csv"},
        {STR("id,lat\n1,2\n"), "text"},
        {STR("ab\0cd"), "other"},
        {STR("\xff\xfe\xff"), "other"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *got = inspect_formats[inspect_sniff(cases[i].bytes)].name;
        if (strcmp(got, cases[i].format) != 0)
            fail_msg("%s instead of %s: %.*s", got, cases[i].format, STR_FMT(cases[i].bytes));
    }
}

static void geopackage_by_its_id(void **state)
{
    char bytes[100] = "SQLite format 3";
    (void)state;
    memcpy(bytes + 68, "GPKG", 4);
    assert_int_equal(inspect_sniff((struct str){bytes, sizeof bytes}), FORMAT_gpkg);
    assert_int_equal(inspect_sniff((struct str){bytes, 70}), FORMAT_sqlite);
}

/* ---- zip ------------------------------------------------------------------------------------- */

/* An archive with one stored entry of this name. */
static struct str one_entry(const char *name, char out[512])
{
    unsigned char local[30] = "PK\x03\x04", entry[46] = "PK\x01\x02", end[22] = "PK\x05\x06";
    size_t n = strlen(name), at = 0;
    local[26] = entry[28] = (unsigned char)n;
    local[18] = local[22] = entry[20] = entry[24] = 1;
    end[8] = end[10] = 1;
    end[16] = (unsigned char)(sizeof local + n + 1);
    memcpy(out, local, sizeof local), at = sizeof local;
    memcpy(out + at, name, n), at += n;
    out[at++] = 'x';
    memcpy(out + at, entry, sizeof entry), at += sizeof entry;
    memcpy(out + at, name, n), at += n;
    memcpy(out + at, end, sizeof end), at += sizeof end;
    return (struct str){out, at};
}

static enum zip_verdict verdict_of(struct str bytes)
{
    struct arena a;
    struct zip z;
    enum zip_verdict v;
    arena_init(&a, 1 << 20);
    assert_rc(zip_read(&a, bytes, &v, &z), RC_OK);
    arena_release(&a);
    return v;
}

static void names_in_archives(void **state)
{
    static const char *const fine[] = {"a.shp", "x/a.shp", "x/", "..a", "a..b/c"};
    static const char *const bad[] = {"../a", "/a", "x/../a", "x/./a", "x//a", "a\\b",
                                      "c:a",  "..", ".",      "a\nb",  "\xff"};
    char bytes[512];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fine); i++)
        if (verdict_of(one_entry(fine[i], bytes)) != ZIP_OK)
            fail_msg("%s", fine[i]);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (verdict_of(one_entry(bad[i], bytes)) != ZIP_UNSAFE)
            fail_msg("%s", bad[i]);
}

static void archives(void **state)
{
    char bytes[512];
    struct str s = one_entry("a.shp", bytes);
    (void)state;
    for (size_t n = 0; n < s.n; n++)
        if (verdict_of((struct str){s.p, n}) != ZIP_BROKEN)
            fail_msg("cut at %zu", n);
    bytes[30] = 'b'; /* the local header has another name than the table */
    assert_int_equal(verdict_of(s), ZIP_UNSAFE);
    bytes[30] = 'a';
    bytes[36 + 8] = 1; /* encrypted */
    assert_int_equal(verdict_of(s), ZIP_UNSAFE);
    bytes[36 + 8] = 0;
    assert_int_equal(verdict_of(s), ZIP_OK);
    bytes[36 + 27] = 0x7f; /* two gigabytes, from one byte */
    assert_int_equal(verdict_of(s), ZIP_UNSAFE);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static const double square[][2] = {{0, 0}, {4, 0}, {4, 4}, {0, 4}, {0, 0}};
static const double hole_a[][2] = {{1, 1}, {1, 2}, {2, 2}, {1, 1}};
static const double hole_b[][2] = {{3, 3}, {3, 3.5}, {3.5, 3.5}, {3, 3}};

/* A ring of n vertices (the last one closes it), begun at `start`, perhaps turned round. */
static void add_ring(struct geom *g, const double v[][2], size_t n, size_t start, bool reversed)
{
    geom_ring(g);
    for (size_t i = 0; i < n; i++) {
        size_t k = (start + (reversed ? n - 1 - i : i)) % (n - 1);
        geom_vertex(g, v[k][0], v[k][1], 0);
    }
}

static void digest_of(struct geom *g, char hex[SHA256_HEX])
{
    struct geom_scratch s;
    struct sha256 sha;
    assert_rc(geom_scratch_init(&s), RC_OK);
    assert_true(geom_digest(g, geom_snap_of(0.01, 0), &s, &sha));
    sha256_hex(&sha, hex);
    geom_scratch_release(&s);
}

static void polygon(struct geom *g, size_t start, bool reversed, bool swapped)
{
    geom_part(g, GEOM_POLYGON);
    add_ring(g, square, 5, start, reversed);
    add_ring(g, swapped ? hole_b : hole_a, 4, start % 3, reversed);
    add_ring(g, swapped ? hole_a : hole_b, 4, start % 3, !reversed);
}

static void same_shape_same_digest(void **state)
{
    struct geom g = {0};
    char first[SHA256_HEX], other[SHA256_HEX];
    (void)state;
    polygon(&g, 0, false, false);
    digest_of(&g, first);
    for (size_t i = 0; i < 16; i++) {
        geom_clear(&g);
        polygon(&g, i % 4, i & 4, i & 8);
        digest_of(&g, other);
        assert_string_equal(first, other);
    }
    geom_clear(&g);
    polygon(&g, 0, false, false);
    g.x[1] += 4e-8; /* within the precision */
    digest_of(&g, other);
    assert_string_equal(first, other);
    g.x[1] += 2e-7; /* beyond */
    digest_of(&g, other);
    assert_string_not_equal(first, other);
    geom_release(&g);
}

static void order_of_parts(void **state)
{
    struct geom g = {0}, h = {0};
    char a[SHA256_HEX], b[SHA256_HEX];
    (void)state;
    for (int i = 0; i < 3; i++) {
        geom_part(&g, GEOM_POINT), geom_ring(&g), geom_vertex(&g, i, 1, 0);
        geom_part(&h, GEOM_POINT), geom_ring(&h), geom_vertex(&h, 2 - i, 1, 0);
    }
    digest_of(&g, a);
    digest_of(&h, b);
    assert_string_equal(a, b);
    /* but a line has a direction */
    geom_clear(&g);
    geom_clear(&h);
    geom_part(&g, GEOM_LINE), geom_ring(&g), geom_part(&h, GEOM_LINE), geom_ring(&h);
    for (int i = 0; i < 3; i++)
        geom_vertex(&g, i, 1, 0), geom_vertex(&h, 2 - i, 1, 0);
    digest_of(&g, a);
    digest_of(&h, b);
    assert_string_not_equal(a, b);
    geom_release(&g);
    geom_release(&h);
}

static void no_place_no_digest(void **state)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e300, 1e9};
    struct geom_scratch s;
    struct sha256 sha;
    struct geom g = {0};
    (void)state;
    assert_rc(geom_scratch_init(&s), RC_OK);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        geom_clear(&g);
        geom_part(&g, GEOM_POINT), geom_ring(&g), geom_vertex(&g, 1, bad[i], 0);
        assert_false(geom_digest(&g, geom_snap_of(0.01, 0), &s, &sha));
        assert_int_equal(g.bad, GEOM_NOT_FINITE);
    }
    geom_release(&g);
    geom_scratch_release(&s);
}

static void steps(void **state)
{
    (void)state;
    assert_true(geom_snap_of(0.01, 0).xy == 1e7);
    assert_true(geom_snap_of(0.01, 1).xy == 1e2);
    assert_true(geom_snap_of(0.01, 0.3048).xy == 1e2);
    assert_true(geom_snap_of(100, 1).xy == 1e-2);
    assert_true(geom_snap_of(0.01, 0).z == 1e2);
}

/* The whole ellipsoid of WGS84 has 510,065,621.724 km2. */
static void areas(void **state)
{
    static const double world[][2] = {{-180, -90}, {180, -90}, {180, 90}, {-180, 90}, {-180, -90}};
    static const double cell[][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}};
    struct geom g = {0};
    (void)state;
    geom_part(&g, GEOM_POLYGON);
    add_ring(&g, world, 5, 1, true);
    assert_true(fabs(geom_area_km2(&g) - 510065621.724) < 0.01);
    geom_clear(&g);
    geom_part(&g, GEOM_POLYGON);
    add_ring(&g, cell, 5, 0, false);
    assert_true(fabs(geom_area_km2(&g) - 12308.778) < 1);
    geom_release(&g);
}

/* ---- documents ------------------------------------------------------------------------------- */

struct report {
    struct arena a;
    struct buf text;
    yyjson_val *root;
};

static void inspect_text(const char *text, const char *key, struct report *r)
{
    const struct inspect_options o = {.feature_key = key, .precision_m = INSPECT_PRECISION_M};
    struct err err;
    char *copy = strdup(text);
    arena_init(&r->a, 64 << 20);
    buf_init(&r->text, 1 << 20);
    assert_rc(inspect_bytes(str_of(copy), &o, inspect_geojson, &r->text, &err), RC_OK);
    assert_rc(json_parse(&r->a, buf_view(&r->text), 0, "report", &r->root, &err), RC_OK);
    free(copy);
}

static void drop(struct report *r)
{
    buf_release(&r->text);
    arena_release(&r->a);
}

static bool same_content(const char *a, const char *b)
{
    struct report x, y;
    inspect_text(a, "", &x);
    inspect_text(b, "", &y);
    bool same = yyjson_equals(yyjson_obj_get(x.root, "content_digest"),
                              yyjson_obj_get(y.root, "content_digest"));
    drop(&x);
    drop(&y);
    return same;
}

#define ONE(properties, geometry)                                                                     \
    "{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feature\",\"properties\":{" properties \
    "},\"geometry\":" geometry "}]}"
#define POINT(x, y) "{\"type\":\"Point\",\"coordinates\":[" #x "," #y "]}"

static void what_is_the_same(void **state)
{
    static const char base[] = ONE("\"a\":1,\"b\":\"x\"", POINT(1, 2));
    (void)state;
    assert_true(same_content(base, ONE("\"b\":\"x\",\"a\":1.0", POINT(1.0, 2e0))));
    assert_true(same_content(base, ONE("\"b\":\"\\u0078\",\"a\":1", POINT(1.00000001, 2))));
    assert_true(same_content(
        base, ONE("\"a\":1,\"b\":\"x\"", "{\"coordinates\":[[1,2]],\"type\":\"MultiPoint\"}")));
    assert_true(same_content(base, "{\"type\":\"Feature\",\"id\":7,\"x\":0,\"geometry\":" POINT(
                                       1, 2) ",\"properties\":{\"a\":1,\"b\":\"x\"}}"));
    assert_false(same_content(base, ONE("\"a\":2,\"b\":\"x\"", POINT(1, 2))));
    assert_false(same_content(base, ONE("\"a\":\"1\",\"b\":\"x\"", POINT(1, 2))));
    assert_false(same_content(base, ONE("\"a\":1,\"b\":\"x\"", POINT(1.000001, 2))));
    assert_false(same_content(base, ONE("\"a\":1,\"b\":\"x\"", "null")));
    assert_false(same_content(base, ONE("\"a\":1", POINT(1, 2))));
    assert_false(
        same_content(ONE("\"n\":9007199254740993", "null"), ONE("\"n\":9007199254740992", "null")));
}

static void keys(void **state)
{
    static const char data[] =
        "{\"type\":\"FeatureCollection\",\"features\":["
        "{\"type\":\"Feature\",\"id\":9,\"properties\":{\"k\":2.50},\"geometry\":null},"
        "{\"type\":\"Feature\",\"id\":\"x\",\"properties\":{\"k\":\"a\"},\"geometry\":null}]}";
    struct report r;
    (void)state;
    inspect_text(data, "k", &r);
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(r.root, "/features/0/key")), "2.5");
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(r.root, "/features/1/key")), "a");
    drop(&r);
    inspect_text(data, "id", &r);
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(r.root, "/features/0/key")), "9");
    assert_int_equal(yyjson_arr_size(yyjson_obj_get(r.root, "problems")), 0);
    drop(&r);
    inspect_text(data, "nothing", &r);
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(r.root, "/problems/0/code")), "KEY_MISSING");
    drop(&r);
}

static void reasons(void **state)
{
    struct report r;
    (void)state;
    inspect_text(ONE("\"k\":\"a\"", "{\"type\":\"Polygon\",\"coordinates\":"
                                    "[[[0,0],[2,2],[2,0],[0,2],[0,0]]]}"),
                 "k", &r);
    assert_int_equal(
        yyjson_get_int(yyjson_ptr_get(r.root, "/layers/0/validity/reasons/Self-intersection")), 1);
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(r.root, "/layers/0/validity/examples/0/key")),
                        "a");
    assert_true(yyjson_get_num(yyjson_ptr_get(r.root, "/layers/0/validity/examples/0/at/0")) == 1);
    drop(&r);
}

/* ---- property: whatever is only written otherwise is the same content ------------------------ */

#define FEATURES_MAX 12
#define VERTICES_MAX 9

struct thing {
    int key, value, vertices;
    double x, y, r;
};

static void put_coordinate(struct buf *out, double v, bool other)
{
    /* The other form has more digits than count, and an exponent. */
    if (other)
        buf_printf(out, "%.12e", v + ((double)rand_below(7) - 3) * 1e-9);
    else
        buf_printf(out, "%.6f", v);
}

static void put_ring(struct buf *out, const struct thing *t, bool other)
{
    size_t n = (size_t)t->vertices, start = other ? rand_below(n) : 0;
    bool reversed = other && rand_below(2);
    for (size_t i = 0; i <= n; i++) {
        size_t k = (start + (reversed ? n - i % n : i)) % n;
        double angle = 2 * M_PI * (double)k / t->vertices;
        buf_puts(out, i ? ",[" : "[");
        put_coordinate(out, rint((t->x + t->r * cos(angle)) * 1e6) / 1e6, other);
        buf_byte(out, ',');
        put_coordinate(out, rint((t->y + t->r * sin(angle)) * 1e6) / 1e6, other);
        buf_byte(out, ']');
    }
}

static void put_thing(struct buf *out, const struct thing *t, bool other)
{
    buf_puts(out, "{\"type\":\"Feature\",\"properties\":{");
    if (other)
        buf_printf(out, "\"v\":%d.0e0,\"none\":null,\"k\":\"\\u006b%d\"", t->value, t->key);
    else
        buf_printf(out, "\"k\":\"k%d\",\"none\":null,\"v\":%d", t->key, t->value);
    buf_puts(out, other ? "},\"geometry\":{\"coordinates\":[[["
                        : "},\"geometry\":{\"type\":\"Polygon\",\"coordinates\":[[");
    put_ring(out, t, other);
    buf_puts(out, other ? "]]],\"type\":\"MultiPolygon\"}}" : "]]}}");
}

static void put_things(struct buf *out, const struct thing *t, size_t n, bool other)
{
    size_t shift = other ? rand_below(n) : 0;
    buf_puts(out, other ? "{ \"features\" :\n[" : "{\"type\":\"FeatureCollection\",\"features\":[");
    for (size_t i = 0; i < n; i++) {
        buf_puts(out, i ? "," : "");
        put_thing(out, &t[(i + shift) % n], other);
    }
    buf_puts(out, other ? "],\"at\":1,\"type\":\"FeatureCollection\"}" : "]}");
}

static void rewritten_is_the_same(void **state)
{
    struct thing t[FEATURES_MAX];
    (void)state;
    for (int round = 0; round < 200; round++) {
        size_t n = 1 + rand_below(FEATURES_MAX), at = rand_below(n);
        struct buf a, b;
        buf_init(&a, 1 << 20);
        buf_init(&b, 1 << 20);
        for (size_t i = 0; i < n; i++)
            t[i] = (struct thing){.key = (int)i,
                                  .value = (int)rand_below(1000),
                                  .vertices = 3 + (int)rand_below(VERTICES_MAX - 2),
                                  .x = (double)rand_below(340) - 170,
                                  .y = (double)rand_below(160) - 80,
                                  .r = 0.5 + (double)rand_below(100) / 100};
        put_things(&a, t, n, false);
        put_things(&b, t, n, true);
        if (!same_content(a.data, b.data))
            fail_msg("%s\nand\n%s", a.data, b.data);
        /* and an edit is none of these */
        buf_clear(&b);
        if (rand_below(2))
            t[at].r += 0.001;
        else
            t[at].value++;
        put_things(&b, t, n, true);
        assert_false(same_content(a.data, b.data));
        buf_release(&a);
        buf_release(&b);
    }
}

/* Blanks are as good as nothing, and zero is a value. */
static void blanks_fill_no_field(void **state)
{
    static const struct {
        const char *properties, *told;
    } rows[] = {
        {"\"a\":\"x\"", "{\"filled\":1,"},  {"\"a\":\" x \"", "{\"filled\":1,"},
        {"\"a\":0", "{\"filled\":1,"},      {"\"a\":\"\"", "{\"filled\":0,"},
        {"\"a\":\"  \"", "{\"filled\":0,"}, {"\"a\":\"\\t\\n\"", "{\"filled\":0,"},
        {"\"a\":null", "{\"filled\":0,"},
    };
    char body[256];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct report r;
        snprintf(body, sizeof body, ONE("%s", POINT(1, 2)), rows[i].properties);
        inspect_text(body, "", &r);
        if (!memmem(r.text.data, r.text.len, rows[i].told, strlen(rows[i].told)))
            fail_msg("%s", rows[i].properties);
        drop(&r);
    }
}

/* The report as bytes: a change here is a new INSPECT_VERSION. */
static void report_is_bytes(void **state)
{
    struct report r;
    (void)state;
    inspect_text(ONE("\"a\":1", POINT(1, 2)), "a", &r);
    assert_str(
        buf_view(&r.text),
        "{\"bbox\":[1,2,1,2],"
        "\"content_digest\":\"ccdd9d10b0f3d8d59fd0f81bac7324237211d82f786bd18674134b3a4702089f\","
        "\"driver\":\"GeoJSON\",\"features\":[{\"area_km2\":0,\"bbox\":[1,2,1,2],"
        "\"digest\":\"be2320f7586c9589d0a1266f51583b42225b3c32d850b9f05416ffe16d3596e8\","
        "\"geometry_digest\":\"df8de391bb0d5f20c7a00a4cda301e5c3db29458197e7eafdfdaf8283c78a9c2\","
        "\"key\":\"1\"}],\"format\":\"geojson\",\"inspect_version\":\"4\",\"layers\":[{\"area_km2\":0,"
        "\"bbox\":[1,2,1,2],\"bbox_native\":[1,2,1,2],\"crs\":{\"assumed\":false,\"axis\":\"east,north\","
        "\"code\":\"EPSG:4326\",\"kind\":\"geographic\",\"wkt_digest\":null},\"features\":1,\"fields\":["
        "{\"filled\":1,\"name\":\"a\",\"type\":\"integer\"}],\"geometry_type\":\"Point\",\"name\":\"features\",\"validity\":"
        "{\"checked\":1,\"empty\":0,\"examples\":[],\"invalid\":0,\"reasons\":{}}}],"
        "\"media_type\":\"application/geo+json\",\"options\":{\"feature_key\":\"a\",\"precision_m\":0.01},"
        "\"problems\":[],\"raster\":null,\"size\":129,\"totals\":{\"area_km2\":0,\"empty\":0,\"features\":1,"
        "\"invalid\":0,\"layers\":1},\"unread_digest\":null}");
    drop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(formats),
                                       cmocka_unit_test(geopackage_by_its_id),
                                       cmocka_unit_test(names_in_archives),
                                       cmocka_unit_test(archives),
                                       cmocka_unit_test(same_shape_same_digest),
                                       cmocka_unit_test(order_of_parts),
                                       cmocka_unit_test(no_place_no_digest),
                                       cmocka_unit_test(steps),
                                       cmocka_unit_test(areas),
                                       cmocka_unit_test(what_is_the_same),
                                       cmocka_unit_test(keys),
                                       cmocka_unit_test(reasons),
                                       cmocka_unit_test(rewritten_is_the_same),
                                       cmocka_unit_test(blanks_fill_no_field),
                                       cmocka_unit_test(report_is_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
