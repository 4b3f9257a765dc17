/* entry: the feed entry of a change, whole; without "seq", which the api puts in front. Fields come
 * in the order of schemas/change.schema.json. Pure; called by job.
 */
#ifndef FRESHET_HANDLER_ENTRY_H
#define FRESHET_HANDLER_ENTRY_H

#include "handler/facts.h"

MUST_CHECK enum rc entry_render(struct arena *a, const struct facts *f, struct str *ret,
                                struct err *err);

#endif
