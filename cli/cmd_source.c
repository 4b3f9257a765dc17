/* source list, show, retire, resume: the sources of an instance, as the operator sees them.
 *
 * Invariants
 *   1. This is the operator's own machine: nothing is withheld here. Secret values are not in a
 *      declaration to begin with (I12).
 * Called by main_freshet.c. */
#include "cli/source_put.h"
#include "cli/source_state.h"
#include "core/clock.h"
#include "handler/declare.h"
#include "handler/project.h"
#include "ledger/promote.h"
#include "ledger/push.h"
#include "ledger/stream.h"
#include "ledger/trigger.h"

#define CHECKS_SHOWN 5

/* ---- list ------------------------------------------------------------------------------------ */

struct listing {
    struct cli *c;
    struct table table;
    yyjson_mut_doc *doc;
    yyjson_mut_val *rows;
    bool retired;
    int64_t n;
};

static enum rc add_json(struct listing *l, const struct source *s, const struct check_state *st,
                        const struct health *h)
{
    yyjson_mut_val *o = source_json(l->c, l->doc, s);
    yyjson_mut_obj_add_val(l->doc, o, "state", state_json(l->doc, st));
    yyjson_mut_obj_add_val(l->doc, o, "health", health_json(l->doc, h));
    yyjson_mut_arr_append(l->rows, o);
    return RC_OK;
}

static enum rc add_row(struct listing *l, const struct source *s, const struct check_state *st)
{
    table_cell(&l->table, s->id);
    table_cell(&l->table, level_name(s->level));
    /* An entry of a listing is looked at through the listing. */
    table_cell(&l->table, s->retired_at >= 0   ? "retired"
                          : *st->last_outcome  ? st->last_outcome
                          : st->checked_at < 0 ? "never checked"
                                               : "as listed");
    table_cell(&l->table, cli_time(l->c, st->checked_at));
    table_cell(&l->table, cli_time(l->c, st->next_check_at));
    table_cell(&l->table, s->url);
    return RC_OK;
}

static enum rc list_one(void *ctx, const struct source *s, struct err *err)
{
    struct listing *l = ctx;
    struct check_state st;
    if (s->retired_at >= 0 && !l->retired)
        return RC_OK;
    TRY(check_state_get(l->c->ledger, s->no, &st, err));
    l->n++;
    struct health h = health_now(s, &st);
    return l->c->json ? add_json(l, s, &st, &h) : add_row(l, s, &st);
}

static enum rc list_unhealthy(void *ctx, const struct source *s, const struct check_state *st,
                              const struct health *h, struct err *err)
{
    struct listing *l = ctx;
    (void)err;
    l->n++;
    if (l->c->json)
        return add_json(l, s, st, h);
    table_cell(&l->table, s->id);
    table_cell(&l->table, health_name(h->state));
    table_cell_i64(&l->table, st->failures);
    table_cell(&l->table, cli_time(l->c, st->reached_at));
    table_cell(&l->table, cli_time(l->c, st->verified_at));
    table_cell(&l->table, h->reason);
    return RC_OK;
}

int cmd_source_list(struct cli *c)
{
    struct listing l = {.c = c, .retired = cli_has(c, "retired")};
    bool unhealthy = cli_has(c, "unhealthy");
    if (unhealthy && l.retired)
        return cli_usage(c, "a retired source has no health: say one of --retired and --unhealthy");
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (c->json) {
        l.doc = json_doc(&c->arena);
        yyjson_mut_val *root = yyjson_mut_obj(l.doc);
        yyjson_mut_doc_set_root(l.doc, root);
        l.rows = yyjson_mut_obj_add_arr(l.doc, root, "sources");
    } else {
        table_begin(&l.table, c,
                    unhealthy ? "source|health|failures|reached|verified|reason"
                              : "source|level|last outcome|checked|next check|url");
    }
    enum rc rc = unhealthy ? unhealthy_each(c->ledger, clock_now(), list_unhealthy, &l, &c->err)
                           : source_each(c->ledger, 0, list_one, &l, &c->err);
    if (rc != RC_OK)
        return cli_fail(c, c->command->name);
    if (c->json)
        return cli_print_json(c, l.doc);
    if (l.n == 0 && unhealthy)
        cli_hint(c, "Every source is in order.\n");
    else if (l.n == 0)
        cli_hint(c, "No sources yet. Add one with: freshet source add --id ID --url URL\n");
    return table_end(&l.table) ? CLI_DONE : cli_error(c, c->command->name, "no memory");
}

