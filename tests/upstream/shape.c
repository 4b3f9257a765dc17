/* shape: a layer as a zipped shapefile, written by our own code (ESRI Shapefile Technical
 * Description, July 1998; dBASE III). Main and index file are big-endian in their lengths and
 * little-endian in their numbers; outer rings are clockwise. Behind geo.h, called by demo.c and
 * generate.c. */
#include "tests/upstream/geo.h"

#include "tests/upstream/blob.h"
#include "tests/upstream/pack.h"

#define SHP_POLYGON 5
#define SHP_POINT 1
#define SHP_HEADER 100

struct dbf_field {
    const char *name;
    char type;
    uint8_t width;
};
static const struct dbf_field dbf_fields[] = {
    {"GEOID", 'C', 16}, {"NAME", 'C', 64}, {"LSAD", 'C', 2}, {"POP", 'N', 10}, {"ALAND", 'N', 14},
};

static const char prj[] =
    "GEOGCS[\"GCS_North_American_1983\",DATUM[\"D_North_American_1983\",SPHEROID[\"GRS_1980\","
    "6378137.0,298.257222101]],PRIMEM[\"Greenwich\",0.0],UNIT[\"Degree\",0.0174532925199433]]";

struct box {
    struct geo_xy min, max;
};

static void put_le(struct buf *b, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buf_byte(b, (char)(v >> (8 * i) & 255));
}

static void put_be32(struct buf *b, uint32_t v)
{
    for (int i = 3; i >= 0; i--)
        buf_byte(b, (char)(v >> (8 * i) & 255));
}

static void put_double(struct buf *b, int32_t micro)
{
    double d = micro / 1e6;
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    put_le(b, bits, 8);
}

static void put_box(struct buf *b, const struct box *box)
{
    put_double(b, box->min.x);
    put_double(b, box->min.y);
    put_double(b, box->max.x);
    put_double(b, box->max.y);
}

static void box_add(struct box *box, const struct geo_feature *f)
{
    for (size_t i = 0; i < f->n; i++) {
        struct geo_xy p = f->ring[i];
        box->min.x = p.x < box->min.x ? p.x : box->min.x;
        box->min.y = p.y < box->min.y ? p.y : box->min.y;
        box->max.x = p.x > box->max.x ? p.x : box->max.x;
        box->max.y = p.y > box->max.y ? p.y : box->max.y;
    }
}

static const struct box nowhere = {{INT32_MAX, INT32_MAX}, {INT32_MIN, INT32_MIN}};

static void put_header(struct buf *b, size_t length, int type, const struct box *box)
{
    put_be32(b, 9994);
    for (int i = 0; i < 5; i++)
        put_be32(b, 0);
    put_be32(b, (uint32_t)(length / 2));
    put_le(b, 1000, 4);
    put_le(b, (uint64_t)type, 4);
    put_box(b, box);
    for (int i = 0; i < 4; i++) /* Z and M */
        put_double(b, 0);
}

static void put_shape(struct buf *b, const struct geo_feature *f)
{
    struct box box = nowhere;
    if (f->n > 1) {
        box_add(&box, f);
        put_le(b, SHP_POLYGON, 4);
        put_box(b, &box);
        put_le(b, 1, 4); /* parts */
        put_le(b, f->n, 4);
        put_le(b, 0, 4); /* where the only part starts */
    } else {
        put_le(b, SHP_POINT, 4);
    }
    for (size_t i = f->n; i-- > 0;) {
        put_double(b, f->ring[i].x);
        put_double(b, f->ring[i].y);
    }
}

/* Records of main file and index, without their headers; *box grows around all of them. */
static int put_records(struct buf *shp, struct buf *shx, const struct geo_layer *l,
                       const struct geo_state *state, struct box *box)
{
    struct geo_feature f;
    int n = 0;
    for (int i = 0; i < l->count; i++) {
        if (!geo_feature(l, state, i, &f))
            continue;
        size_t at = shp->len, words = (f.n > 1 ? 44 + 4 + 16 * f.n : 20) / 2;
        box_add(box, &f);
        put_be32(shp, (uint32_t)++n);
        put_be32(shp, (uint32_t)words);
        put_shape(shp, &f);
        put_be32(shx, (uint32_t)((SHP_HEADER + at) / 2));
        put_be32(shx, (uint32_t)words);
    }
    return n;
}

static void put_dbf_header(struct buf *b, int n)
{
    size_t width = 1;
    for (size_t i = 0; i < ARRAY_LEN(dbf_fields); i++)
        width += dbf_fields[i].width;
    buf_add(b, "\x03\x7c\x01\x01", 4); /* dBASE III, last touched 2024-01-01 */
    put_le(b, (uint64_t)n, 4);
    put_le(b, 32 + 32 * ARRAY_LEN(dbf_fields) + 1, 2);
    put_le(b, width, 2);
    put_le(b, 0, 8);
    put_le(b, 0, 8);
    put_le(b, 0, 4);
    for (size_t i = 0; i < ARRAY_LEN(dbf_fields); i++) {
        char row[32] = {0};
        snprintf(row, 11, "%s", dbf_fields[i].name);
        row[11] = dbf_fields[i].type;
        row[16] = (char)dbf_fields[i].width;
        buf_add(b, row, sizeof row);
    }
    buf_byte(b, '\r');
}

static void put_dbf(struct buf *b, const struct geo_layer *l, const struct geo_state *state, int n)
{
    struct geo_feature f;
    put_dbf_header(b, n);
    for (int i = 0; i < l->count; i++) {
        if (!geo_feature(l, state, i, &f))
            continue;
        buf_printf(b, " %-16s%-64s%-2s%10lld%14lld", f.geoid, f.name, "25", (long long)f.pop,
                   (long long)(f.n > 1 ? geo_area(&f) * 1e6 : 0));
    }
    buf_byte(b, '\x1a');
}

static struct str with_header(struct buf *out, const struct buf *records, int type,
                              const struct box *box)
{
    put_header(out, SHP_HEADER + records->len, type, box);
    buf_str(out, buf_view(records));
    return buf_view(out);
}

void geo_write_shapefile(struct buf *out, const struct geo_layer *l, const struct geo_state *state,
                         const char *base)
{
    CLEANUP(buf_release) struct buf records = {0}, index = {0}, shp = {0}, shx = {0}, dbf = {0};
    struct buf *all[] = {&records, &index, &shp, &shx, &dbf};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        buf_init(all[i], BLOB_MAX);
    struct box box = nowhere;
    int type = l->shape == GEO_POINT ? SHP_POINT : SHP_POLYGON;
    int n = put_records(&records, &index, l, state, &box);
    if (!n)
        box = (struct box){{0, 0}, {0, 0}};
    put_dbf(&dbf, l, state, n);
    char names[5][128];
    static const char *const ends[] = {"shp", "shx", "dbf", "prj", "cpg"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        snprintf(names[i], sizeof names[i], "%s.%s", base, ends[i]);
    struct pack_member members[] = {
        {names[0], with_header(&shp, &records, type, &box)},
        {names[1], with_header(&shx, &index, type, &box)},
        {names[2], buf_view(&dbf)},
        {names[3], str_of(prj)},
        {names[4], STR("UTF-8")},
    };
    pack_zip(out, members, ARRAY_LEN(members));
}
