/* summary: the few numbers of an inspection report that rules look at and later runs compare with.
 *
 * A report has a row per feature; its summary is a few hundred bytes and is kept with the run
 * (runs.qa, member "inspection"). Nothing else of a report is stored: inspection is pure (I9), so
 * it can be made again from the bytes.
 *
 * Invariants
 *   1. Summaries of different INSPECT_VERSIONs are never compared: what is stored of another one is
 *      read as none.
 *   2. It quotes no data: names of fields are in it as a digest alone.
 * Pure. Called by job and validate.
 */
#ifndef FRESHET_HANDLER_SUMMARY_H
#define FRESHET_HANDLER_SUMMARY_H

#include "core/digest.h"
#include "handler/inspect.h"
#include "ledger/source.h"

#define SUMMARY_FIELDS_MAX 256 /* of all layers; with more nobody says which were lost */

struct summary {
    bool geodata;       /* there are layers or pixels */
    const char *format; /* of inspect_formats.def; "" before anybody looked */
    const char *media_type;
    int64_t features; /* -1: no layers */
    double area_km2;
    bool has_bbox;
    double bbox[4];                  /* west, south, east, north */
    char content_digest[SHA256_HEX]; /* "" for none */
    char schema_digest[SHA256_HEX];  /* of names and plain types of fields; "" for none */
    int64_t problems[PROBLEM_COUNT]; /* how often */
    /* Of each field of the schema, a piece of the digest of its name and plain type. */
    uint64_t fields[SUMMARY_FIELDS_MAX];
    size_t n_fields;
    bool fields_uncounted; /* there are too many: n_fields is 0 */
    double precision_m;
    /* Of what the source asks for (summary_expect), not stored. */
    int64_t missing;  /* features without the required field that most of them lack */
    int64_t bad_keys; /* keys that are no GEOID of its boundary type */
};

/* Of a file that nobody inspects. */
void summary_none(struct summary *ret);
/* Of a report. Its texts are those of the report. */
MUST_CHECK enum rc summary_of(yyjson_val *report, struct summary *ret, struct err *err);
/* Counts what of the report is not as the source asks: required_fields, and GEOIDs by boundary_type
 * (handler/geoids.def) where the feature key is one. */
void summary_expect(yyjson_val *report, const struct source *s, struct summary *ret);
/* The stored form. */
yyjson_mut_val *summary_json(yyjson_mut_doc *d, const struct summary *s);
/* What summary_json wrote, inside a validation report. RC_NOT_FOUND: none of this INSPECT_VERSION
 * and precision. */
MUST_CHECK enum rc summary_read(struct arena *a, struct str qa, double precision_m,
                                struct summary *ret, struct err *err);

#endif
