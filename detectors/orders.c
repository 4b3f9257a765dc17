/* orders: numbers of sources are read a page ahead of the room that the engine has, and offered in
 * laps: what cannot begin yet is passed by and offered again. */
#include "detectors/orders.h"
#include "core/json.h"
#include "ledger/request.h"
#include "ledger/trigger.h"

#define ORDERS_MAX 16            /* side by side; more wait in the ledger */
#define PAGE 256                 /* sources of an order read at a time */
#define WAITING_MAX 65536        /* of an order, known and not added: half a MiB */
#define RUN 1024                 /* sources offered at once; more than there is ever room for */
#define ORDER_MEMORY (16u << 20) /* a request, read and forgotten */

/* Which sources an order means. */
struct wanted {
    const char *source, *url, *trigger; /* NULL or one of them */
    bool all;
};

struct order {
    int64_t no;         /* of the request; 0: free place */
    int trigger;        /* enum trigger_type, -1: any */
    int64_t last_no;    /* newest source when it was taken; 0 for one source */
    int64_t read_no;    /* read so far; 0 for one source */
    int64_t *todo;      /* known and not added */
    size_t n, room, at; /* at: those before it were offered on this lap */
    int64_t added, ended;
};

struct orders {
    struct ledger *ledger;
    struct arena arena, one; /* a request; a declaration */
    int64_t taken_no;        /* newest request that was taken */
    struct order all[ORDERS_MAX];
};

enum rc orders_new(struct ledger *l, struct orders **ret, struct err *err)
{
    struct orders *o = calloc(1, sizeof *o);
    if (!o)
        return err_set(err, RC_NOMEM, "", "no memory for check requests");
    o->ledger = l;
    arena_init(&o->arena, ORDER_MEMORY);
    arena_init(&o->one, SOURCE_MEMORY_MAX);
    *ret = o;
    return RC_OK;
}

void orders_free(struct orders **o)
{
    if (!*o)
        return;
    for (int i = 0; i < ORDERS_MAX; i++)
        free((*o)->all[i].todo);
    arena_release(&(*o)->arena);
    arena_release(&(*o)->one);
    free(*o);
    *o = NULL;
}

/* ---- which sources --------------------------------------------------------------------------- */

struct page {
    int64_t nos[PAGE];
    size_t n;
    int64_t read_no; /* read so far; the next page begins behind it */
    bool end;
};

static enum rc collect(void *ctx, int64_t src_no, int64_t due_at, struct err *err)
{
    struct page *p = ctx;
    (void)due_at, (void)err;
    p->nos[p->n++] = src_no;
    return RC_OK;
}

/* Numbers only, but where the order is for a kind of trigger: a declaration that cannot be read is
 * its own check's trouble. */
static enum rc read_page(struct orders *o, int trigger, struct page *p, struct err *err)
{
    size_t kept = 0;
    p->n = 0;
    TRY(check_active_after(o->ledger, p->read_no, PAGE, collect, p, err));
    p->end = p->n < PAGE;
    if (p->n > 0)
        p->read_no = p->nos[p->n - 1];
    for (size_t i = 0; i < p->n; i++) {
        bool wanted = true;
        if (trigger >= 0)
            TRY(trigger_wanted(o->ledger, &o->one, p->nos[i], (enum trigger_type)trigger, 0,
                               &wanted, err));
        if (wanted)
            p->nos[kept++] = p->nos[i];
    }
    p->n = kept;
    return RC_OK;
}

static enum rc reserve(struct order *w, size_t n, struct err *err)
{
    if (w->n + n <= w->room)
        return RC_OK;
    size_t room = 2 * w->room > w->n + n ? 2 * w->room : w->n + n;
    int64_t *todo = reallocarray(w->todo, room, sizeof *todo);
    if (!todo)
        return err_set(err, RC_NOMEM, "", "no memory for an order");
    w->todo = todo;
    w->room = room;
    return RC_OK;
}

