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

static const char *entity(char c)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return "";
    }
}

static void put_escaped(struct buf *b, const char *text)
{
    for (;;) {
        size_t plain = strcspn(text, "&<>\"'");
        buf_add(b, text, plain);
        if (!text[plain])
            return;
        buf_puts(b, entity(text[plain]));
        text += plain + 1;
    }
}

static void put_half(struct buf *b, const char *text, int left, int width)
{
    buf_puts(b, "<text x=\"");
    put_digits(b, left + (width + 2 * PAD) / 2);
    buf_puts(b, "\" y=\"140\" transform=\"scale(.1)\" textLength=\"");
    put_digits(b, width);
    buf_puts(b, "\">");
    put_escaped(b, text);
    buf_puts(b, "</text>");
}

static void put_title(struct buf *b, const char *title, const struct verdict *v)
{
    put_escaped(b, title);
    buf_puts(b, ": ");
    put_escaped(b, v->label);
}

static void put_box(struct buf *b, int x, int width, const char *fill)
{
    buf_puts(b, "<rect x=\"");
    put_digits(b, x);
    buf_puts(b, "\" width=\"");
    put_digits(b, width);
    buf_puts(b, "\" height=\"20\" fill=\"");
    buf_puts(b, fill);
    buf_puts(b, "\"/>");
}

void badge_put_svg(struct buf *out, const char *title, const struct verdict *v)
{
    char words[128];
    snprintf(words, sizeof words, "%s %s", fresh_state_shape(v->state), v->label);
    int name = text_width(NAME), message = text_width(words);
    int left = (name + 2 * PAD + 9) / 10, right = (message + 2 * PAD + 9) / 10;
    buf_puts(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"");
    put_digits(out, left + right);
    buf_puts(out, "\" height=\"20\" role=\"img\" aria-label=\"");
    put_title(out, title, v);
    buf_puts(out, "\"><title>");
    put_title(out, title, v);
    buf_puts(out, "</title>");
    put_box(out, 0, left, "#333");
    put_box(out, left, right, fresh_state_colour(v->state));
    buf_puts(out, "<g fill=\"#fff\" text-anchor=\"middle\" font-size=\"110\" "
                  "font-family=\"Verdana,DejaVu Sans,Geneva,sans-serif\">");
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
static void link_headers(struct resp *w, const struct req *r, const struct public_fresh *f)
{
    resp_link(w, r->base, "/freshness/", f->source_id, "describedby");
    if (f->run_id[0] && strcmp(f->level, "restricted") != 0)
        resp_link(w, r->base, "/prov/", f->run_id, "http://www.w3.org/ns/prov#has_provenance");
}

enum rc badge_svg(struct req *r, struct resp *w, struct err *err)
{
    struct public_meta m = {0};
    struct public_fresh f = {0};
    struct verdict v = {0};
    TRY(freshness_find(r, &m, &f, &v, err));
    badge_put_svg(&w->body, f.title, &v);
    freshness_validators(w, r, &m, &f, &v);
    link_headers(w, r, &f);
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
    link_headers(w, r, &f);
    return RC_OK;
}
