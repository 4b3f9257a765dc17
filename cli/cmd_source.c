/* source list, show, retire, resume: the sources of an instance, as the operator sees them.
 *
 * Invariants
 *   1. This is the operator's own machine: nothing is withheld here. Secret values are not in a
 *      declaration to begin with (I12).
 * Called by main_freshet.c. */
#include "cli/rows.h"
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

struct sources {
    struct rows rows;
    bool retired; /* these too */
    int64_t n;
};

static enum rc add_json(struct rows *l, const struct source *s, const struct check_state *st,
                        const struct health *h)
{
    yyjson_mut_val *o = source_json(l->c, l->doc, s);
    yyjson_mut_obj_add_val(l->doc, o, "state", state_json(l->doc, st));
    yyjson_mut_obj_add_val(l->doc, o, "health", health_json(l->doc, h));
    yyjson_mut_arr_append(l->list, o);
    return RC_OK;
}

/* How the last look ended. An entry is looked at through its listing, and read by the handler. */
static const char *last_of(struct cli *c, const struct source *s, const struct check_state *st)
{
    struct inbox_waiting w;
    struct err none;
    if (s->retired_at >= 0)
        return "retired";
    if (source_is_unlisted(s))
        return "not listed";
    if (source_is_entry(s) && inbox_waiting(c->ledger, s->no, &w, &none) == RC_OK) {
        const char *text = arena_printf(&c->arena, "to retry %s", w.reason);
        return text ? text : "to retry";
    }
    return *st->last_outcome    ? st->last_outcome
           : st->checked_at < 0 ? "never checked"
                                : "as listed";
}

static enum rc add_row(struct rows *l, const struct source *s, const struct check_state *st)
{
    table_cell(&l->table, s->id);
    table_cell(&l->table, level_name(s->level));
    table_cell(&l->table, last_of(l->c, s, st));
    table_cell(&l->table, cli_time(l->c, st->checked_at));
    table_cell(&l->table, cli_time(l->c, st->next_check_at));
    table_cell(&l->table, s->url);
    return RC_OK;
}

static enum rc list_one(void *ctx, const struct source *s, struct err *err)
{
    struct sources *all = ctx;
    struct rows *l = &all->rows;
    struct check_state st;
    if (s->retired_at >= 0 && !all->retired)
        return RC_OK;
    TRY(check_state_get(l->c->ledger, s->no, &st, err));
    all->n++;
    struct health h = health_now(s, &st);
    return l->c->json ? add_json(l, s, &st, &h) : add_row(l, s, &st);
}

static enum rc list_unhealthy(void *ctx, const struct source *s, const struct check_state *st,
                              const struct health *h, struct err *err)
{
    struct sources *all = ctx;
    struct rows *l = &all->rows;
    (void)err;
    all->n++;
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
    struct sources all = {.retired = cli_has(c, "retired")};
    bool unhealthy = cli_has(c, "unhealthy");
    if (unhealthy && all.retired)
        return cli_usage(c, "a retired source has no health: say one of --retired and --unhealthy");
    if (!cli_ledger(c))
        return CLI_FAILED;
    rows_begin(&all.rows, c, "sources",
               unhealthy ? "source|health|failures|reached|verified|reason"
                         : "source|level|last outcome|checked|next check|url");
    enum rc rc = unhealthy ? unhealthy_each(c->ledger, clock_now(), list_unhealthy, &all, &c->err)
                           : source_each(c->ledger, 0, list_one, &all, &c->err);
    int code = rows_end(&all.rows, rc);
    if (code == CLI_DONE && all.n == 0)
        cli_hint(c, unhealthy
                        ? "Every source is in order.\n"
                        : "No sources yet. Add one with: freshet source add --id ID --url URL\n");
    return code;
}

/* ---- show ------------------------------------------------------------------------------------ */

