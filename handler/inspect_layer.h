/* inspect_layer: gathers what the report says about a layer while its features pass by. Pure.
 *
 * Boxes and areas are in longitude and latitude of the layer's own datum, in degrees: projections
 * are undone, datums are not shifted. That keeps them the same on every machine, whatever grids it
 * has (I9), and is within 2 m of WGS84 for NAD83 and ETRS89, within 200 m for any datum in use.
 *
 * Invariants
 *   1. A feature's digest is sha256(digest of its geometry, 32 zero bytes without one, followed by
 *      its attributes as canonical JSON: sorted by name, null ones left out).
 *   2. Numbers are the same however they were written; dates are text in ISO form.
 */
#ifndef FRESHET_HANDLER_INSPECT_LAYER_H
#define FRESHET_HANDLER_INSPECT_LAYER_H

#include "core/arena.h"
#include "core/json.h"
#include "handler/inspect_valid.h"

#define LAYER_FIELDS_MAX 4096 /* more columns than any table in use: a sign of broken input */
#define LAYER_REASONS_MAX 16  /* GEOS knows a dozen */
#define LAYER_EXAMPLES_MAX 10 /* for people; the counts are whole */
#define CRS_CODE_MAX 32

/* Types of attribute values, as bits: a column may hold several. */
enum field_type {
#define X(name, bit) FIELD_##name = 1 << bit,
#include "handler/inspect_types.def"
#undef X
};

struct crs {
    bool known;   /* false: none is given, or it cannot be brought to longitude and latitude */
    bool assumed; /* not written in the file, but its format or column names imply it */
    char code[CRS_CODE_MAX];     /* "EPSG:4269" or "" */
    char wkt_digest[SHA256_HEX]; /* of its WKT2 text; "" when not needed */
    const char *kind;            /* "geographic", "projected", "other" */
    double unit_m;               /* metres of a unit of x and y, 0 for degrees */
    /* Undoes the projection in place; NULL when x and y are longitude and latitude already. */
    bool (*to_lonlat)(void *ctx, double *x, double *y, size_t n);
    void (*release)(void *ctx); /* NULL: ctx needs none */
    void *ctx;
};
extern const struct crs crs_wgs84;
void crs_release(struct crs *c);

struct field {
    struct str name;
    unsigned types; /* enum field_type */
    int64_t filled; /* features with a value that is neither null nor text of blanks alone */
};
struct feature_record {
    struct sha256 digest, geometry;
    const char *key; /* NULL: none */
    double bbox[4], area_km2;
    bool has_bbox;
};
struct fault_example {
    const char *key;
    int64_t index; /* of the feature in the layer */
    struct valid_fault fault;
};
struct layer {
    const char *name;
    struct crs crs;
    struct field *fields;
    size_t n_fields;
    unsigned kinds; /* bits of enum geom_kind */
    struct feature_record *records;
    size_t n, room;
    int64_t empty, checked, invalid, not_finite, without_key;
    /* Geometries that are at no place, though the CRS is known: in no box and no area. */
    int64_t nowhere;
    double native[4], bbox[4], area_km2;
    bool has_native, has_bbox;
    struct {
        char reason[VALID_REASON_MAX];
        int64_t n;
    } reasons[LAYER_REASONS_MAX];
    size_t n_reasons;
    struct fault_example examples[LAYER_EXAMPLES_MAX];
    size_t n_examples;
    struct geom_snap snap;
    size_t hint; /* where the last field was found: columns mostly come in the same order */
};

/* Called for each feature once its record is complete. geom is in longitude and latitude when the
 * record has a box, NULL when the feature has none; both belong to the caller. */
typedef enum rc layer_seen_fn(void *ctx, const struct feature_record *r, const struct geom *geom,
                              struct str attributes);
/* Shared by the layers of one inspection. */
struct layer_tools {
    struct valid *valid;
    /* valid_check; by pointer, so that those who only render reports need no GEOS */
    bool (*check)(struct valid *v, const struct geom *g, struct valid_fault *ret);
    layer_seen_fn *seen; /* NULL: nobody wants the features themselves */
    void *seen_ctx;
    struct geom_scratch scratch;
};

/* Takes the CRS over, unless it fails. */
MUST_CHECK enum rc layer_init(struct layer *l, struct arena *a, const char *name,
                              const struct crs *crs, double precision_m);
void layer_release(struct layer *l);

/* Is this text a value, or as good as none? */
static inline bool layer_text_fills(struct str text)
{
    return str_trim(text).n > 0;
}
/* Notes that the column exists and holds a value of the type; filled: that one more feature has
 * one. name must outlive the layer, unless it is new: then it is copied. RC_TOO_LARGE
 * beyond LAYER_FIELDS_MAX. */
MUST_CHECK enum rc layer_field(struct layer *l, struct arena *a, struct str name, unsigned type,
                               bool filled);
/* geom NULL: the feature has no geometry. Its coordinates are changed. attributes as invariant 1
 * says. key is copied; NULL: none. */
MUST_CHECK enum rc layer_add(struct layer *l, struct arena *a, struct layer_tools *t,
                             struct geom *geom, struct str attributes, const char *key);
/* Digest over the sorted digests of all features; sorts records by key, then digest. */
MUST_CHECK enum rc layer_finish(struct layer *l, struct sha256 *ret);
/* How many keys are there more than once (after layer_finish). */
int64_t layer_collisions(const struct layer *l);

const char *field_type_name(unsigned types); /* "number"; several become "mixed" */
/* Without what only formatting can tell apart: integers are numbers. */
const char *field_type_plain(unsigned types);

#endif
