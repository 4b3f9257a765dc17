/* badge: /badges/{source}.svg and .json.
 *
 * Invariants (those of badge.h, and)
 *   1. Same verdict and title, same bytes: widths come from a table, not from a font.
 * Called by the route table. */
#include "api/badge.h"

#define NAME "freshness" /* the left half of every badge */
#define PAD 60           /* tenths of a pixel left and right of a text */
#define CACHE_S 300      /* the least that shields.io takes */

/* ---- widths ----------------------------------------------------------------------------------- */

/* About what an 11 pixel sans-serif takes, in tenths; textLength makes browsers fit the text. */
static int char_width(struct str c)
{
    if (c.n > 1)
        return (unsigned char)c.p[0] >= 0xe3 ? 110 : 80; /* from U+3000 on letters are square */
    if (strchr("ijl.,:;'|!", c.p[0]))
        return 38;
    if (strchr("frt()[]/- ", c.p[0]))
        return 46;
    if (strchr("mwMW%@", c.p[0]))
        return 102;
    return c.p[0] >= 'A' && c.p[0] <= 'Z' ? 77 : 69;
}

static int text_width(const char *text)
{
    struct str s = str_of(text);
    int w = 0;
    while (s.n > 0) {
        size_t n = str_utf8_len(s);
        n = n ? n : 1;
        w += char_width((struct str){s.p, n});
        s.p += n;
        s.n -= n;
    }
    return w;
}

/* ---- SVG -------------------------------------------------------------------------------------- */

static void put_escaped(struct buf *b, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&': buf_puts(b, "&amp;"); break;
        case '<': buf_puts(b, "&lt;"); break;
        case '>': buf_puts(b, "&gt;"); break;
        case '"': buf_puts(b, "&quot;"); break;
        case '\'': buf_puts(b, "&#39;"); break;
        default: buf_byte(b, *text);
        }
    }
}

static void put_half(struct buf *b, const char *text, int left, int width)
{
    int x = left + (width + 2 * PAD) / 2;
    buf_printf(b, "<text x=\"%d\" y=\"140\" transform=\"scale(.1)\" textLength=\"%d\">", x, width);
    put_escaped(b, text);
    buf_puts(b, "</text>");
}

static void put_title(struct buf *b, const char *title, const struct verdict *v)
{
    put_escaped(b, title);
    buf_puts(b, ": ");
    put_escaped(b, v->label);
}

void badge_put_svg(struct buf *out, const char *title, const struct verdict *v)
{
    char words[128];
    snprintf(words, sizeof words, "%s %s", fresh_state_shape(v->state), v->label);
    int name = text_width(NAME), message = text_width(words);
    int left = (name + 2 * PAD + 9) / 10, right = (message + 2 * PAD + 9) / 10;
    buf_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"20\" role=\"img\" "
               "aria-label=\"",
               left + right);
    put_title(out, title, v);
    buf_puts(out, "\"><title>");
    put_title(out, title, v);
    buf_printf(out,
               "</title><clipPath id=\"r\"><rect width=\"%d\" height=\"20\" rx=\"3\"/></clipPath>"
               "<g clip-path=\"url(#r)\"><rect width=\"%d\" height=\"20\" fill=\"#333\"/>"
               "<rect x=\"%d\" width=\"%d\" height=\"20\" fill=\"%s\"/></g>"
               "<g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,DejaVu Sans,Geneva,"
               "sans-serif\" font-size=\"110\">",
               left + right, left, left, right, fresh_state_colour(v->state));
    put_half(out, NAME, 0, name);
    put_half(out, words, left * 10, message);
    buf_puts(out, "</g></svg>\n");
}

void badge_put_json(struct buf *out, const struct verdict *v)
{
    buf_byte(out, '{');
    put_number(out, "schemaVersion", 1);
    put_text(out, "label", NAME);
    put_text(out, "message", v->label);
    put_text(out, "color", fresh_state_colour(v->state));
    put_number(out, "cacheSeconds", CACHE_S);
    buf_byte(out, '}');
}

/* ---- routes ----------------------------------------------------------------------------------- */

/* freshness_find has made sure that nothing withheld is in f but the ids of a restricted source,
 * which its row does not hold either; asked again here, as headers are easily forgotten. */
static void link_header(struct resp *w, const struct req *r, const struct public_fresh *f)
{
    resp_header(w, "Link", "<%.*s/freshness/%s>; rel=\"describedby\"", STR_FMT(r->base),
                f->source_id);
    if (f->run_id[0] && strcmp(f->level, "restricted") != 0)
        resp_header(w, "Link", "<%.*s/prov/%s>; rel=\"http://www.w3.org/ns/prov#has_provenance\"",
                    STR_FMT(r->base), f->run_id);
}

enum rc badge_svg(struct req *r, struct resp *w, struct err *err)
{
    struct public_meta m = {0};
    struct public_fresh f = {0};
    struct verdict v = {0};
    TRY(freshness_find(r, &m, &f, &v, err));
    badge_put_svg(&w->body, f.title, &v);
    freshness_validators(w, r, &m, &f, &v);
    link_header(w, r, &f);
    return RC_OK;
}

enum rc badge_json(struct req *r, struct resp *w, struct err *err)
{
    struct public_meta m = {0};
    struct public_fresh f = {0};
    struct verdict v = {0};
    TRY(freshness_find(r, &m, &f, &v, err));
    badge_put_json(&w->body, &v);
    freshness_validators(w, r, &m, &f, &v);
    link_header(w, r, &f);
    return RC_OK;
}
