/* hook_table: the adapters by name. Apart from hooks.c, so that tests ask adapters without its way
 * in. Called by hooks and tests. */
#include "api/hook.h"

static const struct hook_adapter *const adapters[] = {
#define X(name, symbol, detector) &hook_##symbol,
#include "ledger/adapters.def"
#undef X
};

const struct hook_adapter *hook_adapter(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(adapters); i++)
        if (strcmp(adapters[i]->name, name) == 0)
            return adapters[i];
    return NULL;
}
