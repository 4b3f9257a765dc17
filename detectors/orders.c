/* orders: see the header. */
#include "detectors/orders.h"
#include "core/json.h"
#include "ledger/request.h"
#include "ledger/trigger.h"

#define ORDERS_MAX 16            /* side by side; more wait in the ledger */
#define PAGE 256                 /* sources of an order known at a time */
#define ORDER_MEMORY (16u << 20) /* a request and one source, read and forgotten */

/* Which sources an order means. */
struct wanted {
    const char *source, *url, *trigger; /* NULL or one of them */
    bool all;
};

struct order {
    int64_t no;               /* of the request; 0: free place */
    bool every;               /* all sources up to last_no that match, else only those in page */
    int trigger;              /* enum trigger_type, -1: any */
    int64_t last_no, read_no; /* newest source when it was taken; read so far */
    int64_t page[PAGE];       /* sources to be added next */
    size_t n;
    int64_t added, ended;
};

struct orders {
    struct ledger *ledger;
    struct arena arena;
    int64_t taken_no; /* newest request that was taken */
    struct order all[ORDERS_MAX];
};

enum rc orders_new(struct ledger *l, struct orders **ret, struct err *err)
{
    struct orders *o = calloc(1, sizeof *o);
    if (!o)
        return err_set(err, RC_NOMEM, "", "no memory for check requests");
    o->ledger = l;
    arena_init(&o->arena, ORDER_MEMORY);
    *ret = o;
    return RC_OK;
}

void orders_free(struct orders **o)
{
    if (!*o)
        return;
    arena_release(&(*o)->arena);
    free(*o);
    *o = NULL;
}

/* ---- which sources --------------------------------------------------------------------------- */

static bool matches(const struct order *w, const struct source *s)
{
    if (s->retired_at >= 0 || source_is_unlisted(s))
        return false;
    return w->trigger < 0 || trigger_of_type(s, (enum trigger_type)w->trigger, 0);
}

struct counting {
    struct order *order;
    int64_t n;
};

static enum rc count_one(void *ctx, const struct source *s, struct err *err)
{
    struct counting *c = ctx;
    (void)err;
    c->n += matches(c->order, s);
    c->order->last_no = s->no;
    return RC_OK;
}

/* RC_BUSY ends the walk: the page is full. */
static enum rc collect_one(void *ctx, const struct source *s, struct err *err)
{
    struct order *w = ctx;
    if (w->n == PAGE || s->no > w->last_no)
        return err_set(err, RC_BUSY, "", "enough");
    w->read_no = s->no;
    if (matches(w, s))
        w->page[w->n++] = s->no;
    return RC_OK;
}

static enum rc next_page(struct orders *o, struct order *w, struct err *err)
{
    w->n = 0;
    enum rc rc = source_each(o->ledger, w->read_no, collect_one, w, err);
    if (rc == RC_OK)
        w->read_no = w->last_no;
    return rc == RC_BUSY ? RC_OK : rc;
}

/* ---- taking ---------------------------------------------------------------------------------- */

static enum rc read_body(struct arena *a, struct str body, struct wanted *ret, struct err *err)
{
    yyjson_val *doc;
    struct wanted w = {0};
    TRY(json_parse(a, body, 0, "request", &doc, err));
    TRY(json_get_str(doc, "source", &w.source, err));
    TRY(json_get_str(doc, "url", &w.url, err));
    TRY(json_get_str(doc, "trigger", &w.trigger, err));
    TRY(json_get_bool(doc, "all", &w.all, err));
    if (!!w.source + !!w.url + !!w.trigger + w.all != 1)
        return err_set(err, RC_INVALID, "", "name one of source, url, trigger or all");
    *ret = w;
    return RC_OK;
}

static enum rc want_one(struct orders *o, const struct wanted *w, struct order *ret,
                        int64_t *ret_total, struct err *err)
{
    struct source s;
    if (w->source)
        TRY(source_by_id(o->ledger, &o->arena, w->source, &s, err));
    else
        TRY(source_by_url(o->ledger, &o->arena, w->url, &s, err));
    if (s.retired_at >= 0)
        return err_set(err, RC_GONE, "source", "the source is retired");
    if (source_is_unlisted(&s))
        return err_set(err, RC_GONE, "source", "its listing no longer names it");
    ret->page[ret->n++] = s.no;
    *ret_total = 1;
    return RC_OK;
}

