/* feed_formats: the functions of the rows of formats.def. Called by feed alone. */
#ifndef FRESHET_API_FEED_FORMATS_H
#define FRESHET_API_FEED_FORMATS_H

#include "api/feed.h"

#define X(name, type, content_type, alone)                                                         \
    void feed_##name##_head(struct feed_page_out *x);                                              \
    enum rc feed_##name##_entry(struct feed_page_out *x, const struct public_change *c,            \
                                struct err *err);                                                  \
    void feed_##name##_tail(struct feed_page_out *x);
#include "api/formats.def"
#undef X

#endif
