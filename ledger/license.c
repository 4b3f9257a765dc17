/* license: the table of known identifiers. */
#include "ledger/license.h"

#include <strings.h>
#include "core/str.h"

const char *license_spdx(const char *license)
{
    static const char *const known[] = {
#define X(id) id,
#include "ledger/licenses.def"
#undef X
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcasecmp(known[i], license) == 0)
            return known[i];
    return NULL;
}
