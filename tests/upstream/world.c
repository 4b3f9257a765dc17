/* world: see world.h. Looking up, stepping, resetting; load.c reads scenario files. */
#include "tests/upstream/world.h"

#define BUCKETS_MIN 256u

void world_init(struct world *w, const char *dir, int port, int tls_port)
{
    *w = (struct world){0};
    spec_home_init(&w->home, dir, port, tls_port);
}

void world_release(struct world *w)
{
    for (size_t i = 0; i < w->n_bulks; i++)
        free(w->bulks[i].versions);
    free(w->buckets);
    spec_home_release(&w->home);
    *w = (struct world){0};
}

/* ---- looking up ---------------------------------------------------------------------------- */

static uint64_t hash(struct str s)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (uint8_t)s.p[i]) * 0x100000001b3u;
    return h ^ h >> 32;
}

static struct resource *lookup(const struct world *w, struct str path)
{
    if (!w->n_buckets)
        return NULL;
    struct resource *r = w->buckets[hash(path) & (w->n_buckets - 1)];
    while (r && !str_is(path, r->path))
        r = r->next_hash;
    return r;
}

static void put_bucket(struct world *w, struct resource *r)
{
    size_t i = hash(str_of(r->path)) & (w->n_buckets - 1);
    r->next_hash = w->buckets[i];
    w->buckets[i] = r;
}

static bool grow(struct world *w)
{
    size_t n = w->n_buckets ? w->n_buckets * 2 : BUCKETS_MIN;
    struct resource **buckets = calloc(n, sizeof *buckets);
    if (!buckets)
        return false;
    free(w->buckets);
    w->buckets = buckets;
    w->n_buckets = n;
    for (struct resource *r = w->first; r; r = r->next)
        put_bucket(w, r);
    return true;
}

enum rc world_add(struct world *w, const char *path, const char *scenario, struct resource **ret,
                  struct err *err)
{
    if (*path != '/' || !str_is_clean(str_of(path)) || strchr(path, ' '))
        return err_set(err, RC_INVALID, "path", "must start with / and hold no spaces");
    if (strncmp(path, "/control/", 9) == 0)
        return err_set(err, RC_INVALID, "path", "/control/ is taken");
    struct resource *old = lookup(w, str_of(path));
    if (old)
        return err_set(err, RC_INVALID, "path", "%s is declared already, by %s", path,
                       old->scenario);
    struct resource *r = ARENA_NEW(&w->home.arena, struct resource);
    if (w->n >= WORLD_RESOURCES_MAX || !r || (w->n >= w->n_buckets && !grow(w)) ||
        !(r->path = arena_strdup(&w->home.arena, path)) ||
        !(r->scenario = arena_strdup(&w->home.arena, scenario)))
        return err_set(err, RC_NOMEM, "resources", "too many; use `bulk` for many alike");
    *(w->first ? w->last_next : &w->first) = r;
    w->last_next = &r->next;
    w->n++;
    put_bucket(w, r);
    *ret = r;
    return RC_OK;
}

static bool bulk_item(const struct bulk *b, struct str path, uint32_t *ret)
{
    int64_t n;
    if (!str_starts(path, b->before) || !str_ends(path, b->after) ||
        path.n <= b->before.n + b->after.n)
        return false;
    struct str digits = {path.p + b->before.n, path.n - b->before.n - b->after.n};
    if (digits.n > 9 || str_to_i64(digits, &n) != RC_OK || n < 0 || n >= b->count)
        return false;
    *ret = (uint32_t)n;
    return true;
}

struct hit world_find(struct world *w, struct str target)
{
    struct hit h = {0};
    const char *mark = memchr(target.p, '?', target.n);
    struct str path = {target.p, mark ? (size_t)(mark - target.p) : target.n};
    h.resource = lookup(w, target);
    if (!h.resource && mark)
        h.resource = lookup(w, path);
    for (size_t i = 0; !h.resource && !h.bulk && i < w->n_bulks; i++) {
        if (bulk_item(&w->bulks[i], path, &h.n))
            h.bulk = &w->bulks[i];
    }
    return h;
}

/* ---- stepping ------------------------------------------------------------------------------ */

size_t world_version(const struct hit *h)
{
    return h->resource ? h->resource->version : h->bulk->versions[h->n];
}

size_t world_versions(const struct hit *h)
{
    return h->resource ? (h->resource->n_versions ? h->resource->n_versions : 1) : UINT16_MAX;
}

enum rc world_set_version(const struct hit *h, int64_t version, struct err *err)
{
    if (version < 0 || (uint64_t)version >= world_versions(h))
        return err_set(err, RC_INVALID, "version", "must be from 1 to %zu", world_versions(h));
    if (h->resource)
        h->resource->version = (size_t)version;
    else
        h->bulk->versions[h->n] = (uint16_t)version;
    return RC_OK;
}

enum rc world_advance(const struct hit *h, struct err *err)
{
    if (world_version(h) + 1 >= world_versions(h))
        return err_set(err, RC_CONFLICT, "path", "is at its last version (%zu) already",
                       world_version(h) + 1);
    return world_set_version(h, (int64_t)world_version(h) + 1, err);
}

void world_effective(const struct hit *h, enum method m, struct spec *ret)
{
    const struct resource *r = h->resource;
    *ret = *spec_defaults();
    layer_merge(ret, r ? &r->base : &h->bulk->base, m);
    if (r && r->n_versions)
        layer_merge(ret, &r->versions[r->version], m);
    if (r && r->n_replies)
        layer_merge(ret, &r->replies[r->step], m);
    layer_merge(ret, r ? &r->over : &h->bulk->over, m);
}

static bool advances(enum method m, const struct spec *s)
{
    return s->advance == ADVANCE_ANY || (s->advance == ADVANCE_HEAD && m == METHOD_HEAD) ||
           (s->advance == ADVANCE_GET && m == METHOD_GET);
}

void world_answered(const struct hit *h, enum method m, const struct spec *s)
{
    struct resource *r = h->resource;
    if (r && r->n_replies) {
        if (r->step + 1 < r->n_replies)
            r->step++;
        else if (r->cycle)
            r->step = 0;
    }
    if (advances(m, s) && world_version(h) + 1 < world_versions(h)) {
        if (r)
            r->version++;
        else
            h->bulk->versions[h->n]++;
    }
    *(r ? &r->hits : &h->bulk->hits) += 1;
}

void world_reset(struct world *w)
{
    for (struct resource *r = w->first; r; r = r->next) {
        r->version = r->step = 0;
        r->hits = 0;
        r->over = (struct layer){0};
    }
    for (size_t i = 0; i < w->n_bulks; i++) {
        struct bulk *b = &w->bulks[i];
        memset(b->versions, 0, b->count * sizeof *b->versions);
        b->hits = 0;
        b->over = (struct layer){0};
    }
}
