/* verify: proves that the ledger agrees with itself and with the store (I6). Read-only. */
#ifndef FRESHET_LEDGER_VERIFY_H
#define FRESHET_LEDGER_VERIFY_H

#include "ledger/ledger.h"

struct verify_counts {
    int64_t replay_rows, artifacts, bytes, changes, heads, items, prov, deltas, public_rows;
};
/* Calls problem() once per finding (a sentence). Checks: SQLite integrity and foreign keys, the
 * replay chain, every blob's presence, size and digest (deep) or presence and size, head ↔ ledger
 * ↔ artifact ↔ item ↔ prov ↔ delta references, the density of the public sequence, and that no
 * public row belongs to a sovereign source; that the schema is the one of this program, that every
 * source, candidate and promotion is in the log. Whether public rows say what they must is asked by
 * rebuild_check (handler/rebuild.h). RC_OK also when problems were found. */
typedef void verify_problem_fn(void *ctx, const char *sentence);
MUST_CHECK enum rc ledger_verify(struct ledger *l, const char *store_dir, bool deep,
                                 verify_problem_fn *problem, void *ctx, struct verify_counts *ret,
                                 struct err *err);

#endif
