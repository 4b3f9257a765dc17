/* prov: the provenance of a run as PROV-JSON, also of runs that promoted nothing (I5: evidence).
 *
 * Entities: what the upstream had (ent:upstream-<run>), the version made of it (ent:<item>), the
 * version before (ent:<item before>), the validation report (ent:report-<run>), a decision
 * (ent:decision-<run>), what the policy
 * decided (ent:policy-<run>). A deletion makes no version: it invalidates the one before. A
 * rollback invalidates it too, and what it makes is a revision of the version whose bytes it brings
 * back. One activity (act:<run>), one agent (agt:freshet). PROV-JSON has no relation wasRevisionOf:
 * it is a wasDerivedFrom of type prov:Revision. Pure; called by job.
 */
#ifndef FRESHET_HANDLER_PROV_H
#define FRESHET_HANDLER_PROV_H

#include "handler/facts.h"

MUST_CHECK enum rc prov_render(struct arena *a, const struct facts *f, struct str *ret,
                               struct err *err);

#endif
