/* show: the evidence of one change, on a card or as JSON.
 *
 * Invariants
 *   1. This is the operator's own machine: the whole entry is shown, whatever the level says.
 *   2. An event that made no change (held, failed, no-op, waiting) is explained, not "not found".
 * Called by main_freshet.c. */
#include <unistd.h>

#include "api/feed.h"
#include "cli/cli.h"
#include "cli/event.h"
#include "ledger/decision.h"
#include "ledger/promote.h"

#define ENTRY_MAX (16u << 20)

/* ---- the entry ------------------------------------------------------------------------------- */

/* The whole entry with its links made absolute, and its place in the feed when it has one. */
static enum rc render(struct cli *c, const struct change *ch, struct buf *out)
{
    struct str base = instance_base(&c->arena, &c->inst);
    if (ch->public_seq > 0)
        feed_put_entry(out, ch->public_seq, ch->entry, base);
    else
        json_put_based(out, ch->entry, base);
    enum rc rc = buf_rc(out);
    return rc == RC_OK ? RC_OK : err_set(&c->err, rc, "", "the entry is too large");
}

static const char *identity(struct cli *c, yyjson_val *entry, const char *key)
{
    yyjson_val *id = yyjson_obj_get(entry, key);
    if (!yyjson_is_obj(id))
        return "";
    const char *s = arena_printf(&c->arena, "version %lld, sha256 %s",
                                 (long long)yyjson_get_sint(yyjson_obj_get(id, "version")),
                                 json_member_text(id, "sha256"));
    return s ? s : "";
}

static const char *qa_words(struct cli *c, yyjson_val *entry)
{
    yyjson_val *qa = yyjson_obj_get(entry, "qa_summary"), *v;
    yyjson_val *total = yyjson_ptr_get(qa, "/features/total");
    struct buf b;
    size_t i, n;
    buf_init(&b, 4096);
    buf_printf(&b, "%s: %lld checks, %lld failed", json_member_text(qa, "status"),
               (long long)yyjson_get_sint(yyjson_obj_get(qa, "checks")),
               (long long)yyjson_get_sint(yyjson_obj_get(qa, "failed")));
    yyjson_arr_foreach(yyjson_obj_get(qa, "reasons"), i, n, v)
        buf_printf(&b, "%s %s", i ? "," : ";", yyjson_get_str(v));
    if (yyjson_is_int(total))
        buf_printf(&b, "; %lld features", (long long)yyjson_get_sint(total));
    char *copy = arena_str(&c->arena, buf_view(&b));
    buf_release(&b);
    return copy ? copy : "";
}

/* Where the bytes of an identity lie, so that somebody can look at them. */
static const char *stored_at(struct cli *c, yyjson_val *entry, const char *key)
{
    static const char *const tiers[] = {"public", "restricted"};
    const char *hex = json_member_text(yyjson_obj_get(entry, key), "sha256");
    for (size_t i = 0; i < ARRAY_LEN(tiers) && strlen(hex) == 64; i++) {
        char *path = arena_printf(&c->arena, "%s/store/%s/sha256/%.2s/%.2s/%s", c->inst.dir,
                                  tiers[i], hex, hex + 2, hex);
        if (path && access(path, F_OK) == 0)
            return path;
    }
    return "";
}

/* What the policy decided, newest last. */
static enum rc print_decision(void *ctx, const struct decision *d, struct err *err)
{
    struct cli *c = ctx;
    yyjson_val *doc, *f;
    size_t i, n;
    event_line(c, "policy",
               arena_printf(&c->arena, "%s%s%s, version %s, %s", d->verdict, *d->reason ? ": " : "",
                            d->reason, d->policy_version, cli_time(c, d->at)));
    TRY(json_parse(&c->arena, d->doc, 0, "a decision", &doc, err));
    yyjson_arr_foreach(yyjson_obj_get(doc, "findings"), i, n, f)
    {
        int64_t waiver = yyjson_get_sint(yyjson_obj_get(f, "waiver"));
        const char *by =
            waiver ? arena_printf(&c->arena, "; let pass by waiver %lld", (long long)waiver)
            : *json_member_text(f, "passed_by") ? "; approved"
                                                : "";
        event_line(c, "",
                   arena_printf(&c->arena, "%s: %s%s", json_member_text(f, "reason"),
                                json_member_text(f, "detail"), by ? by : ""));
    }
    return RC_OK;
}

static enum rc add_decision(void *ctx, const struct decision *d, struct err *err)
{
    struct buf *out = ctx;
    (void)err;
    buf_puts(out, buf_view(out).p[buf_view(out).n - 1] == '[' ? "" : ",");
    buf_str(out, d->doc);
    return RC_OK;
}

static enum rc decisions_json(struct cli *c, const char *run_id, struct buf *out)
{
    buf_byte(out, '[');
    TRY(decision_each(c->ledger, run_id, add_decision, out, &c->err));
    buf_byte(out, ']');
    return RC_OK;
}

