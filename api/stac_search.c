/* stac_search: one item, the items of a collection, and searches over all.
 *
 * Invariants
 *   1. One row more than the page is read: whether there is a next page is known, not guessed.
 *   2. Going back reads in the other direction; the page is turned before it leaves.
 *   3. Items go from the ledger into the one output buffer, without a copy between. */
#include "api/conditional.h"
#include "api/stac.h"
#include "api/prov.h"

#include <stdlib.h>

struct page {
    struct req *r;
    struct stac_query *q;
    struct buf *out;
    size_t at[STAC_LIMIT_MAX]; /* where each item begins in out */
    int64_t n, newest;
    bool more;
    struct buf first, last, one; /* tokens; one item while its fields are chosen */
    struct etag etag;
};

static enum rc add_row(void *ctx, const struct public_item *i, const struct sort_value *keys,
                       size_t n_keys, struct err *err)
{
    struct page *p = ctx;
    const struct stac_fields *f = &p->q->fields;
    bool back = p->q->q.backward;
    if (p->n == p->q->q.limit - 1) {
        p->more = true;
        return RC_OK;
    }
    if (p->n)
        buf_byte(p->out, ',');
    p->at[p->n] = p->out->len;
    if (f->n_include || f->n_exclude) {
        buf_clear(&p->one);
        stac_put_item(&p->one, i, p->r->base);
        TRY(stac_put_fields(p->out, buf_view(&p->one), f, err));
    } else {
        stac_put_item(p->out, i, p->r->base);
    }
    if (p->n == 0)
        stac_token_put(&p->first, &p->q->q, keys, n_keys, !back);
    if (p->n == p->q->q.limit - 2)
        stac_token_put(&p->last, &p->q->q, keys, n_keys, back);
    etag_int(&p->etag, i->gen);
    etag_str(&p->etag, i->id);
    etag_str(&p->etag, i->latest);
    etag_str(&p->etag, i->next);
    p->newest = i->at > p->newest ? i->at : p->newest;
    p->n++;
    return RC_OK;
}

/* The last item first. */
static enum rc turn(struct page *p, struct err *err)
{
    CLEANUP(buf_release) struct buf rows = {0};
    struct buf *out = p->out;
    if (p->n < 2 || buf_rc(out) != RC_OK)
        return RC_OK;
    size_t end = out->len;
    buf_init(&rows, RESP_BODY_MAX);
    for (int64_t i = p->n - 1; i >= 0; i--) {
        buf_add(&rows, out->data + p->at[i], end - p->at[i]);
        if (i)
            buf_byte(&rows, ',');
        end = p->at[i] - 1;
    }
    if (buf_rc(&rows) != RC_OK)
        return err_set(err, buf_rc(&rows), "", "no memory for a page");
    memcpy(out->data + p->at[0], rows.data, rows.len);
    return RC_OK;
}

/* A link to another page: of a POST with the body to send. */
static enum rc put_page_link(struct buf *b, const struct page *p, const char *rel, struct str token,
                             yyjson_val *body, struct err *err)
{
    struct req *r = p->r;
    struct str text;
    buf_printf(b, ",{\"rel\":\"%s\",\"href\":\"", rel);
    stac_put_self(b, r, body ? NULL : token.p);
    buf_puts(b, "\",\"type\":\"application/geo+json\"");
    if (body) {
        yyjson_mut_doc *d = json_doc(r->arena);
        yyjson_mut_val *o = yyjson_val_mut_copy(d, body);
        yyjson_mut_doc_set_root(d, o);
        yyjson_mut_obj_remove_key(o, "token");
        yyjson_mut_obj_add_strcpy(d, o, "token", token.p);
        TRY(json_write(r->arena, d, 0, &text, err));
        buf_puts(b, ",\"method\":\"POST\",\"body\":");
        buf_str(b, text);
    }
    buf_byte(b, '}');
    return RC_OK;
}

static enum rc put_links(struct buf *b, const struct page *p, yyjson_val *body, struct err *err)
{
    bool back = p->q->q.backward;
    bool next = back ? p->n > 0 : p->more, prev = back ? p->more : p->n > 0 && p->q->has_token;
    struct str first = buf_view(&p->first), last = buf_view(&p->last);
    buf_puts(b, "\"links\":[{\"rel\":\"self\",\"href\":\"");
    stac_put_self(b, p->r, p->q->has_token && !body ? p->q->token.p : NULL);
    buf_puts(b, "\",\"type\":\"application/geo+json\"}");
    stac_link(b, p->r->base, "root", "application/json", "Catalog", "/stac");
    if (str_ends(p->r->path, STR("/items"))) {
        struct str c = p->r->path_vars[0];
        stac_link(b, p->r->base, "collection", "application/json", "Collection",
                  "/stac/collections/%.*s", STR_FMT(c));
    }
    if (next)
        TRY(put_page_link(b, p, "next", back ? first : last, body, err));
    if (prev)
        TRY(put_page_link(b, p, "prev", back ? last : first, body, err));
    buf_byte(b, ']');
    return RC_OK;
}

