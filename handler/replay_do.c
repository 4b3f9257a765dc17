/* replay_do: what each kind of row does, through the same doors as the first time. The clock stands
 * at the row's time. */
#include "core/clock.h"
#include "core/json.h"
#include "handler/project.h"
#include "handler/replay_internal.h"
#include "ledger/approval.h"
#include "ledger/deadletter.h"
#include "ledger/decision.h"
#include "ledger/enqueue.h"
#include "ledger/level.h"
#include "ledger/overtake.h"
#include "ledger/policy.h"
#include "ledger/rollback.h"

static enum rc read_body(struct replay *p, const struct replay_row *r, yyjson_val **ret,
                         struct err *err)
{
    return json_parse(&p->arena, r->body, 0, "a row of the log", ret, err);
}

/* A row of an older program lacks what this one needs. */
static enum rc need(struct replay *p, yyjson_val *body, const char *key, const char **ret,
                    struct err *err)
{
    *ret = NULL;
    (void)p;
    TRY(json_get_str(body, key, ret, err));
    return *ret ? RC_OK
                : err_set(err, RC_CONFLICT, "log",
                          "a row lacks \"%s\": the log begins with an older version", key);
}

static enum rc text_of(struct replay *p, struct str s, const char **ret, struct err *err)
{
    *ret = arena_str(&p->arena, s);
    return *ret ? RC_OK : err_set(err, RC_NOMEM, "", "no memory for a row");
}

static enum rc record(struct replay *p, const struct replay_row *r, struct err *err)
{
    const char *kind, *ref;
    TRY(text_of(p, r->kind, &kind, err));
    TRY(text_of(p, r->ref, &ref, err));
    TRY(ledger_begin(p->ledger, err));
    return ledger_end(p->ledger,
                      replay_append(p->ledger, r->at, kind, r->src_no, ref, r->body, err), err);
}

/* ---- sources --------------------------------------------------------------------------------- */

/* The member "spec" of a row, or the row itself, as the ledger has it. */
static enum rc read_spec(struct replay *p, yyjson_val *spec, struct source *s, struct err *err)
{
    CLEANUP(buf_release) struct buf canon = {0};
    buf_init(&canon, JSON_MAX);
    TRY(json_canon(&canon, spec, err));
    const char *text = arena_str(&p->arena, buf_view(&canon));
    if (!text)
        return err_set(err, RC_NOMEM, "", "no memory for a row");
    return source_reread(&p->arena, str_of(text), s, err);
}

/* The body is the declaration; where its author is known, {"by","spec"}. */
static enum rc read_declared(struct replay *p, const struct replay_row *r, struct source *s,
                             struct err *err)
{
    yyjson_val *body;
    const char *by;
    TRY(read_body(p, r, &body, err));
    yyjson_val *spec = yyjson_obj_get(body, "spec");
    if (!spec)
        return source_reread(&p->arena, str_of(arena_str(&p->arena, r->body)), s, err);
    TRY(need(p, body, "by", &by, err));
    TRY(read_spec(p, spec, s, err));
    s->by = by;
    return RC_OK;
}

static enum rc do_source_add(struct replay *p, const struct replay_row *r, struct err *err)
{
    struct source s;
    TRY(read_declared(p, r, &s, err));
    s.unlisted_at = s.retired_at = -1;
    s.entry = "";
    TRY(ledger_begin(p->ledger, err));
    enum rc rc = source_add(p->ledger, &s, r->at, err);
    if (rc == RC_OK)
        rc = project_added(p->ledger, &p->arena, p->inst, &s, (struct str){0}, r->at, err);
    return ledger_end(p->ledger, rc, err);
}

static enum rc read_child(struct replay *p, yyjson_val *body, struct source *s, struct err *err)
{
    bool listed = false;
    int64_t parent = 0;
    const char *entry;
    TRY(read_spec(p, yyjson_obj_get(body, "spec"), s, err));
    TRY(need(p, body, "entry", &entry, err));
    TRY(json_get_bool(body, "listed", &listed, err));
    TRY(json_get_i64(body, "parent", 1, INT64_MAX, &parent, err));
    s->entry = entry;
    s->parent_no = parent;
    s->retired_at = -1;
    s->unlisted_at = listed ? 0 : -1;
    return RC_OK;
}

static enum rc do_source_child(struct replay *p, const struct replay_row *r, struct err *err)
{
    struct source s;
    yyjson_val *body;
    TRY(read_body(p, r, &body, err));
    TRY(read_child(p, body, &s, err));
    TRY(ledger_begin(p->ledger, err));
    enum rc rc = source_add(p->ledger, &s, r->at, err);
    if (rc == RC_OK)
        rc = project_source(p->ledger, p->inst, &s, r->at, err);
    return ledger_end(p->ledger, rc, err);
}

