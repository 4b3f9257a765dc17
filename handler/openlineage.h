/* openlineage: tells a run as OpenLineage RunEvents (specification 2-0-2), START, and COMPLETE or
 * FAIL, to a file or over HTTP, as the setting `openlineage` says.
 *
 * Invariants
 *   1. (I8) Sovereign sources have no rows for it. Of restricted ones an event holds the run's id,
 *      the day and nothing that names bytes, address or the reason of a failure.
 *   2. Told are runs that promoted, and those that failed for good; not those that will be tried
 *      again or had nothing to do. What becomes of a candidate whose workers died (POISON) is in
 *      the dead letters.
 *   3. At least once; receivers tell repetitions by runId and eventType.
 * Called by outbox.
 */
#ifndef FRESHET_HANDLER_OPENLINEAGE_H
#define FRESHET_HANDLER_OPENLINEAGE_H

#include "handler/outbox.h"

/* An outbox_tell_fn. */
MUST_CHECK enum rc openlineage_tell(const struct outbox_env *env, const char *run_id,
                                    struct err *err);
#endif
