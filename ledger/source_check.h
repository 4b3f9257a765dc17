/* source_check: the rules for new declarations (source_check.c). Only source_parse calls it. */
#ifndef FRESHET_LEDGER_SOURCE_CHECK_H
#define FRESHET_LEDGER_SOURCE_CHECK_H

#include "ledger/source.h"

/* s is the reading of decl. RC_INVALID names the field and the fix. */
MUST_CHECK enum rc source_check(yyjson_val *decl, const struct source *s, struct err *err);

#endif