static enum rc do_source_put(struct replay *p, const struct replay_row *r, struct err *err)
{
    struct source s, was;
    TRY(source_by_no(p->ledger, &p->arena, r->src_no, &was, err));
    TRY(read_declared(p, r, &s, err));
    s.no = was.no;
    s.created_at = was.created_at;
    s.updated_at = r->at;
    s.retired_at = was.retired_at;
    s.parent_no = was.parent_no;
    s.entry = was.entry;
    s.unlisted_at = was.unlisted_at;
    TRY(ledger_begin(p->ledger, err));
    enum rc rc = source_put(p->ledger, &s, r->at, err);
    if (rc == RC_OK)
        rc = project_all_of_source(p->ledger, p->inst, &s, r->at, err);
    return ledger_end(p->ledger, rc, err);
}

static enum rc retire(struct replay *p, const struct replay_row *r, struct err *err)
{
    struct source s;
    TRY(source_retire(p->ledger, r->src_no, r->at, err));
    TRY(source_by_no(p->ledger, &p->arena, r->src_no, &s, err));
    return project_source(p->ledger, p->inst, &s, r->at, err);
}

static enum rc do_source_retire(struct replay *p, const struct replay_row *r, struct err *err)
{
    TRY(ledger_begin(p->ledger, err));
    return ledger_end(p->ledger, retire(p, r, err), err);
}

static enum rc resume(struct replay *p, const struct replay_row *r, struct err *err)
{
    struct source s;
    TRY(source_by_no(p->ledger, &p->arena, r->src_no, &s, err));
    TRY(source_resume(p->ledger, &s, r->at, err));
    return project_source(p->ledger, p->inst, &s, r->at, err);
}

static enum rc do_source_resume(struct replay *p, const struct replay_row *r, struct err *err)
{
    TRY(ledger_begin(p->ledger, err));
    return ledger_end(p->ledger, resume(p, r, err), err);
}

static enum rc do_source_listed(struct replay *p, const struct replay_row *r, struct err *err)
{
    struct source s;
    bool listed = str_is(r->kind, "source.listed");
    TRY(source_by_no(p->ledger, &p->arena, r->src_no, &s, err));
    TRY(ledger_begin(p->ledger, err));
    return ledger_end(p->ledger, source_set_listed(p->ledger, &s, listed, r->at, err), err);
}

/* ---- candidates and runs --------------------------------------------------------------------- */

static enum rc read_news(struct replay *p, const struct replay_row *r, yyjson_val *body,
                         struct news *n, struct sha256 *sha, struct err *err)
{
    const char *outcome, *hex;
    TRY(need(p, body, "detector", &n->detector, err));
    TRY(need(p, body, "outcome", &outcome, err));
    TRY(need(p, body, "hint", &n->hint, err));
    TRY(need(p, body, "sha256", &hex, err));
    if (!yyjson_is_null(yyjson_obj_get(body, "etag")))
        TRY(json_get_str(body, "etag", &n->etag, err));
    TRY(json_get_i64(body, "detected_at", 0, INT64_MAX, &n->detected_at, err));
    TRY(json_get_bool(body, "unexpected", &n->unexpected, err));
    while (n->outcome < OUTCOME_COUNT && strcmp(outcome_name(n->outcome), outcome) != 0)
        n->outcome++;
    if (n->outcome == OUTCOME_COUNT ||
        (*hex && hex_decode(str_of(hex), sha->b, sizeof sha->b) != RC_OK))
        return err_set(err, RC_CORRUPT, "log", "row %lld is no candidate", (long long)r->seq);
    n->sha = *hex ? sha : NULL;
    n->src_no = r->src_no;
    return RC_OK;
}

static enum rc do_candidate(struct replay *p, const struct replay_row *r, struct err *err)
{
    struct news n = {0};
    struct sha256 sha;
    bool absorbed = false;
    yyjson_val *body;
    const char *event;
    TRY(read_body(p, r, &body, err));
    TRY(read_news(p, r, body, &n, &sha, err));
    TRY(json_get_bool(body, "absorbed", &absorbed, err));
    TRY(text_of(p, r->ref, &event, err));
    TRY(ledger_begin(p->ledger, err));
    return ledger_end(p->ledger, enqueue_again(p->ledger, &n, absorbed, event, r->at, err), err);
}

static enum rc run_again(struct replay *p, yyjson_val *body, const char *event, const char *run,
                         struct err *err)
{
    const char *hex;
    struct sha256 sha;
    TRY(need(p, body, "sha256", &hex, err));
    if (hex_decode(str_of(hex), sha.b, sizeof sha.b) != RC_OK)
        return err_set(err, RC_CORRUPT, "log", "a run has no digest");
    return work_again(p->worker, event, run, &sha, err);
}

