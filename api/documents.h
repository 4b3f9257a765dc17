/* documents: routes that hand out what was rendered at promotion: sources, provenance, deltas, and
 * promoted bytes. Reading them is a lookup and a copy.
 */
#ifndef FRESHET_API_DOCUMENTS_H
#define FRESHET_API_DOCUMENTS_H

#include "api/route.h"
#include "ledger/public.h"

/* Writes a stored document and its validators. */
MUST_CHECK enum rc document_put(struct req *r, struct resp *w, const struct public_doc *d,
                                struct err *err);

route_fn sources_list, sources_one; /* sources.c */
route_fn delta_one;                 /* documents.c */
route_fn asset_one, manifest_one;   /* assets.c */
route_fn health_live, health_ready; /* health.c */
route_fn metrics_text;              /* metrics.c */

#endif
