/* fetch_queue: requests that wait, and the hosts they wait for.
 *
 * Invariants
 *   1. A host exists as long as some job or slot refers to it, no longer.
 *   2. A host with waiting jobs and room is in the ring, exactly once. One without room may be in
 *      it still; it leaves when it is met and comes back with fetch_host_offer.
 *   3. Jobs of one host start in the order they came; hosts take turns, one job each.
 *   4. The heap has room for every pending job, so that a pause cannot fail.
 */
#include "core/fetch_internal.h"

/* ---- hosts ---------------------------------------------------------------------------------- */

static struct fetch_host **bucket_of(struct fetch *f, const char *name)
{
    uint32_t h = 2166136261u; /* FNV-1a: names come from the operator's own sources */
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return &f->hosts[h % FETCH_BUCKETS];
}

static struct fetch_host *host_new(const char *name, bool https)
{
    size_t n = strlen(name) + 1;
    struct fetch_host *h = calloc(1, sizeof *h + n);
    if (!h)
        return NULL;
    memcpy(h->name, name, n);
    STAILQ_INIT(&h->waiting);
    h->warm = !https;
    return h;
}

enum rc fetch_place_enter(struct fetch *f, const struct fetch_target *t, struct fetch_place *ret)
{
    struct fetch_host **b = bucket_of(f, t->host), *h = *b;
    while (h && strcmp(h->name, t->host) != 0)
        h = h->next;
    if (!h) {
        h = host_new(t->host, t->https);
        if (!h)
            return RC_NOMEM;
        h->next = *b;
        *b = h;
    }
    h->refs++;
    *ret = (struct fetch_place){h, t->port, t->https, t->listed};
    return RC_OK;
}

void fetch_place_leave(struct fetch *f, struct fetch_place *p)
{
    struct fetch_host *h = p->host;
    p->host = NULL;
    if (!h || --h->refs)
        return;
    if (h->in_ring)
        STAILQ_REMOVE(&f->ring, h, fetch_host, ring_link);
    struct fetch_host **at = bucket_of(f, h->name);
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    free(h);
}

bool fetch_host_has_room(const struct fetch *f, const struct fetch_host *h)
{
    return h->in_flight < (h->warm ? f->conf->per_host : 1);
}

void fetch_host_offer(struct fetch *f, struct fetch_host *h)
{
    if (h->in_ring || STAILQ_EMPTY(&h->waiting) || !fetch_host_has_room(f, h))
        return;
    h->in_ring = true;
    STAILQ_INSERT_TAIL(&f->ring, h, ring_link);
}

/* ---- the queue ------------------------------------------------------------------------------ */

void fetch_queue_push(struct fetch *f, struct fetch_job *j)
{
    STAILQ_INSERT_TAIL(&j->home.host->waiting, j, link);
    fetch_host_offer(f, j->home.host);
}

struct fetch_job *fetch_queue_next(struct fetch *f)
{
    struct fetch_host *h;
    while ((h = STAILQ_FIRST(&f->ring))) {
        STAILQ_REMOVE_HEAD(&f->ring, ring_link);
        h->in_ring = false;
        struct fetch_job *j = STAILQ_FIRST(&h->waiting);
        if (!j || !fetch_host_has_room(f, h))
            continue;
        STAILQ_REMOVE_HEAD(&h->waiting, link);
        return j;
    }
    return NULL;
}

/* ---- pauses: a binary heap, the earliest on top --------------------------------------------- */

enum rc fetch_pause_reserve(struct fetch *f, size_t n)
{
    if (n <= f->paused_room)
        return RC_OK;
    size_t room = n < 64 ? 64 : n * 2;
    struct fetch_job **grown = reallocarray(f->paused, room, sizeof *grown);
    if (!grown)
        return RC_NOMEM;
    f->paused = grown;
    f->paused_room = room;
    return RC_OK;
}

void fetch_pause_push(struct fetch *f, struct fetch_job *j)
{
    size_t at = f->n_paused++;
    for (; at && f->paused[(at - 1) / 2]->due > j->due; at = (at - 1) / 2)
        f->paused[at] = f->paused[(at - 1) / 2];
    f->paused[at] = j;
}

struct fetch_job *fetch_pause_pop(struct fetch *f, int64_t now)
{
    if (!f->n_paused || f->paused[0]->due > now)
        return NULL;
    struct fetch_job *top = f->paused[0], *last = f->paused[--f->n_paused];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < f->n_paused) {
        if (child + 1 < f->n_paused && f->paused[child + 1]->due < f->paused[child]->due)
            child++;
        if (f->paused[child]->due >= last->due)
            break;
        f->paused[at] = f->paused[child];
        at = child;
    }
    f->paused[at] = last;
    return top;
}