static enum rc do_promoted(struct replay *p, const struct replay_row *r, struct err *err)
{
    yyjson_val *body;
    const char *run, *event;
    TRY(read_body(p, r, &body, err));
    TRY(need(p, body, "run", &run, err));
    TRY(text_of(p, r->ref, &event, err));
    return run_again(p, body, event, run, err);
}

static enum rc do_held(struct replay *p, const struct replay_row *r, struct err *err)
{
    yyjson_val *body;
    const char *run, *event;
    TRY(read_body(p, r, &body, err));
    TRY(need(p, body, "event", &event, err));
    TRY(text_of(p, r->ref, &run, err));
    return run_again(p, body, event, run, err);
}

static enum rc poison(struct replay *p, const char *event, int64_t at, struct err *err)
{
    TRY(ledger_begin(p->ledger, err));
    return ledger_end(p->ledger, inbox_poison_event(p->ledger, event, at, err), err);
}

static enum rc do_ended(struct replay *p, const struct replay_row *r, struct err *err)
{
    yyjson_val *body;
    const char *run = NULL, *event, *reason;
    bool noop = str_is(r->kind, "run.noop"), failed = str_is(r->kind, "run.failed");
    TRY(read_body(p, r, &body, err));
    TRY(need(p, body, "reason", &reason, err));
    TRY(json_get_str(body, "run", &run, err));
    TRY(text_of(p, r->ref, &event, err));
    if (!run)
        return poison(p, event, r->at, err);
    bool rejected = failed && strcmp(reason, "REJECTED") == 0;
    return work_end_again(p->worker, event, run,
                          noop       ? INBOX_NOOP
                          : rejected ? INBOX_REJECTED
                          : failed   ? INBOX_FAILED
                                     : INBOX_RETRY,
                          reason, str_is(r->kind, "run.dead"), err);
}

static enum rc project_row(struct replay *p, const struct replay_row *r, struct err *err)
{
    struct source s;
    TRY(source_by_no(p->ledger, &p->arena, r->src_no, &s, err));
    return project_source(p->ledger, p->inst, &s, r->at, err);
}

static enum rc reject(struct replay *p, const struct replay_row *r, const char *event,
                      struct err *err)
{
    TRY(inbox_end_rejected(p->ledger, event, r->at, err));
    return project_row(p, r, err);
}

/* Ended by who rejected it; where a handler did, it is a run.failed. */
static enum rc do_rejected(struct replay *p, const struct replay_row *r, struct err *err)
{
    const char *event;
    TRY(text_of(p, r->ref, &event, err));
    TRY(ledger_begin(p->ledger, err));
    return ledger_end(p->ledger, reject(p, r, event, err), err);
}

static enum rc supersede(struct replay *p, const struct replay_row *r, const char *event,
                         struct err *err)
{
    TRY(overtake_again(p->ledger, event, r->at, err));
    return project_row(p, r, err);
}

static enum rc do_superseded(struct replay *p, const struct replay_row *r, struct err *err)
{
    const char *event;
    TRY(text_of(p, r->ref, &event, err));
    TRY(ledger_begin(p->ledger, err));
    return ledger_end(p->ledger, supersede(p, r, event, err), err);
}

/* ---- decisions ------------------------------------------------------------------------------- */

static enum rc do_decision(struct replay *p, const struct replay_row *r, struct err *err)
{
    yyjson_val *body;
    struct approval_ask ask = {.approve =
                                   str_is(r->kind, "approve") || str_is(r->kind, "level.approve")};
    TRY(read_body(p, r, &body, err));
    TRY(need(p, body, "reviewer", &ask.reviewer, err));
    TRY(need(p, body, "note", &ask.note, err));
    TRY(text_of(p, r->ref, &ask.id, err));
    return approval_decide(p->ledger, &ask, r->at, err);
}

/* Programs before this one wrote no body: nobody can make again what such a row did, so it is kept,
 * and what later rows say of it is kept with it. */
static bool says_nothing(const struct replay_row *r)
{
    return str_is(r->body, "{}");
}

static enum rc read_level(struct replay *p, yyjson_val *body, const char *key, enum level *ret,
                          struct err *err)
{
    const char *name;
    TRY(need(p, body, key, &name, err));
    return level_parse(name, ret) == RC_OK
               ? RC_OK
               : err_set(err, RC_CORRUPT, "log", "a row names no level in \"%s\"", key);
}

static enum rc do_level_ask(struct replay *p, const struct replay_row *r, struct err *err)
{
    yyjson_val *body;
    const char *id, *by, *note;
    enum level old, to;
    if (says_nothing(r))
        return record(p, r, err);
    TRY(read_body(p, r, &body, err));
    TRY(need(p, body, "by", &by, err));
    TRY(need(p, body, "note", &note, err));
    TRY(read_level(p, body, "old", &old, err));
    TRY(read_level(p, body, "new", &to, err));
    TRY(text_of(p, r->ref, &id, err));
    TRY(ledger_begin(p->ledger, err));
    return ledger_end(
        p->ledger, level_ask_again(p->ledger, r->src_no, id, old, to, by, note, r->at, err), err);
}

