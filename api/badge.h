/* badge: how fresh something is, as a picture (SVG) and as shields.io endpoint JSON: one source,
 * one collection, or all of them.
 *
 * Invariants
 *   1. The words alone carry the meaning; colour and shape only repeat it.
 *   2. Text is escaped; the picture references nothing outside itself.
 *   3. The JSON has only keys that shields.io knows; provenance is in the Link header.
 *   4. The ETag is made of what is sent, so that a badge moves when its picture does: with the
 *      clock, when a window closes, and not with a check that found nothing.
 *   5. A sum counts sources that are watched and open: sovereign ones have no row to count, and of
 *      restricted ones nobody is told whether they are current. A {year} template is its vintages.
 */
#ifndef FRESHET_API_BADGE_H
#define FRESHET_API_BADGE_H

#include "api/freshness.h"

#define BADGE_WORDS_MAX 160

struct badge {
    const char *title;           /* what it is about */
    enum fresh_state state;      /* colour and shape */
    char words[BADGE_WORDS_MAX]; /* "Updated on 2026-07-02" */
    char why[512];               /* a sentence or two, for screen readers */
};

/* States of many sources. */
struct badge_sum {
    int64_t by_state[FRESH_COUNT]; /* watched and open ones */
    int64_t newest;                /* freshness_shown_at of the one that moved last, -1: none */
    int64_t rows;                  /* all that have a row, counted or not */
};

/* Of one source; flagged checks add "(QA note)" to the words. title is borrowed. */
void badge_of_source(const struct public_fresh *f, const struct verdict *v, struct badge *ret);
/* Takes one more source into the sum. */
void badge_sum_add(struct badge_sum *s, const struct public_fresh *f, int64_t now);
/* "12 of 14 current"; the worst state that is in it decides colour and shape. */
void badge_of_sum(const char *title, const struct badge_sum *s, struct badge *ret);

/* height: pixels, the width follows. */
void badge_put_svg(struct buf *out, const struct badge *b, int height);
void badge_put_json(struct buf *out, const struct badge *b);

/* Body and validators of an answer: one way for all badges. `size` is the parameter of
 * that name. */
MUST_CHECK enum rc badge_answer(struct req *r, struct resp *w, const struct badge *b, bool svg,
                                int64_t last_modified, struct err *err);

route_fn badge_svg, badge_json;
route_fn badge_collection_svg, badge_collection_json, badge_all_svg, badge_all_json;

#endif