/* ---- show ------------------------------------------------------------------------------------ */

static enum rc add_receipt_json(void *ctx, const struct check_receipt *r, struct err *err)
{
    struct listing *l = ctx;
    yyjson_mut_val *o = yyjson_mut_arr_add_obj(l->doc, l->rows);
    (void)err;
    json_add_time(l->doc, o, "started_at", r->started_at);
    json_add_str(l->doc, o, "outcome", r->outcome);
    json_add_str(l->doc, o, "detail", r->detail);
    json_add_str(l->doc, o, "due_because", r->due_because);
    yyjson_mut_obj_add_int(l->doc, o, "http", r->http);
    yyjson_mut_obj_add_int(l->doc, o, "attempts", r->attempts);
    yyjson_mut_obj_add_int(l->doc, o, "bytes_in", r->bytes_in);
    yyjson_mut_obj_add_int(l->doc, o, "bytes_saved", r->bytes_saved);
    return RC_OK;
}

static enum rc add_receipt_row(void *ctx, const struct check_receipt *r, struct err *err)
{
    struct listing *l = ctx;
    (void)err;
    table_cell(&l->table, cli_time(l->c, r->started_at));
    table_cell(&l->table, r->outcome);
    table_cell_i64(&l->table, r->http);
    table_cell(&l->table, r->due_because);
    table_cell(&l->table, r->detail);
    return RC_OK;
}

/* Of a source that has an event stream: how it stands with it. */
static enum rc add_stream_json(struct cli *c, yyjson_mut_doc *d, yyjson_mut_val *root,
                               const struct source *s)
{
    struct stream_state st;
    TRY(stream_get(c->ledger, s->no, &st, &c->err));
    if (!st.known)
        return RC_OK;
    yyjson_mut_val *o = yyjson_mut_obj_add_obj(d, root, "stream");
    json_add_str(d, o, "state", st.up ? "up" : "down");
    json_add_time(d, o, "since", st.at);
    json_add_str(d, o, "reason", *st.note ? st.note : NULL);
    return RC_OK;
}

/* Of a source with an adapter: what was heard. */
static enum rc add_push_json(struct cli *c, yyjson_mut_doc *d, yyjson_mut_val *root,
                             const struct source *s)
{
    struct push_state p;
    if (!*s->adapter)
        return RC_OK;
    TRY(push_state_get(c->ledger, s->no, &p, &c->err));
    yyjson_mut_val *o = yyjson_mut_obj_add_obj(d, root, "push");
    json_add_str(d, o, "path", arena_printf(&c->arena, "/hooks/%s", s->id));
    yyjson_mut_obj_add_int(d, o, "accepted", p.accepted);
    yyjson_mut_obj_add_int(d, o, "conflicts", p.conflicts);
    json_add_time(d, o, "heard_at", p.last_at);
    if (!*p.confirm)
        return RC_OK;
    yyjson_mut_val *k = yyjson_mut_obj_add_obj(d, o, "subscription");
    json_add_str(d, k, "state", p.confirm);
    json_add_str(d, k, "detail", *p.confirm_detail ? p.confirm_detail : NULL);
    yyjson_mut_obj_add_int(d, k, "attempts", p.confirm_attempts);
    json_add_time(d, k, "asked_at", p.confirm_asked_at);
    json_add_time(d, k, "next_at", p.confirm_next_at);
    return RC_OK;
}

static int show_json(struct cli *c, const struct source *s, const struct check_state *st,
                     int64_t checks)
{
    struct listing l = {.c = c, .doc = json_doc(&c->arena)};
    yyjson_mut_val *root = source_json(c, l.doc, s);
    yyjson_mut_doc_set_root(l.doc, root);
    struct health h = health_now(s, st);
    struct learned learned;
    state_learned(s, st, &c->inst.conf, &learned);
    yyjson_mut_obj_add_val(l.doc, root, "state", state_json(l.doc, st));
    yyjson_mut_obj_add_val(l.doc, root, "health", health_json(l.doc, &h));
    if (add_stream_json(c, l.doc, root, s) != RC_OK || add_push_json(c, l.doc, root, s) != RC_OK)
        return cli_fail(c, c->command->name);
    yyjson_mut_val *words = yyjson_mut_obj_add_arr(l.doc, root, "learned");
    for (size_t i = 0; i < learned.n; i++)
        yyjson_mut_arr_add_strcpy(l.doc, words, learned.text[i]);
    l.rows = yyjson_mut_obj_add_arr(l.doc, root, "latest_checks");
    if (check_receipts(c->ledger, s->no, checks, add_receipt_json, &l, &c->err) != RC_OK)
        return cli_fail(c, c->command->name);
    return cli_print_json(c, l.doc);
}