static enum rc do_level_decision(struct replay *p, const struct replay_row *r, struct err *err)
{
    const char *id;
    int64_t src_no;
    struct err none;
    TRY(text_of(p, r->ref, &id, err));
    bool asked = approval_source(p->ledger, id, &src_no, &none) != RC_NOT_FOUND;
    return asked ? do_decision(p, r, err) : record(p, r, err);
}

static enum rc do_waiver_add(struct replay *p, const struct replay_row *r, struct err *err)
{
    yyjson_val *body;
    struct waiver w = {.src_no = r->src_no};
    int64_t no;
    if (says_nothing(r))
        return record(p, r, err);
    TRY(read_body(p, r, &body, err));
    TRY(need(p, body, "rule", &w.rule, err));
    TRY(need(p, body, "requester", &w.requester, err));
    TRY(need(p, body, "reviewer", &w.reviewer, err));
    TRY(need(p, body, "note", &w.note, err));
    TRY(json_get_i64(body, "expires_at", 1, INT64_MAX, &w.expires_at, err));
    if (str_to_i64(r->ref, &w.no) != RC_OK || w.no < 1)
        return err_set(err, RC_CORRUPT, "log", "a waiver has no number");
    return waiver_add(p->ledger, &w, r->at, &no, err);
}

static enum rc do_waiver_revoke(struct replay *p, const struct replay_row *r, struct err *err)
{
    yyjson_val *body;
    const char *by, *note;
    int64_t no;
    if (says_nothing(r))
        return record(p, r, err);
    TRY(read_body(p, r, &body, err));
    TRY(need(p, body, "reviewer", &by, err));
    TRY(need(p, body, "note", &note, err));
    if (str_to_i64(r->ref, &no) != RC_OK)
        return err_set(err, RC_CORRUPT, "log", "a waiver has no number");
    enum rc rc = waiver_revoke(p->ledger, no, by, note, r->at, err);
    return rc == RC_NOT_FOUND ? record(p, r, err) : rc;
}

/* The tag that ETags held from here on. */
static enum rc do_policy(struct replay *p, const struct replay_row *r, struct err *err)
{
    const char *tag;
    TRY(text_of(p, r->ref, &tag, err));
    return policy_publish_again(p->ledger, tag, r->at, err);
}

static enum rc do_rollback(struct replay *p, const struct replay_row *r, struct err *err)
{
    yyjson_val *body;
    struct rollback_ask ask = {.body = r->body};
    char id[ROLLBACK_ID_MAX];
    TRY(read_body(p, r, &body, err));
    TRY(need(p, body, "by", &ask.by, err));
    TRY(need(p, body, "delta", &ask.delta_id, err));
    TRY(need(p, body, "reason", &ask.reason, err));
    TRY(text_of(p, r->ref, &ask.id, err));
    return rollback_ask(p->ledger, &ask, r->at, id, err);
}

static enum rc do_rollback_taken(struct replay *p, const struct replay_row *r, struct err *err)
{
    yyjson_val *body;
    const char *id, *event;
    TRY(read_body(p, r, &body, err));
    TRY(need(p, body, "rollback", &id, err));
    TRY(text_of(p, r->ref, &event, err));
    return rollback_take_again(p->ledger, id, event, r->at, err);
}

/* Who lifted it, and why, is told since it can be asked for over HTTP. */
static enum rc do_lift(struct replay *p, const struct replay_row *r, struct err *err)
{
    yyjson_val *body;
    struct rollback_lift ask = {.src_no = r->src_no};
    int64_t n;
    TRY(read_body(p, r, &body, err));
    TRY(json_get_str(body, "by", &ask.by, err));
    TRY(json_get_str(body, "reason", &ask.reason, err));
    return rollback_lift(p->ledger, &ask, r->at, &n, err);
}

static enum rc do_dead(struct replay *p, const struct replay_row *r, struct err *err)
{
    yyjson_val *body;
    struct dead_decision d = {0};
    TRY(read_body(p, r, &body, err));
    TRY(need(p, body, "by", &d.by, err));
    TRY(json_get_str(body, "reason", &d.drop, err));
    TRY(text_of(p, r->ref, &d.event_id, err));
    return dead_decide(p->ledger, &d, r->at, err);
}

/* ---- the table ------------------------------------------------------------------------------- */

replay_do_fn *replay_kind(struct str kind)
{
    static const struct {
        const char *kind;
        replay_do_fn *fn;
    } rows[] = {
#define X(kind, fn) {kind, fn},
#include "handler/replay.def"
#undef X
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_is(kind, rows[i].kind))
            return rows[i].fn;
    return NULL;
}
