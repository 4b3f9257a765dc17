/* fetch_queue: requests that wait: at their host, fair over hosts, or for a time.
 *
 * Invariants
 *   1. A host with waiting jobs is in the ring, exactly once, when it is ready, and else has an
 *      entry in the heap or a hop in flight whose end offers it again. One that is not ready may be
 *      in the ring still; it leaves when it is met.
 *   2. Jobs of one host start in the order they came; hosts take turns, one job each.
 *   3. The heap has room for every pending job and every host, so that a pause cannot fail.
 */
#include "core/fetch_internal.h"

/* ---- the queue ------------------------------------------------------------------------------ */

void fetch_host_offer(struct fetch *f, struct fetch_host *h, int64_t now)
{
    if (h->in_ring || STAILQ_EMPTY(&h->waiting) || !fetch_host_ready(f, h, now))
        return;
    h->in_ring = true;
    STAILQ_INSERT_TAIL(&f->ring, h, ring_link);
}

void fetch_queue_review(struct fetch *f, struct fetch_host *h, int64_t now)
{
    if (fetch_host_refusal(h, now) != FETCH_OK)
        STAILQ_CONCAT(&f->refused, &h->waiting);
    else
        fetch_host_offer(f, h, now);
}

void fetch_queue_push(struct fetch *f, struct fetch_job *j, int64_t now)
{
    STAILQ_INSERT_TAIL(&j->home.host->waiting, j, link);
    fetch_queue_review(f, j->home.host, now);
}

struct fetch_job *fetch_queue_next(struct fetch *f, int64_t now)
{
    struct fetch_host *h;
    while ((h = STAILQ_FIRST(&f->ring))) {
        STAILQ_REMOVE_HEAD(&f->ring, ring_link);
        h->in_ring = false;
        struct fetch_job *j = STAILQ_FIRST(&h->waiting);
        if (!j || !fetch_host_ready(f, h, now))
            continue;
        STAILQ_REMOVE_HEAD(&h->waiting, link);
        return j;
    }
    return NULL;
}

/* ---- waiting for a time: a binary heap, the earliest on top ---------------------------------- */

enum rc fetch_due_reserve(struct fetch *f, size_t n)
{
    if (n <= f->due_room)
        return RC_OK;
    size_t room = n < 64 ? 64 : n + n / 2;
    struct fetch_due *grown = reallocarray(f->due, room, sizeof *grown);
    if (!grown)
        return RC_NOMEM;
    f->due = grown;
    f->due_room = room;
    return RC_OK;
}

void fetch_due_push(struct fetch *f, struct fetch_due d)
{
    size_t at = f->n_due++;
    for (; at && f->due[(at - 1) / 2].at > d.at; at = (at - 1) / 2)
        f->due[at] = f->due[(at - 1) / 2];
    f->due[at] = d;
}

bool fetch_due_pop(struct fetch *f, int64_t now, struct fetch_due *ret)
{
    if (!f->n_due || f->due[0].at > now)
        return false;
    *ret = f->due[0];
    struct fetch_due last = f->due[--f->n_due];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < f->n_due) {
        if (child + 1 < f->n_due && f->due[child + 1].at < f->due[child].at)
            child++;
        if (f->due[child].at >= last.at)
            break;
        f->due[at] = f->due[child];
        at = child;
    }
    f->due[at] = last;
    return true;
}
