/* prov: provenance in three representations of one model, and the links to it (PROV-AQ).
 *
 * Invariants
 *   1. The stored PROV-JSON is the model. JSON-LD and Turtle are made of the graph that prov_graph
 *      reads from it, so all three state the same facts, and what was redacted is in none.
 *   2. A chain is the union of the runs' documents; nodes that several runs name are the same.
 */
#ifndef FRESHET_API_PROV_H
#define FRESHET_API_PROV_H

#include "api/rdf.h"
#include "api/route.h"

/* Adds a PROV-JSON document (base marks in it are replaced) to g, as PROV-O: the direct relations
 * and the qualified ones. RC_CORRUPT when it is none. */
MUST_CHECK enum rc prov_graph(struct rdf *g, yyjson_val *doc, struct err *err);
/* Link header to the provenance that a stored document names, if it names any. */
void prov_link(struct resp *w, struct str base, struct str doc);

route_fn prov_one, prov_chain;

#endif
