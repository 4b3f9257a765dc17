/* inspect: a file and options in, one canonical JSON report
 * out (schemas/inspect-report.schema.json).
 *
 * Who does what: inspect_sniff tells the format. GeoJSON, by far the most common and the only one
 * whose text is as large as its data, is read by inspect_geojson on yyjson (a hundred times faster
 * than through GDAL, and without its hundred libraries in the process); everything else by GDAL
 * (inspect_gdal and its neighbours), which is linked into freshet-inspect-gdal alone. Readers hand
 * features to inspect_layer; inspect_report writes down what was gathered.
 *
 * Invariants
 *   1. (I9) Pure: the same bytes and options give the same report, byte for byte, in any process.
 *      No clock, no locale, no environment, no file but the one given, no address order.
 *   2. Whatever the bytes are, the end is a report; what is wrong with them is in problems[], as
 *      codes of inspect_problems.def, most fundamental first.
 *   3. The report is bounded: INSPECT_REPORT_MAX bytes, INSPECT_LISTED_MAX features listed. A file
 *      with more has features: null, and is told by counts, digests and box alone.
 *   4. Two reports have the same content_digest exactly when fields, CRS and the multiset of
 *      normalised features are the same: order, number format, coordinates within precision_m, key
 *      order, names of single layers, ids and foreign members do not count. What no reader reads
 *      (other files of an archive, tiles beside features, links to elsewhere) counts by its bytes.
 *   5. Nothing here is trusted to hold against hostile bytes: callers run it in a sandbox
 *      (inspect_child).
 */
#ifndef FRESHET_HANDLER_INSPECT_H
#define FRESHET_HANDLER_INSPECT_H

#include "core/arena.h"
#include "core/buf.h"
#include "core/json.h"
#include "handler/inspect_layer.h"
#include "handler/inspect_sniff.h"

#define INSPECT_VERSION "4" /* a new one whenever the same bytes are told differently */
#define INSPECT_REPORT_MAX JSON_MAX
#define INSPECT_LISTED_MAX 200000 /* some 250 bytes each: what a reader of reports can bear */
#define INSPECT_LISTED_BYTES (48u << 20) /* keys may be long */
#define INSPECT_FEATURES_MAX 2000000     /* over all layers; each costs 120 bytes until the end */
#define INSPECT_LAYERS_MAX 256
#define INSPECT_KEY_MAX 256 /* bytes of a feature key or a feature key's name */
#define INSPECT_PRECISION_M 0.01
#define INSPECT_PRECISION_MIN 1e-6
#define INSPECT_PRECISION_MAX 1e4

enum inspect_problem {
#define X(code, detail) PROBLEM_##code,
#include "handler/inspect_problems.def"
#undef X
    PROBLEM_COUNT
};

struct inspect_options {
    const char *feature_key; /* name of the attribute that identifies a feature; "" for none */
    double precision_m;
    /* Of a comparison (compare.h): the attribute; NULL or "" for none. */
    const char *legal_date_field;
};
void inspect_options_default(struct inspect_options *ret);
MUST_CHECK enum rc inspect_options_check(const struct inspect_options *o, struct err *err);

/* One inspection under way: readers fill it. */
struct inspect {
    struct arena *arena;
    const struct inspect_options *options;
    struct str bytes; /* writable private memory, so that a reader may work in place */
    enum inspect_format format;
    struct layer *layers[INSPECT_LAYERS_MAX];
    size_t n_layers;
    int64_t features;       /* in all layers */
    yyjson_mut_val *raster; /* NULL: no raster */
    bool has_unread;        /* the file holds more than was read: */
    struct sha256 unread;   /* invariant 4 */
    yyjson_mut_doc *doc;
    int64_t problems[PROBLEM_COUNT]; /* how often */
    struct layer_tools tools;
};

void inspect_problem(struct inspect *in, enum inspect_problem p);
/* There is more in the file than was read, nobody knows what: all of its bytes count as content. */
void inspect_has_unread(struct inspect *in);
/* Takes crs over. NULL when there are too many or memory ran out (which is a problem of
 * the file). */
struct layer *inspect_layer(struct inspect *in, const char *name, const struct crs *crs);

/* What reads the format; told problems are no failure. Fails with RC_NOMEM. */
typedef enum rc inspect_reader(struct inspect *in, struct err *err);

/* Appends the report of bytes to out (canonical JSON, no newline). reader NULL: only files that are
 * told by size and type alone. */
MUST_CHECK enum rc inspect_bytes(struct str bytes, const struct inspect_options *o,
                                 inspect_reader *reader, struct buf *out, struct err *err);
/* The same; `seen` is told of every feature. */
MUST_CHECK enum rc inspect_features(struct str bytes, const struct inspect_options *o,
                                    inspect_reader *reader, layer_seen_fn *seen, void *ctx,
                                    struct buf *out, struct err *err);
/* The report of a file nobody read: of a kind without engine, or where inspecting it failed.
 * p < PROBLEM_COUNT adds that problem. */
MUST_CHECK enum rc inspect_unread(enum inspect_format f, int64_t size,
                                  const struct inspect_options *o, enum inspect_problem p,
                                  struct buf *out, struct err *err);

const char *inspect_problem_name(enum inspect_problem p);

#endif
