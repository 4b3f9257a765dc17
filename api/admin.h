/* admin: what stands before every /admin route: who asks, may they, and the audit of it.
 *
 * Invariants
 *   1. (I12) Of a token only its sha256 meets the ledger; neither token nor key is logged.
 *   2. Every call is audited with the pattern of its route, never with an id.
 *   3. A source that the caller may not know of answers like one that never existed.
 */
#ifndef FRESHET_API_ADMIN_H
#define FRESHET_API_ADMIN_H

#include "api/route.h"
#include "ledger/request.h"
#include "ledger/source.h"

/* Finds the token's owner into r->token. 401 and 403 with their WWW-Authenticate lines. */
MUST_CHECK enum rc admin_authorize(struct req *r, struct resp *w, unsigned scope, struct err *err);
void admin_audit(const struct req *r, const struct route *route, const struct resp *w);

/* The source that a request means: by id, or by url where id is NULL. RC_NOT_FOUND, always in the
 * same words, when there is none or the caller may not know of it. */
MUST_CHECK enum rc admin_source(struct req *r, const char *id, const char *url, struct source *ret,
                                struct err *err);

route_fn checks_post, checks_get; /* admin_checks.c */

#endif
