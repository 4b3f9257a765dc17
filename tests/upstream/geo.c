/* geo: see geo.h. */
#include "tests/upstream/geo.h"

#include "tests/upstream/generate.h"

/* The box all layers lie in: roughly Kansas. */
#define WEST (-102000000)
#define SOUTH 37000000
#define EAST (-94600000)
#define NORTH 40000000
/* km2 of a square degree at 38.5 N: 111.32^2 * cos(38.5 deg) */
#define KM2_PER_DEGREE2 9698.3

enum salt { SALT_X = 1, SALT_Y, SALT_EDGE, SALT_POP, SALT_READING };

static int renewed(const struct geo_state *s, int i)
{
    return s && i < GEO_CELLS_MAX ? s->renewed[i] : 0;
}

static int moved(const struct geo_state *s, int i)
{
    return s && i < GEO_CELLS_MAX ? s->moved[i] : 0;
}

/* A number in [-reach, reach] that hangs on what and salt. */
static int32_t wobble(const struct geo_layer *l, uint64_t what, uint64_t salt, int32_t reach)
{
    uint64_t v = generate_mix(l->seed, what, salt);
    return (int32_t)(v % (2 * (uint64_t)reach + 1)) - reach;
}

static int32_t cell_width(const struct geo_layer *l)
{
    return (EAST - WEST) / l->cols;
}

static int32_t cell_height(const struct geo_layer *l)
{
    return (NORTH - SOUTH) / l->rows;
}

static struct geo_xy in_box(struct geo_xy p)
{
    p.x = p.x < WEST ? WEST : p.x > EAST ? EAST : p.x;
    p.y = p.y < SOUTH ? SOUTH : p.y > NORTH ? NORTH : p.y;
    return p;
}

/* The corner at column c and row r. Its wobble stays under an eighth of a cell, so that
 * neighbouring corners can never pass each other. */
static struct geo_xy corner(const struct geo_layer *l, const struct geo_state *s, int c, int r)
{
    int i = r * (l->cols + 1) + c;
    uint64_t what = (uint64_t)i << 16 | (uint64_t)moved(s, i);
    return in_box((struct geo_xy){
        WEST + c * cell_width(l) + wobble(l, what, SALT_X, cell_width(l) / 8),
        SOUTH + r * cell_height(l) + wobble(l, what, SALT_Y, cell_height(l) / 8),
    });
}

/* A bend half way between two corners, the same from both sides. */
static struct geo_xy bend(const struct geo_layer *l, struct geo_xy a, struct geo_xy b, int edge)
{
    return in_box((struct geo_xy){
        (a.x + b.x) / 2 + wobble(l, (uint64_t)edge, SALT_EDGE + SALT_X * 8, cell_width(l) / 16),
        (a.y + b.y) / 2 + wobble(l, (uint64_t)edge, SALT_EDGE + SALT_Y * 8, cell_height(l) / 16),
    });
}

static void ring_cell(const struct geo_layer *l, const struct geo_state *s, int i,
                      struct geo_feature *f)
{
    int c = i % l->cols, r = i / l->cols, line = l->cols + 1;
    struct geo_xy sw = corner(l, s, c, r), se = corner(l, s, c + 1, r);
    struct geo_xy ne = corner(l, s, c + 1, r + 1), nw = corner(l, s, c, r + 1);
    int across = (r * line + c) * 2, up = across + 1; /* edges are named by their first corner */
    struct geo_xy ring[] = {sw, bend(l, sw, se, across),
                            se, bend(l, se, ne, up + 2),
                            ne, bend(l, nw, ne, across + 2 * line),
                            nw, bend(l, sw, nw, up),
                            sw};
    memcpy(f->ring, ring, sizeof ring);
    f->n = ARRAY_LEN(ring);
}

static struct geo_xy middle(const struct geo_layer *l, const struct geo_state *s, int i)
{
    uint64_t what = (uint64_t)i << 16 | (uint64_t)moved(s, i);
    return (struct geo_xy){
        WEST + (i % l->cols) * cell_width(l) + cell_width(l) / 2 +
            wobble(l, what, SALT_X, cell_width(l) / 8),
        SOUTH + (i / l->cols) * cell_height(l) + cell_height(l) / 2 +
            wobble(l, what, SALT_Y, cell_height(l) / 8),
    };
}

/* An octagon around the middle of the cell; a moved town has annexed or lost land. */
static void ring_town(const struct geo_layer *l, const struct geo_state *s, int i,
                      struct geo_feature *f)
{
    static const int8_t dx[] = {10, 7, 0, -7, -10, -7, 0, 7}, dy[] = {0, 7, 10, 7, 0, -7, -10, -7};
    struct geo_xy at = middle(l, NULL, i);
    int32_t reach = cell_height(l) / 8;
    for (size_t k = 0; k < ARRAY_LEN(dx); k++) {
        uint64_t what = (uint64_t)i << 24 | (uint64_t)moved(s, i) << 8 | k;
        int32_t radius = reach + wobble(l, what, SALT_EDGE, reach / 4);
        f->ring[k] = (struct geo_xy){at.x + radius * dx[k] / 10, at.y + radius * dy[k] / 10};
    }
    f->ring[ARRAY_LEN(dx)] = f->ring[0];
    f->n = ARRAY_LEN(dx) + 1;
}

