/* generate: bodies made from a kind, a size and a seed, so that no large files are kept.
 * Pure: the same three give the same bytes. Called by spec.c (`generate` in scenarios), world.c
 * (bulk resources) and demo.c.
 */
#ifndef FRESHET_UPSTREAM_GENERATE_H
#define FRESHET_UPSTREAM_GENERATE_H

#include "core/buf.h"
#include "core/str.h"

/* X(kind, help): what a scenario may ask for; generate_<kind> makes it. */
#define GENERATE_KINDS(X)                                                                          \
    X(text, "lines of words, exactly `size` bytes")                                                \
    X(random, "exactly `size` bytes of noise")                                                     \
    X(zeros, "exactly `size` zero bytes")                                                          \
    X(csv, "stream gauges, at least `size` bytes")                                                 \
    X(geojson, "point features with GEOID, at least `size` bytes")                                 \
    X(json, "an object with padding, exactly `size` bytes (64 and more)")                          \
    X(zip, "a valid zip archive with one member of `size` bytes")                                  \
    X(shapefile, "a valid zipped shapefile of places, `size` features (1 to 4096)")                \
    X(html, "an error page")                                                                       \
    X(login, "a login page")                                                                       \
    X(arcgis_error, "{\"error\":{\"code\":498,...}}")

/* Deterministic noise: the next number of the sequence that *state stands in. */
uint64_t generate_next(uint64_t *state);
/* One number from three: for values that hang on a place rather than on an order. */
uint64_t generate_mix(uint64_t seed, uint64_t a, uint64_t b);

/* RC_NOT_FOUND for an unknown kind. Failures of out are left in out. */
MUST_CHECK enum rc generate_body(const char *kind, size_t size, uint64_t seed, struct buf *out);
/* "text, random, ..." */
void generate_kinds(struct buf *out);
void generate_help(struct buf *out);

#endif