static void print_line(const struct cli *c, const char *name, const char *value)
{
    if (value && *value)
        printf("%s%-14s%s %s\n", cli_on(c, CLI_BOLD), name, cli_off(c), value);
}

static void print_parent(struct cli *c, const struct source *s)
{
    struct source parent;
    if (s->parent_no && source_by_no(c->ledger, &c->arena, s->parent_no, &parent, &c->err) == RC_OK)
        print_line(c, "parent",
                   arena_printf(&c->arena, "%s, which names it %s", parent.id, s->entry));
}

static void print_declared(struct cli *c, const struct source *s)
{
    const char *windows;
    print_line(c, "source", s->id);
    print_line(c, "title", s->title);
    print_parent(c, s);
    print_line(c, "url", s->url);
    print_line(c, "detector", s->detector);
    print_line(c, "collection", s->collection);
    print_line(c, "level", level_name(s->level));
    print_line(c, "license", s->license);
    if (trigger_words(&c->arena, s, &windows, &c->err) == RC_OK)
        print_line(c, "windows", windows);
    print_line(c, "retired", s->retired_at >= 0 ? cli_time(c, s->retired_at) : "");
}

static void print_stream(struct cli *c, const struct source *s)
{
    struct stream_state st;
    if (stream_get(c->ledger, s->no, &st, &c->err) != RC_OK || !st.known)
        return;
    print_line(c, "stream",
               arena_printf(&c->arena, "%s since %s%s%s", st.up ? "up" : "down", cli_time(c, st.at),
                            *st.note ? ": " : "", st.note));
}

static void print_push(struct cli *c, const struct source *s)
{
    struct push_state p;
    if (!*s->adapter || push_state_get(c->ledger, s->no, &p, &c->err) != RC_OK)
        return;
    print_line(c, "push", arena_printf(&c->arena, "%s at /hooks/%s", s->adapter, s->id));
    print_line(c, "heard",
               p.accepted ? arena_printf(&c->arena, "%lld times, last %s", (long long)p.accepted,
                                         cli_time(c, p.last_at))
                          : "never");
    if (p.conflicts)
        print_line(
            c, "conflicts",
            arena_printf(&c->arena, "%lld. See: freshet queue conflicts", (long long)p.conflicts));
    if (*p.confirm)
        print_line(c, "subscription",
                   arena_printf(&c->arena, "%s, asked %s, tried %lld times%s%s", p.confirm,
                                cli_time(c, p.confirm_asked_at), (long long)p.confirm_attempts,
                                *p.confirm_detail ? ": " : "", p.confirm_detail));
}

static void print_health(const struct cli *c, const struct source *s, const struct check_state *st)
{
    struct health h = health_now(s, st);
    struct learned learned;
    state_learned(s, st, &c->inst.conf, &learned);
    printf("%s%-14s %s%s%s\n", cli_on(c, CLI_BOLD), "health",
           cli_on(c, health_breach(h.state) ? CLI_BAD : CLI_GOOD), health_name(h.state),
           cli_off(c));
    print_line(c, "", *h.reason ? h.reason : h.text);
    for (size_t i = 0; i < learned.n; i++)
        print_line(c, i ? "" : "learned", learned.text[i]);
}

/* A deletion, or how far the sightings of 404 and 410 are from one. */
static void print_gone(struct cli *c, const struct source *s, const struct check_state *st)
{
    struct head h;
    if (head_get(c->ledger, &c->arena, s->no, &h, &c->err) == RC_OK && h.deleted)
        print_line(c, "removed", cli_time(c, h.promoted_at));
    if (source_is_unlisted(s))
        print_line(c, "unlisted", cli_time(c, s->unlisted_at));
    if (st->gone_count > 0 && !source_is_entry(s))
        print_line(c, "gone",
                   arena_printf(&c->arena, "%lld of %lld sightings, since %s",
                                (long long)st->gone_count, (long long)s->gone_after,
                                cli_time(c, st->gone_since)));
}

