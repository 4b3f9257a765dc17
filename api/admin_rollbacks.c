/* admin_rollbacks: POST /admin/rollbacks asks to take a change back, GET tells how far it is.
 *
 * Invariants
 *   1. 202 is said after the request is durable, never before.
 *   2. 409 names what must be taken back first, in errors[], newest first. A handler asks again when it
 *      begins, so what moves in between ends as failed, with the same words.
 *   3. Changes of a source that the caller may not know of answer like ones that never were.
 * Called by the intake's router. */
#include "api/admin.h"
#include "api/put.h"
#include "ledger/rollback.h"

#define PATH "/admin/rollbacks/"

static const char *const FIELDS[] = {"delta", "reason"};

/* ---- POST ------------------------------------------------------------------------------------- */

static enum rc read_ask(struct req *r, struct resp *w, struct rollback_ask *ret, struct buf *canon,
                        struct err *err)
{
    yyjson_val *body = NULL;
    size_t known;
    struct rollback_ask x = {.by = r->token->name, .token = r->token, .key = r->idempotency_key};
    TRY(admin_body(r, w, FIELDS, ARRAY_LEN(FIELDS), &body, &known, canon, err));
    TRY(json_get_str(body, "delta", &x.delta_id, err));
    TRY(json_get_str(body, "reason", &x.reason, err));
    if (!x.delta_id || !x.delta_id[0])
        return err_set(err, RC_INVALID, "delta",
                       "is needed: delta_manifest_ref of a change ends with it");
    if (!x.reason || !x.reason[0])
        return err_set(err, RC_INVALID, "reason", "is needed: it is kept with the rollback");
    x.body = buf_view(canon);
    *ret = x;
    return RC_OK;
}

static enum rc no_such_delta(struct err *err)
{
    return err_set(err, RC_NOT_FOUND, "", "There is no change with this delta.");
}

static void name_first(struct resp *w, const struct rollback_plan *p)
{
    char text[128];
    for (size_t i = 0; i < p->n_first; i++) {
        snprintf(text, sizeof text, "take back %s first", p->first[i]);
        resp_error(w, STR("delta"), text);
    }
}

/* Whose change is it, and what stands before it? Asking again with a known key is no new request, so
 * only rollback_ask itself refuses. */
static enum rc check_target(struct req *r, const char *delta, struct rollback_plan *ret,
                            struct err *err)
{
    struct source s;
    enum rc rc = rollback_plan(r->ledger, delta, ret, err);
    if (rc == RC_OK)
        rc = admin_source_no(r, ret->src_no, &s, err);
    return rc == RC_NOT_FOUND ? no_such_delta(err) : rc;
}

/* A key that was used for something else is no matter of what stands before a change. */
static enum rc ask_for(struct req *r, struct resp *w, const struct rollback_ask *ask,
                       char ret_id[ROLLBACK_ID_MAX], struct err *err)
{
    struct rollback_plan p;
    TRY(check_target(r, ask->delta_id, &p, err));
    enum rc rc = rollback_ask(r->ledger, ask, r->now, ret_id, err);
    if (rc == RC_CONFLICT && strcmp(err->field, "delta") == 0)
        name_first(w, &p);
    return rc;
}

enum rc rollbacks_post(struct req *r, struct resp *w, struct err *err)
{
    struct rollback_ask ask = {0};
    char id[ROLLBACK_ID_MAX];
    CLEANUP(buf_release) struct buf canon = {0};
    buf_init(&canon, JSON_MAX);
    TRY(admin_key(r, err));
    TRY(read_ask(r, w, &ask, &canon, err));
    TRY(ask_for(r, w, &ask, id, err));
    put_object(&w->body);
    put_text(&w->body, "rollback_id", id);
    admin_accepted(r, w, PATH, id);
    return RC_OK;
}

/* ---- GET -------------------------------------------------------------------------------------- */

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
