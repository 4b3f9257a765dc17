/* stream_due: who has to be looked at next, by time: a heap.
 *
 * Invariants
 *   1. An item is in at most one place; setting it anew moves it.
 * Pure. Called by the stream.
 */
#ifndef FRESHET_API_STREAM_DUE_H
#define FRESHET_API_STREAM_DUE_H

#include <stddef.h>
#include <stdint.h>
#include "core/rc.h"

struct due {
    int64_t at;   /* clock_mono */
    size_t place; /* from 1; 0: it waits for nothing */
};
struct dues {
    struct due **list; /* list[0] is place 1 */
    size_t n, room;
};

/* RC_NOMEM leaves it out. */
MUST_CHECK enum rc due_set(struct dues *d, struct due *x, int64_t at);
void due_drop(struct dues *d, struct due *x); /* no-op when it waits for nothing */
/* The earliest, NULL when there is none. */
struct due *due_first(const struct dues *d);
void dues_release(struct dues *d);

#endif
