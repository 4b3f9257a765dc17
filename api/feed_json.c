/* feed_json: the body of /changes (schemas/changes.schema.json). Rows are copied, not read. */
#include "api/feed_formats.h"
#include "api/put.h"

void feed_put_entry(struct buf *out, int64_t seq, struct str doc, struct str base)
{
    buf_str(out, STR("{\"seq\":\""));
    put_digits(out, seq);
    buf_str(out, STR("\","));
    json_put_based(out, (struct str){doc.p + 1, doc.n - 1}, base);
}

void feed_json_head(struct feed_page_out *x)
{
    buf_puts(x->out, "{\"results\":[");
}

enum rc feed_json_entry(struct feed_page_out *x, const struct public_change *c, struct err *err)
{
    (void)err;
    if (x->n > 1)
        buf_byte(x->out, ',');
    feed_put_entry(x->out, c->seq, c->doc, x->base);
    return RC_OK;
}

void feed_json_tail(struct feed_page_out *x)
{
    struct buf *b = x->out;
    buf_printf(b, "],\"last_seq\":\"%lld\",\"first_seq\":\"%lld\",\"pending\":%lld",
               (long long)x->last_seq, (long long)x->first_seq, (long long)x->pending);
    buf_puts(b, ",\"links\":[{\"rel\":\"self\",\"href\":\"");
    feed_put_href(b, x->q, x->base, NULL, 0);
    buf_puts(b, "\",\"type\":\"application/json\"}");
    if (x->pending > 0) {
        buf_puts(b, ",{\"rel\":\"next\",\"href\":\"");
        feed_put_href(b, x->q, x->base, feed_is_descending(x->q) ? "before" : "since", x->last);
        buf_puts(b, "\",\"type\":\"application/json\"}");
    }
    buf_puts(b, "]}");
}