static enum rc fill(struct page *p, struct resp *w, yyjson_val *body, struct err *err)
{
    struct req *r = p->r;
    struct public_meta m = {0};
    struct buf *b = &w->body;
    int64_t matched;
    TRY(public_meta_get(r->ledger, r->arena, &m, err));
    p->etag = etag_start(m.policy_version, r->base);
    p->newest = -1;
    p->q->q.limit++;
    p->out = b;
    buf_puts(b, "{\"type\":\"FeatureCollection\",\"features\":[");
    TRY(public_item_search(r->ledger, r->arena, &p->q->q, add_row, p, &matched, err));
    if (p->q->q.backward)
        TRY(turn(p, err));
    buf_puts(b, "],");
    TRY(put_links(b, p, body, err));
    buf_printf(b, ",\"numberMatched\":%lld,\"numberReturned\":%lld}", (long long)matched,
               (long long)p->n);
    w->last_modified = p->newest >= 0 ? p->newest : stac_day(m.changed_at);
    w->etag_only = true;
    etag_int(&p->etag, matched);
    etag_int(&p->etag, p->more);
    etag_str(&p->etag, r->path);
    etag_str(&p->etag, r->query);
    if (!body)
        etag_set(&p->etag, w);
    return RC_OK;
}

static enum rc answer(struct req *r, struct resp *w, struct stac_query *q, yyjson_val *body,
                      struct err *err)
{
    struct page *p = ARENA_NEW(r->arena, struct page);
    if (!p)
        return err_set(err, RC_NOMEM, "", "no memory for a page");
    p->r = r;
    p->q = q;
    buf_init(&p->first, 8192);
    buf_init(&p->last, 8192);
    buf_init(&p->one, RESP_BODY_MAX);
    TRY(ledger_read_begin(r->ledger, err)); /* count, rows and their versions as of one moment */
    enum rc rc = fill(p, w, body, err);
    ledger_read_end(r->ledger);
    buf_release(&p->first);
    buf_release(&p->last);
    buf_release(&p->one);
    return rc;
}

enum rc stac_search(struct req *r, struct resp *w, struct err *err)
{
    struct stac_query q;
    TRY(stac_query_get(r, &q, err));
    return answer(r, w, &q, NULL, err);
}

enum rc stac_search_post(struct req *r, struct resp *w, struct err *err)
{
    struct stac_query q;
    yyjson_val *body;
    TRY(stac_query_post(r, &q, &body, err));
    return answer(r, w, &q, body, err);
}

static enum rc is_there(void *ctx, const struct public_collection *c, struct err *err)
{
    (void)ctx;
    (void)c;
    (void)err;
    return RC_OK;
}

enum rc stac_items(struct req *r, struct resp *w, struct err *err)
{
    struct stac_query q;
    if (!str_is_slug(r->path_vars[0], STAC_ID_MAX))
        return route_not_found(err);
    TRY(route_lookup(public_collection_get(r->ledger, r->path_vars[0], is_there, NULL, err), err));
    TRY(stac_query_get(r, &q, err));
    q.q.collections = &r->path_vars[0];
    q.q.n_collections = 1;
    return answer(r, w, &q, NULL, err);
}

enum rc stac_item_one(struct req *r, struct resp *w, struct err *err)
{
    struct public_item i = {0};
    struct public_meta m = {0};
    struct str collection = r->path_vars[0], id = r->path_vars[1];
    if (!str_is_slug(collection, STAC_ID_MAX) || !str_is_slug(id, STAC_ID_MAX))
        return route_not_found(err);
    TRY(route_lookup(public_item_get(r->ledger, r->arena, collection, id, &i, err), err));
    TRY(public_meta_get(r->ledger, r->arena, &m, err));
    stac_put_item(&w->body, &i, r->base);
    prov_link(w, r->base, i.doc);
    struct etag e = etag_start(m.policy_version, r->base);
    etag_int(&e, i.gen);
    etag_str(&e, i.latest);
    etag_str(&e, i.next);
    etag_set(&e, w);
    w->last_modified = i.at;
    w->etag_only = true; /* a new version and a removal mark an item, and move no date of it */
    return RC_OK;
}
