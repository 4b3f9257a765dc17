/* diff_html: the page from top to bottom: numbers, picture, tables. */
#include "cli/diff_html.h"

#include <math.h>

#define PAGE_MAX (32u << 20) /* a manifest has at most 6 MB */
#define PICTURE 800.0        /* its longer side, in units of the picture */

struct page {
    struct cli *c;
    struct buf out;
    double box[4], scale_x, scale; /* of the picture: degrees to units */
};

static const struct {
    const char *name, *title;
} lists[] = {{"added", "Added"}, {"modified", "Modified"}, {"removed", "Removed"}};

/* ---- text ------------------------------------------------------------------------------------ */

static void put_text(struct page *p, const char *s)
{
    for (; s && *s; s++) {
        switch (*s) {
        case '&': buf_puts(&p->out, "&amp;"); break;
        case '<': buf_puts(&p->out, "&lt;"); break;
        case '>': buf_puts(&p->out, "&gt;"); break;
        case '"': buf_puts(&p->out, "&quot;"); break;
        default: buf_byte(&p->out, *s);
        }
    }
}

static void put_row(struct page *p, const char *name, const char *value)
{
    buf_puts(&p->out, "<tr><th scope=\"row\">");
    put_text(p, name);
    buf_puts(&p->out, "</th><td>");
    put_text(p, value);
    buf_puts(&p->out, "</td></tr>\n");
}

static const char *number(struct page *p, yyjson_val *o, const char *key, const char *unit)
{
    yyjson_val *v = yyjson_obj_get(o, key);
    if (!yyjson_is_num(v))
        return "unknown";
    if (yyjson_is_int(v))
        return arena_printf(&p->c->arena, "%lld%s", (long long)yyjson_get_sint(v), unit);
    return arena_printf(&p->c->arena, "%.3f%s", yyjson_get_num(v), unit);
}

static void put_head(struct page *p, yyjson_val *delta)
{
    buf_puts(&p->out,
             "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
             "style-src 'unsafe-inline'\">\n"
             "<meta name=\"viewport\" content=\"width=device-width\">\n<title>What changed: ");
    put_text(p, json_member_text(delta, "source_id"));
    buf_puts(
        &p->out,
        "</title>\n<style>body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:1rem "
        "auto;padding:0 1rem;color:#1a1a1a;background:#fff}"
        "table{border-collapse:collapse;margin:1rem 0;width:100%}"
        "th,td{text-align:left;vertical-align:top;padding:.25rem .75rem;border-bottom:1px solid "
        "#bbb;overflow-wrap:anywhere}svg{width:100%;height:auto;border:1px solid #777}"
        "caption{text-align:left;font-weight:bold;padding:.5rem 0}</style></head><body><main>\n"
        "<h1>What changed: ");
    put_text(p, json_member_text(delta, "source_id"));
    buf_puts(&p->out, "</h1>\n");
}

static void put_numbers(struct page *p, yyjson_val *delta)
{
    static const struct {
        const char *name, *key, *unit;
    } rows[] = {{"Features before", "before", ""},
                {"Features after", "after", ""},
                {"Added", "added", ""},
                {"Modified", "modified", ""},
                {"Removed", "removed", ""},
                {"Area gained", "area_gained_km2", " km\xc2\xb2"},
                {"Area gained, of what was", "area_gained_pct", " %"},
                {"Area lost", "area_lost_km2", " km\xc2\xb2"},
                {"Area lost, of what was", "area_lost_pct", " %"},
                {"Largest move of a border", "moved_m", " m"},
                {"Patches gained", "gained_patches", ""},
                {"Patches lost", "lost_patches", ""},
                {"Slivers left out", "slivers", ""}};
    yyjson_val *totals = yyjson_obj_get(delta, "totals"),
               *dates = yyjson_obj_get(delta, "legal_dates");
    buf_puts(&p->out, "<table><caption>In short</caption>\n");
    put_row(p, "Verdict",
            *json_member_text(delta, "verdict") ? json_member_text(delta, "verdict")
                                                : "none given");
    put_row(p, "Change", json_member_text(delta, "change_type"));
    put_row(p, "Detected", json_member_text(delta, "detected_at"));
    if (dates) {
        put_row(p, "Legal since, first", json_member_text(dates, "first"));
        put_row(p, "Legal since, last", json_member_text(dates, "last"));
    }
    for (size_t i = 0; totals && i < ARRAY_LEN(rows); i++)
        put_row(p, rows[i].name, number(p, totals, rows[i].key, rows[i].unit));
    put_row(p, "Delta", json_member_text(delta, "delta_id"));
    put_row(p, "Checksum", json_member_text(delta, "checksum"));
    buf_puts(&p->out, "</table>\n");
}

