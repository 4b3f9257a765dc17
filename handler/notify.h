/* notify: tells subscribers (notify.json) what happened (ledger/notice.h).
 *
 *   notify.json changed? read it ─▶ sort new notices ─▶ send all that is due ─▶ keep how it ended
 *
 * Invariants
 *   1. Whoever is slow or dead keeps nobody waiting: each subscriber has up to NOTIFY_IN_FLIGHT
 *      requests of its own under way, and none waits for those of another, nor for what another was
 *      told to wait for, on the same host either. Nothing is waited for by a handler.
 *   2. What a subscriber may be told is decided when it is sent, by the level its source has then.
 *      What must not be told any more goes without a word.
 *   3. What failed is tried again after a random wait below 1 s, 2 s, 4 s … an hour (or what
 *      Retry-After says), and is dead after OUTBOX_TRIES_MAX tries, or at once when the receiver
 *      answers 410. A receiver that sends Retry-After with 429 or 503 is sent nothing else
 *      meanwhile; what is put off is no try.
 *   4. While notify.json is wrong nobody is told and nothing is lost. Rows of a subscriber that it
 *      does not name any more go; those of a disabled one wait.
 * Called by freshet-outbox, outbox_drain and the notify commands.
 */
#ifndef FRESHET_HANDLER_NOTIFY_H
#define FRESHET_HANDLER_NOTIFY_H

#include "handler/outbox.h"
#include "handler/subscribers.h"

#define NOTIFY_IN_FLIGHT 4

struct notify;
MUST_CHECK enum rc notify_new(struct ledger *l, const struct instance *inst, struct notify **ret,
                              struct err *err);
void notify_free(struct notify **n); /* what is under way is sent again by the next */

/* One turn; waits for answers some milliseconds when some are to come. *ret_more: something is
 * under way, or was done. An error of a receiver is none of ours. */
MUST_CHECK enum rc notify_turn(struct notify *n, struct outbox_counts *c, bool *ret_more,
                               struct err *err);
/* What is wrong with notify.json, "" when nothing is. */
const char *notify_wrong(const struct notify *n);

/* A signed message to one subscriber, now; how it was answered. */
struct notify_answer {
    int http; /* 0: there was no answer */
    enum fetch_end end;
    int64_t elapsed_ms;
    char id[NOTICE_ID_MAX], text[300]; /* the start of the answer's body, clean */
};
MUST_CHECK enum rc notify_test(const struct instance *inst, const struct subscriber *s,
                               struct notify_answer *ret, struct err *err);

#endif
