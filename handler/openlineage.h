/* openlineage: tells a run as OpenLineage RunEvents (specification 2-0-2), START and COMPLETE, to a file or
 * over HTTP, as the setting `openlineage` says.
 *
 * Invariants
 *   1. (I8) Sovereign sources have no rows for it. Of restricted ones an event holds the run's id, the day
 *      and nothing that names bytes or address.
 *   2. At least once; receivers tell repetitions by runId and eventType.
 * Called by outbox.
 */
#ifndef FRESHET_HANDLER_OPENLINEAGE_H
#define FRESHET_HANDLER_OPENLINEAGE_H

#include "handler/outbox.h"

/* An outbox_tell_fn. */
MUST_CHECK enum rc openlineage_tell(const struct outbox_env *env, const char *run_id,
                                    struct err *err);
/* One event as JSON, of the documents of a run. Pure. type: "START", "COMPLETE" or "FAIL". */
MUST_CHECK enum rc openlineage_render(struct arena *a, const struct outbox_run *r,
                                      const char *run_id, const char *type, struct str *ret,
                                      struct err *err);

#endif
