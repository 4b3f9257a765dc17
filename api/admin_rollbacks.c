/* admin_rollbacks: POST /admin/rollbacks asks to take a change back, or all that came after one, or
 * lifts what an earlier one blocked; GET tells how far it is.
 *
 * Invariants
 *   1. 202 is said after the request is durable, never before. 200: there is nothing to wait for,
 *      as a block was lifted, or the state that is wanted is there.
 *   2. 409 names all that must be taken back first, in deltas[], newest first. A handler asks again
 *      when it begins, so what moves in between ends as failed, with the same words.
 *   3. Changes of a source that the caller may not know of answer like ones that never were.
 * Called by the intake's router. */
#include "api/admin.h"
#include "api/put.h"
#include "ledger/rollback.h"

#define PATH "/admin/rollbacks/"

static const char *const FIELDS[] = {"delta", "to", "lift", "reason"};

/* ---- POST ------------------------------------------------------------------------------------ */

struct wish {
    struct rollback_ask ask; /* of delta or to */
    const char *lift;        /* a source; NULL: it is no lifting */
};

static enum rc read_wish(struct req *r, struct resp *w, struct wish *ret, struct buf *canon,
                         struct err *err)
{
    yyjson_val *body = NULL;
    size_t known;
    const char *delta = NULL, *to = NULL, *reason = NULL;
    struct wish x = {.ask = {.by = r->token->name, .token = r->token, .key = r->idempotency_key}};
    TRY(admin_body(r, w, FIELDS, ARRAY_LEN(FIELDS), &body, &known, canon, err));
    TRY(json_get_str(body, "delta", &delta, err));
    TRY(json_get_str(body, "to", &to, err));
    TRY(json_get_str(body, "lift", &x.lift, err));
    TRY(json_get_str(body, "reason", &reason, err));
    if ((delta != NULL) + (to != NULL) + (x.lift != NULL) != 1 || (delta && !*delta))
        return err_set(err, RC_INVALID, "delta",
                       "give one of delta (delta_manifest_ref of a change ends with it), to (the "
                       "delta or manifest of the state that is wanted), lift (a source)");
    if (!reason || !reason[0])
        return err_set(err, RC_INVALID, "reason", "is needed: it is kept with the rollback");
    x.ask.to = to != NULL;
    x.ask.delta_id = x.lift ? NULL : rollback_delta(r->arena, to ? to : delta);
    if (!x.lift && !x.ask.delta_id)
        return err_set(err, RC_NOMEM, "", "no memory for a delta");
    x.ask.reason = reason;
    x.ask.body = buf_view(canon);
    *ret = x;
    return RC_OK;
}

static enum rc no_such_delta(struct err *err)
{
    return err_set(err, RC_NOT_FOUND, "", "There is no change with this delta.");
}

/* The first few as errors, for people; all of them as a member, for who takes them back. */
static enum rc name_first(struct req *r, struct resp *w, const char *delta, struct err *err)
{
    struct rollback_list first;
    struct err own;
    char text[128];
    if (rollback_first(r->ledger, r->arena, delta, &first, &own) != RC_OK)
        return err_set(err, own.rc, own.field, "%s", own.msg);
    for (size_t i = 0; i < first.n && i < ROLLBACK_NAMED_MAX; i++) {
        snprintf(text, sizeof text, "take back %s first", first.ids[i]);
        resp_error(w, STR("delta"), text);
    }
    buf_puts(&w->extra, ",\"deltas\":[");
    for (size_t i = 0; i < first.n; i++)
        buf_printf(&w->extra, "%s\"%s\"", i ? "," : "", first.ids[i]);
    buf_printf(&w->extra, "],\"more\":%s", first.more ? "true" : "false");
    return RC_CONFLICT;
}

/* Whose change is it? Asking again with a known key is no new request, so only rollback_ask itself
 * refuses. */
static enum rc check_target(struct req *r, const char *delta, struct source *ret, struct err *err)
{
    struct rollback_plan p;
    enum rc rc = rollback_plan(r->ledger, delta, &p, err);
    if (rc == RC_OK)
        rc = admin_source_no(r, p.src_no, ret, err);
    return rc == RC_NOT_FOUND ? no_such_delta(err) : rc;
}

