/* engine: what the ledger is built on, for `freshet doctor` and bug reports. */
#include <sqlite3.h>

#include "core/embedded.h"
#include "ledger/ledger.h"

const char *ledger_engine(void)
{
    static char text[64];
    int schema = 0;
    while (schema_files[schema].name)
        schema++;
    snprintf(text, sizeof text, "SQLite %s, schema %d", sqlite3_libversion(), schema);
    return text;
}
