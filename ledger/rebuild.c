/* rebuild: strays, the feed's tip, and counting what was written. */
#include "ledger/rebuild.h"

#include "ledger/query.h"

/* Boxes after the items they belong to. */
static const enum stmt_id strays[] = {
    Q_STRAY_CHANGES, Q_STRAY_PROV,   Q_STRAY_DELTAS, Q_STRAY_ITEMS,       Q_STRAY_BOXES,
    Q_STRAY_EXTENTS, Q_MEND_EXTENTS, Q_STRAY_HEADS,  Q_MEND_HEADS,        Q_STRAY_ASSETS,
    Q_STRAY_SOURCES, Q_STRAY_FRESH,  Q_STRAY_CHECKS, Q_STRAY_COLLECTIONS, Q_STRAY_DATASETS};

/* What every ledger has; the sums of checks are apart, as an instance without any is right, too. */
static const enum stmt_id sums[] = {Q_RECOUNT_RUNS, Q_SEED_RUNS, Q_RECOUNT_NOISE, Q_RECOUNT_REPLAYS,
                                    Q_RECOUNT_PUSHES};

int64_t rebuild_written(const struct ledger *l)
{
    return sqlite3_total_changes(l->db);
}

static enum rc prepare(struct ledger *l, int64_t now, int64_t *ret_total, bool *ret_tip,
                       struct err *err)
{
    int64_t generation, before = rebuild_written(l);
    TRY(query_run(l, Q_REBUILD_META, err, "i", now));
    *ret_tip = rebuild_written(l) != before;
    TRY(ledger_generation(l, now, &generation, err));
    return query_i64(l, Q_REBUILD_TOTAL, ret_total, err, "");
}

enum rc rebuild_begin(struct ledger *l, int64_t now, int64_t *ret_total, bool *ret_tip,
                      struct err *err)
{
    TRY(ledger_bulk(l, err));
    TRY(ledger_begin(l, err));
    enum rc rc = prepare(l, now, ret_total, ret_tip, err);
    if (rc != RC_OK)
        ledger_abort(l);
    return rc;
}

enum rc rebuild_strays(struct ledger *l, struct err *err)
{
    ledger_withdraws(l);
    for (size_t i = 0; i < ARRAY_LEN(strays); i++)
        TRY(query_run(l, strays[i], err, ""));
    return RC_OK;
}

enum rc rebuild_sums(struct ledger *l, bool checks, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(sums); i++)
        TRY(query_run(l, sums[i], err, ""));
    return checks ? query_run(l, Q_RECOUNT_CHECKS, err, "") : RC_OK;
}
