/* stac_collections: one collection, and the search over collections. Ordered by id, which is
 * their title. */
#include "api/stac.h"

struct listing {
    struct req *r;
    struct buf *b, one;
    const struct stac_fields *fields;
    int64_t limit, n, newest;
    bool more;
    size_t ends[STAC_LIMIT_MAX];
    struct str first, last;
};

static enum rc put_one(void *ctx, const struct public_collection *c, struct err *err)
{
    struct listing *x = ctx;
    struct err failed = {0};
    x->newest = c->at;
    stac_put_collection(x->b, c, x->r, &failed);
    return failed.rc == RC_OK ? RC_OK : err_set(err, failed.rc, "", "%s", failed.msg);
}

enum rc stac_collection_one(struct req *r, struct resp *w, struct err *err)
{
    struct listing x = {.r = r, .b = &w->body};
    if (!str_is_slug(r->path_vars[0], STAC_ID_MAX))
        return route_not_found(err);
    TRY(route_lookup(public_collection_get(r->ledger, r->path_vars[0], put_one, &x, err), err));
    return stac_finish(r, w, x.newest, err);
}

static enum rc add_row(void *ctx, const struct public_collection *c, struct err *err)
{
    struct listing *x = ctx;
    struct err failed = {0};
    if (x->n == x->limit) {
        x->more = true;
        return RC_OK;
    }
    bool chosen = x->fields->n_include || x->fields->n_exclude;
    buf_clear(&x->one);
    stac_put_collection(chosen ? &x->one : x->b, c, x->r, &failed);
    if (failed.rc != RC_OK)
        return err_set(err, failed.rc, "", "%s", failed.msg);
    if (chosen)
        TRY(stac_put_fields(x->b, buf_view(&x->one), x->fields, err));
    x->ends[x->n++] = x->b->len;
    x->newest = c->at > x->newest ? c->at : x->newest;
    x->last = (struct str){arena_str(x->r->arena, c->id), c->id.n};
    if (x->n == 1)
        x->first = x->last;
    return RC_OK;
}

/* By id or title, which are the same. A cursor is n or p and the id that it goes on from. */
static enum rc read_query(struct req *r, struct collection_query *q, struct stac_fields *f,
                          struct err *err)
{
    struct str v, *list;
    struct place *box;
    struct sort_by by[ITEM_SORT_MAX];
    size_t n = 0;
    TRY(param_limit(req_param(r, "limit"), STAC_LIMIT_DEFAULT * 10, STAC_LIMIT_MAX, &q->limit,
                    err));
    if ((v = req_param(r, "bbox")).p) {
        TRY(stac_bbox(r->arena, v, &box, err));
        q->area = box;
    }
    if ((v = req_param(r, "datetime")).p)
        TRY(stac_datetime(r->arena, v, &q->from, &q->until, err));
    if ((v = req_param(r, "q")).p) {
        TRY(stac_list(r->arena, "q", v, STAC_WORDS_MAX, &list, &q->n_words, err));
        q->words = list;
    }
    if ((v = req_param(r, "fields")).p)
        TRY(stac_fields_read(r->arena, v, f, err));
    if ((v = req_param(r, "sortby")).p) {
        TRY(stac_sortby(r->arena, v, by, &n, err));
        if (!str_is(by[0].field, "id") && !str_is(by[0].field, "title"))
            return err_set(err, RC_INVALID, "sortby", "collections are sorted by id or title");
        q->down = by[0].down;
    }
    if (!(v = req_param(r, "token")).p)
        return RC_OK;
    struct str id = {v.p + 1, v.n ? v.n - 1 : 0};
    if (v.n < 2 || (v.p[0] != 'n' && v.p[0] != 'p') || !str_is_slug(id, STAC_ID_MAX))
        return err_set(err, RC_INVALID, "token", "is not a place in this list; start without it");
    *(v.p[0] == 'n' ? &q->after : &q->before) = id;
    return RC_OK;
}

static void put_rows(struct buf *out, const struct listing *x, bool turned)
{
    for (int64_t k = 0; k < x->n; k++) {
        int64_t i = turned ? x->n - 1 - k : k;
        size_t from = i ? x->ends[i - 1] : 0;
        buf_puts(out, k ? "," : "");
        buf_add(out, x->b->data + from, x->ends[i] - from);
    }
}

static void put_page_link(struct buf *b, struct req *r, const char *rel, char way, struct str id)
{
    char token[STAC_ID_MAX + 2];
    snprintf(token, sizeof token, "%c%.*s", way, STR_FMT(id));
    buf_printf(b, ",{\"rel\":\"%s\",\"href\":\"", rel);
    stac_put_self(b, r, token);
    buf_puts(b, "\",\"type\":\"application/json\"}");
}

static void put_links(struct buf *b, struct req *r, const struct listing *x,
                      const struct collection_query *q)
{
    bool back = q->before.n > 0;
    struct str token = req_param(r, "token");
    struct str first = back ? x->last : x->first, last = back ? x->first : x->last;
    buf_puts(b, "],\"links\":[{\"rel\":\"self\",\"href\":\"");
    stac_put_self(b, r, token.p);
    buf_puts(b, "\",\"type\":\"application/json\",\"title\":\"Collections\"}");
    stac_link(b, r->base, "root", "application/json", "Catalog", "/stac");
    stac_link(b, r->base, "parent", "application/json", "Catalog", "/stac");
    if (x->n && (back || x->more))
        put_page_link(b, r, "next", 'n', last);
    if (x->n && (back ? x->more : q->after.n > 0))
        put_page_link(b, r, "prev", 'p', first);
    buf_byte(b, ']');
}

enum rc stac_collections(struct req *r, struct resp *w, struct err *err)
{
    struct collection_query q = {0};
    struct stac_fields *f = ARENA_NEW(r->arena, struct stac_fields);
    struct listing *x = ARENA_NEW(r->arena, struct listing);
    CLEANUP(buf_release) struct buf rows = {0}, one = {0};
    int64_t matched;
    buf_init(&rows, RESP_BODY_MAX);
    buf_init(&one, RESP_BODY_MAX);
    if (!f || !x)
        return err_set(err, RC_NOMEM, "", "no memory for a page");
    TRY(read_query(r, &q, f, err));
    *x = (struct listing){
        .r = r, .b = &rows, .one = one, .fields = f, .limit = q.limit, .newest = -1};
    q.limit++;
    enum rc rc = public_collection_search(r->ledger, r->arena, &q, add_row, x, err);
    one = x->one;
    TRY(rc);
    TRY(public_collection_count(r->ledger, r->arena, &q, &matched, err));
    buf_puts(&w->body, "{\"collections\":[");
    put_rows(&w->body, x, q.before.n > 0);
    put_links(&w->body, r, x, &q);
    buf_printf(&w->body, ",\"numberMatched\":%lld,\"numberReturned\":%lld}", (long long)matched,
               (long long)x->n);
    return stac_finish(r, w, x->newest, err);
}
