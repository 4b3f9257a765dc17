/* routes_intake: the rows of routes.def that freshet-intake serves. */
#include "api/admin.h"
#include "api/hooks.h"

static const struct route routes[] = {
#define ROW_API(...)
#define SUMMARY(summary, ...) summary
#define ROW_INTAKE(method, pattern, fn, params, scope, flags, cache, produces, ...)                \
    {method, pattern, fn, params, scope, flags, cache, produces, SUMMARY(__VA_ARGS__, 0)},
#define X(program, ...) ROW_##program(__VA_ARGS__)
#include "api/routes.def"
#undef X
};

const struct router router_intake = {
    .routes = routes, .n = ARRAY_LEN(routes), .authorize = admin_authorize, .audited = admin_audit};
