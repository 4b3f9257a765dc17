/* detector: what a kind of detector is, and what all kinds share.
 *
 * A kind is one file that defines NAME_detector, and one row in ledger/detectors.def. It has two
 * pure functions:
 *
 *   plan   source, state         ──▶ what to ask first
 *   judge  state, ask, answer    ──▶ ask again, or an outcome; moves the state
 *
 * The engine (look.c, detect.c) does everything else: sending, spooling, committing, the next date.
 *
 * Invariants
 *   1. plan and judge read neither clock, disk nor network: the same input, the same output.
 *   2. A failure leaves validators, digest and cursor of the state as they were.
 *   3. A check asks at most asks_max times.
 *   4. The state never holds a byte that may not stand in a header line (CR, LF, NUL).
 */
#ifndef FRESHET_DETECTORS_DETECTOR_H
#define FRESHET_DETECTORS_DETECTOR_H

#include "core/conf.h"
#include "core/fetch.h"
#include "ledger/check.h"

/* Why this is asked; judge reads from it what the answer teaches. */
enum ask_why {
    ASK_FIRST,     /* nothing is known of the source */
    ASK_BLIND,     /* no validator can be sent */
    ASK_AUDIT,     /* the digest audit is due: nothing conditional */
    ASK_VALIDATE,  /* the usual: have the validators moved? */
    ASK_NO_HEAD,   /* HEAD was refused just now */
    ASK_HEAD_SAID, /* HEAD shows other validators, or none that prove the same version */
    ASK_HEAD_LIED, /* HEAD says the same version, but of another length */
    ASK_ELSEWHERE, /* a 304 came from another place than the validators */
    ASK_ABOUT,     /* a document about the data: a probe, a page of a listing */
    ASK_TOLD       /* that document says that the data has moved: nothing conditional */
};

struct ask {
    bool head;                             /* else GET */
    bool if_none_match, if_modified_since; /* send the stored validator */
    enum ask_why why;
    const char *url; /* NULL: the source's own; else text that lives as long as the check */
    /* > 0: a 200's body of at most so many bytes is handed to judge as answer.text, not spooled */
    int64_t collect;
};

/* What the spool found in a body. */
struct body_facts {
    bool read; /* the body of a 200 was taken in whole */
    int64_t size;
    struct sha256 sha;
    const char *shape; /* shape_seen, a literal; NULL when nobody looked */
    const char *wrong; /* why it cannot be the data, a literal; NULL when it can */
};

struct answer {
    struct ask ask;
    const struct fetch_res *res;
    struct body_facts body;
    bool accepted;   /* a person says that so much less than last time is right */
    struct str text; /* the collected body of a 200; p is NULL when there is none */
    const struct source *source;
    struct arena *arena; /* lives as long as the check; capped */
    const char *told;    /* id of the newest event that came before this check; NULL: none */
    void **memo;         /* what the kind remembers between the asks of this check; NULL at first */
};

struct verdict {
    bool again; /* then only `next` is set */
    struct ask next;
    enum outcome outcome;
    char detail[200];
    /* The bytes that were found where they are no body as it came (a listing in canonical form), in
     * the arena of the check; p is NULL otherwise. They go to the spool like a body would. */
    struct str content;
};

struct detector {
    const char *name;
    int asks_max;
    size_t memory_max; /* of the arena of a check; 0: enough for one that only looks at headers */
    struct ask (*plan)(const struct source *s, const struct check_state *st,
                       const struct conf *conf, int64_t now);
    struct verdict (*judge)(struct check_state *st, const struct answer *a, int64_t now);
};
/* NULL when no such kind checks by itself. */
const struct detector *detector_find(const char *name);

/* The outcome of an answer that is no 200 and no 304, or that never came. */
struct verdict verdict_failure(const struct fetch_res *res);
struct verdict verdict_of(enum outcome o, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct verdict verdict_again(struct ask next);

/* The books every check keeps, whatever its kind: counters, clocks, the last outcome. */
void state_settle(struct check_state *st, enum outcome o, const char *detail, int64_t now);

#endif
