/* migrate: forward-only numbered schema. Private to ledger/. */
#ifndef FRESHET_LEDGER_MIGRATE_H
#define FRESHET_LEDGER_MIGRATE_H

#include "ledger/query.h"

#define LEDGER_APPLICATION_ID 0x46524553 /* "FRES" */

/* Applies what is missing, each file in a transaction of its own. */
MUST_CHECK enum rc migrate_up(struct ledger *l, struct err *err);
/* RC_CONFLICT when the file is older or newer than this program. */
MUST_CHECK enum rc migrate_check(struct ledger *l, struct err *err);

#endif
