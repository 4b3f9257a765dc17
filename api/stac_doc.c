/* stac_doc: pieces that several routes write: links, items, collections, a selection of fields. */
#include "api/conditional.h"
#include "api/stac.h"

#include "core/clock.h"

#include <stdarg.h>

#define SELECT_MEMORY (4u << 20) /* one item with what is made of it */
#define YEARS_MAX 40             /* links of a collection; a ledger is not that old */

static void comma(struct buf *b)
{
    char last = b->len ? b->data[b->len - 1] : '[';
    if (last != '[' && last != '{')
        buf_byte(b, ',');
}

void stac_link(struct buf *b, struct str base, const char *rel, const char *type, const char *title,
               const char *path, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, path);
    vsnprintf(text, sizeof text, path, ap);
    va_end(ap);
    comma(b);
    buf_printf(b, "{\"rel\":\"%s\",\"href\":\"", rel);
    buf_str(b, base);
    buf_puts(b, text);
    buf_printf(b, "\",\"type\":\"%s\"", type);
    if (title) {
        buf_puts(b, ",\"title\":");
        json_put_str(b, str_of(title));
    }
    buf_byte(b, '}');
}

static void version_link(struct buf *b, const char *rel, const struct public_item *i, struct str id,
                         struct str base)
{
    buf_str(b, STR(",{\"rel\":\""));
    buf_puts(b, rel);
    buf_str(b, STR("\",\"href\":\""));
    buf_str(b, base);
    buf_str(b, STR("/stac/collections/"));
    buf_str(b, i->collection);
    buf_str(b, STR("/items/"));
    buf_str(b, id);
    buf_str(b, STR("\",\"type\":\"application/geo+json\"}"));
}

/* links is the last member (handler/stac.h): what belongs there goes before the two
 * closing marks. */
void stac_put_item(struct buf *b, const struct public_item *i, struct str base)
{
    if (!str_ends(i->doc, STR("]}"))) {
        json_put_based(b, i->doc, base);
        return;
    }
    json_put_based(b, (struct str){i->doc.p, i->doc.n - 2}, base);
    if (i->next.n)
        version_link(b, "successor-version", i, i->next, base);
    if (i->latest.n)
        version_link(b, "latest-version", i, i->latest, base);
    buf_str(b, STR("]}"));
}

/* ---- collections ----------------------------------------------------------------------------- */

/* A box must be told: of what holds nothing, or nothing with a place, it is the world. A time
 * need not. */
static void put_extent(struct buf *b, const struct public_collection *c)
{
    static const double world[4] = {-180, -90, 180, 90};
    const double *box = c->has_box ? c->box : world;
    char n[32];
    buf_puts(b, ",\"extent\":{\"spatial\":{\"bbox\":[[");
    for (int i = 0; i < 4; i++) {
        (void)json_number(box[i], n);
        buf_puts(b, i ? "," : "");
        buf_puts(b, n);
    }
    buf_puts(b, "]]},\"temporal\":{\"interval\":[[");
    if (!c->items) {
        buf_puts(b, "null,null]]}}");
        return;
    }
    json_put_str(b, c->first);
    buf_byte(b, ',');
    json_put_str(b, c->last);
    buf_puts(b, "]]}}");
    buf_puts(b, ",\"summaries\":{\"datetime\":{\"minimum\":");
    json_put_str(b, c->first);
    buf_puts(b, ",\"maximum\":");
    json_put_str(b, c->last);
    buf_puts(b, "}}");
}

static void put_years(struct buf *b, const struct public_collection *c, struct req *r,
                      struct err *err)
{
    int year = 0;
    for (int n = 0; c->items && n < YEARS_MAX; n++) {
        char title[24];
        if (public_item_year(r->ledger, c->id, year + 1, &year, err) != RC_OK || year == 0)
            return;
        snprintf(title, sizeof title, "Versions of %d", year);
        stac_link(b, r->base, "child", "application/json", title,
                  "/stac/collections/%.*s/years/%04d", STR_FMT(c->id), year);
    }
}

