/* compare: two files in, one canonical JSON comparison out: what diff finds in their reports,
 * measured: patches, distances, attributes old and new, legal dates.
 *
 * Both files are foreign bytes and GEOS is asked to cut them: this runs where inspection runs, in
 * the sandbox, under the same limits. Files are read twice: first for their reports, of which diff
 * makes pairs, then again to keep the features of the pairs, so that memory goes with what changed.
 *
 *   {"compare_version","reason":null,"totals":{…,"within_precision"},
 *    "added":[…],"removed":[…],"modified":[…]}
 *
 * Invariants
 *   1. (I9) Pure, like inspection.
 *   2. Row i of a list is row i of the list of diff_of over the two reports; its digests say so.
 *   3. Bounded: DIFF_LISTED_MAX rows of a kind, COMPARE_PATCHES_MAX patches, COMPARE_CHANGES_MAX
 *      attributes of one feature, COMPARE_SHAPES_MAX vertices in all shapes, texts of
 *      COMPARE_TEXT_MAX bytes. Totals are over all pairs; "unmeasured" counts those beyond
 *      COMPARE_KEPT_MAX vertices or that GEOS gave up on.
 *   4. within_precision: the features are the same, all but for coordinates that moved by no more
 *      than precision_m (compare_same), and attributes are equal. When in doubt it is false.
 *   5. When there is nothing to measure with, reason is a code of inspect_problems.def, and there
 *      are no lists.
 * Called by inspect_child; compare_unread by whoever watches it. */
#ifndef FRESHET_HANDLER_COMPARE_H
#define FRESHET_HANDLER_COMPARE_H

#include "handler/inspect.h"

#define COMPARE_VERSION "1"
#define COMPARE_MAX (2u << 20)      /* bytes of a comparison; a delta has room for it (DELTA_MAX) */
#define COMPARE_KEPT_MAX (4u << 20) /* vertices of a side: 64 MB */
#define COMPARE_SHAPES_MAX 12000    /* vertices shown: about half of COMPARE_MAX */
#define COMPARE_CHANGES_MAX 20
#define COMPARE_TEXT_MAX 200

MUST_CHECK enum rc compare_bytes(struct str old, struct str now, const struct inspect_options *o,
                                 inspect_reader *reader, struct buf *out, struct err *err);
/* A comparison that nobody made. */
void compare_unread(enum inspect_problem p, struct buf *out);

#endif
