/* entries: reads a canonical listing (core/listing.h) entry by entry, and compares two of them so.
 *
 * A listing may hold LISTING_MAX entries; two of them as trees would take hundreds of megabytes.
 * The canonical form is sorted, so one entry of each is enough.
 *
 * Invariants
 *   1. Only the exact canonical form is read: its frame, its count, its checksum, keys in order.
 *      What is not is RC_INVALID; a detector is not trusted to have written it.
 *   2. Memory does not grow with the number of entries: the text is mapped, one entry is held.
 * Called by job and children.
 */
#ifndef FRESHET_HANDLER_ENTRIES_H
#define FRESHET_HANDLER_ENTRIES_H

#include "core/listing.h"

struct entries {
    struct str text; /* mapped; {NULL, 0}: a listing without entries */
    struct str list; /* the entries of it */
    struct str rest; /* what was not read yet of these */
    int64_t count, read;
    struct arena arena; /* of the entry at hand */
    struct listing_entry entry;
    char key[LISTING_KEY_MAX + 1];
};

/* fd stays the caller's and may be closed. The size bytes must not change while it is open. */
MUST_CHECK enum rc entries_open(struct entries *e, int fd, int64_t size, struct err *err);
/* The listing that has no entries, for a first version. */
void entries_none(struct entries *e);
void entries_close(struct entries *e); /* fits CLEANUP */
/* The next one, in e->entry until the next call. RC_NOT_FOUND at the end. */
MUST_CHECK enum rc entries_next(struct entries *e, struct err *err);
void entries_rewind(struct entries *e);

struct entry_counts {
    int64_t total, added, removed, modified;
};
/* Calls fn for every difference, in the order of keys (see listing_diff); fn may be NULL. From the
 * beginning of both, whatever was read of them before. */
MUST_CHECK enum rc entries_diff(struct entries *old, struct entries *now, listing_diff_fn *fn,
                                void *ctx, struct entry_counts *ret, struct err *err);

#endif
