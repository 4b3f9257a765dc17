/* inspect_sniff: magic numbers, and for text a look at the words that a format cannot
 * do without. */
#include "handler/inspect_sniff.h"

#define HEAD_MAX 4096      /* where a KML or HTML root must have begun */
#define HEADER_MAX 65536   /* the header line of a CSV */
#define CRS_MEMBER_MAX 256 /* how far the name of a CRS is from its member's name */

const struct inspect_format_row inspect_formats[FORMAT_COUNT] = {
#define X(name, type, engine, driver, fn, ending)                                                  \
    [FORMAT_##name] = {#name, type, ENGINE_##engine, driver, ending},
#include "handler/inspect_formats.def"
#undef X
};

static struct str head_of(struct str s, size_t max)
{
    return (struct str){s.p, s.n < max ? s.n : max};
}

static const char *find(struct str s, const char *word)
{
    return memmem(s.p, s.n, word, strlen(word));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static bool names_a_type(struct str s)
{
    static const char *const types[] = {
        "\"FeatureCollection\"", "\"Feature\"",         "\"Polygon\"",
        "\"MultiPolygon\"",      "\"Point\"",           "\"MultiPoint\"",
        "\"LineString\"",        "\"MultiLineString\"", "\"GeometryCollection\""};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (find(s, types[i]))
            return true;
    return false;
}

/* One document per line: the first line is an object, and another one follows it. */
static bool is_sequence(struct str s)
{
    if (*s.p == '\x1e')
        return true;
    const char *end = memchr(s.p, '\n', s.n);
    if (!end)
        return false;
    struct str line = str_trim((struct str){s.p, (size_t)(end - s.p)});
    struct str rest = str_skip_space((struct str){end, s.n - (size_t)(end - s.p)});
    return line.n > 1 && line.p[line.n - 1] == '}' && rest.n > 0 && *rest.p == '{';
}

/* RFC 7946 knows longitude and latitude on WGS84 only; its forerunner had a member for others. */
static bool has_other_crs(struct str s)
{
    const char *at = find(s, "\"crs\"");
    if (!at)
        return false;
    struct str member = head_of((struct str){at, s.n - (size_t)(at - s.p)}, CRS_MEMBER_MAX);
    return !find(member, "CRS84") && !find(member, "EPSG::4326") && !find(member, "EPSG:4326");
}

static enum inspect_format sniff_json(struct str s)
{
    if (find(s, "\"Topology\""))
        return FORMAT_topojson;
    if (!names_a_type(s))
        return FORMAT_json;
    if (is_sequence(s))
        return FORMAT_geojsonseq;
    return has_other_crs(s) ? FORMAT_geojson_crs : FORMAT_geojson;
}

/* ---- text ------------------------------------------------------------------------------------ */

const char *inspect_csv_role(struct str column)
{
    static const struct {
        const char *name, *role;
    } roles[] = {{"wkt", "wkt"},      {"geom", "wkt"}, {"geometry", "wkt"}, {"the_geom", "wkt"},
                 {"geom_wkt", "wkt"}, {"lon", "x"},    {"lng", "x"},        {"long", "x"},
                 {"longitude", "x"},  {"lat", "y"},    {"latitude", "y"}};
    struct str s = str_trim(column);
    if (s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"')
        s = (struct str){s.p + 1, s.n - 2};
    for (size_t i = 0; i < ARRAY_LEN(roles); i++)
        if (str_ieq(s, str_of(roles[i].name)))
            return roles[i].role;
    return NULL;
}

static bool has_geometry_columns(struct str header, char separator)
{
    struct str column;
    bool x = false, y = false;
    while (str_next(&header, separator, &column)) {
        const char *role = inspect_csv_role(column);
        if (role && *role == 'w')
            return true;
        x = x || (role && *role == 'x');
        y = y || (role && *role == 'y');
    }
    return x && y;
}

static enum inspect_format sniff_text(struct str s)
{
    struct str head = head_of(s, HEADER_MAX), header = {"", 0};
    if (memchr(head.p, 0, head.n))
        return FORMAT_other;
    (void)str_next(&head, '\n', &header);
    for (const char *c = ",;\t|"; *c; c++)
        if (has_geometry_columns(header, *c))
            return FORMAT_csv;
    return str_is_utf8(str_cut(head_of(s, HEAD_MAX), HEAD_MAX)) ? FORMAT_text : FORMAT_other;
}

static enum inspect_format sniff_markup(struct str s)
{
    struct str head = head_of(s, HEAD_MAX);
    if (str_ihas(head, STR("<html")) || str_ihas(head, STR("<!doctype html")))
        return FORMAT_html;
    return find(head, "<kml") || find(head, ":kml") ? FORMAT_kml : FORMAT_xml;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* A GeoPackage says so in the application id of its SQLite header; version 1.0 and 1.1 had ids of
 * their own. */
static enum inspect_format sniff_sqlite(struct str s)
{
    struct str id = s.n >= 72 ? (struct str){s.p + 68, 4} : STR("");
    bool gpkg = str_is(id, "GPKG") || str_is(id, "GP10") || str_is(id, "GP11");
    return gpkg ? FORMAT_gpkg : FORMAT_sqlite;
}

static const struct {
    struct str magic;
    enum inspect_format format;
} magics[] = {
    {STR("PK\x03\x04"), FORMAT_zip},     {STR("PK\x05\x06"), FORMAT_zip},
    {STR("fgb\x03"), FORMAT_flatgeobuf}, {STR("II*\0"), FORMAT_geotiff},
    {STR("MM\0*"), FORMAT_geotiff},      {STR("II+\0"), FORMAT_geotiff},
    {STR("MM\0+"), FORMAT_geotiff},      {STR("%PDF-"), FORMAT_pdf},
    {STR("\x1f\x8b"), FORMAT_gzip},      {STR("SQLite format 3\0"), FORMAT_sqlite},
};

enum inspect_format inspect_sniff(struct str bytes)
{
    if (bytes.n == 0)
        return FORMAT_empty;
    for (size_t i = 0; i < ARRAY_LEN(magics); i++)
        if (str_starts(bytes, magics[i].magic))
            return magics[i].format == FORMAT_sqlite ? sniff_sqlite(bytes) : magics[i].format;
    struct str s = str_skip_space(str_skip_bom(bytes));
    if (s.n == 0)
        return FORMAT_text;
    if (*s.p == '{' || *s.p == '[' || *s.p == '\x1e')
        return sniff_json(s);
    return *s.p == '<' ? sniff_markup(s) : sniff_text(s);
}