static enum rc next_page(struct orders *o, struct order *w, struct err *err)
{
    struct page p = {.read_no = w->read_no};
    TRY(reserve(w, PAGE, err));
    TRY(read_page(o, w->trigger, &p, err));
    for (size_t i = 0; i < p.n && p.nos[i] <= w->last_no; i++)
        w->todo[w->n++] = p.nos[i];
    w->read_no = p.end ? w->last_no : p.read_no;
    return RC_OK;
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

static enum rc want_source(const struct source *s, struct order *ret, struct err *err)
{
    if (s->retired_at >= 0)
        return err_set(err, RC_GONE, "source", "the source is retired");
    if (source_is_unlisted(s))
        return err_set(err, RC_GONE, "source", "its listing no longer names it");
    TRY(reserve(ret, 1, err));
    ret->todo[ret->n++] = s->no;
    return RC_OK;
}

static enum rc want_one(struct orders *o, const char *id, struct order *ret, struct err *err)
{
    struct source s;
    TRY(source_by_id(o->ledger, &o->arena, id, &s, err));
    return want_source(&s, ret, err);
}

/* Those with an address. */
struct same_url {
    struct order *ret;
    int64_t first_no;
};

/* All public ones: how many an order means is told to whoever gave it, who may not know of
 * others (I8). */
static enum rc want_open(void *ctx, const struct source *s, struct err *err)
{
    struct same_url *w = ctx;
    if (!w->first_no)
        w->first_no = s->no;
    if (s->level != LEVEL_PUBLIC || s->retired_at >= 0 || source_is_unlisted(s))
        return RC_OK;
    return want_source(s, w->ret, err);
}

/* Where none of them is public, the first: whoever gave the order knew it. */
static enum rc want_url(struct orders *o, const char *url, struct order *ret, struct err *err)
{
    struct same_url w = {.ret = ret};
    struct source s;
    TRY(source_each_by_url(o->ledger, url, want_open, &w, err));
    if (ret->n > 0)
        return RC_OK;
    TRY(source_by_no(o->ledger, &o->arena, w.first_no, &s, err));
    return want_source(&s, ret, err);
}

static enum rc want_many(struct orders *o, const struct wanted *w, struct order *ret,
                         int64_t *ret_total, struct err *err)
{
    struct page p = {0};
    enum trigger_type type = TRIGGER_MANUAL;
    if (w->trigger && trigger_parse(w->trigger, &type) != RC_OK)
        return err_set(err, RC_INVALID, "trigger", "no such kind of trigger");
    ret->trigger = w->trigger ? (int)type : -1;
    for (*ret_total = 0; !p.end; *ret_total += (int64_t)p.n)
        TRY(read_page(o, ret->trigger, &p, err));
    ret->last_no = p.read_no;
    return RC_OK;
}

/* What the order means; the error of an order that means nothing is told to its sender. */
static enum rc understand(struct orders *o, const struct check_request *r, struct order *ret,
                          int64_t *ret_total, struct err *err)
{
    struct wanted w;
    TRY(read_body(&o->arena, r->body, &w, err));
    if (!w.source && !w.url)
        return want_many(o, &w, ret, ret_total, err);
    TRY(w.source ? want_one(o, w.source, ret, err) : want_url(o, w.url, ret, err));
    *ret_total = (int64_t)ret->n;
    return RC_OK;
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
    *place = (struct order){.trigger = -1};
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
    return w->n == 0 && w->read_no >= w->last_no;
}

/* How many in a row have no check under way? */
static size_t run_length(const struct order *w, const struct detect *d)
{
    size_t n = 0;
    while (n < RUN && w->at + n < w->n && !detect_has(d, w->todo[w->at + n]))
        n++;
    return n;
}

/* Offers some, from `at` on. Those that have to wait for their host or for another check of theirs
 * stay and are passed by. *ret_more: going on makes sense. */
static enum rc feed_some(struct order *w, struct detect *d, bool *ret_more, struct err *err)
{
    size_t gone = 0, full = 0, run = run_length(w, d);
    int64_t *from = w->todo + w->at;
    if (run == 0) {
        w->at++;
        return RC_OK;
    }
    enum rc rc = detect_add_some(d, from, run, "requested", w->no, &gone, &full, err);
    memmove(from + full, from + gone, (w->n - w->at - gone) * sizeof *from);
    w->n -= gone - full;
    w->at += full;
    w->added += (int64_t)(gone - full);
    *ret_more = gone == run;
    return rc;
}

/* To the end of a lap over those that wait, and on to others as long as there is room. */
static enum rc feed_one(struct orders *o, struct order *w, struct detect *d, struct err *err)
{
    bool more = true;
    if (w->at >= w->n)
        w->at = 0;
    while (more && detect_has_room(d)) {
        if (w->at < w->n)
            TRY(feed_some(w, d, &more, err));
        else if (w->read_no < w->last_no && w->n + PAGE <= WAITING_MAX)
            TRY(next_page(o, w, err));
        else
            break;
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
        free(w->todo);
        *w = (struct order){0};
    }
    return RC_OK;
}
