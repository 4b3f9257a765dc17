/* stac_tree: the browsable tree. A long list of leaves gets nodes above it, each with at most
 * STAC_FAN children: node L-I covers the leaves from I * STAC_FAN^L on. Collections hang below the
 * root, items below a year of their collection. */
#include "api/stac.h"

#define LEVEL_MAX 9 /* STAC_FAN^9 leaves */

struct node {
    int level; /* 0: its children are the leaves themselves, all of them */
    int64_t index;
};

static int64_t span_of(int level)
{
    int64_t n = 1;
    while (level-- > 0)
        n *= STAC_FAN;
    return n;
}

/* Level of the nodes below the root of n leaves; 0: leaves. */
static int top_level(int64_t n)
{
    int level = 0;
    while (level < LEVEL_MAX && (n + span_of(level) - 1) / span_of(level) > STAC_FAN)
        level++;
    return level;
}

static bool read_node(struct str s, struct node *ret)
{
    struct str level = {0};
    int64_t l, i;
    if (s.n > 16 || !str_next(&s, '-', &level) || str_to_i64(level, &l) != RC_OK ||
        str_to_i64(s, &i) != RC_OK || l < 1 || l > LEVEL_MAX || i < 0 || i > 1000000000)
        return false;
    *ret = (struct node){(int)l, i};
    return true;
}

static void begin_catalog(struct buf *b, const char *id, const char *title)
{
    buf_printf(
        b,
        "{\"type\":\"Catalog\",\"stac_version\":\"" STAC_VERSION "\",\"id\":\"%s\",\"title\":", id);
    json_put_str(b, str_of(title));
    buf_puts(b, ",\"description\":");
    json_put_str(b, str_of(title));
    buf_puts(b, ",\"links\":[");
}

static void node_title(char out[96], const char *what, int64_t first, int64_t last)
{
    snprintf(out, 96, "%s %lld to %lld", what, (long long)first + 1, (long long)last);
}

/* ---- collections ----------------------------------------------------------------------------- */

struct leaves {
    struct req *r;
    struct buf *b;
    bool whole;
};

static enum rc put_leaf(void *ctx, const struct public_collection *c, struct err *err)
{
    struct leaves *x = ctx;
    struct err failed = {0};
    char title[STAC_ID_MAX + 1];
    snprintf(title, sizeof title, "%.*s", STR_FMT(c->id));
    if (!x->whole) {
        stac_link(x->b, x->r->base, "child", "application/json", title, "/stac/collections/%s",
                  title);
        return RC_OK;
    }
    if (x->b->len && x->b->data[x->b->len - 1] == '}')
        buf_byte(x->b, ',');
    stac_put_collection(x->b, c, x->r, &failed);
    return failed.rc == RC_OK ? RC_OK : err_set(err, failed.rc, "", "%s", failed.msg);
}

static enum rc put_collection_node(struct req *r, struct buf *b, struct node at, int64_t total,
                                   struct err *err);

/* Children of a node that covers leaves from `first` on: nodes of the level below, or leaves. */
static enum rc put_below(struct req *r, struct buf *b, int level, int64_t first, int64_t total,
                         bool whole, struct err *err)
{
    struct leaves x = {r, b, whole};
    int64_t span = span_of(level);
    if (level == 0)
        return public_collection_from(r->ledger, first, STAC_FAN, put_leaf, &x, err);
    for (int64_t i = 0; i < STAC_FAN && first + i * span < total; i++) {
        int64_t from = first + i * span, to = from + span < total ? from + span : total;
        char title[96];
        node_title(title, "Collections", from, to);
        if (!whole)
            stac_link(b, r->base, "child", "application/json", title, "/stac/catalogs/%d-%lld",
                      level, (long long)(from / span));
        else {
            if (i)
                buf_byte(b, ',');
            TRY(put_collection_node(r, b, (struct node){level, from / span}, total, err));
        }
    }
    return RC_OK;
}

static enum rc put_collection_node(struct req *r, struct buf *b, struct node at, int64_t total,
                                   struct err *err)
{
    int64_t first = at.index * span_of(at.level), last = first + span_of(at.level);
    char title[96], id[32];
    snprintf(id, sizeof id, "collections-%d-%lld", at.level, (long long)at.index);
    node_title(title, "Collections", first, last < total ? last : total);
    begin_catalog(b, id, title);
    stac_link(b, r->base, "self", "application/json", title, "/stac/catalogs/%d-%lld", at.level,
              (long long)at.index);
    stac_link(b, r->base, "root", "application/json", "Catalog", "/stac");
    if (at.level >= top_level(total))
        stac_link(b, r->base, "parent", "application/json", "Catalog", "/stac");
    else
        stac_link(b, r->base, "parent", "application/json", NULL, "/stac/catalogs/%d-%lld",
                  at.level + 1, (long long)(at.index / STAC_FAN));
    TRY(put_below(r, b, at.level - 1, first, total, false, err));
    buf_puts(b, "]}");
    return RC_OK;
}

enum rc stac_root_children(struct req *r, struct buf *b, bool whole, struct err *err)
{
    struct collection_query all = {0};
    int64_t total;
    TRY(public_collection_count(r->ledger, r->arena, &all, &total, err));
    return put_below(r, b, top_level(total), 0, total, whole, err);
}