/* A key that was used for something else is no matter of what stands before a change. */
static enum rc ask_for(struct req *r, struct resp *w, const struct rollback_ask *ask,
                       char ret_id[ROLLBACK_ID_MAX], struct err *err)
{
    enum rc rc = rollback_ask(r->ledger, ask, r->now, ret_id, err);
    return rc == RC_CONFLICT && strcmp(err->field, "delta") == 0
               ? name_first(r, w, ask->delta_id, err)
               : rc;
}

static enum rc take_back(struct req *r, struct resp *w, const struct rollback_ask *ask,
                         struct err *err)
{
    char id[ROLLBACK_ID_MAX];
    struct source s;
    TRY(check_target(r, ask->delta_id, &s, err));
    TRY(ask_for(r, w, ask, id, err));
    put_object(&w->body);
    if (*id) {
        put_text(&w->body, "rollback_id", id);
        admin_accepted(r, w, PATH, id);
        return RC_OK;
    }
    put_text(&w->body, "source_id", s.id);
    put_text(&w->body, "to", ask->delta_id);
    buf_byte(&w->body, '}');
    return RC_OK;
}

static enum rc lift(struct req *r, struct resp *w, const struct wish *x, struct err *err)
{
    struct rollback_lift ask = {.by = x->ask.by,
                                .reason = x->ask.reason,
                                .token = x->ask.token,
                                .key = x->ask.key,
                                .body = x->ask.body};
    struct source s;
    int64_t n;
    TRY(admin_source(r, x->lift, NULL, &s, err));
    ask.src_no = s.no;
    TRY(rollback_lift(r->ledger, &ask, r->now, &n, err));
    put_object(&w->body);
    put_text(&w->body, "source_id", s.id);
    put_key(&w->body, "lifted");
    buf_printf(&w->body, "%lld}", (long long)n);
    return RC_OK;
}

enum rc rollbacks_post(struct req *r, struct resp *w, struct err *err)
{
    struct wish x = {0};
    CLEANUP(buf_release) struct buf canon = {0};
    buf_init(&canon, JSON_MAX);
    TRY(admin_key(r, err));
    TRY(read_wish(r, w, &x, &canon, err));
    return x.lift ? lift(r, w, &x, err) : take_back(r, w, &x.ask, err);
}

/* ---- GET ------------------------------------------------------------------------------------- */

static void put_rollback(struct buf *b, const struct req *r, const struct rollback *x,
                         const struct source *s)
{
    put_object(b);
    put_text(b, "rollback_id", x->id);
    put_text(b, "state", x->state);
    put_text(b, "source_id", s->id);
    put_text(b, "delta", x->delta_id);
    put_text(b, "reason", x->reason);
    put_text(b, "asked_by", x->by);
    put_text(b, "change_event_id", x->event_id);
    put_text(b, "detail", x->detail);
    put_time(b, "created_at", x->created_at);
    put_time(b, "finished_at", x->ended_at);
    admin_status_url(b, r, PATH, x->id);
    buf_byte(b, '}');
}

enum rc rollbacks_get(struct req *r, struct resp *w, struct err *err)
{
    struct rollback x;
    struct source s;
    struct str id = r->path_vars[0];
    char *text = arena_str(r->arena, id);
    if (!str_starts(id, STR("rbk_")) || !str_is_slug(id, ROLLBACK_ID_MAX - 1))
        return route_not_found(err);
    if (!text)
        return err_set(err, RC_NOMEM, "", "no memory for the id");
    TRY(route_lookup(rollback_get(r->ledger, r->arena, text, &x, err), err));
    TRY(route_lookup(admin_source_no(r, x.src_no, &s, err), err));
    put_rollback(&w->body, r, &x, &s);
    return RC_OK;
}

/* One of a source that the caller may not know of is passed over. */
static enum rc put_one(void *ctx, const struct rollback *x, struct err *err)
{
    struct admin_list *l = ctx;
    struct source s;
    enum rc rc = admin_source_no(l->r, x->src_no, &s, err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    put_rollback(&l->w->body, l->r, x, &s);
    return RC_OK;
}

enum rc rollbacks_list(struct req *r, struct resp *w, struct err *err)
{
    struct admin_list l;
    TRY(admin_list_begin(&l, r, w, "rollbacks", err));
    TRY(rollback_each(r->ledger, l.limit, put_one, &l, err));
    admin_list_end(&l);
    return RC_OK;
}
