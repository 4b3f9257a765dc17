/* admin_replays: POST /admin/replays asks for the log to be replayed, GET tells how it ended.
 *
 * Invariants
 *   1. 202 is said after the request is durable; a handler carries it out (handler/orders.h). One
 *      at a time: 409 while another is open.
 *   2. A long window needs the name of somebody else who approved it (ledger/replays.h).
 *   3. Numbers of a replay of all sources count withheld ones too, so they are shown only to tokens
 *      that may know of those. A replay of one that the caller may not know of answers like one
 *      that never was.
 * Called by the intake's router. */
#include "api/admin.h"
#include "api/put.h"
#include "core/clock.h"
#include "ledger/replays.h"

#define PATH "/admin/replays/"

static const char *const FIELDS[] = {"since", "until", "source", "approved_by"};

/* ---- POST ------------------------------------------------------------------------------------ */

static enum rc read_time(yyjson_val *body, const char *field, int64_t *ret, struct err *err)
{
    const char *text = NULL;
    TRY(json_get_str(body, field, &text, err));
    if (text && time_parse(str_of(text), ret) != RC_OK)
        return err_set(err, RC_INVALID, field, "must be a time like 2026-07-02T10:00:00Z");
    return RC_OK;
}

static enum rc read_wish(struct req *r, struct resp *w, struct replay_wish *ret, struct buf *canon,
                         struct err *err)
{
    yyjson_val *body = NULL;
    size_t known;
    const char *id = NULL;
    struct source s = {0};
    struct replay_wish x = {
        .since = -1, .until = r->now + 1, .by = r->token, .key = r->idempotency_key};
    TRY(admin_body(r, w, FIELDS, ARRAY_LEN(FIELDS), &body, &known, canon, err));
    TRY(read_time(body, "since", &x.since, err));
    TRY(read_time(body, "until", &x.until, err));
    TRY(json_get_str(body, "source", &id, err));
    TRY(json_get_str(body, "approved_by", &x.approved_by, err));
    if (x.since < 0)
        return err_set(err, RC_INVALID, "since", "is needed: a time like 2026-07-02T10:00:00Z");
    TRY(replays_check(x.since, x.until, r->token->name, x.approved_by, err));
    if (id)
        TRY(admin_source(r, id, NULL, &s, err));
    x.src_no = s.no;
    x.body = buf_view(canon);
    *ret = x;
    return RC_OK;
}

enum rc replays_post(struct req *r, struct resp *w, struct err *err)
{
    struct replay_wish wish = {0};
    char id[REPLAYS_ID_MAX];
    CLEANUP(buf_release) struct buf canon = {0};
    buf_init(&canon, JSON_MAX);
    TRY(admin_key(r, err));
    TRY(read_wish(r, w, &wish, &canon, err));
    TRY(replays_ask(r->ledger, &wish, r->now, id, err));
    put_object(&w->body);
    put_text(&w->body, "replay_id", id);
    admin_accepted(r, w, PATH, id);
    return RC_OK;
}

/* ---- GET ------------------------------------------------------------------------------------- */

static void put_count(struct buf *b, const char *key, bool shown, int64_t n)
{
    put_key(b, key);
    if (shown)
        put_digits(b, n);
    else
        buf_puts(b, "null");
}

static void put_replay(struct buf *b, const struct req *r, const struct replay_request *x,
                       const struct source *s)
{
    bool all = r->token->scopes & SCOPE_READ_RESTRICTED;
    bool shown = all || (s && s->level < LEVEL_RESTRICTED);
    put_object(b);
    put_text(b, "replay_id", x->id);
    put_text(b, "state", x->state);
    put_time(b, "since", x->since);
    put_time(b, "until", x->until);
    put_text(b, "source_id", s ? s->id : NULL);
    put_text(b, "asked_by", x->by);
    put_text(b, "approved_by", x->approved_by);
    put_count(b, "rows", shown, x->rows);
    put_count(b, "noop", shown, x->noop);
    put_count(b, "failed", shown, x->failed);
    put_text(b, "detail", shown ? x->detail : NULL);
    put_time(b, "created_at", x->created_at);
    put_time(b, "finished_at", x->finished_at);
    admin_status_url(b, r, PATH, x->id);
    buf_byte(b, '}');
}

/* The source that it was of; one that the caller may not know of is RC_NOT_FOUND. */
static enum rc source_of(struct req *r, const struct replay_request *x, struct source *s,
                         const struct source **ret, struct err *err)
{
    *ret = NULL;
    if (!x->src_no)
        return RC_OK;
    TRY(admin_source_no(r, x->src_no, s, err));
    *ret = s;
    return RC_OK;
}

enum rc replays_one(struct req *r, struct resp *w, struct err *err)
{
    struct replay_request x;
    struct source s;
    const struct source *of;
    struct str id = r->path_vars[0];
    char *text = arena_str(r->arena, id);
    if (!str_starts(id, STR("rpl_")) || !str_is_slug(id, REPLAYS_ID_MAX - 1))
        return route_not_found(err);
    if (!text)
        return err_set(err, RC_NOMEM, "", "no memory for the id");
    TRY(route_lookup(replays_get(r->ledger, r->arena, text, &x, err), err));
    TRY(route_lookup(source_of(r, &x, &s, &of, err), err));
    put_replay(&w->body, r, &x, of);
    return RC_OK;
}

static enum rc put_one(void *ctx, const struct replay_request *x, struct err *err)
{
    struct admin_list *l = ctx;
    struct source s;
    const struct source *of;
    enum rc rc = source_of(l->r, x, &s, &of, err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    put_replay(&l->w->body, l->r, x, of);
    return RC_OK;
}

enum rc replays_list(struct req *r, struct resp *w, struct err *err)
{
    struct admin_list l;
    TRY(admin_list_begin(&l, r, w, "replays", err));
    TRY(replays_each(r->ledger, l.limit, put_one, &l, err));
    admin_list_end(&l);
    return RC_OK;
}