static void print_state(struct cli *c, const struct check_state *st)
{
    char hex[SHA256_HEX];
    sha256_hex(&st->seen_sha, hex);
    print_line(c, "last outcome", st->last_outcome);
    print_line(c, "", st->last_detail);
    print_line(c, "checked", cli_time(c, st->checked_at));
    print_line(c, "reached", cli_time(c, st->reached_at));
    print_line(c, "verified", cli_time(c, st->verified_at));
    print_line(c, "changed", cli_time(c, st->changed_at));
    print_line(c, "next check", cli_time(c, st->next_check_at));
    print_line(c, "etag", st->etag);
    print_line(c, "last modified", st->last_modified);
    print_line(c, "sha256", st->has_seen ? hex : "");
    print_line(c, "cursor", st->cursor);
}

static int show_text(struct cli *c, const struct source *s, const struct check_state *st,
                     int64_t checks)
{
    struct listing l = {.c = c};
    print_declared(c, s);
    print_health(c, s, st);
    print_stream(c, s);
    print_push(c, s);
    print_gone(c, s, st);
    print_state(c, st);
    table_begin(&l.table, c, "latest checks|outcome|http|because|detail");
    if (check_receipts(c->ledger, s->no, checks, add_receipt_row, &l, &c->err) != RC_OK)
        return cli_fail(c, c->command->name);
    if (l.table.rows > l.table.columns)
        putchar('\n');
    return table_end(&l.table) ? CLI_DONE : cli_error(c, c->command->name, "no memory");
}

int cmd_source_show(struct cli *c)
{
    struct source s;
    struct check_state st;
    int64_t checks = CHECKS_SHOWN;
    if (!cli_opt_i64(c, "checks", 0, 10000, &checks))
        return CLI_USAGE;
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (source_find(c, c->args[0], &s) != RC_OK ||
        check_state_get(c->ledger, s.no, &st, &c->err) != RC_OK)
        return cli_fail(c, c->command->name);
    return c->json ? show_json(c, &s, &st, checks) : show_text(c, &s, &st, checks);
}

/* ---- retire and resume ----------------------------------------------------------------------- */

static enum rc retire(struct cli *c, const char *id)
{
    struct source s;
    const struct declare d = {.ledger = c->ledger, .inst = &c->inst, .arena = &c->arena};
    TRY(source_find(c, id, &s));
    return declare_retired(&d, id, clock_now(), &c->err);
}

static enum rc resume(struct cli *c, const char *id)
{
    struct source s;
    int64_t now = clock_now();
    TRY(source_find(c, id, &s));
    if (s.retired_at < 0)
        return err_set(&c->err, RC_CONFLICT, "", "%s is not retired", id);
    TRY(source_resume(c->ledger, &s, now, &c->err));
    return project_source(c->ledger, &c->inst, &s, now, &c->err);
}

/* Does `change` to the source that is named, in one transaction. */
static int change_one(struct cli *c, enum rc (*change)(struct cli *c, const char *id))
{
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (ledger_begin(c->ledger, &c->err) != RC_OK)
        return cli_fail(c, c->command->name);
    if (change(c, c->args[0]) != RC_OK) {
        ledger_abort(c->ledger);
        return cli_fail(c, c->command->name);
    }
    return ledger_commit(c->ledger, &c->err) == RC_OK ? CLI_DONE : cli_fail(c, c->command->name);
}

int cmd_source_retire(struct cli *c)
{
    int code = change_one(c, retire);
    if (code != CLI_DONE)
        return code;
    if (c->json)
        return printf("{\"retired\":\"%s\"}\n", c->args[0]) > 0 ? CLI_DONE : CLI_FAILED;
    cli_hint(c,
             "Retired %s. Its history stays; nothing is looked at any more."
             " Back with: freshet source resume %s\n",
             c->args[0], c->args[0]);
    return CLI_DONE;
}

int cmd_source_resume(struct cli *c)
{
    int code = change_one(c, resume);
    if (code != CLI_DONE)
        return code;
    if (c->json)
        return printf("{\"resumed\":\"%s\"}\n", c->args[0]) > 0 ? CLI_DONE : CLI_FAILED;
    cli_hint(c, "Resumed %s. Sources that it names stay retired until each is resumed.\n",
             c->args[0]);
    return CLI_DONE;
}
