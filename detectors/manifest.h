/* manifest: the source is a listing of others. All its pages are read into one canonical form
 * (core/listing.h), and that is what is compared, kept and promoted.
 *
 *   GET, conditional where one page was all ─┬─ 304 ─▶ not_modified
 *                                            └─ 200 ─▶ GET of the next page, while there is one
 *                                                      ─▶ the digest decides, as in etag.h
 *
 * Invariants
 *   1. All pages or nothing: a page that fails, is refused or was seen before ends the check with
 *      its failure; the state stays as it was.
 *   2. The order of entries, and how they are spread over pages, do not matter.
 *   3. Validators of a page say nothing about the others: with more than one page none is kept.
 *   4. A listing that has lost more than nine of ten entries since the last time is wrong_shape: it
 *      must not delete everything. One in another language than the last time is, too, unless
 *      manifest.format says which.
 *   5. News from several pages counts when two readings in a row name the same entries (not S3's:
 *      its pages begin behind a key): what shifts over the edge of a page while they are read is
 *      not gone.
 *   6. An entry of which the listing tells nothing but the name is counted (manifest_blind): when
 *      its bytes change, nobody notices here.
 *   7. The next page is of the origin that the source names, which its headers are meant for.
 */
#ifndef FRESHET_DETECTORS_MANIFEST_H
#define FRESHET_DETECTORS_MANIFEST_H

#include "detectors/detector.h"

#define MANIFEST_PAGES_MAX 1000          /* of a thousand objects each, what a bucket gives */
#define MANIFEST_READINGS_MAX 3          /* of a listing that moves meanwhile */
#define MANIFEST_MEMORY_MAX (256u << 20) /* LISTING_MAX entries and their canonical form */

extern const struct detector manifest_detector;

/* Of how many entries did the last listing tell neither version, ETag, date, size nor digest? */
int64_t manifest_blind(const struct check_state *st);

#endif
