/* admin_dead: candidates that were given up: GET lists them with their history, POST decides
 * on one.
 *
 * Invariants
 *   1. Nothing is promoted here: a retry puts the candidate back into the inbox, a handler runs it.
 *   2. Candidates of a source that the caller may not know of answer like ones that never were.
 * Called by the intake's router. */
#include "api/admin.h"
#include "api/put.h"
#include "ledger/deadletter.h"

static const char *const FIELDS[] = {"event", "action", "reason"};

static enum rc no_such_letter(struct err *err)
{
    return err_set(err, RC_NOT_FOUND, "", "There is no dead letter of this event.");
}

/* ---- GET ------------------------------------------------------------------------------------- */

static void put_letter(struct buf *b, const struct candidate *c, const struct source *s)
{
    put_text(b, "change_event_id", c->event_id);
    put_text(b, "source_id", s->id);
    put_text(b, "reason", c->reason);
    put_text(b, "outcome", c->outcome);
    put_text(b, "detector", c->detector);
    put_number(b, "attempts", c->attempts);
    put_time(b, "detected_at", c->detected_at);
    put_time(b, "received_at", c->received_at);
}

static enum rc put_one(void *ctx, const struct candidate *c, struct err *err)
{
    struct admin_list *l = ctx;
    struct source s;
    enum rc rc = admin_source_no(l->r, c->src_no, &s, err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    put_object(&l->w->body);
    put_letter(&l->w->body, c, &s);
    buf_byte(&l->w->body, '}');
    return RC_OK;
}

enum rc dead_list(struct req *r, struct resp *w, struct err *err)
{
    struct admin_list l;
    TRY(admin_list_begin(&l, r, w, "dead_letters", err));
    TRY(inbox_each(r->ledger, "dead", l.limit, put_one, &l, err));
    admin_list_end(&l);
    return RC_OK;
}

static enum rc put_run(void *ctx, const struct dead_run *d, struct err *err)
{
    struct admin_list *l = ctx;
    struct buf *b = &l->w->body;
    (void)err;
    put_object(b);
    put_text(b, "run_id", d->run_id);
    put_text(b, "reason", d->reason);
    put_time(b, "started_at", d->started_at);
    put_time(b, "ended_at", d->ended_at);
    buf_byte(b, '}');
    return RC_OK;
}

/* What the caller may know of and is dead; anything else is not there. */
static enum rc find(struct req *r, const char *event, struct candidate *c, struct source *s,
                    struct err *err)
{
    enum rc rc = event ? dead_get(r->ledger, r->arena, event, c, err) : RC_NOT_FOUND;
    if (rc == RC_OK)
        rc = admin_source_no(r, c->src_no, s, err);
    return rc == RC_NOT_FOUND || rc == RC_CONFLICT ? no_such_letter(err) : rc;
}

enum rc dead_one(struct req *r, struct resp *w, struct err *err)
{
    struct admin_list l = {.r = r, .w = w};
    struct candidate c;
    struct source s;
    TRY(find(r, arena_str(r->arena, r->path_vars[0]), &c, &s, err));
    buf_byte(&w->body, '{');
    put_letter(&w->body, &c, &s);
    put_key(&w->body, "runs");
    buf_byte(&w->body, '[');
    TRY(dead_each_run(r->ledger, c.no, put_run, &l, err));
    buf_puts(&w->body, "]}");
    return RC_OK;
}

/* ---- POST ------------------------------------------------------------------------------------ */

static enum rc read_decision(struct req *r, struct resp *w, struct dead_decision *ret,
                             struct buf *canon, struct err *err)
{
    yyjson_val *body = NULL;
    size_t known;
    const char *action = "", *reason = NULL;
    struct dead_decision x = {.by = r->token->name};
    TRY(admin_body(r, w, FIELDS, ARRAY_LEN(FIELDS), &body, &known, canon, err));
    TRY(json_get_str(body, "event", &x.event_id, err));
    TRY(json_get_str(body, "action", &action, err));
    TRY(json_get_str(body, "reason", &reason, err));
    bool drop = strcmp(action, "drop") == 0;
    if (!drop && strcmp(action, "retry") != 0)
        return err_set(err, RC_INVALID, "action", "must be retry or drop");
    if (!x.event_id || !x.event_id[0])
        return err_set(err, RC_INVALID, "event", "is needed: change_event_id of the dead letter");
    if (drop && !reason)
        return err_set(err, RC_INVALID, "reason", "is needed to drop: it is kept");
    x.drop = drop ? reason : NULL;
    x.key = (struct request_key){"dead-letter", r->token, r->idempotency_key, buf_view(canon)};
    *ret = x;
    return RC_OK;
}

/* Known by its source, dead or not: a key that was used before finds it alive. */
static enum rc check_event(struct req *r, const struct dead_decision *x, struct err *err)
{
    struct source s;
    int64_t src_no;
    enum rc rc = dead_source(r->ledger, x->event_id, &src_no, err);
    if (rc == RC_OK)
        rc = admin_source_no(r, src_no, &s, err);
    return rc == RC_NOT_FOUND ? no_such_letter(err) : rc;
}

enum rc dead_post(struct req *r, struct resp *w, struct err *err)
{
    struct dead_decision x = {0};
    CLEANUP(buf_release) struct buf canon = {0};
    buf_init(&canon, JSON_MAX);
    TRY(admin_key(r, err));
    TRY(read_decision(r, w, &x, &canon, err));
    TRY(check_event(r, &x, err));
    TRY(dead_decide(r->ledger, &x, r->now, err));
    buf_byte(&w->body, '{');
    put_text(&w->body, "change_event_id", x.event_id);
    put_text(&w->body, "decision", x.drop ? "drop" : "retry");
    buf_byte(&w->body, '}');
    return RC_OK;
}
