/* badge: the verdict of a source as a picture (SVG) and as shields.io endpoint JSON.
 *
 * Invariants
 *   1. The words alone carry the meaning; colour and shape only repeat it.
 *   2. Text is escaped; the picture references nothing outside itself.
 *   3. The JSON has only keys that shields.io knows; provenance is in the Link header.
 */
#ifndef FRESHET_API_BADGE_H
#define FRESHET_API_BADGE_H

#include "api/freshness.h"

void badge_put_svg(struct buf *out, const char *title, const struct verdict *v);
void badge_put_json(struct buf *out, const struct verdict *v);

route_fn badge_svg, badge_json;

#endif
