/* public: everything the api reads. READ role; each function is one lookup or one index range.
 * Texts point into the arena. Documents hold base marks (core/json.h).
 */
#ifndef FRESHET_LEDGER_PUBLIC_H
#define FRESHET_LEDGER_PUBLIC_H

#include "ledger/ledger.h"

struct public_meta {
    int64_t generation, changed_at, last_seq, first_seq;
    const char *policy_version;
};
MUST_CHECK enum rc public_meta_get(struct ledger *l, struct arena *a, struct public_meta *ret,
                                   struct err *err);

/* A rendered document with what its ETag and Last-Modified are made of. */
struct public_doc {
    struct str doc;
    int64_t gen, at;
};
MUST_CHECK enum rc public_prov_get(struct ledger *l, struct arena *a, struct str run_id,
                                   struct public_doc *ret, struct err *err);
/* The provenance of a source, newest run first, from before `before` ("" the newest). Views are
 * valid during the call. */
typedef enum rc public_prov_fn(void *ctx, struct str run_id, const struct public_doc *d,
                               struct err *err);
MUST_CHECK enum rc public_prov_each(struct ledger *l, struct str source_id, struct str before,
                                    int64_t limit, public_prov_fn *fn, void *ctx, struct err *err);
MUST_CHECK enum rc public_delta_get(struct ledger *l, struct arena *a, struct str delta_id,
                                    struct public_doc *ret, struct err *err);

/* Feed. Rows are handed to fn in order; doc lacks "seq". */
struct public_change {
    int64_t seq, finalized_at, gen;
    struct str doc;
};
typedef enum rc public_change_fn(void *ctx, const struct public_change *c, struct err *err);
MUST_CHECK enum rc public_change_get(struct ledger *l, struct arena *a, struct str event_id,
                                     struct public_change *ret, struct err *err);
#define PUBLIC_LIST_MAX 16 /* sources or collections in one filter: each is one index range */
#define PUBLIC_OPEN INT64_MIN
/* What a row must have. Lists are as in ",one,two,"; NULL asks nothing. What a level withholds
 * matches no filter. */
struct public_change_filter {
    const char *collections, *types, *classes, *detectors;
    int64_t from,
        until;      /* of finalized_at, both inclusive, also before 1970; PUBLIC_OPEN: no end */
    int unexpected; /* -1: either */
    bool has_bbox;
    double bbox[4]; /* west > east: over the antimeridian */
};
struct public_change_query {
    int64_t after; /* seq > after (ascending) or seq < after (descending; INT64_MAX: tip) */
    bool descending;
    int64_t limit;
    const struct str *sources; /* filter, n = 0: all */
    size_t n_sources;
    const struct str *collections; /* the same, as the list in filter */
    size_t n_collections;
    const struct public_change_filter *filter; /* NULL: none */
    /* Where no list is asked for, seq <= until, to bound the cost of one look; 0: no end. */
    int64_t until;
};
/* *ret_pending: matching rows left behind the last one handed out; NULL: they are not counted. */
MUST_CHECK enum rc public_changes(struct ledger *l, const struct public_change_query *q,
                                  public_change_fn *fn, void *ctx, int64_t *ret_pending,
                                  struct err *err);

/* What the filters above look at, of one row; "", -1 or no box where a level withholds it. */
struct public_change_facts {
    struct str source_id, collection, type, class, detector;
    int64_t finalized_at;
    int unexpected;
    bool has_bbox;
    double bbox[4];
};
/* Rows with seq > after, oldest first, with their facts. Views are valid during the call. */
typedef enum rc public_tail_fn(void *ctx, const struct public_change *c,
                               const struct public_change_facts *f, struct err *err);
MUST_CHECK enum rc public_tail(struct ledger *l, int64_t after, int64_t limit, public_tail_fn *fn,
                               void *ctx, struct err *err);
/* The rows with after < seq <= until, and the generation that each was written in. */
typedef enum rc public_tail_gen_fn(void *ctx, int64_t seq, int64_t gen, struct err *err);
MUST_CHECK enum rc public_tail_gens(struct ledger *l, int64_t after, int64_t until,
                                    public_tail_gen_fn *fn, void *ctx, struct err *err);

struct public_fresh {
    const char *source_id, *title, *collection, *level, *window, *run_id, *identity, *delta_id,
        *qa_status, *qa_note; /* "" when absent */
    bool held, retired;
    bool template; /* has a {year} address and no bytes of its own; public_fresh_facts tells it */
    int64_t freshness_days, updated_at, checked_at, reached_at, failures, next_check_at, gen;
    int64_t removed_at; /* it was found to be gone upstream; -1: it is there, or withheld */
};
typedef enum rc public_fresh_fn(void *ctx, const struct public_fresh *f, struct err *err);
MUST_CHECK enum rc public_fresh_get(struct ledger *l, struct arena *a, struct str source_id,
                                    struct public_fresh *ret, struct err *err);
/* By id, after `after` ("" from the start), at most limit. */
MUST_CHECK enum rc public_fresh_each(struct ledger *l, struct str after, int64_t limit,
                                     public_fresh_fn *fn, void *ctx, struct err *err);

/* The facts that decide about each source of a collection ("": of all), in any order; other members
 * are empty. Reads a row per source: for sums. */
MUST_CHECK enum rc public_fresh_facts(struct ledger *l, struct str collection, public_fresh_fn *fn,
                                      void *ctx, struct err *err);

/* A description, and the health that moves with every check beside it. */
struct public_source_row {
    struct str source_id, last_outcome; /* last_outcome "" before the first check */
    struct str refused;                 /* a reason code, "" when nothing was */
    struct public_doc d;
    bool shown; /* may its health be shown? */
    bool retired;
    int64_t checked_at, reached_at, verified_at, failures, next_check_at, removed_at,
        stream_down_at;
};
MUST_CHECK enum rc public_source_get(struct ledger *l, struct arena *a, struct str id,
                                     struct public_source_row *ret, struct err *err);
/* Views are valid during the call. */
typedef enum rc public_source_fn(void *ctx, const struct public_source_row *s, struct err *err);
MUST_CHECK enum rc public_source_each(struct ledger *l, struct str after, int64_t limit,
                                      public_source_fn *fn, void *ctx, struct err *err);

struct public_asset {
    int64_t size, at;
    const char *media_type, *run_id;
};
MUST_CHECK enum rc public_asset_get(struct ledger *l, struct arena *a, const struct sha256 *sha,
                                    struct public_asset *ret, struct err *err);
/* Last sign of life of a role, -1 when never. */
MUST_CHECK enum rc public_heartbeat_get(struct ledger *l, const char *role, int64_t *ret,
                                        struct err *err);

#endif
