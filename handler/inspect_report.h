/* inspect_report: what was gathered, as canonical JSON. Called by inspect alone. */
#ifndef FRESHET_HANDLER_INSPECT_REPORT_H
#define FRESHET_HANDLER_INSPECT_REPORT_H

#include "handler/inspect.h"

/* Finishes the layers, adds the problems they show, and appends the report to out. */
MUST_CHECK enum rc inspect_render(struct inspect *in, int64_t size, struct buf *out,
                                  struct err *err);

/* null when there is none. */
yyjson_mut_val *inspect_crs_json(yyjson_mut_doc *d, const struct crs *c);

#endif
