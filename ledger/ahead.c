/* ahead: see the header. */
#include "ledger/ahead.h"

#include "ledger/query.h"

static enum rc put_due(struct ledger *l, int64_t now, int64_t *ret_n, struct err *err)
{
    TRY(ledger_begin(l, err));
    enum rc rc = query_run(l, Q_AHEAD_DUE, err, "ii", now, now + HEALTH_AHEAD_MS);
    int64_t n = sqlite3_changes(l->db);
    TRY(ledger_end(l, rc, err));
    *ret_n = n;
    return RC_OK;
}

enum rc ahead_mend(struct ledger *l, int64_t now, bool search, int64_t *io_known, int64_t *ret_n,
                   struct err *err)
{
    int64_t counted, some = 0;
    *ret_n = 0;
    TRY(query_i64(l, Q_AHEAD_COUNTED, &counted, err, "i", now));
    if (search || counted > *io_known)
        TRY(query_i64(l, Q_AHEAD_ANY, &some, err, "ii", now, now + HEALTH_AHEAD_MS));
    if (some)
        TRY(put_due(l, now, ret_n, err));
    *io_known = counted;
    return RC_OK;
}
