/* routes_api: the rows of routes.def that freshet-api serves. */
#include "api/badge.h"
#include "api/dcat.h"
#include "api/documents.h"
#include "api/feed.h"
#include "api/prov.h"
#include "api/stac.h"

static const struct route routes[] = {
#define ROW_API(method, pattern, fn, params, scope, flags, cache, produces, summary)               \
    {method, pattern, fn, params, scope, flags, cache, produces, summary},
#define ROW_INTAKE(...)
#define X(program, ...) ROW_##program(__VA_ARGS__)
#include "api/routes.def"
#undef X
};

const struct router router_api = {.routes = routes, .n = ARRAY_LEN(routes)};
