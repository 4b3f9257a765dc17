/* manifest_page: one page of a foreign listing, in one of four languages, into a struct listing.
 * Pure. Called by manifest.c, the command line (a page in a file) and tests.
 *
 *   json   an array, or an object by key, of entries; members by manifest_names.def or the options
 *   csv    RFC 4180 with a header row; columns likewise
 *   s3     ListBucketResult (ListObjectsV2, also version 1): Contents, continuation tokens
 *   html   an index page of Apache, nginx, lighttpd and the like: links below its own folder, with
 *          the date and size that stand behind them
 *
 * Invariants
 *   1. A page is read as a whole or refused: no entry is left out because it could not be read.
 *      What is left out is said: folders (a key that ends in a slash), keys that include/exclude
 *      rule out, and on an HTML page links that lead elsewhere, up, or carry a query (sorting). A
 *      page that may be cut off is refused: markup that is open at its end, and, where the response
 *      did not tell its length, a table without a last newline.
 *   2. A page that says there is more, but not where, is refused.
 *   3. Sizes that are not exact ("1.2K"), and digests that are no sha256, tell versions apart too:
 *      they are kept as `version` when nothing else is.
 *   4. Errors name what is wrong in the page, or the option that would help; never foreign markup.
 */
#ifndef FRESHET_DETECTORS_MANIFEST_PAGE_H
#define FRESHET_DETECTORS_MANIFEST_PAGE_H

#include "core/fetch.h"
#include "core/listing.h"
#include "ledger/source.h"

#define MANIFEST_PAGE_BYTES_MAX (16 << 20)    /* an index of 100,000 files */
#define MANIFEST_PAGE_MEMORY_MAX (256u << 20) /* such a page, parsed as JSON of small values */

enum manifest_format { MANIFEST_JSON, MANIFEST_CSV, MANIFEST_S3, MANIFEST_HTML, MANIFEST_FORMATS };
const char *manifest_format_name(enum manifest_format f); /* "s3" */

struct manifest_page {
    struct str text;
    const char *content_type; /* "" when unknown */
    const char *url;          /* that was asked for */
    const char *final_url;    /* where it came from: what it names is relative to this */
    const struct source_manifest *options;
    bool endless; /* only the end of the connection told where it ends: it may be cut off */
    struct arena *scratch;       /* may be released when the page is read */
    struct listing *to;          /* open; entries are added */
    enum manifest_format format; /* out */
    const char *next;            /* out, in scratch: absolute; "" when this was the last page */
};

/* RC_INVALID or RC_TOO_LARGE: it cannot be what it should be. On failure `to` holds a part. */
MUST_CHECK enum rc manifest_page_read(struct manifest_page *p, struct err *err);

/* ---- for the readers ------------------------------------------------------------------------- */

/* The facts as they stand in the page; NULL or "" when not told. */
struct manifest_item {
#define X(field, names) const char *field;
#include "detectors/manifest_names.def"
#undef X
};
MUST_CHECK enum rc manifest_page_add(struct manifest_page *p, const struct manifest_item *item,
                                     struct err *err);
/* Row i of manifest_names.def: the member of an item, what the source says its name is ("" for
 * nothing), the usual names. */
#define MANIFEST_NAMES 7
const char **manifest_item_field(struct manifest_item *item, size_t i);
const char *manifest_name_told(const struct source_manifest *options, size_t i);
bool manifest_name_usual(size_t i, size_t nth, struct str *ret);

MUST_CHECK enum rc manifest_json_read(struct manifest_page *p, struct err *err);
MUST_CHECK enum rc manifest_csv_read(struct manifest_page *p, struct err *err);
MUST_CHECK enum rc manifest_s3_read(struct manifest_page *p, struct err *err);
MUST_CHECK enum rc manifest_html_read(struct manifest_page *p, struct err *err);

#endif
