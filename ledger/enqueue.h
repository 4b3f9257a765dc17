/* enqueue: the one way into the inbox. check_commit comes here with what a check found, the handler
 * with what a listing says about its entries.
 *
 * Invariants
 *   1. Candidate and replay row are written together, in the caller's transaction.
 *   2. Dedupe is a hint: only the newest open candidate of a source absorbs a
 *      duplicate, and only while nobody works on it: A, B, A again must end as three, not as A
 *      and B.
 *   3. An event id tells the second of a change only where the level shows it.
 */
#ifndef FRESHET_LEDGER_ENQUEUE_H
#define FRESHET_LEDGER_ENQUEUE_H

#include "ledger/check.h"

struct news {
    int64_t src_no;
    enum level level;
    const char *detector;
    enum outcome outcome;
    const char *hint;                /* what tells this version from others; never NULL */
    const char *etag;                /* NULL: none */
    const struct sha256 *sha;        /* NULL: the bytes were not read */
    int64_t detected_at, request_no; /* request_no 0: none */
    bool unexpected;
};
/* ret_event receives the id of the candidate that was made or that absorbed it. INBOX role. */
MUST_CHECK enum rc enqueue(struct ledger *l, const struct news *n, int64_t now, char ret_event[48],
                           struct err *err);
/* The same candidate again, from its row in a replay log. */
MUST_CHECK enum rc enqueue_again(struct ledger *l, const struct news *n, bool absorbed,
                                 const char *event, int64_t now, struct err *err);

/* A free event id for something detected at this time. Inside the caller's transaction. */
MUST_CHECK enum rc enqueue_event_id(struct ledger *l, enum level level, int64_t detected_at,
                                    char out[48], struct err *err);

#endif
