/* feed_jsonfeed: JSON Feed 1.1. Its id is the address of the entry; `_freshet` holds the
 * whole entry. */
#include "api/feed_formats.h"
#include "api/put.h"

#include "core/clock.h"

void feed_jsonfeed_head(struct feed_page_out *x)
{
    struct buf *b = x->out;
    buf_puts(b, "{\"version\":\"https://jsonfeed.org/version/1.1\"");
    put_text(b, "title", "Changes");
    put_key(b, "home_page_url");
    json_put_str(b, x->base);
    put_key(b, "feed_url");
    buf_byte(b, '"');
    feed_put_href(b, x->q, x->base, NULL, 0);
    buf_byte(b, '"');
    put_key(b, "authors");
    buf_byte(b, '[');
    buf_byte(b, '{');
    put_text(b, "name", x->conf ? x->conf->publisher_name : "Freshet");
    buf_puts(b, "}],\"items\":[");
}

static void put_tags(struct buf *b, yyjson_val *e)
{
    static const char *const names[] = {"change_type", "collection", "detector"};
    put_key(b, "tags");
    buf_byte(b, '[');
    for (size_t i = 0, n = 0; i < ARRAY_LEN(names); i++) {
        const char *tag = json_member_text(e, names[i]);
        if (!*tag)
            continue;
        buf_puts(b, n++ ? "," : "");
        json_put_str(b, str_of(tag));
    }
    buf_byte(b, ']');
}

enum rc feed_jsonfeed_entry(struct feed_page_out *x, const struct public_change *c, struct err *err)
{
    struct buf *b = x->out, words;
    yyjson_val *e;
    TRY(feed_read_entry(x, c->doc, &e, err));
    if (x->n > 1)
        buf_byte(b, ',');
    for (int twice = 0; twice < 2; twice++) {
        buf_puts(b, twice ? ",\"url\":\"" : "{\"id\":\"");
        buf_str(b, x->base);
        buf_printf(b, "/changes/%s\"", json_member_text(e, "change_event_id"));
    }
    put_text(b, "title", json_member_text(e, "title"));
    buf_init(&words, 1024);
    feed_summary(&words, e);
    put_key(b, "content_text");
    json_put_str(b, buf_view(&words));
    buf_release(&words);
    put_time(b, "date_published", c->finalized_at);
    put_tags(b, e);
    put_key(b, "_freshet");
    feed_put_entry(b, c->seq, c->doc, x->base);
    buf_byte(b, '}');
    return RC_OK;
}

void feed_jsonfeed_tail(struct feed_page_out *x)
{
    struct buf *b = x->out;
    buf_byte(b, ']');
    if (x->pending > 0) {
        buf_puts(b, ",\"next_url\":\"");
        feed_put_href(b, x->q, x->base, feed_is_descending(x->q) ? "before" : "since", x->last);
        buf_byte(b, '"');
    }
    buf_byte(b, '}');
}
