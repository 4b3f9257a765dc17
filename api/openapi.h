/* openapi: what our programs answer, as OpenAPI 3.1, made of the tables: routes.def, params.def,
 * media.def, core/rc.def, ledger/scopes.def and the files of schemas/.
 *
 * Invariants
 *   1. Nothing is described that is not in a table, and every row of routes.def is described.
 *   2. The bytes depend on the build and the base URL alone.
 *   3. A schema is there when a row names it, directly or through another schema, and only then.
 * Called by the route table (/openapi.json, /stac/api) and by `freshet docs openapi`.
 */
#ifndef FRESHET_API_OPENAPI_H
#define FRESHET_API_OPENAPI_H

#include "api/route.h"

route_fn openapi_json;

/* The whole document; base "" gives addresses relative to the server that has it. arena:
 * scratch memory. */
MUST_CHECK enum rc openapi_write(struct buf *out, struct arena *a, struct str base,
                                 struct err *err);

/* Its own type; GDAL asks for version=3.0 or plain JSON, and gets the latter. */
#define OPENAPI_TYPE "application/vnd.oai.openapi+json;version=3.1"

/* ---- openapi_schemas.c --------------------------------------------------------------------- */

#define OPENAPI_SCHEMAS_MAX 128 /* files of schemas/ */

struct openapi_schemas {
    bool wanted[OPENAPI_SCHEMAS_MAX]; /* by place in schemas_files */
};
/* Notes that name is referred to, with all that it refers to. RC_CORRUPT when there is no such file
 * or it is no JSON: the build is broken. */
MUST_CHECK enum rc openapi_want(struct openapi_schemas *s, struct arena *a, struct str name,
                                struct err *err);
/* The members of components.schemas: every wanted file, references turned to where they
 * are then. */
MUST_CHECK enum rc openapi_put_schemas(const struct openapi_schemas *s, struct buf *out,
                                       struct arena *a, struct err *err);

#endif
