/* feed_ndjson: one entry per line. Where to go on is told by the Link header and X-Last-Seq. */
#include "api/feed_formats.h"

void feed_ndjson_head(struct feed_page_out *x)
{
    (void)x;
}

enum rc feed_ndjson_entry(struct feed_page_out *x, const struct public_change *c, struct err *err)
{
    (void)err;
    feed_put_entry(x->out, c->seq, c->doc, x->base);
    buf_byte(x->out, '\n');
    return RC_OK;
}

void feed_ndjson_tail(struct feed_page_out *x)
{
    (void)x;
}
