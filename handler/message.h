/* message: what a subscriber is sent: address, headers, body, signature.
 *
 *   standard-webhooks   POST, webhook-id, webhook-timestamp, webhook-signature (v1, HMAC-SHA256
 *                       over "id.timestamp.body", one per live secret), {"type","timestamp","data"}
 *   slack               POST {"text"} without markup
 *   discord             POST {"content"} without mentions
 *
 * Invariants
 *   1. (I8) A change is told by its public feed entry, as it is now. Of a restricted source a
 *      message holds its id, its level, the id of the event and the kind, nothing else.
 *   2. (I12) Secrets are read for one message and wiped; they are in no error, row or log.
 *   3. What stands in a chat is text: no title of a source can mention people, link or format.
 * Called by notify.
 */
#ifndef FRESHET_HANDLER_MESSAGE_H
#define FRESHET_HANDLER_MESSAGE_H

#include "core/fetch.h"
#include "handler/subscribers.h"

#define MESSAGE_HEADERS 5
#define MESSAGE_REFUSED "the address is refused: https, or http for a host that allow_hosts names"
struct message {
    const char *url;
    struct fetch_header headers[MESSAGE_HEADERS];
    size_t n_headers;
    struct str body;
};

/* The body that tells this notice; entry NULL but for a change. Arena memory. */
MUST_CHECK enum rc message_body(struct arena *a, const struct instance *inst,
                                enum subscriber_format f, const struct notice *n,
                                const struct source *s, const struct notice_entry *entry,
                                struct str *ret, struct err *err);
/* The body of `freshet notify test`. */
MUST_CHECK enum rc message_test_body(struct arena *a, enum subscriber_format f, const char *id,
                                     int64_t now, struct str *ret, struct err *err);
/* Address, headers and signature for a body, sent now (s: seconds count). */
MUST_CHECK enum rc message_seal(struct arena *a, const struct instance *inst,
                                const struct subscriber *s, const char *id, struct str body,
                                int64_t now, struct message *ret, struct err *err);
/* Could it be told? Its secrets are read and its address is judged; nothing is sent. err->field is
 * the field of notify.json that is at fault. */
MUST_CHECK enum rc message_check(const struct instance *inst, const struct subscriber *s,
                                 struct err *err);
/* webhook-signature of one secret as it stands in its file: "v1,…". out has MESSAGE_SIGNATURE_MAX
 * bytes. RC_INVALID when the secret is none. */
#define MESSAGE_SIGNATURE_MAX 48
MUST_CHECK enum rc message_sign(const char *secret, const char *id, int64_t seconds,
                                struct str body, char out[MESSAGE_SIGNATURE_MAX]);

#endif
