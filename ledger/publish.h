/* publish: writes the public rows that describe a source, inside the caller's transaction. The
 * caller has redacted (handler/project.c); this file only stores. WRITE role.
 */
#ifndef FRESHET_LEDGER_PUBLISH_H
#define FRESHET_LEDGER_PUBLISH_H

#include "ledger/promote.h"

/* OVER: what is there is replaced. ADDED: in this transaction, so nothing is there. MEND: written
 * only where it differs, so that what is right keeps its generation (rebuild.h). */
enum publish_how { PUBLISH_OVER, PUBLISH_ADDED, PUBLISH_MEND };
struct public_source {
    int64_t src_no;
    enum publish_how how;
    const char *source_id, *title, *collection, *level;
    struct str doc; /* public_sources.doc */
    bool held, retired;
    int64_t freshness_days;
    int64_t updated_at, removed_at; /* -1: absent or withheld */
    bool shows_checks; /* else it has no row in public_checks, and these do not matter: */
    int64_t checked_at, reached_at, verified_at, failures, next_check_at;
    /* NULL: absent */
    const char *last_outcome, *window, *run_id, *identity, *delta_id, *qa_status, *qa_note;
};
/* What a description needs to know beside head and state. */
struct public_facts {
    bool held;             /* a change waits for a decision */
    const char *qa_status; /* of the head, "" without one */
};
MUST_CHECK enum rc publish_facts(struct ledger *l, struct arena *a, int64_t src_no,
                                 struct public_facts *ret, struct err *err);
MUST_CHECK enum rc publish_source(struct ledger *l, const struct public_source *p, int64_t now,
                                  struct err *err);
/* Takes every public row of a source away (sovereign, or before publishing anew). */
MUST_CHECK enum rc publish_nothing(struct ledger *l, int64_t src_no, int64_t now, struct err *err);
MUST_CHECK enum rc publish_has_collection(struct ledger *l, const char *collection, bool *ret,
                                          struct err *err);
MUST_CHECK enum rc publish_collection(struct ledger *l, const char *collection, struct str doc,
                                      struct str dataset, int64_t now, struct err *err);
/* The public rows of one change. Used by promote(), and to write them anew at the place they had
 * (changed level, rebuild). Without an entry nothing is written. */
struct publication {
    int64_t seq;
    const char *run_id, *event_id, *delta_id, *item_id, *detector, *change_type, *change_class;
    const char *const *marked_ids; /* of the items that rows->marked rewrites, NULL: none */
    const struct source *source;
    const struct sha256 *sha;
    int64_t size;
    const char *media_type;
    const struct public_rows *rows;
};
MUST_CHECK enum rc publish_rows(struct ledger *l, const struct publication *p, struct err *err);
/* Takes away what the rows of p do not have, because the level withholds it. */
MUST_CHECK enum rc publish_withheld(struct ledger *l, const struct publication *p, struct err *err);

/* ---- retention ------------------------------------------------------------------------------- */

/* Ends the feed before the first entry that was published on or after the day of `since`: rows of
 * entries that are older go, and first_seq says where it begins. Nothing of the ledger, and no
 * evidence of a change. In a transaction of its own; *ret: how many went. */
MUST_CHECK enum rc feed_forget(struct ledger *l, int64_t since, int64_t now, int64_t *ret,
                               struct err *err);

#endif