enum rc stac_children(struct req *r, struct resp *w, struct err *err)
{
    struct buf *b = &w->body;
    buf_puts(b, "{\"children\":[");
    TRY(stac_root_children(r, b, true, err));
    buf_puts(b, "],\"links\":[");
    stac_link(b, r->base, "self", "application/json", "Children", "/stac/children");
    stac_link(b, r->base, "root", "application/json", "Catalog", "/stac");
    stac_link(b, r->base, "parent", "application/json", "Catalog", "/stac");
    buf_puts(b, "]}");
    return stac_finish(r, w, -1, err);
}

enum rc stac_catalog(struct req *r, struct resp *w, struct err *err)
{
    struct collection_query all = {0};
    struct node at;
    int64_t total;
    if (!read_node(r->path_vars[0], &at))
        return route_not_found(err);
    TRY(public_collection_count(r->ledger, r->arena, &all, &total, err));
    int top = top_level(total);
    if (at.index * span_of(at.level) >= total || at.level > (top ? top : 1))
        return route_not_found(err);
    TRY(put_collection_node(r, &w->body, at, total, err));
    return stac_finish(r, w, -1, err);
}

/* ---- items of a year ------------------------------------------------------------------------- */

struct year {
    struct req *r;
    struct buf *b;
    struct str collection;
    int year;
    int64_t total;
};

static enum rc put_item_link(void *ctx, struct str id, struct err *err)
{
    struct year *y = ctx;
    char title[STAC_ID_MAX + 1];
    (void)err;
    snprintf(title, sizeof title, "%.*s", STR_FMT(id));
    stac_link(y->b, y->r->base, "item", "application/geo+json", title,
              "/stac/collections/%.*s/items/%s", STR_FMT(y->collection), title);
    return RC_OK;
}

static enum rc put_items_below(struct year *y, int level, int64_t first, struct err *err)
{
    int64_t span = span_of(level);
    if (level == 0)
        return public_item_year_ids(y->r->ledger, y->collection, y->year, first, STAC_FAN,
                                    put_item_link, y, err);
    for (int64_t i = 0; i < STAC_FAN && first + i * span < y->total; i++) {
        int64_t from = first + i * span, to = from + span < y->total ? from + span : y->total;
        char title[96];
        node_title(title, "Items", from, to);
        stac_link(y->b, y->r->base, "child", "application/json", title,
                  "/stac/collections/%.*s/years/%04d/%d-%lld", STR_FMT(y->collection), y->year,
                  level, (long long)(from / span));
    }
    return RC_OK;
}

/* level 0 and index 0 stand for the year itself. */
static enum rc put_year(struct year *y, struct node at, struct err *err)
{
    struct buf *b = y->b;
    struct str base = y->r->base, c = y->collection;
    int top = top_level(y->total);
    char title[STAC_ID_MAX + 96], id[STAC_ID_MAX + 64];
    snprintf(title, sizeof title, "%.*s in %04d", STR_FMT(c), y->year);
    if (at.level)
        snprintf(id, sizeof id, "%.*s-%04d-%d-%lld", STR_FMT(c), y->year, at.level,
                 (long long)at.index);
    else
        snprintf(id, sizeof id, "%.*s-%04d", STR_FMT(c), y->year);
    begin_catalog(b, id, title);
    stac_link(b, base, "self", "application/json", title, "%.*s", STR_FMT(y->r->path));
    stac_link(b, base, "root", "application/json", "Catalog", "/stac");
    if (at.level == 0)
        stac_link(b, base, "parent", "application/json", NULL, "/stac/collections/%.*s",
                  STR_FMT(c));
    else if (at.level >= top)
        stac_link(b, base, "parent", "application/json", NULL, "/stac/collections/%.*s/years/%04d",
                  STR_FMT(c), y->year);
    else
        stac_link(b, base, "parent", "application/json", NULL,
                  "/stac/collections/%.*s/years/%04d/%d-%lld", STR_FMT(c), y->year, at.level + 1,
                  (long long)(at.index / STAC_FAN));
    TRY(put_items_below(y, at.level ? at.level - 1 : top, at.index * span_of(at.level), err));
    buf_puts(b, "]}");
    return RC_OK;
}

static enum rc find_year(struct req *r, struct resp *w, struct year *ret, struct err *err)
{
    int64_t year;
    struct str c = r->path_vars[0], v = r->path_vars[1];
    if (!str_is_slug(c, STAC_ID_MAX) || v.n != 4 || str_to_i64(v, &year) != RC_OK || year < 1)
        return route_not_found(err);
    *ret = (struct year){.r = r, .b = &w->body, .collection = c, .year = (int)year};
    TRY(public_item_year_count(r->ledger, c, (int)year, &ret->total, err));
    return ret->total > 0 ? RC_OK : route_not_found(err);
}

enum rc stac_year(struct req *r, struct resp *w, struct err *err)
{
    struct year y;
    TRY(find_year(r, w, &y, err));
    TRY(put_year(&y, (struct node){0, 0}, err));
    return stac_finish(r, w, -1, err);
}

enum rc stac_year_node(struct req *r, struct resp *w, struct err *err)
{
    struct year y;
    struct node at;
    if (!read_node(r->path_vars[2], &at))
        return route_not_found(err);
    TRY(find_year(r, w, &y, err));
    int top = top_level(y.total);
    if (at.index * span_of(at.level) >= y.total || at.level > (top ? top : 1))
        return route_not_found(err);
    TRY(put_year(&y, at, err));
    return stac_finish(r, w, -1, err);
}
