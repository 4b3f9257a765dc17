/* summary: the few numbers of an inspection report that rules look at and later runs compare with.
 *
 * A report has a row per feature; its summary is a few hundred bytes and is kept with the run
 * (runs.qa, member "inspection"). Nothing else of a report is stored: inspection is pure (I9), so it
 * can be made again from the bytes.
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
};

/* Of a file that nobody inspects. */
void summary_none(struct summary *ret);
/* Of a report. Its texts are those of the report. */
MUST_CHECK enum rc summary_of(yyjson_val *report, struct summary *ret, struct err *err);
/* The stored form. */
yyjson_mut_val *summary_json(yyjson_mut_doc *d, const struct summary *s);
/* What summary_json wrote, inside a validation report. RC_NOT_FOUND: none of this INSPECT_VERSION. */
MUST_CHECK enum rc summary_read(struct arena *a, struct str qa, struct summary *ret,
                                struct err *err);

#endif
