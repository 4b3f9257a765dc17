/* facts: what is known about one change when its documents are written. The job fills it once;
 * entry, delta, stac and prov only render it, so that all documents of a change agree.
 *
 * Invariants
 *   1. Renderers are pure: the same facts give the same bytes.
 *   2. They render everything; what the public may see of it is decided by redact alone.
 */
#ifndef FRESHET_HANDLER_FACTS_H
#define FRESHET_HANDLER_FACTS_H

#include "handler/diff.h"
#include "handler/validate.h"
#include "ledger/promote.h"

#define RULES_VERSION "4"

struct gate; /* handler/gate.h */

/* One version of a source's bytes. version 0: there is none. */
struct identity {
    struct sha256 sha;
    int64_t size, version;
    const char *media_type;
};

struct facts {
    const struct source *source;
    const struct candidate *cand;
    const char *run_id;
    struct run_tags tags;
    int64_t started_at, finalized_at;
    const char *change_type, *change_class;
    struct identity from, to; /* what the head was and is; version 0: nothing */
    struct identity last;     /* bytes of prev_item_id: from, or those before a deletion */
    bool deletes;             /* the last bytes were removed: there is no item_id */
    const char *item_id, *prev_item_id, *delta_id; /* NULL: none */
    struct validation qa;                          /* report empty: not validated */
    /* A rollback: the delta that it takes back, and the version whose bytes it brings back. */
    const char *reverts, *restored_item_id; /* NULL: none */
    struct identity restored;
    /* The version that the delta had made, when that is not the head: rollbacks of what came after
     * it had brought it back. NULL: it is the head, or was a deletion. */
    const char *reverted_item_id;
    struct identity reverted;
    const char *manifest_id; /* the new bytes are a listing, served under this; else NULL */
    const struct entry_counts *entries; /* of a listing */
    const struct diff *diff;            /* of geodata; NULL: the file as a whole is all there is */
    const struct gate *gate;            /* what the policy decided; NULL: it was not asked */
    const char *reviewer, *note;        /* NULL: nobody was asked */
    yyjson_val *compared; /* both files, measured (compare.h); NULL: there was nothing to measure */
    bool lineage;         /* the run is told as OpenLineage events, by its id (openlineage.h) */
    const char *result, *reason; /* of the run: "promoted", "noop", ...; reason "" when promoted */
};

#endif
