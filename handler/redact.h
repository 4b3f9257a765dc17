/* redact: from a whole document to what the public may see of it, by the table redact.def (I8).
 *
 * Invariants
 *   1. Default deny: what the table does not name is withheld, on every level.
 *   2. A document of which nothing is left is empty (n = 0), and then no public row is written.
 *   3. A snapped box covers the true one and is never equal to it; where that is impossible (the
 *      whole world) there is none.
 *   4. `redacted` depends on the level alone, not on what was withheld.
 *   5. An entry says the level it is shown on, not the one it was born on. Where that shows days,
 *      its id tells no second: evt_<day>T000000Z_<12 hex>; the first six are those of the true id,
 *      the others the end of the run's, so that no two of a day are equal. An id born there stays
 *      as it is.
 * Pure. Called by job (rows of a change) and project (descriptions).
 */
#ifndef FRESHET_HANDLER_REDACT_H
#define FRESHET_HANDLER_REDACT_H

#include "ledger/promote.h"

enum redact_doc {
    REDACT_ENTRY,
    REDACT_PROV,
    REDACT_DELTA,
    REDACT_ITEM,
    REDACT_SOURCE,
    REDACT_FRESHNESS
};
enum redact_action {
    REDACT_DROP,
    REDACT_KEEP,
    REDACT_ENTER,
    REDACT_HOST,
    REDACT_DAY,
    REDACT_SNAP,
    REDACT_BOX,
    REDACT_LIST,
    REDACT_SEAL,
    REDACT_LEVEL,
    REDACT_ID
};

/* What the table says; REDACT_DROP where it says nothing. */
enum redact_action redact_action(enum redact_doc doc, enum level level, const char *path);
/* The public form of one whole document. grid_deg is the source's. */
MUST_CHECK enum rc redact(struct arena *a, enum redact_doc doc, enum level level, double grid_deg,
                          struct str whole, struct str *ret, struct err *err);
/* The same for one that was just built and needs no text in between (json_fixed). */
MUST_CHECK enum rc redact_value(struct arena *a, enum redact_doc doc, enum level level,
                                double grid_deg, yyjson_val *whole, struct str *ret,
                                struct err *err);
/* The public rows of a change, from its whole documents. */
struct redact_change {
    struct str entry, prov, delta, item;
    int64_t finalized_at;
    struct str marked[MARKED_MAX]; /* items of bytes that went */
};
MUST_CHECK enum rc redact_rows(struct arena *a, const struct source *s,
                               const struct redact_change *whole, struct public_rows *ret,
                               struct err *err);
/* A time as a field of the freshness row shows it: itself, its day, or -1. */
int64_t redact_time(enum level level, const char *field, int64_t at);
bool redact_shows(enum level level, const char *field); /* of the freshness row */
/* Outward to the grid. False when no box protects. */
bool redact_snap(const double bbox[4], double grid_deg, double ret[4]);

#endif
