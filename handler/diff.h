/* diff: what differs between two inspection reports, feature by feature.
 *
 * Features of the same layer are matched by their key; those of the same key and digest first, so
 * that keys that collide do no harm. Features without a key are matched by digest, then by the
 * digest of their geometry, if it has one: then only attributes differ. What is left was added
 * or removed.
 *
 * Verdicts, the first that holds:
 *   none             same features, fields and CRS
 *   reformatted      same features, within precision_m; fields or CRS are told otherwise
 *   attributes_only  nothing added or removed, no geometry differs
 *   replaced         less than half of the larger side has a match on the other, or, where it was
 *                    measured, more than half of its area was gained and more than half lost
 *   redigitised      nothing added or removed; borders were redrawn, but nobody gained or lost a
 *                    patch that is wide enough to be one (compare_geom.h). Where nobody measured:
 *                    at least half of all geometries differ, yet the area of none of them by more
 *                    than DIFF_SHIFT, nor its box by more than that of its width
 *   local            everything else
 *
 * Invariants
 *   1. Totals are exact whatever the lists leave out; -1 where a report lists no features.
 *   2. A list has at most listed_max rows, the first in the order of layers, keys and digests.
 *   3. Pure; the same reports give the same rows in the same order.
 * Called by job, and by compare inside the sandbox; rendered by delta and entry.
 */
#ifndef FRESHET_HANDLER_DIFF_H
#define FRESHET_HANDLER_DIFF_H

#include "core/arena.h"
#include "core/json.h"

#define DIFF_LISTED_MAX 500 /* of a kind: more than a person reads; a delta stays below DELTA_MAX */
#define DIFF_SHIFT 0.01     /* a hundredth: redrawing moves borders by less, real changes by more */

struct diff_row {
    yyjson_val *old, *now; /* features of the reports; NULL: not there */
};
struct diff_list {
    struct diff_row *rows;
    size_t n, room; /* listed */
    int64_t total;  /* -1: nobody knows */
};
struct diff {
    const char *verdict; /* NULL: there was nothing before, or too many features to list */
    bool has_before;
    int64_t before, after; /* features */
    struct diff_list added, removed, modified;
    double area_before, area_after; /* km² */
    double gained, lost;            /* -1: nobody knows; net of each feature, unless measured */
    double added_km2, removed_km2;  /* of them, by whole features */
    int64_t geometries_moved;
    bool same;     /* every difference vanishes within the precision (compare.h, invariant 4) */
    bool measured; /* diff_measure had something to say of every pair */
};

/* then NULL, or without layers: nothing was before. Rows point into the reports. */
MUST_CHECK enum rc diff_of(struct arena *a, yyjson_val *then, yyjson_val *now, size_t listed_max,
                           struct diff *ret, struct err *err);
/* Takes areas and verdict from a comparison (compare.h) of the same files; NULL or without totals:
 * all stays as it was. */
void diff_measure(struct diff *d, yyjson_val *compared);
/* By how much the area changed; false when there was none. */
bool diff_area_pct(const struct diff *d, double *ret);
/* Does the feature of a modified row have another shape? */
bool diff_moved(const struct diff_row *row);

#endif
