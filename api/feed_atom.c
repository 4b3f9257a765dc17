/* feed_atom: RFC 4287, paged as in RFC 5005. What a feed says of itself stands before its entries, but is
 * known after them: it is written at the end and then moved to the front. */
#include "api/feed_formats.h"

#include "core/clock.h"

#define PROV_REL "http://www.w3.org/ns/prov#has_provenance"

/* Text for XML: markup escaped, characters that XML 1.0 has none of replaced. */
static void put_xml(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '&')
            buf_puts(b, "&amp;");
        else if (c == '<')
            buf_puts(b, "&lt;");
        else if (c == '>')
            buf_puts(b, "&gt;");
        else if (c == '"')
            buf_puts(b, "&quot;");
        else if ((unsigned char)c < 0x20 && c != '\n' && c != '\t')
            buf_puts(b, "\xef\xbf\xbd");
        else if (s.n - i >= 3 && memcmp(s.p + i, "\xef\xbf", 2) == 0 &&
                 (unsigned char)s.p[i + 2] >= 0xbe) { /* U+FFFE, U+FFFF */
            buf_puts(b, "\xef\xbf\xbd");
            i += 2;
        } else
            buf_byte(b, c);
    }
}

static void put_element(struct buf *b, const char *name, struct str text)
{
    buf_printf(b, "<%s>", name);
    put_xml(b, text);
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
    put_xml(x->out, buf_view(&href));
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
    put_xml(x->out, buf_view(&href));
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
    put_xml(b, str_of(term));
    buf_puts(b, "\"/>\n");
}

enum rc feed_atom_entry(struct feed_page_out *x, const struct public_change *c, struct err *err)
{
    struct buf *b = x->out, words;
    yyjson_val *e;
    char self[96];
    TRY(feed_read_entry(x, c->doc, &e, err));
    snprintf(self, sizeof self, JSON_BASE "/changes/%s", feed_text(e, "change_event_id"));
    buf_puts(b, "<entry>\n<id>");
    put_xml(b, x->base);
    put_xml(b, str_of(self + 1));
    buf_puts(b, "</id>\n");
    put_element(b, "title", str_of(feed_text(e, "title")));
    put_date(b, "updated", c->finalized_at);
    put_link_to(x, "alternate", "application/json", self);
    put_link_to(x, PROV_REL, "application/json", feed_text(e, "prov_ref"));
    put_link_to(x, "related", "application/geo+json", feed_text(e, "stac_ref"));
    put_category(b, "change_type", feed_text(e, "change_type"));
    put_category(b, "collection", feed_text(e, "collection"));
    buf_init(&words, 1024);
    feed_summary(&words, e);
    put_element(b, "summary", buf_view(&words));
    buf_release(&words);
    buf_puts(b, "</entry>\n");
    return RC_OK;
}

static void put_head(struct feed_page_out *x)
{
    struct buf *b = x->out;
    const char *who = x->conf && *x->conf->publisher_name ? x->conf->publisher_name : "Freshet";
    buf_puts(b, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
                "<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<id>");
    put_xml(b, x->base);
    buf_puts(b, "/changes</id>\n<title>Changes</title>\n");
    put_date(b, "updated", x->newest);
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
