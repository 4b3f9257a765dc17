/* headers: what a source declares to be sent with each request.
 *
 * Invariants
 *   1. Secrets go to the source's own origin only, are resolved for each request, live in the arena
 *      of the caller and nowhere else (I12).
 *
 * Called by look.c and streams.c.
 */
#ifndef FRESHET_DETECTORS_HEADERS_H
#define FRESHET_DETECTORS_HEADERS_H

#include "core/fetch.h"
#include "core/instance.h"
#include "ledger/source.h"

/* Does a request to url go to the source's own origin? NULL is its own address. */
bool headers_at_home(const struct source *s, const char *url);
/* Appends them to h, which has room for SOURCE_HEADERS_MAX more; *n grows. */
MUST_CHECK enum rc headers_add(struct arena *a, const struct instance *inst, const struct source *s,
                               const char *url, struct fetch_header *h, size_t *n, struct err *err);

#endif
