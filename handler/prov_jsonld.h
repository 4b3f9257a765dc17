/* prov_jsonld: a bundle in PROV-JSON (prov.h) as JSON-LD over PROV-O: nodes with their relations as
 * properties. Pure. Called by artifacts. */
#ifndef FRESHET_HANDLER_PROV_JSONLD_H
#define FRESHET_HANDLER_PROV_JSONLD_H

#include "core/arena.h"
#include "core/rc.h"
#include "core/str.h"

MUST_CHECK enum rc prov_jsonld(struct arena *a, struct str provjson, struct str *ret,
                               struct err *err);

#endif
