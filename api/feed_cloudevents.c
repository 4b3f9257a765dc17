/* feed_cloudevents: a batch of CloudEvents 1.0. `sequence` has 20 digits, so that it sorts as text;
 * `time` is left out where the level shows the day only. */
#include "api/feed_formats.h"
#include "api/put.h"

#define EVENT_TYPE "org.freshet.change.v1"

void feed_cloudevents_head(struct feed_page_out *x)
{
    buf_byte(x->out, '[');
}

enum rc feed_cloudevents_entry(struct feed_page_out *x, const struct public_change *c,
                               struct err *err)
{
    struct buf *b = x->out;
    yyjson_val *e;
    TRY(feed_read_entry(x, c->doc, &e, err));
    const char *when = json_member_text(e, "finalized_at"),
               *source = json_member_text(e, "source_id");
    if (x->n > 1)
        buf_byte(b, ',');
    buf_puts(b, "{\"specversion\":\"1.0\"");
    put_text(b, "id", json_member_text(e, "change_event_id"));
    put_key(b, "source");
    buf_byte(b, '"');
    buf_str(b, x->base);
    buf_printf(b, "/sources/%s\"", source);
    put_text(b, "type", EVENT_TYPE);
    put_text(b, "subject", json_member_text(e, "collection"));
    if (strchr(when, 'T'))
        put_text(b, "time", when);
    put_text(b, "datacontenttype", "application/json");
    buf_printf(b, ",\"sequence\":\"%020lld\",\"data\":", (long long)c->seq);
    feed_put_entry(b, c->seq, c->doc, x->base);
    buf_byte(b, '}');
    return RC_OK;
}

void feed_cloudevents_tail(struct feed_page_out *x)
{
    buf_byte(x->out, ']');
}
