/* badge: the picture, the JSON, and /badges/{source}.svg and .json.
 *
 * Invariants (those of badge.h, and)
 *   1. Same badge, same bytes: widths come from a table, not from a font.
 * Called by the route table and by badge_sum. */
#include "api/badge.h"

#include "api/conditional.h"
#include "api/put.h"
#include "api/xml.h"
#include "core/clock.h"

#define NAME "freshness" /* the left half of every badge */
#define PAD 60           /* tenths of a pixel left and right of a text */
#define HEIGHT 20        /* of the drawing; sizes scale it */
#define CACHE_S 300      /* the least that shields.io takes */

/* ---- widths ---------------------------------------------------------------------------------- */

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

/* ---- SVG ------------------------------------------------------------------------------------- */

static void put_half(struct buf *b, const char *text, int left, int width)
{
    buf_puts(b, "<text x=\"");
    put_digits(b, left + (width + 2 * PAD) / 2);
    buf_puts(b, "\" y=\"140\" transform=\"scale(.1)\" textLength=\"");
    put_digits(b, width);
    buf_puts(b, "\">");
    xml_put(b, str_of(text));
    buf_puts(b, "</text>");
}

static void put_title(struct buf *out, const struct badge *b)
{
    xml_put(out, str_of(b->title));
    buf_puts(out, ": ");
    xml_put(out, str_of(b->words));
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

static void put_frame(struct buf *out, const struct badge *b, int width, int height)
{
    buf_puts(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"");
    put_digits(out, width * height / HEIGHT);
    buf_puts(out, "\" height=\"");
    put_digits(out, height);
    buf_puts(out, "\" viewBox=\"0 0 ");
    put_digits(out, width);
    buf_puts(out, " 20\" role=\"img\" aria-label=\"");
    put_title(out, b);
    buf_puts(out, "\"><title>");
    put_title(out, b);
    buf_puts(out, "</title><desc>");
    xml_put(out, str_of(b->why));
    buf_puts(out, "</desc>");
}

void badge_put_svg(struct buf *out, const struct badge *b, int height)
{
    char words[BADGE_WORDS_MAX + 8];
    snprintf(words, sizeof words, "%s %s", fresh_state_shape(b->state), b->words);
    int name = text_width(NAME), message = text_width(words);
    int left = (name + 2 * PAD + 9) / 10, right = (message + 2 * PAD + 9) / 10;
    put_frame(out, b, left + right, height);
    put_box(out, 0, left, "#333");
    put_box(out, left, right, fresh_state_colour(b->state));
    buf_puts(out, "<g fill=\"#fff\" text-anchor=\"middle\" font-size=\"110\" "
                  "font-family=\"Verdana,DejaVu Sans,Geneva,sans-serif\">");
    put_half(out, NAME, 0, name);
    put_half(out, words, left * 10, message);
    buf_puts(out, "</g></svg>\n");
}

void badge_put_json(struct buf *out, const struct badge *b)
{
    buf_byte(out, '{');
    put_number(out, "schemaVersion", 1);
    put_text(out, "label", NAME);
    put_text(out, "message", b->words);
    put_text(out, "color", fresh_state_colour(b->state));
    put_number(out, "cacheSeconds", CACHE_S);
    buf_byte(out, '}');
}

/* ---- answers --------------------------------------------------------------------------------- */

static enum rc height_of(struct str size, int *ret, struct err *err)
{
    static const struct {
        const char *name;
        int height;
    } sizes[] = {{"s", HEIGHT}, {"m", 28}, {"l", 40}};
    int found = size.p ? 0 : HEIGHT;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        if (size.p && str_is(size, sizes[i].name))
            found = sizes[i].height;
    if (!found)
        return err_set(err, RC_INVALID, "size", "must be one of s, m, l");
    *ret = found;
    return RC_OK;
}

enum rc badge_answer(struct req *r, struct resp *w, const struct badge *b, bool svg,
                     int64_t last_modified, struct err *err)
{
    struct public_meta m = {0};
    int height;
    TRY(height_of(req_param(r, "size"), &height, err));
    TRY(public_meta_get(r->ledger, r->arena, &m, err));
    if (svg)
        badge_put_svg(&w->body, b, height);
    else
        badge_put_json(&w->body, b);
    struct etag e = etag_start(m.policy_version, r->base);
    etag_str(&e, buf_view(&w->body));
    etag_str(&e, buf_view(&w->headers));
    etag_set(&e, w);
    w->last_modified = last_modified >= 0 ? last_modified : m.changed_at - m.changed_at % DAY_MS;
    w->etag_only = true; /* a title or a hold moves no date */
    return RC_OK;
}

/* What was promoted although a check held or failed it says so. */
static bool is_flagged(const struct public_fresh *f)
{
    return f->qa_status[0] && strcmp(f->qa_status, "pass") != 0;
}

void badge_of_source(const struct public_fresh *f, const struct verdict *v, struct badge *ret)
{
    struct badge b = {.title = f->title, .state = v->state};
    char reason[FRESH_REASON_MAX];
    bool flagged = is_flagged(f);
    freshness_reason(f, v, reason);
    snprintf(b.words, sizeof b.words, "%s%s", v->label, flagged ? " (QA note)" : "");
    snprintf(b.why, sizeof b.why, "%s%s", reason,
             flagged ? " Not every check passed: somebody looked, and let it through." : "");
    *ret = b;
}

/* freshness_find has made sure that nothing withheld is in f but the ids of a restricted source,
 * which its row does not hold either; asked again here, as headers are easily forgotten. */
static void link_headers(struct resp *w, const struct req *r, const struct public_fresh *f)
{
    resp_link(w, r->base, "/freshness/", f->source_id, "describedby");
    if (f->run_id[0] && strcmp(f->level, "restricted") != 0)
        resp_link(w, r->base, "/prov/", f->run_id, "http://www.w3.org/ns/prov#has_provenance");
}

static enum rc answer_source(struct req *r, struct resp *w, bool svg, struct err *err)
{
    struct public_fresh f = {0};
    struct verdict v = {0};
    struct badge b;
    TRY(freshness_find(r, &f, &v, err));
    badge_of_source(&f, &v, &b);
    link_headers(w, r, &f);
    return badge_answer(r, w, &b, svg, freshness_shown_at(&f, &v), err);
}

enum rc badge_svg(struct req *r, struct resp *w, struct err *err)
{
    return answer_source(r, w, true, err);
}

enum rc badge_json(struct req *r, struct resp *w, struct err *err)
{
    return answer_source(r, w, false, err);
}