static enum rc add_receipt_json(void *ctx, const struct check_receipt *r, struct err *err)
{
    struct rows *l = ctx;
    yyjson_mut_val *o = rows_object(l);
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
    struct rows *l = ctx;
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

static void add_waiting_json(struct cli *c, yyjson_mut_doc *d, yyjson_mut_val *root,
                             const struct source *s)
{
    struct inbox_waiting w;
    struct err none;
    if (inbox_waiting(c->ledger, s->no, &w, &none) != RC_OK)
        return;
    yyjson_mut_val *o = yyjson_mut_obj_add_obj(d, root, "not_taken_in");
    json_add_str(d, o, "reason", w.reason);
    yyjson_mut_obj_add_int(d, o, "attempts", w.attempts);
    json_add_time(d, o, "next_at", w.next_at);
}

static int show_json(struct cli *c, const struct source *s, const struct check_state *st,
                     int64_t checks)
{
    struct rows l = {.c = c, .doc = json_doc(&c->arena)};
    l.root = source_json(c, l.doc, s);
    yyjson_mut_doc_set_root(l.doc, l.root);
    struct health h = health_now(s, st);
    struct learned learned;
    state_learned(s, st, &c->inst.conf, &learned);
    yyjson_mut_obj_add_val(l.doc, l.root, "state", state_json(l.doc, st));
    yyjson_mut_obj_add_val(l.doc, l.root, "health", health_json(l.doc, &h));
    if (add_stream_json(c, l.doc, l.root, s) != RC_OK ||
        add_push_json(c, l.doc, l.root, s) != RC_OK)
        return cli_fail(c);
    add_waiting_json(c, l.doc, l.root, s);
    yyjson_mut_val *words = yyjson_mut_obj_add_arr(l.doc, l.root, "learned");
    for (size_t i = 0; i < learned.n; i++)
        yyjson_mut_arr_add_strcpy(l.doc, words, learned.text[i]);
    rows_list(&l, "latest_checks");
    return rows_end(&l, check_receipts(c->ledger, s->no, checks, add_receipt_json, &l, &c->err));
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

static const char *compact(struct cli *c, yyjson_val *v)
{
    yyjson_mut_doc *d = json_doc(&c->arena);
    struct str text;
    struct err none;
    yyjson_mut_doc_set_root(d, yyjson_val_mut_copy(d, v));
    return json_write(&c->arena, d, 0, &text, &none) == RC_OK ? arena_str(&c->arena, text) : "";
}

/* Names alone: a value may be long, and is in --json. */
static const char *header_names(struct cli *c, const struct source *s)
{
    const char *text = "";
    for (size_t i = 0; text && i < s->n_headers; i++)
        text = arena_printf(&c->arena, "%s%s%s", text, i ? ", " : "", s->headers[i].name);
    return text;
}

/* What else was declared, by the names that it was declared with. */
static void print_more(struct cli *c, const struct source *s)
{
    static const char *const shown[] = {"id",       "title",      "url",
                                        "detector", "collection", "sensitivity",
                                        "license",  "triggers",   "headers"};
    yyjson_val *spec, *key, *v;
    struct err none;
    size_t i, n;
    if (json_parse(&c->arena, s->spec, 0, "the declaration", &spec, &none) != RC_OK)
        return;
    yyjson_obj_foreach(spec, i, n, key, v)
    {
        const char *name = yyjson_get_str(key);
        bool known = false;
        for (size_t k = 0; k < ARRAY_LEN(shown); k++)
            known |= strcmp(shown[k], name) == 0;
        if (!known)
            print_line(c, name, yyjson_is_str(v) ? yyjson_get_str(v) : compact(c, v));
    }
    print_line(c, "headers", header_names(c, s));
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
    print_more(c, s);
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

/* What was found and could not be taken in, and will be tried again. */
static void print_waiting(struct cli *c, const struct source *s)
{
    struct inbox_waiting w;
    if (inbox_waiting(c->ledger, s->no, &w, &c->err) != RC_OK)
        return;
    print_line(c, "not taken in",
               arena_printf(&c->arena, "%s, tried %lld time%s; again at %s", w.reason,
                            (long long)w.attempts, w.attempts == 1 ? "" : "s",
                            cli_time(c, w.next_at)));
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
    struct rows l;
    print_declared(c, s);
    print_health(c, s, st);
    print_stream(c, s);
    print_push(c, s);
    print_gone(c, s, st);
    print_waiting(c, s);
    print_state(c, st);
    rows_begin(&l, c, NULL, "latest checks|outcome|http|because|detail");
    enum rc rc = check_receipts(c->ledger, s->no, checks, add_receipt_row, &l, &c->err);
    if (rc == RC_OK && rows_shown(&l))
        putchar('\n');
    return rows_end(&l, rc);
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
        return cli_fail(c);
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
        return cli_fail(c);
    enum rc rc = ledger_end(c->ledger, change(c, c->args[0]), &c->err);
    return rc == RC_OK ? CLI_DONE : cli_fail(c);
}

int cmd_source_retire(struct cli *c)
{
    int code = change_one(c, retire);
    if (code != CLI_DONE)
        return code;
    if (c->json)
        return cli_print_text(c, "retired", c->args[0]);
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
        return cli_print_text(c, "resumed", c->args[0]);
    cli_hint(c, "Resumed %s. Sources that it names stay retired until each is resumed.\n",
             c->args[0]);
    return CLI_DONE;
}
