/* outcome: the table of outcomes.def. */
#include "ledger/outcome.h"

static const struct {
    const char *name, *help;
    bool failure, candidate;
} outcomes[OUTCOME_COUNT] = {
#define X(name, failure, candidate, help) [OUTCOME_##name] = {#name, help, failure, candidate},
#include "ledger/outcomes.def"
#undef X
};

const char *outcome_name(enum outcome o)
{
    return outcomes[o].name;
}

const char *outcome_help(enum outcome o)
{
    return outcomes[o].help;
}

bool outcome_failure(enum outcome o)
{
    return outcomes[o].failure;
}

bool outcome_candidate(enum outcome o)
{
    return outcomes[o].candidate;
}
