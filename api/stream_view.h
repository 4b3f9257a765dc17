/* stream_view: what a client of the stream sees: a base URL and filters. Clients that ask alike
 * share one.
 *
 * Invariants
 *   1. A view owns all that its query points to.
 *   2. Whether an entry passes is found out once per view, not once per client.
 * Called by stream_client.
 */
#ifndef FRESHET_API_STREAM_VIEW_H
#define FRESHET_API_STREAM_VIEW_H

#include "api/stream_tail.h"

struct stream_view {
    struct stream_view *next;
    size_t refs;
    struct feed_query q;
    struct str key, base; /* base is the start of the key */
    int64_t judged;       /* the entry that passes_judged is about */
    bool passes_judged;
    char text[];
};

/* The view of q and base, with a reference for the caller; made when nobody has it yet. */
MUST_CHECK enum rc stream_view_get(struct stream_view **all, const struct feed_query *q,
                                   struct str base, struct stream_view **ret, struct err *err);
void stream_view_drop(struct stream_view **all, struct stream_view **v); /* NULL is fine */
bool stream_view_passes(struct stream_view *v, const struct stream_entry *e);

#endif
