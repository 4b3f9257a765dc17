/* hooks: POST /hooks/{source}, where strangers talk to us first.
 *
 *   size, headers ─▶ source ─▶ secrets ─▶ adapter: verify ─▶ adapter: read ─▶ room
 *                                              ─▶ one transaction (settle.c) ─▶ answer
 *
 * Invariants
 *   1. Nothing of a body is parsed, and nothing durable is done, before its signature was verified.
 *   2. (I8) Of a restricted or sovereign source nobody learns without a valid signature: unknown,
 *      retired, without adapter, withheld and badly signed all end as the one 404, after the same
 *      work. A source below that level says 401: that it exists is public.
 *   3. 202 is said after the commit. Nothing is accepted that there is no room for (503).
 *   4. Secrets are read for each delivery, so that one which is taken out counts no more at once.
 *      What was read of them is wiped when the delivery is judged (I12).
 *   5. Logs hold no part of a delivery, and at most a line a second about refused ones.
 */
#ifndef FRESHET_API_HOOKS_H
#define FRESHET_API_HOOKS_H

#include "api/route.h"

#define HOOK_HEADERS_MAX 100 /* lines; real senders have thirty */

route_fn hooks_post, hooks_options;

#endif