/* ---- the picture ----------------------------------------------------------------------------- */

static void widen(struct page *p, yyjson_val *box)
{
    for (size_t i = 0; i < 4 && yyjson_arr_size(box) == 4; i++) {
        double v = yyjson_get_num(yyjson_arr_get(box, i));
        p->box[i] = i < 2 ? fmin(p->box[i], v) : fmax(p->box[i], v);
    }
}

static bool frame(struct page *p, yyjson_val *features)
{
    size_t k, n;
    yyjson_val *f;
    for (int i = 0; i < 4; i++)
        p->box[i] = i < 2 ? INFINITY : -INFINITY;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        yyjson_arr_foreach(yyjson_obj_get(features, lists[i].name), k, n, f)
        {
            widen(p, yyjson_obj_get(f, "bbox"));
            widen(p, yyjson_obj_get(f, "old_bbox"));
        }
    if (!isfinite(p->box[0]) || !isfinite(p->box[3]))
        return false;
    p->scale_x = fmax(0.05, cos((p->box[1] + p->box[3]) / 2 * (M_PI / 180)));
    double wide = (p->box[2] - p->box[0]) * p->scale_x, high = p->box[3] - p->box[1];
    p->scale = PICTURE / fmax(fmax(wide, high), 1e-6);
    return true;
}

static void put_at(struct page *p, yyjson_val *at, char how)
{
    double x = (yyjson_get_num(yyjson_arr_get(at, 0)) - p->box[0]) * p->scale_x * p->scale;
    double y = (p->box[3] - yyjson_get_num(yyjson_arr_get(at, 1))) * p->scale;
    buf_printf(&p->out, "%c%.1f %.1f", how, x, y);
}

static void put_line(struct page *p, yyjson_val *line, bool close)
{
    size_t i, n;
    yyjson_val *at;
    yyjson_arr_foreach(line, i, n, at) put_at(p, at, i ? 'L' : 'M');
    if (close)
        buf_byte(&p->out, 'Z');
}

/* Every position is drawn somewhere; points as a short stroke. */
static void put_shape(struct page *p, yyjson_val *shape, const char *style)
{
    yyjson_val *part, *ring, *list = yyjson_obj_get(shape, "coordinates");
    const char *type = json_member_text(shape, "type");
    size_t i, n, k, m;
    if (!yyjson_is_arr(list))
        return;
    buf_printf(&p->out, "<path %s d=\"", style);
    yyjson_arr_foreach(list, i, n, part)
    {
        if (strcmp(type, "MultiPolygon") == 0)
            yyjson_arr_foreach(part, k, m, ring) put_line(p, ring, true);
        else if (strcmp(type, "MultiLineString") == 0)
            put_line(p, part, false);
        else {
            put_at(p, part, 'M');
            buf_puts(&p->out, "l0 4");
        }
    }
    buf_puts(&p->out, "\"/>\n");
}

static void put_patches(struct page *p, yyjson_val *side, const char *style)
{
    size_t i, n;
    yyjson_val *patch;
    yyjson_arr_foreach(yyjson_obj_get(side, "listed"), i, n, patch)
        put_shape(p, yyjson_obj_get(patch, "shape"), style);
}

#define STYLE_GAINED "fill=\"url(#gained)\" stroke=\"#0a5c2b\""
#define STYLE_LOST "fill=\"url(#lost)\" stroke=\"#8c1515\""

static void put_picture(struct page *p, yyjson_val *features)
{
    size_t k, n;
    yyjson_val *f;
    if (!frame(p, features))
        return;
    buf_printf(
        &p->out,
        "<figure><svg viewBox=\"-10 -10 %.0f %.0f\" role=\"img\" aria-labelledby=\"pt pd\" "
        "fill-rule=\"evenodd\" stroke-width=\"1.5\"><title id=\"pt\">Old and new borders</title>"
        "<desc id=\"pd\">Old borders dashed, new ones solid; what was gained is hatched one way, "
        "what was lost the other way. The tables below say the same in words.</desc><defs>"
        "<pattern id=\"gained\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"><rect "
        "width=\"8\" height=\"8\" fill=\"#c9ecd4\"/><path d=\"M0 8L8 0\" stroke=\"#0a5c2b\"/>"
        "</pattern><pattern id=\"lost\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
        "<rect width=\"8\" height=\"8\" fill=\"#f6cfcf\"/><path d=\"M0 0L8 8\" "
        "stroke=\"#8c1515\"/></pattern></defs>\n",
        (p->box[2] - p->box[0]) * p->scale_x * p->scale + 20,
        (p->box[3] - p->box[1]) * p->scale + 20);
    yyjson_arr_foreach(yyjson_obj_get(features, "added"), k, n, f)
        put_shape(p, yyjson_obj_get(f, "shape"), STYLE_GAINED);
    yyjson_arr_foreach(yyjson_obj_get(features, "removed"), k, n, f)
        put_shape(p, yyjson_obj_get(f, "shape"), STYLE_LOST);
    yyjson_arr_foreach(yyjson_obj_get(features, "modified"), k, n, f)
    {
        put_patches(p, yyjson_obj_get(f, "gained"), STYLE_GAINED);
        put_patches(p, yyjson_obj_get(f, "lost"), STYLE_LOST);
        put_shape(p, yyjson_obj_get(f, "old_shape"),
                  "fill=\"none\" stroke=\"#555\" stroke-dasharray=\"6 4\"");
        put_shape(p, yyjson_obj_get(f, "new_shape"), "fill=\"none\" stroke=\"#111\"");
    }
    buf_puts(&p->out,
             "</svg><figcaption>Old borders dashed, new ones solid. Gained: rising hatch, "
             "green. Lost: falling hatch, red. Shapes are simplified.</figcaption></figure>\n");
}