static enum rc print_card(struct cli *c, const struct change *ch, struct str json)
{
    yyjson_val *e = NULL;
    TRY(json_parse(&c->arena, json, 0, "the entry", &e, &c->err));
    event_line(c, "event", json_member_text(e, "change_event_id"));
    event_line(c, "what",
               arena_printf(&c->arena, "%s (%s) of %s%s", json_member_text(e, "change_type"),
                            json_member_text(e, "change_class"), json_member_text(e, "source_id"),
                            yyjson_get_bool(yyjson_obj_get(e, "unexpected"))
                                ? ", unexpected: outside every window"
                                : ""));
    event_line(c, "title", json_member_text(e, "title"));
    event_line(c, "from", json_member_text(e, "source_uri"));
    event_line(c, "detected", json_member_text(e, "detected_at"));
    event_line(c, "finalized", json_member_text(e, "finalized_at"));
    event_line(c, "now", identity(c, e, "object_identity"));
    event_line(c, "", stored_at(c, e, "object_identity"));
    event_line(c, "before", identity(c, e, "previous_identity"));
    event_line(c, "", stored_at(c, e, "previous_identity"));
    event_line(c, "qa", qa_words(c, e));
    TRY(decision_each(c->ledger, ch->run_id, print_decision, c, &c->err));
    event_line(c, "provenance", json_member_text(e, "prov_ref"));
    event_line(c, "delta", json_member_text(e, "delta_manifest_ref"));
    event_line(c, "stac", json_member_text(e, "stac_ref"));
    event_line(c, "level", json_member_text(e, "sensitivity"));
    event_line(c, "feed",
               ch->public_seq > 0
                   ? arena_printf(&c->arena, "number %lld", (long long)ch->public_seq)
                   : "not in the public feed");
    const char *delta = yyjson_get_str(yyjson_ptr_get(e, "/rollback_ref/body/delta"));
    if (delta)
        event_line(c, "to revert",
                   arena_printf(&c->arena, "freshet rollback %s --reason TEXT", delta));
    return RC_OK;
}

static enum rc show_change(struct cli *c, const struct change *ch)
{
    struct buf json;
    buf_init(&json, ENTRY_MAX);
    enum rc rc = render(c, ch, &json);
    if (rc == RC_OK && c->json) { /* the entry, with one member more */
        printf("%.*s,\"policy_decisions\":", (int)buf_view(&json).n - 1, buf_view(&json).p);
        buf_clear(&json);
        rc = decisions_json(c, ch->run_id, &json);
        printf("%.*s}\n", STR_FMT(buf_view(&json)));
    } else if (rc == RC_OK)
        rc = print_card(c, ch, buf_view(&json));
    buf_release(&json);
    return rc;
}

/* ---- events without a change ----------------------------------------------------------------- */

static int print_event_json(struct cli *c, const struct candidate *cand, const char *source_id,
                            const struct change *run)
{
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = event_candidate_json(d, cand, source_id);
    yyjson_mut_doc_set_root(d, o);
    if (run) {
        json_add_str(d, o, "run_id", run->run_id);
        json_add_str(d, o, "status", run->status);
        json_add_raw(d, o, "qa", run->qa.n ? run->qa : STR("null"));
        CLEANUP(buf_release) struct buf list = {0};
        buf_init(&list, ENTRY_MAX);
        if (decisions_json(c, run->run_id, &list) != RC_OK)
            return cli_fail(c);
        json_add_raw(d, o, "policy_decisions", buf_view(&list));
        return cli_print_json(c, d);
    }
    return cli_print_json(c, d);
}

static const char *explain(const struct candidate *cand)
{
    if (strcmp(cand->state, "ready") == 0)
        return "waits for a handler. Run one with: freshet work";
    if (strcmp(cand->state, "leased") == 0)
        return "is being worked on";
    if (strcmp(cand->state, "held") == 0)
        return "is held until somebody decides: freshet approve or reject";
    if (strcmp(cand->state, "dead") == 0)
        return "was given up after its last try";
    return strcmp(cand->result, "noop") == 0 ? "changed nothing" : "was not promoted";
}

/* run NULL: none has begun yet. */
static int show_event(struct cli *c, const struct change *run)
{
    struct candidate cand;
    struct source s;
    if (event_candidate(c, c->args[0], &cand) != RC_OK ||
        source_by_no(c->ledger, &c->arena, cand.src_no, &s, &c->err) != RC_OK)
        return cli_fail(c);
    if (c->json)
        return print_event_json(c, &cand, s.id, run);
    event_line(c, "event", cand.event_id);
    event_line(c, "what",
               arena_printf(&c->arena, "%s of %s %s", cand.outcome, s.id, explain(&cand)));
    event_line(c, "why", cand.reason);
    event_line(c, "detected", cli_time(c, cand.detected_at));
    if (run) {
        event_line(c, "run", run->run_id);
        event_line(c, "status", run->status);
        if (decision_each(c->ledger, run->run_id, print_decision, c, &c->err) != RC_OK)
            return cli_fail(c);
    }
    return CLI_DONE;
}

int cmd_show(struct cli *c)
{
    struct change ch;
    if (!cli_ledger(c))
        return CLI_FAILED;
    enum rc rc = change_get(c->ledger, &c->arena, c->args[0], &ch, &c->err);
    if (rc == RC_NOT_FOUND)
        return show_event(c, NULL);
    if (rc == RC_OK && ch.entry.n == 0)
        return show_event(c, &ch);
    if (rc == RC_OK)
        rc = show_change(c, &ch);
    return rc == RC_OK ? CLI_DONE : cli_fail(c);
}
