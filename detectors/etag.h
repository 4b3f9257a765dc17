/* etag: validators first, digest decides (I2).
 *
 *   nothing seen yet ─────────────▶ GET
 *   audit due, no validator ──────▶ GET (nothing conditional); due by number of checks, or by age
 *   HEAD known not to work ───────▶ conditional GET
 *   else ─▶ conditional HEAD ─┬─ 304, or 200 with the same strong ETag ──▶ not_modified
 *                             ├─ moved, missing, weak, renewed, refused ──▶ conditional GET
 *                             └─ length differs, other place ─────────────▶ GET
 *
 *   a 200 of a GET is digested:   equal bytes ─▶ unchanged, validator_drift
 *                                 other bytes ─▶ new, changed, silent_change
 *
 * Invariants
 *   1. Validators are opaque, sent byte for byte as received, and belong to the place (final URL)
 *      that gave them: an answer of another place proves nothing. Their encoding is identity, as
 *      nothing else is asked for and an encoded body is refused.
 *   2. Validators in the state are those of a GET, exactly as given: of the 200 that carried the
 *      bytes of seen_sha, or of a 304 to it. Those of HEAD are compared, never stored.
 *   3. Only a strong ETag makes a 200 to HEAD trustworthy: a date that stays, with a length that
 *      stays, is what many servers give to bytes that moved. The GET after it settles that.
 *   4. (etag_flaps) After ETAG_FLAPS_MAX drifts without a real change, or one change that a strong
 *      ETag did not tell, the ETag is no longer sent nor believed. A change that it tells gives it
 *      another chance.
 *   5. (date_doubted) A Last-Modified that lies ahead of its server's clock or before the web, or
 *      that stayed when the bytes moved, is no longer sent nor believed, until it moves.
 */
#ifndef FRESHET_DETECTORS_ETAG_H
#define FRESHET_DETECTORS_ETAG_H

#include "core/clock.h"
#include "detectors/detector.h"

#define ETAG_FLAPS_MAX 3
#define ETAG_FLAPS_LIED 1000000 /* not counted: it stayed when the bytes moved */
/* A source that is swept every 90 days has no audit_every checks in years: it is read twice a year,
 * well before health calls it unverified (400 days). */
#define ETAG_AUDIT_MS (180 * DAY_MS)
#define ETAG_ASKS_MAX 3 /* HEAD, conditional GET, plain GET */

extern const struct detector etag_detector;
/* Its parts, for kinds that end with a look at the data itself. */
bool etag_audit_due(const struct check_state *st, const struct conf *conf, int64_t now);
struct ask etag_ask(const struct check_state *st, int64_t now); /* when no audit is due */
struct ask etag_plan(const struct check_state *st, const struct conf *conf, int64_t now);
struct verdict etag_judge(struct check_state *st, const struct answer *a, int64_t now);

/* Why its ETag is not used: "flapping" (it moves without the bytes), "constant" (they move without
 * it); NULL when it is. */
const char *etag_doubt(const struct check_state *st);

#endif
