/* probe: a value in a small document about the data says whether the data has moved.
 *
 *   GET probe.url ─┬─ the value that the cursor holds ─────▶ not_modified
 *                  ├─ another one, or the first ───────────▶ GET of the data, judged as in etag.h
 *                  ├─ audit due ───────────────────────────▶ the same, whatever the value
 *                  ├─ no value there, or no document ──────▶ as etag.h would check the data
 *                  └─ an error body, another object ───────▶ wrong_shape
 *
 * ArcGIS /editingInfo/lastEditDate, Socrata /rowsUpdatedAt, CKAN /result/metadata_modified.
 *
 * Invariants
 *   1. The cursor holds a value that was read before the data it goes with, and moves only with an
 *      outcome that is no failure (I3): a change in between is met by the next check.
 *   2. A probe that is gone (404, 410) says nothing about the data: the data is asked itself. Other
 *      failures of the probe are failures of the check.
 *   3. A value that moved is believed more than a validator: the data is read, nothing conditional.
 *   4. Where layers are numbered, numbers are reused: probe.expect names a value that must be
 *      there, else the probe is about something else.
 */
#ifndef FRESHET_DETECTORS_PROBE_H
#define FRESHET_DETECTORS_PROBE_H

#include "core/json.h"
#include "detectors/detector.h"

#define PROBE_BYTES_MAX (4 << 20)    /* metadata of a layer with thousands of fields has 1 MB */
#define PROBE_MEMORY_MAX (64u << 20) /* such a document, parsed */

extern const struct detector probe_detector;

/* A value as the cursor holds it: numbers, texts and booleans as text; what is longer than fits,
 * could not stand in a header line, or has members, as "sha256:" and its digest. False for null, ""
 * and what has no canonical form. */
bool probe_text(yyjson_val *v, char out[CHECK_CURSOR_MAX]);

#endif