static enum rc want_many(struct orders *o, const struct wanted *w, struct order *ret,
                         int64_t *ret_total, struct err *err)
{
    struct counting c = {ret, 0};
    enum trigger_type type = TRIGGER_MANUAL;
    if (w->trigger && trigger_parse(w->trigger, &type) != RC_OK)
        return err_set(err, RC_INVALID, "trigger", "no such kind of trigger");
    ret->trigger = w->trigger ? (int)type : -1;
    ret->every = true;
    TRY(source_each(o->ledger, 0, count_one, &c, err));
    *ret_total = c.n;
    return RC_OK;
}

/* What the order means; the error of an order that means nothing is told to its sender. */
static enum rc understand(struct orders *o, const struct check_request *r, struct order *ret,
                          int64_t *ret_total, struct err *err)
{
    struct wanted w;
    TRY(read_body(&o->arena, r->body, &w, err));
    return w.source || w.url ? want_one(o, &w, ret, ret_total, err)
                             : want_many(o, &w, ret, ret_total, err);
}

/* An order that cannot be carried out, as opposed to a ledger that cannot be read. */
static bool is_refusal(enum rc rc)
{
    return rc == RC_INVALID || rc == RC_NOT_FOUND || rc == RC_GONE || rc == RC_TOO_LARGE;
}

static enum rc take_one(struct orders *o, struct order *place, int64_t now, struct err *err)
{
    struct check_request r;
    int64_t total = 0;
    arena_reset(&o->arena);
    TRY(request_next(o->ledger, &o->arena, o->taken_no, &r, err));
    memset(place, 0, sizeof *place);
    place->trigger = -1;
    o->taken_no = r.no;
    enum rc rc = understand(o, &r, place, &total, err);
    if (is_refusal(rc))
        return request_finish(o->ledger, r.no, false, err->msg, now, err);
    TRY(rc);
    place->no = r.no;
    return request_start(o->ledger, r.no, total, err);
}

enum rc orders_take(struct orders *o, int64_t now, struct err *err)
{
    for (int i = 0; i < ORDERS_MAX; i++) {
        enum rc rc = RC_OK;
        while (rc == RC_OK && o->all[i].no == 0)
            rc = take_one(o, &o->all[i], now, err);
        if (rc != RC_OK)
            return rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    return RC_OK;
}

/* ---- working off ----------------------------------------------------------------------------- */

static bool all_added(const struct order *w)
{
    return w->n == 0 && (!w->every || w->read_no >= w->last_no);
}

static enum rc add_check(struct order *w, int64_t src_no, struct detect *d, bool *ret_added,
                         struct err *err)
{
    size_t n, full;
    *ret_added = false;
    if (detect_has(d, src_no))
        return RC_OK;
    TRY(detect_add_some(d, &src_no, 1, "requested", w->no, &n, &full, err));
    *ret_added = n > full;
    w->added += *ret_added;
    return RC_OK;
}

/* Those that have to wait, for another check of theirs or for their host, stay on the page and let
 * the others of it pass. */
static enum rc feed_page(struct order *w, struct detect *d, struct err *err)
{
    enum rc rc = RC_OK;
    size_t left = 0;
    for (size_t i = 0; i < w->n; i++) {
        bool added = false;
        if (rc == RC_OK)
            rc = add_check(w, w->page[i], d, &added, err);
        if (!added)
            w->page[left++] = w->page[i];
    }
    w->n = left;
    return rc;
}

static enum rc feed_one(struct orders *o, struct order *w, struct detect *d, struct err *err)
{
    while (!all_added(w)) {
        if (w->n == 0)
            TRY(next_page(o, w, err));
        TRY(feed_page(w, d, err));
        if (w->n > 0)
            return RC_OK;
    }
    return RC_OK;
}

enum rc orders_feed(struct orders *o, struct detect *d, struct err *err)
{
    for (int i = 0; i < ORDERS_MAX; i++)
        if (o->all[i].no != 0)
            TRY(feed_one(o, &o->all[i], d, err));
    return RC_OK;
}

void orders_count(struct orders *o, int64_t request_no)
{
    for (int i = 0; i < ORDERS_MAX; i++)
        if (o->all[i].no == request_no)
            o->all[i].ended++;
}

enum rc orders_finish(struct orders *o, int64_t now, struct err *err)
{
    for (int i = 0; i < ORDERS_MAX; i++) {
        struct order *w = &o->all[i];
        if (w->no == 0 || !all_added(w) || w->ended < w->added)
            continue;
        TRY(request_finish(o->ledger, w->no, true, "", now, err));
        w->no = 0;
    }
    return RC_OK;
}
