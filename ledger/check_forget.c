/* check_forget: apart from check.c, so that who lifts a block does not link all that
 * commits checks. */
#include "ledger/check.h"
#include "ledger/query.h"

enum rc check_forget(struct ledger *l, int64_t src_no, int64_t due_at, struct err *err)
{
    return query_run(l, Q_STATE_FORGET, err, "im", src_no, due_at);
}