void stac_put_collection(struct buf *b, const struct public_collection *c, struct req *r,
                         struct err *err)
{
    const int n = (int)c->id.n;
    const char *id = c->id.p;
    json_put_based(b, (struct str){c->doc.p, c->doc.n - 1}, r->base);
    put_extent(b, c);
    buf_puts(b, ",\"links\":[");
    stac_link(b, r->base, "self", "application/json", "This collection", "/stac/collections/%.*s",
              n, id);
    stac_link(b, r->base, "root", "application/json", "Catalog", "/stac");
    stac_link(b, r->base, "parent", "application/json", "Catalog", "/stac");
    stac_link(b, r->base, "items", "application/geo+json", "Items", "/stac/collections/%.*s/items",
              n, id);
    stac_link(b, r->base, "http://www.opengis.net/def/rel/ogc/1.0/queryables",
              "application/schema+json", "Queryables", "/stac/collections/%.*s/queryables", n, id);
    put_years(b, c, r, err);
    buf_puts(b, "]}");
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* Is path the same as rule, or inside of it? */
static bool within(struct str path, struct str rule)
{
    return str_eq(path, rule) ||
           (path.n > rule.n && str_starts(path, rule) && path.p[rule.n] == '.');
}

static bool any_within(struct str path, const struct str *rules, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (within(path, rules[i]))
            return true;
    return false;
}

/* Does a rule name something inside of path? */
static bool any_inside(struct str path, const struct str *rules, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (within(rules[i], path) && !str_eq(rules[i], path))
            return true;
    return false;
}

static bool is_always(struct str path)
{
    static const char *const names[] = {"type", "stac_version", "id", "collection"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(path, names[i]))
            return true;
    return false;
}

static void select_members(yyjson_mut_doc *d, yyjson_val *from, yyjson_mut_val *to,
                           struct str above, const struct stac_fields *f, struct arena *a)
{
    size_t i, n;
    yyjson_val *key, *v;
    yyjson_obj_foreach(from, i, n, key, v)
    {
        char *name =
            arena_printf(a, "%.*s%s%s", STR_FMT(above), above.n ? "." : "", yyjson_get_str(key));
        struct str path = str_of(name);
        bool wanted =
            f->n_include == 0 || is_always(path) || any_within(path, f->include, f->n_include);
        bool part = any_inside(path, f->include, f->n_include) ||
                    (wanted && any_inside(path, f->exclude, f->n_exclude));
        if (!name || any_within(path, f->exclude, f->n_exclude) || (!wanted && !part))
            continue;
        yyjson_mut_val *copy;
        if (part && yyjson_is_obj(v)) {
            struct stac_fields inner = *f;
            if (wanted)
                inner.n_include = 0;
            copy = yyjson_mut_obj(d);
            select_members(d, v, copy, path, &inner, a);
        } else {
            copy = yyjson_val_mut_copy(d, v);
        }
        yyjson_mut_obj_add(to, yyjson_val_mut_copy(d, key), copy);
    }
}

enum rc stac_put_fields(struct buf *out, struct str doc, const struct stac_fields *f,
                        struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    yyjson_val *root;
    struct str text;
    arena_init(&a, SELECT_MEMORY);
    TRY(json_parse(&a, doc, 0, "a document", &root, err));
    yyjson_mut_doc *d = json_doc(&a);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    select_members(d, root, o, STR(""), f, &a);
    TRY(json_write(&a, d, 0, &text, err));
    buf_str(out, text);
    return RC_OK;
}

/* ---- the rest of an answer ------------------------------------------------------------------- */

void stac_put_self(struct buf *b, const struct req *r, const char *token)
{
    const char *sign = "?";
    buf_str(b, r->base);
    buf_str(b, r->path);
    for (size_t i = 0; i < r->n_params; i++) {
        if (str_is(r->params[i].name, "token"))
            continue;
        buf_puts(b, sign);
        http_encode(b, r->params[i].name);
        buf_byte(b, '=');
        http_encode(b, r->params[i].value);
        sign = "&";
    }
    if (token) {
        buf_puts(b, sign);
        buf_puts(b, "token=");
        buf_puts(b, token);
    }
}

int64_t stac_day(int64_t at)
{
    return at < 0 ? at : at - at % DAY_MS;
}

enum rc stac_finish(struct req *r, struct resp *w, int64_t at, struct err *err)
{
    struct public_meta m = {0};
    TRY(public_meta_get(r->ledger, r->arena, &m, err));
    struct etag e = etag_start(m.policy_version, r->base);
    etag_str(&e, buf_view(&w->body));
    etag_set(&e, w);
    w->last_modified = at >= 0 ? at : stac_day(m.changed_at);
    w->etag_only = true; /* what goes away moves no date */
    return RC_OK;
}
