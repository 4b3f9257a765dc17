/* look: one check from its first request to its result. Owned by detect.c; no one else makes one.
 * A look is used again for other checks, with the memory it has.
 *
 *   look_new ─▶ look_load ─▶ look_start ─▶ (asks, answers) ─▶ ended(ctx, look), exactly once
 *                   ▲                                                │
 *                   └────────────────── look_clear ◀─────────────────┘
 *
 * Invariants
 *   1. A started look ends exactly once, with one outcome, also when memory or disk fail.
 *   2. What headers.h resolves lives in the look's arena (I12).
 *   3. The digest of a result is that of the file it leaves in the spool.
 */
#ifndef FRESHET_DETECTORS_LOOK_H
#define FRESHET_DETECTORS_LOOK_H

#include <sys/queue.h>
#include "core/clock.h"
#include "detectors/detector.h"
#include "detectors/spool.h"

/* While its event stream is open a source is looked at when that says so, and once a day: a stream
 * that is silent by mistake is found out. */
#define LOOK_STREAMING_MS DAY_MS

struct look;
typedef void look_ended_fn(void *ctx, struct look *k);
struct look_step;
typedef void look_trace_fn(void *ctx, const struct look_step *s);

/* One request, told twice to whoever wants to see it: when it is sent (req), and when its answer
 * was judged (res, verdict). Header values may be secrets: those are marked. */
struct look_step {
    const struct ask *ask;
    const struct fetch_req *req;
    const struct fetch_res *res;
    const struct verdict *verdict;
};

/* What looks share. */
struct look_env {
    const struct instance *inst;
    struct fetch *fetch;
    struct spool_dir *spool;
    look_ended_fn *ended;
    void *ctx;
    bool accept;          /* answer.accepted of every check */
    look_trace_fn *trace; /* NULL: nobody watches */
    void *trace_ctx;
};

struct look {
    TAILQ_ENTRY(look) link;  /* in a list of detect.c */
    LIST_ENTRY(look) bucket; /* by source, for detect_has */
    const struct look_env *env;
    struct arena arena;
    int64_t asked_at;     /* clock_mono, when its reading ahead was asked for */
    bool loaded;          /* and whether it succeeded */
    struct source source; /* its texts are on the arena */
    const struct detector *kind;
    struct ask ask;
    int asks;
    struct spool spool;
    struct buf text;            /* a body that is collected */
    void *memo;                 /* of the kind */
    const char *told;           /* the id of the newest event of its stream; NULL: has none */
    int64_t ignored;            /* bytes of a body that nobody wants */
    struct err trouble;         /* of our own; RC_OK when none */
    struct check_result result; /* result.state is moved by judge */
    int64_t changed_before;     /* changed_at before this check, -1: never had a version */
};

/* NULL when memory ran out. */
struct look *look_new(const struct look_env *env);
void look_free(struct look **k);
void look_clear(struct look *k); /* as look_new made it, with the memory it has */
/* Reads a source and its state. result.due_because and request_no are left to the caller. */
MUST_CHECK enum rc look_load(struct look *k, struct ledger *l, int64_t src_no, struct err *err);
/* May end the look before it returns. */
void look_start(struct look *k);

#endif
