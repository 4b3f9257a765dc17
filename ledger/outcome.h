/* outcome: how a check can end (outcomes.def). */
#ifndef FRESHET_LEDGER_OUTCOME_H
#define FRESHET_LEDGER_OUTCOME_H

#include <stdbool.h>

enum outcome {
#define X(name, failure, candidate, help) OUTCOME_##name,
#include "ledger/outcomes.def"
#undef X
    OUTCOME_COUNT
};
const char *outcome_name(enum outcome o);
const char *outcome_help(enum outcome o); /* what it means, in a few words */
bool outcome_failure(enum outcome o);
bool outcome_candidate(enum outcome o);

#endif
