/* delta: the manifest of a change: from which bytes to which, and how to go either way.
 *
 * Where the bytes are layers of features (granularity "feature") it tells the verdict, totals, and
 * a bounded list of the features that differ (diff.h); else it is about the whole file. Where that
 * is a listing, it names the listing's address (/manifests/<manifest>). The document holds no
 * links, so that its checksum (sha256 over its canonical JSON without the member "checksum") is the
 * same wherever it is served. schemas/delta-manifest.schema.json is its published form. Pure;
 * called by job and redact.
 */
#ifndef FRESHET_HANDLER_DELTA_H
#define FRESHET_HANDLER_DELTA_H

#include "handler/facts.h"

MUST_CHECK enum rc delta_render(struct arena *a, const struct facts *f, struct str *ret,
                                struct err *err);
/* Puts the checksum of o behind its other members; o must have none. */
MUST_CHECK enum rc delta_seal(yyjson_mut_doc *d, yyjson_mut_val *o, struct err *err);
/* RC_CORRUPT when the checksum of a manifest is not that of its contents. */
MUST_CHECK enum rc delta_check(struct str manifest, struct err *err);

#endif
