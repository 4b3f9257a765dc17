/* approval_log: apart from approval.c, so that who logs a decision does not link all
 * that decides. */
#include "core/json.h"
#include "ledger/approval.h"

enum rc approval_log(struct ledger *l, const char *word, int64_t src, const char *event_id,
                     const char *reviewer, const char *note, int64_t now, struct err *err)
{
    CLEANUP(buf_release) struct buf body = {0};
    buf_init(&body, 1u << 16);
    buf_puts(&body, "{\"note\":");
    json_put_str(&body, str_of(note));
    buf_puts(&body, ",\"reviewer\":");
    json_put_str(&body, str_of(reviewer));
    buf_byte(&body, '}');
    if (buf_rc(&body) != RC_OK)
        return err_set(err, RC_INVALID, "note", "is too long");
    return replay_append(l, now, word, src, event_id, buf_view(&body), err);
}