static void name_feature(const struct geo_layer *l, int i, struct geo_feature *f)
{
    static const char *const first[] = {"Bluestem",   "Cottonwood",  "Sunflower", "Limestone",
                                        "Meadowlark", "Switchgrass", "Turkey",    "Chalk",
                                        "Buffalo",    "Redbud",      "Prairie",   "Hackberry",
                                        "Antelope",   "Walnut",      "Flint",     "Sandhill"};
    static const char *const second[] = {"Creek",   "Bend",   "Ridge", "Crossing",
                                         "Springs", "Hollow", "Flats", "Grove"};
    unsigned u = (unsigned)i, salt = (unsigned)(l->seed % 16);
    snprintf(f->geoid, sizeof f->geoid, "%s%0*d", l->prefix, l->count > 999 ? 5 : 3, i * 2 + 1);
    int n = snprintf(f->name, sizeof f->name, "%s %s", first[(u * 7 + salt) % 16],
                     second[(u * 5 + u / 16 + salt) % 8]);
    if (i >= 128) /* the words are used up */
        n += snprintf(f->name + n, sizeof f->name - (size_t)n, " %d", i / 128 + 1);
    if (*l->kind)
        snprintf(f->name + n, sizeof f->name - (size_t)n, " %s", l->kind);
}

bool geo_feature(const struct geo_layer *l, const struct geo_state *state, int i,
                 struct geo_feature *ret)
{
    if (state && i < GEO_CELLS_MAX && state->hidden >> i & 1)
        return false;
    name_feature(l, i, ret);
    uint64_t who = (uint64_t)i << 16;
    ret->pop =
        900 + (int64_t)(generate_mix(l->seed, who, SALT_POP) % 60000) +
        (int64_t)(generate_mix(l->seed, who | (uint64_t)renewed(state, i), SALT_READING) % 800);
    switch (l->shape) {
    case GEO_CELL: ring_cell(l, state, i, ret); break;
    case GEO_TOWN: ring_town(l, state, i, ret); break;
    case GEO_POINT:
        ret->ring[0] = middle(l, state, i);
        ret->n = 1;
        break;
    }
    return true;
}

double geo_area(const struct geo_feature *f)
{
    int64_t twice = 0;
    for (size_t i = 0; i + 1 < f->n; i++)
        twice +=
            (int64_t)f->ring[i].x * f->ring[i + 1].y - (int64_t)f->ring[i + 1].x * f->ring[i].y;
    return (double)twice / 2e12 * KM2_PER_DEGREE2;
}

static void write_degrees(struct buf *out, int32_t v)
{
    int32_t a = v < 0 ? -v : v;
    buf_printf(out, "%s%d.%06d", v < 0 ? "-" : "", a / 1000000, a % 1000000);
}

static void write_xy(struct buf *out, struct geo_xy p)
{
    buf_byte(out, '[');
    write_degrees(out, p.x);
    buf_byte(out, ',');
    write_degrees(out, p.y);
    buf_byte(out, ']');
}

static void write_geometry(struct buf *out, const struct geo_feature *f)
{
    if (f->n == 1) {
        buf_puts(out, "{\"type\":\"Point\",\"coordinates\":");
        write_xy(out, f->ring[0]);
        buf_byte(out, '}');
        return;
    }
    buf_puts(out, "{\"type\":\"Polygon\",\"coordinates\":[[");
    for (size_t i = 0; i < f->n; i++) {
        buf_puts(out, i ? "," : "");
        write_xy(out, f->ring[i]);
    }
    buf_puts(out, "]]}");
}

void geo_write_geojson(struct buf *out, const struct geo_layer *l, const struct geo_state *state)
{
    struct geo_feature f;
    const char *comma = "";
    buf_printf(out, "{\"type\":\"FeatureCollection\",\"name\":\"%s\",\"features\":[\n", l->name);
    for (int i = 0; i < l->count; i++) {
        if (!geo_feature(l, state, i, &f))
            continue;
        buf_printf(out, "%s{\"type\":\"Feature\",\"properties\":{\"GEOID\":\"%s\",\"NAME\":\"%s\"",
                   comma, f.geoid, f.name);
        if (f.n > 1)
            buf_printf(out, ",\"AREA\":%.1f", geo_area(&f));
        buf_printf(out, ",\"%s\":%lld", f.n > 1 ? "POP" : "SIZE_M2", (long long)f.pop);
        if (l->remark)
            buf_printf(out, ",\"REMARK\":\"%s\"", l->remark);
        buf_puts(out, "},\"geometry\":");
        write_geometry(out, &f);
        buf_byte(out, '}');
        comma = ",\n";
    }
    buf_puts(out, "\n]}\n");
}

void geo_write_csv(struct buf *out, const struct geo_layer *l, const struct geo_state *state)
{
    struct geo_feature f;
    buf_puts(out, "site_no,station_name,latitude,longitude,gage_height_ft,discharge_cfs\r\n");
    for (int i = 0; i < l->count; i++) {
        if (!geo_feature(l, state, i, &f))
            continue;
        buf_printf(out, "%s,\"%s\",", f.geoid, f.name);
        write_degrees(out, f.ring[0].y);
        buf_byte(out, ',');
        write_degrees(out, f.ring[0].x);
        buf_printf(out, ",%lld.%02lld,%lld\r\n", (long long)(f.pop % 30), (long long)(f.pop % 97),
                   (long long)(f.pop / 7));
    }
}
