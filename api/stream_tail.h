/* stream_tail: the newest entries of the feed in memory, read once for all clients, and as the
 * bytes of an event once for all who see them under the same base URL.
 *
 * Invariants
 *   1. Every public entry behind `from` is here, none else; looked at anew whenever the public
 *      generation moved: what was withdrawn or rewritten since is not handed out as it was.
 *   2. A read ends before the function returns: the write-ahead log is free to start over.
 *   3. At most TAIL_ENTRIES entries and TAIL_BYTES bytes of documents; older ones are read from
 *      the ledger.
 * Called by stream_client.
 */
#ifndef FRESHET_API_STREAM_TAIL_H
#define FRESHET_API_STREAM_TAIL_H

#include "api/feed.h"

#define TAIL_ENTRIES 256
#define TAIL_BYTES (8u << 20)

/* Bytes that several clients send, each from its own place. */
struct stream_block {
    size_t refs, n;
    size_t base_n; /* the base URL stands behind the text */
    int64_t entries;
    char text[];
};
/* NULL without memory. base may be empty. */
struct stream_block *stream_block_new(struct str text, struct str base, int64_t entries);
void stream_block_drop(struct stream_block **b); /* NULL is fine */

struct stream_entry {
    int64_t seq, gen;
    struct public_change_facts facts;
    struct str doc;
    struct stream_block *block; /* as it was sent last, NULL: not yet */
    char text[];
};

struct stream_tail {
    bool loaded; /* false: nothing is known, or the ledger failed since */
    int64_t generation, from, last_seq, first_seq;
    struct stream_entry *list[TAIL_ENTRIES];
    size_t n, bytes;
    struct buf line; /* scratch */
};

void stream_tail_init(struct stream_tail *t);
void stream_tail_release(struct stream_tail *t);
void stream_tail_forget(struct stream_tail *t);
/* What the ledger says now. a: scratch memory. */
MUST_CHECK enum rc stream_tail_refresh(struct stream_tail *t, struct ledger *l, struct arena *a,
                                       struct err *err);
/* Is everything behind seq here? */
bool stream_tail_covers(const struct stream_tail *t, int64_t seq);
/* The first entry behind seq; its neighbours follow in the list. NULL when there is none. */
struct stream_entry **stream_tail_after(struct stream_tail *t, int64_t seq);
/* An entry as an event, with a reference for the caller. NULL without memory. */
struct stream_block *stream_tail_block(struct stream_tail *t, struct stream_entry *e,
                                       struct str base);
/* Appends an event: id, the name `change`, the bytes of the entry as in /changes. line: scratch. */
void stream_put_event(struct buf *out, struct buf *line, int64_t seq, struct str doc,
                      struct str base);

#endif
