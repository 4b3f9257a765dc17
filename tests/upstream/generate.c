/* generate: see generate.h. */
#include "tests/upstream/generate.h"

#include "tests/upstream/blob.h"
#include "tests/upstream/geo.h"
#include "tests/upstream/pack.h"

#define ROW_MIN 60 /* no CSV row and no GeoJSON feature is shorter */
#define SHAPES_MAX 4096
#define LAYER_COLUMNS 64

typedef void generate_fn(size_t size, uint64_t seed, struct buf *out);

/* splitmix64: every seed starts a good sequence of its own. */
uint64_t generate_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t generate_mix(uint64_t seed, uint64_t a, uint64_t b)
{
    uint64_t state = seed;
    state = generate_next(&state) ^ a;
    state = generate_next(&state) ^ b;
    return generate_next(&state);
}

static void generate_text(size_t size, uint64_t seed, struct buf *out)
{
    static const char *const words[] = {"river",  "prairie", "survey", "section", "plat",
                                        "bridge", "levee",   "corner", "meander", "range"};
    size_t end = out->len + size;
    for (unsigned n = 1; out->len < end && buf_rc(out) == RC_OK; n++) {
        buf_puts(out, words[generate_next(&seed) % ARRAY_LEN(words)]);
        buf_byte(out, n % 10 ? ' ' : '\n');
    }
    if (buf_rc(out) == RC_OK && size) {
        out->len = end; /* cut the last word */
        out->data[end] = '\0';
    }
}

static void generate_random(size_t size, uint64_t seed, struct buf *out)
{
    for (size_t n; size && buf_rc(out) == RC_OK; size -= n) {
        uint64_t v = generate_next(&seed);
        n = size < sizeof v ? size : sizeof v;
        buf_add(out, &v, n);
    }
}

static void generate_zeros(size_t size, uint64_t seed, struct buf *out)
{
    static const char zeros[4096];
    (void)seed;
    for (size_t n; size && buf_rc(out) == RC_OK; size -= n) {
        n = size < sizeof zeros ? size : sizeof zeros;
        buf_add(out, zeros, n);
    }
}

static struct geo_layer layer_of(enum geo_shape shape, size_t n, uint64_t seed)
{
    int count = (int)(n ? n : 1);
    return (struct geo_layer){.name = "generated",
                              .kind = "",
                              .prefix = "20",
                              .shape = shape,
                              .cols = LAYER_COLUMNS,
                              .rows = (count + LAYER_COLUMNS - 1) / LAYER_COLUMNS,
                              .count = count,
                              .seed = seed};
}

static void generate_csv(size_t size, uint64_t seed, struct buf *out)
{
    struct geo_layer l = layer_of(GEO_POINT, size / ROW_MIN + 1, seed);
    geo_write_csv(out, &l, NULL);
}

static void generate_geojson(size_t size, uint64_t seed, struct buf *out)
{
    struct geo_layer l = layer_of(GEO_POINT, size / ROW_MIN / 2 + 1, seed);
    geo_write_geojson(out, &l, NULL);
}

static void generate_json(size_t size, uint64_t seed, struct buf *out)
{
    size_t end = out->len + size;
    buf_printf(out, "{\"item\":\"%016llx\",\"padding\":\"", (unsigned long long)seed);
    while (out->len + 2 < end && buf_rc(out) == RC_OK) {
        char letters[8];
        uint64_t v = generate_next(&seed);
        size_t left = end - out->len - 2;
        for (size_t i = 0; i < sizeof letters; i++, v >>= 8)
            letters[i] = (char)('a' + (v & 15));
        buf_add(out, letters, left < sizeof letters ? left : sizeof letters);
    }
    buf_puts(out, "\"}");
}

static void generate_zip(size_t size, uint64_t seed, struct buf *out)
{
    CLEANUP(buf_release) struct buf data = {0};
    buf_init(&data, BLOB_MAX);
    generate_random(size, seed, &data);
    struct pack_member member = {"data.bin", buf_view(&data)};
    pack_zip(out, &member, 1);
}

static void generate_shapefile(size_t size, uint64_t seed, struct buf *out)
{
    struct geo_layer l = layer_of(GEO_TOWN, size < SHAPES_MAX ? size : SHAPES_MAX, seed);
    geo_write_shapefile(out, &l, NULL, "tl_generated_20_place");
}

static void generate_html(size_t size, uint64_t seed, struct buf *out)
{
    (void)size, (void)seed;
    buf_puts(
        out,
        "<!DOCTYPE html>\n<html><head><title>Service temporarily unavailable</title></head>\n"
        "<body><h1>Scheduled maintenance</h1>\n<p>Please come back later.</p></body></html>\n");
}

static void generate_login(size_t size, uint64_t seed, struct buf *out)
{
    (void)size, (void)seed;
    buf_puts(
        out,
        "<!DOCTYPE html>\n<html><head><title>Sign in</title></head>\n<body><form method=\"post\">"
        "<label>User <input name=\"user\"></label> <label>Password <input type=\"password\" "
        "name=\"password\"></label> <button>Sign in</button></form></body></html>\n");
}

static void generate_arcgis_error(size_t size, uint64_t seed, struct buf *out)
{
    (void)size, (void)seed;
    buf_puts(out, "{\"error\":{\"code\":498,\"message\":\"Invalid Token\",\"details\":[]}}");
}

static const struct {
    const char *name, *help;
    generate_fn *make;
} kinds[] = {
#define X(kind, help) {#kind, help, generate_##kind},
    GENERATE_KINDS(X)
#undef X
};

enum rc generate_body(const char *kind, size_t size, uint64_t seed, struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kind, kinds[i].name) == 0) {
            kinds[i].make(size, seed, out);
            return RC_OK;
        }
    }
    return RC_NOT_FOUND;
}

void generate_kinds(struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        buf_printf(out, "%s%s", i ? ", " : "", kinds[i].name);
}

void generate_help(struct buf *out)
{
    buf_puts(out, "| kind | body |\n|---|---|\n");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        buf_printf(out, "| `%s` | %s |\n", kinds[i].name, kinds[i].help);
}
