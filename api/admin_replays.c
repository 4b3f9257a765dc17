/* admin_replays: POST /admin/replays asks for the log to be replayed, GET tells how it ended.
 *
 * Invariants
 *   1. 202 is said after the request is durable; a handler carries it out (handler/orders.h). One at a
 *      time: 409 while another is open.
 *   2. A window of more than REPLAYS_DAYS_MAX days needs the name of somebody else who approved it.
 *   3. Numbers of a replay of all sources count withheld ones too, so they are shown only to tokens that
 *      may know of those. A replay of one that the caller may not know of answers like one that never was.
 * Called by the intake's router. */
#include "api/admin.h"
#include "core/clock.h"
#include "ledger/policy.h"
#include "ledger/replays.h"

#define LIST_DEFAULT 100
#define LIST_MAX 1000

static const char *const FIELDS[] = {"since", "until", "source", "approved_by"};

/* ---- POST ------------------------------------------------------------------------------------------ */

static enum rc read_time(yyjson_val *body, const char *field, int64_t *ret, struct err *err)
{
    const char *text = NULL;
    TRY(json_get_str(body, field, &text, err));
    if (text && time_parse(str_of(text), ret) != RC_OK)
        return err_set(err, RC_INVALID, field, "must be a time like 2026-07-02T10:00:00Z");
    return RC_OK;
}

static enum rc check_approval(const struct req *r, const struct replay_wish *x, struct err *err)
{
    if (x->approved_by) {
        TRY(policy_check_text("approved_by", x->approved_by, PERSON_MAX, err));
        if (policy_same_person(x->approved_by, r->token->name))
            return err_set(err, RC_INVALID, "approved_by", "must be somebody else than who asks");
    } else if (x->until - x->since > REPLAYS_DAYS_MAX * DAY_MS) {
        return err_set(err, RC_INVALID, "approved_by",
                       "is needed for a window of more than %d days", REPLAYS_DAYS_MAX);
    }
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
    if (x.until <= x.since)
        return err_set(err, RC_INVALID, "until", "must be after since");
    TRY(check_approval(r, &x, err));
    if (id)
        TRY(admin_source(r, id, NULL, &s, err));
    x.src_no = s.no;
    x.body = buf_view(canon);
    *ret = x;
    return RC_OK;
}

static void put_url(struct buf *b, const struct req *r, const char *id)
{
    put_key(b, "status_url");
    buf_byte(b, '"');
    buf_str(b, r->base);
    buf_printf(b, "/admin/replays/%s\"", id);
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
    w->status = 202;
    buf_byte(&w->body, '{');
    put_text(&w->body, "replay_id", id);
    put_url(&w->body, r, id);
    buf_byte(&w->body, '}');
    resp_header(w, "Location", "%.*s/admin/replays/%s", STR_FMT(r->base), id);
    return RC_OK;
}

/* ---- GET ------------------------------------------------------------------------------------------- */

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
    buf_byte(b, '{');
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
    put_url(b, r, x->id);
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

struct list {
    struct req *r;
    struct resp *w;
    size_t n;
};

static enum rc put_one(void *ctx, const struct replay_request *x, struct err *err)
{
    struct list *l = ctx;
    struct source s;
    const struct source *of;
    enum rc rc = source_of(l->r, x, &s, &of, err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    if (l->n++)
        buf_byte(&l->w->body, ',');
    put_replay(&l->w->body, l->r, x, of);
    return RC_OK;
}

enum rc replays_list(struct req *r, struct resp *w, struct err *err)
{
    struct list l = {.r = r, .w = w};
    int64_t limit;
    TRY(param_limit(req_param(r, "limit"), LIST_DEFAULT, LIST_MAX, &limit, err));
    buf_puts(&w->body, "{\"replays\":[");
    TRY(replays_each(r->ledger, limit, put_one, &l, err));
    buf_puts(&w->body, "]}");
    return RC_OK;
}
