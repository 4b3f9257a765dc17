/* validate: may these bytes become a version? A table of rules (rules.def) over a file, what its
 * inspection told (summary.h), and what was told of the head.
 *
 * Invariants
 *   1. (I9) Pure: the same bytes, expectation and head give the same report, byte for byte. No
 *      network, no clock, no locale, no file names; details are literals and never quote the data.
 *   2. The outcome is the worst verdict of any rule: fail, hold, pass.
 *   3. Memory is bounded: only JSON that is no geodata is parsed here, up to VALIDATE_PARSE_MAX;
 *      above that it is judged by its ends.
 *   4. A file that is no geodata breaks no rule about geodata, unless the source asks for such.
 * Called by job.
 */
#ifndef FRESHET_HANDLER_VALIDATE_H
#define FRESHET_HANDLER_VALIDATE_H

#include <stdint.h>
#include "core/arena.h"
#include "core/rc.h"
#include "handler/summary.h"
#include "ledger/source.h"

/* JSON up to here is parsed as a whole; yyjson needs up to 24 bytes of memory per byte of text. */
#define VALIDATE_PARSE_MAX (32 << 20)
#define VALIDATE_REASONS_MAX 48

enum verdict { VERDICT_PASS, VERDICT_HOLD, VERDICT_FAIL };
const char *verdict_name(enum verdict v); /* "pass" */

/* What a source declares about its bytes. */
struct expectation {
    const char *media_type, *url; /* "" when unknown */
    int64_t max_bytes;
    bool has_region;
    double region[4]; /* west, south, east, north */
    int64_t min_features;
    double count_drift_pct, area_drift_pct, size_drift_pct; /* against the head; < 0: any */
    int64_t head_bytes;                                     /* 0: there is no head */
    double missing_pct;
    bool geodata; /* nothing else will do */
};

struct validation {
    enum verdict outcome;
    int checks, failed;
    const char *reasons[VALIDATE_REASONS_MAX]; /* codes of the broken rules, in order, literals */
    size_t n_reasons;
    const char *reason;     /* that of the outcome: the first of the worst; "" when all is well */
    const char *media_type; /* declared, else told by the bytes */
    int64_t features;       /* -1: not counted */
    bool has_bbox;
    double bbox[4];     /* degrees */
    struct summary now; /* of the inspection */
    struct str report;  /* JSON */
};

/* max_bytes is the limit in force: the source's, else the setting's. */
void expectation_of(const struct source *s, int64_t max_bytes, struct expectation *ret);
/* Judges the size bytes of fd. `before` is of the head, NULL: there is none. RC_OK whatever the
 * outcome; RC_IO and RC_NOMEM tell nothing about the bytes. Texts of ret live in the arena, or are
 * literals, or are those of `e` and `now`. */
MUST_CHECK enum rc validate(struct arena *a, int fd, int64_t size, const struct expectation *e,
                            const struct summary *now, const struct summary *before,
                            struct validation *ret, struct err *err);

#endif
