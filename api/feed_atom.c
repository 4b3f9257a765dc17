/* feed_atom: RFC 4287, paged as in RFC 5005. What a feed says of itself stands before its entries,
 * but is known after them: it is written at the end and then moved to the front. */
#include "api/feed_formats.h"

#include "api/xml.h"
#include "core/clock.h"

#define PROV_REL "http://www.w3.org/ns/prov#has_provenance"

static void put_element(struct buf *b, const char *name, struct str text)
{
    buf_printf(b, "<%s>", name);
    xml_put(b, text);
    buf_printf(b, "</%s>\n", name);
}

static void put_date(struct buf *b, const char *name, int64_t at)
{
    char when[TIME_MAX];
    time_format(at < 0 ? 0 : at, when);
    put_element(b, name, str_of(when));
}

static void put_page_link(struct feed_page_out *x, const char *rel, const char *cursor, int64_t at)
{
    struct buf href;
    buf_init(&href, 16384);
    feed_put_href(&href, x->q, x->base, cursor, at);
    buf_printf(x->out, "<link rel=\"%s\" type=\"application/atom+xml\" href=\"", rel);
    xml_put(x->out, buf_view(&href));
    buf_puts(x->out, "\"/>\n");
    buf_release(&href);
}

static void put_link_to(struct feed_page_out *x, const char *rel, const char *type, const char *ref)
{
    struct buf href;
    if (!*ref)
        return;
    buf_init(&href, 4096);
    feed_put_ref(&href, x->base, ref);
    buf_printf(x->out, "<link rel=\"%s\" type=\"%s\" href=\"", rel, type);
    xml_put(x->out, buf_view(&href));
    buf_puts(x->out, "\"/>\n");
    buf_release(&href);
}

void feed_atom_head(struct feed_page_out *x)
{
    (void)x;
}

static void put_category(struct buf *b, const char *scheme, const char *term)
{
    if (!*term)
        return;
    buf_printf(b, "<category scheme=\"urn:freshet:%s\" term=\"", scheme);
    xml_put(b, str_of(term));
    buf_puts(b, "\"/>\n");
}

enum rc feed_atom_entry(struct feed_page_out *x, const struct public_change *c, struct err *err)
{
    struct buf *b = x->out, words;
    yyjson_val *e;
    char self[96];
    TRY(feed_read_entry(x, c->doc, &e, err));
    snprintf(self, sizeof self, JSON_BASE "/changes/%s", json_member_text(e, "change_event_id"));
    buf_puts(b, "<entry>\n<id>");
    xml_put(b, x->base);
    xml_put(b, str_of(self + 1));
    buf_puts(b, "</id>\n");
    put_element(b, "title", str_of(json_member_text(e, "title")));
    put_date(b, "updated", c->finalized_at);
    put_link_to(x, "alternate", "application/json", self);
    put_link_to(x, PROV_REL, "application/json", json_member_text(e, "prov_ref"));
    put_link_to(x, "related", "application/geo+json", json_member_text(e, "stac_ref"));
    put_category(b, "change_type", json_member_text(e, "change_type"));
    put_category(b, "collection", json_member_text(e, "collection"));
    buf_init(&words, 1024);
    feed_summary(&words, e);
    put_element(b, "summary", buf_view(&words));
    buf_release(&words);
    buf_puts(b, "</entry>\n");
    return RC_OK;
}

/* Another choice of entries is another feed, another page of it is not. */
static void put_feed_id(struct feed_page_out *x)
{
    struct buf id;
    buf_init(&id, 16384);
    feed_put_id(&id, x->q, x->base);
    xml_put(x->out, buf_view(&id));
    buf_release(&id);
}

static void put_head(struct feed_page_out *x)
{
    struct buf *b = x->out;
    const char *who = x->conf && *x->conf->publisher_name ? x->conf->publisher_name : "Freshet";
    buf_puts(b, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
                "<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<id>");
    put_feed_id(x);
    buf_puts(b, "</id>\n<title>Changes</title>\n");
    put_date(b, "updated", x->newest < 0 ? x->day : x->newest);
    buf_puts(b, "<author>");
    put_element(b, "name", str_of(who));
    buf_puts(b, "</author>\n");
    put_page_link(x, "self", NULL, 0);
    if (feed_is_descending(x->q)) {
        struct feed_query first = *x->q;
        struct feed_page_out top = *x;
        first.before = 0;
        top.q = &first;
        put_page_link(&top, "first", NULL, 0);
    }
    if (x->pending > 0)
        put_page_link(x, "next", feed_is_descending(x->q) ? "before" : "since", x->last);
}

/* The last n bytes go to the front. */
static void move_to_front(struct buf *b, size_t n)
{
    struct buf copy;
    if (buf_rc(b) != RC_OK || n == b->len)
        return;
    buf_init(&copy, n + 1);
    buf_add(&copy, b->data + b->len - n, n);
    if (buf_rc(&copy) == RC_OK) {
        memmove(b->data + n, b->data, b->len - n);
        memcpy(b->data, copy.data, n);
    } else {
        b->rc = buf_rc(&copy);
    }
    buf_release(&copy);
}

void feed_atom_tail(struct feed_page_out *x)
{
    size_t entries = x->out->len;
    put_head(x);
    move_to_front(x->out, x->out->len - entries);
    buf_puts(x->out, "</feed>\n");
}
