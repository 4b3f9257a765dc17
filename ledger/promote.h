/* promote: the one transaction (I4), and what a handler reads before it.
 *
 * The handler renders every document first (the whole and the redacted form) and hands them over
 * here; public forms are absent ({0}) where the level withholds them, and then no row is written.
 *
 * Invariants
 *   1. All rows of a change are written in one transaction, or none.
 *   2. It commits only when the lease token is in force and the head is still the version the
 *      documents were made for; otherwise RC_CONFLICT and the run is tried again.
 *   3. The public sequence is dense: given inside the transaction, only to published entries.
 */
#ifndef FRESHET_LEDGER_PROMOTE_H
#define FRESHET_LEDGER_PROMOTE_H

#include "ledger/inbox.h"

/* A deletion is a version too: its head is a tombstone that keeps the identity of the bytes it
 * removed, so that they can be put back. */
struct head {
    int64_t version; /* 0: no head yet */
    struct sha256 sha;
    int64_t size, promoted_at, cand_no;
    const char *media_type, *run_id, *item_id; /* the item of these bytes */
    bool deleted;
};
/* version 0 and RC_OK when the source has none. */
MUST_CHECK enum rc head_get(struct ledger *l, struct arena *a, int64_t src_no, struct head *ret,
                            struct err *err);

/* A change takes this many items out of use: a rollback the one of the change that is taken back,
 * and the head's, where that is what a rollback before it had brought back of it. */
#define MARKED_MAX 2
/* Rows of the public tables for one change; empty docs write no row. */
struct public_rows {
    struct str entry, prov, delta, item;
    struct str marked[MARKED_MAX]; /* items of bytes that went, which now say so */
    bool asset;                    /* bytes may be served */
    bool sorted;    /* type, class and detector may be filtered by; else they stay "" */
    double bbox[4]; /* of the item, when has_bbox */
    bool has_bbox;
    int64_t shown_at; /* finalized_at as the level shows it */
};

struct promotion {
    int64_t cand_no, lease_token;
    const char *run_id;
    const struct source *source;
    const char *event_id, *detector;
    int64_t version; /* of the new head; the present one must be version - 1 */
    struct sha256 sha, prev_sha;
    bool has_prev;
    int64_t size;
    const char *media_type, *tier; /* "public" or "restricted" */
    const char *change_type, *change_class;
    const char *delta_id, *item_id;
    /* Removes sha, which is the head's: no artifact and no item are added (item_id NULL). */
    bool deletes;
    /* Items of bytes that are removed or taken back are rewritten to say so. NULL: none. */
    const char *marked_ids[MARKED_MAX];
    struct str marked[MARKED_MAX];
    /* Candidates before this one are late news from now on: its own; of a rollback that of the head
     * it leaves, since what waits is newer than what is taken back. */
    int64_t news_no;
    const char *reverts; /* the run whose change is taken back; NULL: it is no rollback */
    struct str entry, delta, item, prov, qa; /* whole, private */
    struct public_rows pub;
    /* Validators of the bytes, stored when the handler fetched them; NULL keeps. */
    const char *etag;
    const char *last_modified, *final_url;
    const char *tell[4]; /* kinds of rows for the outbox; NULL ends */
};
/* Promotes and finalizes. Own transaction. ret_seq: place in the public feed, 0 when unpublished.
 * Call project_source (handler/project.h) inside through `also`: it is called within the
 * transaction after all rows are written, and its failure undoes everything. */
MUST_CHECK enum rc promote(struct ledger *l, const struct promotion *p, int64_t now,
                           run_also_fn *also, void *ctx, int64_t *ret_seq, struct err *err);
/* Puts the run on hold: bytes are in the store, artifact and qa recorded, nothing public but what
 * `also` projects. A deletion that waits brings no bytes (media_type NULL): sha is the head's. */
struct hold {
    int64_t cand_no, lease_token, src_no;
    const char *run_id, *event_id, *reason;
    struct sha256 sha;
    int64_t size;
    const char *media_type, *tier;
    struct str qa;
};
MUST_CHECK enum rc promote_hold(struct ledger *l, const struct hold *h, int64_t now,
                                run_also_fn *also, void *ctx, struct err *err);

/* What a resumed run had when it was held. */
struct held_run {
    struct sha256 sha;
    int64_t size;
    const char *media_type, *tier, *reviewer, *note;
    struct str qa;
    struct str seen; /* the decision that held it: what its approval was given for; empty: none */
};
MUST_CHECK enum rc held_run_get(struct ledger *l, struct arena *a, const char *run_id,
                                struct held_run *ret, struct err *err);

/* The validation report of the newest finalized run of a source that made these bytes its head;
 * empty when there is none. */
MUST_CHECK enum rc change_qa(struct ledger *l, struct arena *a, int64_t src_no,
                             const struct sha256 *sha, struct str *ret, struct err *err);
/* The whole manifest of a delta, and of a source's newest one; RC_NOT_FOUND. */
MUST_CHECK enum rc delta_get(struct ledger *l, struct arena *a, const char *delta_id,
                             struct str *ret, struct err *err);
MUST_CHECK enum rc delta_last(struct ledger *l, struct arena *a, int64_t src_no, struct str *ret,
                              struct err *err);
/* The whole item; RC_NOT_FOUND. */
MUST_CHECK enum rc item_get(struct ledger *l, struct arena *a, const char *item_id, struct str *ret,
                            struct err *err);

/* Enduring documents, for the CLI (`show`, `diff`) and for rebuilding projections. */
struct change {
    const char *run_id, *event_id, *status, *change_type, *change_class, *delta_id, *reason;
    int64_t src_no, version, public_seq, finalized_at;
    struct str entry, delta, item, prov, qa;
};
/* By event id (the newest run of it); RC_NOT_FOUND. */
MUST_CHECK enum rc change_get(struct ledger *l, struct arena *a, const char *event_id,
                              struct change *ret, struct err *err);
/* Every finalized change of all sources in order of finalization. */
typedef enum rc change_fn(void *ctx, const struct change *c, struct err *err);
MUST_CHECK enum rc change_each(struct ledger *l, change_fn *fn, void *ctx, struct err *err);
/* Those of one source, in order of their versions; reads no others. */
MUST_CHECK enum rc change_each_of(struct ledger *l, int64_t src_no, change_fn *fn, void *ctx,
                                  struct err *err);

#endif
