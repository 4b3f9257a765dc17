/* routes_api: the rows of routes.def that freshet-api serves. */
#include "api/badge.h"
#include "api/dcat.h"
#include "api/documents.h"
#include "api/feed.h"
#include "api/openapi.h"
#include "api/prov.h"
#include "api/stac.h"

static const struct route routes[] = {
#define SUMMARY(summary, ...) summary
#define ROW_API(method, pattern, fn, params, scope, flags, cache, produces, ...)                   \
    {method, pattern, fn, params, scope, flags, cache, produces, SUMMARY(__VA_ARGS__, 0)},
#define ROW_BOTH(...) ROW_API(__VA_ARGS__)
#define ROW_INTAKE(...)
#define ROW_STREAM(...)
#define X(program, ...) ROW_##program(__VA_ARGS__)
#include "api/routes.def"
#undef X
};

const struct router router_api = {.routes = routes,
                                  .n = ARRAY_LEN(routes),
                                  .pages = "/ /docs /problems/ /index.html /docs.html "
                                           "/badges.html /problems/index.html"};
