/* level: requests to lower a level. */
#include "ledger/level.h"

#include "core/clock.h"
#include "ledger/query.h"

enum rc level_ask(struct ledger *l, int64_t src_no, enum level old, enum level to, const char *by,
                  const char *note, int64_t now, char ret_id[LEVEL_ID_MAX], struct err *err)
{
    char uuid[37];
    TRY(policy_check_text("by", by, PERSON_MAX, err));
    TRY(policy_check_text("note", note, NOTE_MAX, err));
    uuid7(now, uuid);
    snprintf(ret_id, LEVEL_ID_MAX, "lvl_%s", uuid);
    TRY(query_run(l, Q_LEVEL_SUPERSEDE, err, "ii", src_no, now));
    TRY(query_run(l, Q_LEVEL_ADD, err,
                  "tittt"
                  "ti",
                  ret_id, src_no, level_name(old), level_name(to), by, note, now));
    return replay_append(l, now, "level.ask", src_no, ret_id, STR("{}"), err);
}

enum rc level_next(struct ledger *l, struct level_order *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    struct level_order o;
    char to[16];
    TRY(query_open(l, Q_LEVEL_NEXT, &q, err, ""));
    TRY(query_next(l, &q, err));
    o.no = col_i64(&q, 0);
    o.src_no = col_i64(&q, 1);
    col_copy(&q, 2, to, sizeof to);
    if (level_parse(to, &o.to) != RC_OK)
        return err_set(err, RC_CORRUPT, "", "a level request names no level");
    *ret = o;
    return RC_OK;
}

enum rc level_applied(struct ledger *l, const struct level_order *o, int64_t now, struct err *err)
{
    return query_run(l, Q_LEVEL_APPLIED, err, "ii", o->no, now);
}

enum rc source_declared_by(struct ledger *l, int64_t src_no, const char *by, struct err *err)
{
    TRY(policy_check_text("by", by, PERSON_MAX, err));
    return query_run(l, Q_SOURCE_DECLARED_BY, err, "it", src_no, by);
}
