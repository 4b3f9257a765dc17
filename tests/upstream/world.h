/* world: what the upstream serves, and how far each resource has come.
 *
 * A resource has layers (spec.h): its own fields, those of its current version, those of its
 * current scripted reply, and the override given by POST /control/set; later ones win. A bulk is
 * many resources that differ by a number only and cost two bytes each.
 *
 * Invariants
 *   1. A load that fails changes nothing: the new world is built whole, then swapped in.
 *   2. Without ticks and commands, the same requests in the same order get the same replies.
 *   3. Versions only go forward, one by one, and stop at the last.
 *
 * Called by main (loading), respond.c (reading and stepping), control.c (commands), demo.c.
 */
#ifndef FRESHET_UPSTREAM_WORLD_H
#define FRESHET_UPSTREAM_WORLD_H

#include "tests/upstream/spec.h"

#define WORLD_RESOURCES_MAX 100000
#define WORLD_BULK_MAX 1000000 /* items of one bulk */
#define WORLD_BULKS_MAX 16

struct resource {
    const char *path;        /* with ?query when only that query is meant */
    const char *scenario;    /* where it was declared, for messages */
    struct layer base, over; /* over: by /control/set */
    struct layer *versions, *replies;
    size_t n_versions, n_replies;
    bool cycle;           /* after the last reply comes the first again; else the last repeats */
    size_t version, step; /* from 0 */
    uint64_t hits;
    struct resource *next;      /* in order of declaration */
    struct resource *next_hash; /* same bucket */
};

struct bulk {
    const char *path; /* with {n} */
    struct str before, after;
    const char *kind;
    uint32_t count;
    size_t size;
    uint64_t seed, hits;
    struct layer base, over;
    uint16_t *versions; /* per item, from 0 */
};

struct world {
    struct spec_home home;
    struct resource *first, **last_next;
    struct resource **buckets;
    size_t n, n_buckets;
    struct bulk bulks[WORLD_BULKS_MAX];
    size_t n_bulks;
    int64_t latency_ms; /* before every answer */
};

/* What a request has met: a resource, or item n of a bulk, or nothing (both NULL). */
struct hit {
    struct resource *resource;
    struct bulk *bulk;
    uint32_t n;
};

/* An empty world; bodies named by scenarios loaded as text are looked up in dir. */
void world_init(struct world *w, const char *dir, int port, int tls_port);
void world_release(struct world *w);
/* Adds what a scenario file, or each *.json of a folder (by name), declares. */
MUST_CHECK enum rc world_load(struct world *w, const char *path, struct err *err);
/* Adds what a scenario text declares; `what` names it in errors. */
MUST_CHECK enum rc world_load_text(struct world *w, struct str text, const char *what,
                                   struct err *err);
/* Appends the `expect` of a scenario file as strict JSON: always a list of cases, [] when it has
 * none. The upstream itself never reads it. */
MUST_CHECK enum rc world_expect(const char *path, struct buf *out, struct err *err);
/* Adds an empty resource for code that fills it itself; path is copied. */
MUST_CHECK enum rc world_add(struct world *w, const char *path, const char *scenario,
                             struct resource **ret, struct err *err);

/* The resource with exactly this target, else that with its path, else the bulk item. */
struct hit world_find(struct world *w, struct str target);
/* Number of the version that is served, from 0. */
size_t world_version(const struct hit *h);
size_t world_versions(const struct hit *h);
/* RC_CONFLICT at the last version, RC_INVALID when there is no such version. */
MUST_CHECK enum rc world_advance(const struct hit *h, struct err *err);
MUST_CHECK enum rc world_set_version(const struct hit *h, int64_t version, struct err *err);

/* The fields that hold for a request of this method now. */
void world_effective(const struct hit *h, enum method m, struct spec *ret);
/* To be called once per answered request, with what was effective for it. */
void world_answered(const struct hit *h, enum method m, const struct spec *s);
/* All back to the beginning: versions, replies, overrides, counters. */
void world_reset(struct world *w);

#endif
