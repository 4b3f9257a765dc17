/* level: requests to lower a level. */
#include "ledger/level.h"

#include "core/clock.h"
#include "core/json.h"
#include "ledger/query.h"

static enum rc record_asked(struct ledger *l, int64_t src_no, const char *id, enum level old,
                            enum level to, const char *by, const char *note, int64_t now,
                            struct err *err)
{
    CLEANUP(buf_release) struct buf body = {0};
    buf_init(&body, JSON_MAX);
    buf_puts(&body, "{\"by\":");
    json_put_str(&body, str_of(by));
    buf_printf(&body, ",\"new\":\"%s\",\"note\":", level_name(to));
    json_put_str(&body, str_of(note));
    buf_printf(&body, ",\"old\":\"%s\"}", level_name(old));
    if (buf_rc(&body) != RC_OK)
        return err_set(err, RC_NOMEM, "", "no memory for the row of a request");
    return replay_append(l, now, "level.ask", src_no, id, buf_view(&body), err);
}

enum rc level_ask_again(struct ledger *l, int64_t src_no, const char *id, enum level old,
                        enum level to, const char *by, const char *note, int64_t now,
                        struct err *err)
{
    TRY(policy_check_text("by", by, PERSON_MAX, err));
    TRY(policy_check_text("note", note, NOTE_MAX, err));
    TRY(query_run(l, Q_LEVEL_SUPERSEDE, err, "ii", src_no, now));
    TRY(query_run(l, Q_LEVEL_ADD, err,
                  "tittt"
                  "ti",
                  id, src_no, level_name(old), level_name(to), by, note, now));
    return record_asked(l, src_no, id, old, to, by, note, now, err);
}

enum rc level_ask(struct ledger *l, int64_t src_no, enum level old, enum level to, const char *by,
                  const char *note, int64_t now, char ret_id[LEVEL_ID_MAX], struct err *err)
{
    char uuid[37];
    uuid7(now, uuid);
    snprintf(ret_id, LEVEL_ID_MAX, "lvl_%s", uuid);
    return level_ask_again(l, src_no, ret_id, old, to, by, note, now, err);
}

enum rc level_next(struct ledger *l, struct level_order *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    struct level_order o;
    char to[16], old[16];
    TRY(query_open(l, Q_LEVEL_NEXT, &q, err, ""));
    TRY(query_next(l, &q, err));
    o.no = col_i64(&q, 0);
    o.src_no = col_i64(&q, 1);
    col_copy(&q, 2, to, sizeof to);
    col_copy(&q, 3, old, sizeof old);
    if (level_parse(to, &o.to) != RC_OK || level_parse(old, &o.old) != RC_OK)
        return err_set(err, RC_CORRUPT, "", "a level request names no level");
    *ret = o;
    return RC_OK;
}

enum rc level_applied(struct ledger *l, const struct level_order *o, int64_t now, struct err *err)
{
    return query_run(l, Q_LEVEL_APPLIED, err, "ii", o->no, now);
}
