/* admin_approvals: what waits for a person, and the person's decision.
 *
 * Invariants
 *   1. The reviewer is the token's owner: nobody decides under another name.
 *   2. Nothing is promoted here: the decision is stored, a handler carries it out.
 *   3. Of a restricted source only holders of read:restricted see why and since when something
 *      waits; a sovereign one answers them alone.
 *   4. Without a valid policy.json nobody can tell who may decide: 503.
 * Called by the intake's router. */
#include "api/admin.h"
#include "api/put.h"
#include "ledger/approval.h"

static const char *const FIELDS[] = {"event", "decision", "note"};

static enum rc nothing_waits(struct err *err)
{
    return err_set(err, RC_NOT_FOUND, "", "Nothing waits under this id.");
}

/* ---- GET ------------------------------------------------------------------------------------- */

static enum rc put_one(void *ctx, const struct waiting *x, struct err *err)
{
    struct admin_list *l = ctx;
    struct buf *b = &l->w->body;
    struct source s;
    enum rc rc = admin_source_no(l->r, x->src_no, &s, err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    bool all = s.level < LEVEL_RESTRICTED || l->r->token->scopes & SCOPE_READ_RESTRICTED;
    put_object(b);
    put_text(b, "event", x->id);
    put_text(b, "kind", x->kind);
    put_text(b, "source_id", s.id);
    put_text(b, "title", s.title);
    put_text(b, "level", level_name(s.level));
    put_text(b, "reason", all ? x->reason : NULL);
    put_text(b, "lower_to", all ? x->detail : NULL);
    put_text(b, "author", all ? x->author : NULL);
    put_time(b, "since", all ? x->since : -1);
    buf_byte(b, '}');
    return RC_OK;
}

enum rc approvals_list(struct req *r, struct resp *w, struct err *err)
{
    struct admin_list l;
    TRY(admin_list_begin(&l, r, w, "approvals", err));
    TRY(approval_each(r->ledger, l.limit, put_one, &l, err));
    admin_list_end(&l);
    return RC_OK;
}

/* ---- POST ------------------------------------------------------------------------------------ */

static enum rc read_ask(struct req *r, struct resp *w, struct approval_ask *ret, struct buf *canon,
                        struct err *err)
{
    yyjson_val *body = NULL;
    size_t known;
    const char *decision = "";
    struct approval_ask x = {.reviewer = r->token->name};
    TRY(admin_body(r, w, FIELDS, ARRAY_LEN(FIELDS), &body, &known, canon, err));
    TRY(json_get_str(body, "event", &x.id, err));
    TRY(json_get_str(body, "decision", &decision, err));
    TRY(json_get_str(body, "note", &x.note, err));
    x.approve = strcmp(decision, "approve") == 0;
    if (!x.id || !x.id[0])
        return err_set(err, RC_INVALID, "event", "is needed: GET /admin/approvals lists them");
    if (!x.approve && strcmp(decision, "reject") != 0)
        return err_set(err, RC_INVALID, "decision", "must be approve or reject");
    if (!x.note)
        return err_set(err, RC_INVALID, "note", "is needed: a decision has a reason");
    x.key = (struct request_key){"approval", r->token, r->idempotency_key, buf_view(canon)};
    *ret = x;
    return RC_OK;
}

/* Known by its source, waiting or not: a key that was used before finds it decided. */
static enum rc check_known(struct req *r, const char *id, struct err *err)
{
    struct source s;
    int64_t src_no;
    enum rc rc = approval_source(r->ledger, id, &src_no, err);
    if (rc == RC_OK)
        rc = admin_source_no(r, src_no, &s, err);
    return rc == RC_NOT_FOUND ? nothing_waits(err) : rc;
}

static enum rc need_policy(struct req *r, struct policy *ret, struct err *err)
{
    enum rc rc = policy_load(r->arena, r->inst->dir, NULL, ret, err);
    if (rc == RC_OK || rc == RC_NOMEM)
        return rc;
    return err_set(err, RC_CLOSED, "", "policy.json is not valid, so nobody may decide.");
}

enum rc approvals_post(struct req *r, struct resp *w, struct err *err)
{
    struct approval_ask x = {0};
    struct policy policy;
    CLEANUP(buf_release) struct buf canon = {0};
    buf_init(&canon, JSON_MAX);
    TRY(admin_key(r, err));
    TRY(read_ask(r, w, &x, &canon, err));
    TRY(check_known(r, x.id, err));
    TRY(need_policy(r, &policy, err));
    x.policy = &policy;
    TRY(approval_decide(r->ledger, &x, r->now, err));
    buf_byte(&w->body, '{');
    put_text(&w->body, "event", x.id);
    put_text(&w->body, "decision", x.approve ? "approve" : "reject");
    put_text(&w->body, "reviewer", x.reviewer);
    buf_byte(&w->body, '}');
    return RC_OK;
}
