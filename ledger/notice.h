/* notice: what happened and must be told to subscribers, and who of them was not told yet.
 *
 *   what happened ──▶ notices ──▶ (notice_sort: who wants it) ──▶ deliveries ──▶ told, or dead
 *
 * Invariants
 *   1. A notice is written in the transaction in which it happens, by whatever role that has, and
 *      knows no subscriber: nobody who works waits for one, or for the file that names them.
 *   2. At least once: a delivery goes after its subscriber took it; a notice with its last
 *      delivery. The id is the same in every attempt.
 *   3. Each subscriber has rows of its own; those that failed OUTBOX_TRIES_MAX times are dead,
 *      stay, and are tried again when somebody revives them.
 *   4. While a log is replayed nothing is written: what was told is not told again.
 *   5. (I8) Rows name sources of every level. What may be told of them is decided when it is told
 *      (handler/subscribers.h), by the level that the source has then.
 * Who delivers: handler/notify.h. WRITE role, but for notice_put.
 */
#ifndef FRESHET_LEDGER_NOTICE_H
#define FRESHET_LEDGER_NOTICE_H

#include "ledger/ledger.h"

enum notice_kind {
#define X(name, word, sentence) NOTICE_##name,
#include "ledger/notices.def"
#undef X
    NOTICE_COUNT
};
const char *notice_word(enum notice_kind k);
const char *notice_sentence(enum notice_kind k);

/* event_id and reason may be "". Inside the caller's transaction. INBOX role. */
MUST_CHECK enum rc notice_put(struct ledger *l, enum notice_kind kind, int64_t src_no,
                              const char *event_id, const char *reason, int64_t now,
                              struct err *err);

#define SUBSCRIBER_NAME_MAX 32
#define NOTICE_ID_MAX 48
struct notice {
    int64_t no, src_no, at;
    char id[NOTICE_ID_MAX];
    enum notice_kind kind;
    char event_id[64], reason[64];
};
/* Those that nobody sorted yet, oldest first, at most NOTICES_MAX. */
#define NOTICES_MAX 128
MUST_CHECK enum rc notice_new(struct ledger *l, struct notice ret[NOTICES_MAX], size_t *ret_n,
                              struct err *err);
/* This subscriber is to be told, from `at` on. Inside the caller's transaction. */
MUST_CHECK enum rc notice_deliver(struct ledger *l, int64_t notice_no, const char *subscriber,
                                  int64_t at, struct err *err);
/* Its deliveries are all there; without one it goes. Inside the caller's transaction. */
MUST_CHECK enum rc notice_sorted(struct ledger *l, int64_t notice_no, struct err *err);

struct delivery {
    struct notice notice;
    int64_t attempts;
    int64_t dead_at;  /* -1: it is not dead */
    char detail[200]; /* why the last attempt failed */
};
#define DELIVERIES_MAX 16
/* Those of a subscriber that are due, at most DELIVERIES_MAX, longest due first. */
MUST_CHECK enum rc delivery_due(struct ledger *l, const char *subscriber, int64_t now,
                                struct delivery ret[DELIVERIES_MAX], size_t *ret_n,
                                struct err *err);
/* How an attempt ended. done: it goes, with its notice when that was the last one. Else it is tried
 * again at next_at, or is dead (-1); counts: this was a try of its own. Inside the
 * caller's transaction. */
struct delivery_end {
    int64_t notice_no;
    const char *subscriber, *why;
    bool done, counts;
    int64_t next_at;
};
MUST_CHECK enum rc delivery_put(struct ledger *l, const struct delivery_end *e, int64_t now,
                                struct err *err);

/* Of one subscriber, or all (NULL): dead ones are tried again at once. Own transaction. */
MUST_CHECK enum rc delivery_revive(struct ledger *l, const char *subscriber, int64_t now,
                                   int64_t *ret_n, struct err *err);
/* Dead ones, newest first, of one subscriber or all (NULL). */
typedef enum rc delivery_fn(void *ctx, const char *subscriber, const struct delivery *d,
                            struct err *err);
MUST_CHECK enum rc delivery_each_dead(struct ledger *l, const char *subscriber, int64_t max,
                                      delivery_fn *fn, void *ctx, struct err *err);
/* How it stands with every subscriber that has rows. */
struct delivery_stats {
    const char *subscriber, *why; /* why the last try of one failed, "" when none did */
    int64_t waiting, dead, oldest_at, next_at; /* -1: none waits */
};
typedef enum rc delivery_stats_fn(void *ctx, const struct delivery_stats *s, struct err *err);
MUST_CHECK enum rc delivery_each(struct ledger *l, delivery_stats_fn *fn, void *ctx,
                                 struct err *err);
/* Rows of subscribers that are none any more go. Inside the caller's transaction. */
MUST_CHECK enum rc delivery_forget(struct ledger *l, const char *subscriber, struct err *err);

/* The feed entry of a change as the public has it now, without its number; RC_NOT_FOUND when there
 * is none. JSON text. */
struct notice_entry {
    struct str doc;
    const char *change_type, *change_class; /* "" where the level withholds them */
    int64_t seq;
    bool unexpected;
};
MUST_CHECK enum rc notice_entry(struct ledger *l, struct arena *a, const char *event_id,
                                struct notice_entry *ret, struct err *err);

#endif