/* ---- tables ---------------------------------------------------------------------------------- */

static const char *patches_text(struct page *p, yyjson_val *side)
{
    if (!side)
        return "";
    return arena_printf(&p->c->arena, "%s in %s patches",
                        number(p, side, "area_km2", " km\xc2\xb2"), number(p, side, "patches", ""));
}

static void put_cell(struct page *p, const char *s)
{
    buf_puts(&p->out, "<td>");
    put_text(p, s);
    buf_puts(&p->out, "</td>");
}

static void put_attributes(struct page *p, yyjson_val *f)
{
    yyjson_val *one;
    size_t i, n;
    buf_puts(&p->out, "<td>");
    yyjson_arr_foreach(yyjson_obj_get(yyjson_obj_get(f, "attributes"), "listed"), i, n, one)
    {
        buf_puts(&p->out, i ? "<br>" : "");
        put_text(p, json_member_text(one, "name"));
        buf_puts(&p->out, ": <del>");
        put_text(p, diff_value(p->c, yyjson_obj_get(one, "old")));
        buf_puts(&p->out, "</del> \xe2\x86\x92 <ins>");
        put_text(p, diff_value(p->c, yyjson_obj_get(one, "new")));
        buf_puts(&p->out, "</ins>");
    }
    buf_puts(&p->out, "</td>");
}

static void put_table(struct page *p, const char *title, yyjson_val *list)
{
    size_t i, n;
    yyjson_val *f;
    if (yyjson_arr_size(list) == 0)
        return;
    buf_printf(
        &p->out,
        "<table><caption>%s</caption><thead><tr><th scope=\"col\">Key</th><th "
        "scope=\"col\">Moved</th><th scope=\"col\">Gained</th><th scope=\"col\">Lost</th><th "
        "scope=\"col\">Attributes</th><th scope=\"col\">Legal since</th></tr></thead><tbody>\n",
        title);
    yyjson_arr_foreach(list, i, n, f)
    {
        bool measured = yyjson_is_num(yyjson_obj_get(f, "moved_m"));
        buf_puts(&p->out, "<tr><th scope=\"row\">");
        put_text(p, json_member_text(f, "key"));
        buf_puts(&p->out, "</th>");
        put_cell(p, measured ? number(p, f, "moved_m", " m") : "");
        put_cell(p, patches_text(p, yyjson_obj_get(f, "gained")));
        put_cell(p, patches_text(p, yyjson_obj_get(f, "lost")));
        put_attributes(p, f);
        put_cell(p, json_member_text(f, "legal_date"));
        buf_puts(&p->out, "</tr>\n");
    }
    buf_puts(&p->out, "</tbody></table>\n");
}

int diff_html(struct cli *c, yyjson_val *delta)
{
    struct page p = {.c = c};
    yyjson_val *features = yyjson_obj_get(delta, "features");
    buf_init(&p.out, PAGE_MAX);
    put_head(&p, delta);
    put_numbers(&p, delta);
    put_picture(&p, features);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        put_table(&p, lists[i].title, yyjson_obj_get(features, lists[i].name));
    if (features && !yyjson_get_bool(yyjson_obj_get(features, "complete")))
        buf_puts(&p.out, "<p>The lists are cut; the numbers above are not.</p>\n");
    buf_puts(&p.out, "</main></body></html>\n");
    bool ok = buf_rc(&p.out) == RC_OK;
    if (ok)
        fwrite(p.out.data, 1, p.out.len, stdout);
    buf_release(&p.out);
    return ok ? CLI_DONE : cli_error(c, "diff", "no memory for the page");
}
