/* waiver add, list, revoke: exceptions from a policy or rule, for one source and a time.
 *
 * Invariants
 *   1. Two people: one asks, another one agrees. Nothing is ever altered: a revocation is a
 *      record too.
 *   2. What may not be waived (handler/gate.h) is refused here, and would not count anyway.
 * Called by main_freshet.c. */
#include "cli/rows.h"
#include "cli/source_put.h"
#include "core/clock.h"
#include "handler/gate.h"

#define DECISION_MEMORY_MAX (1u << 20) /* one stored decision, parsed */

/* "2026-12-31" means until that day is over. */
static enum rc read_expiry(struct cli *c, const char *text, int64_t *ret)
{
    const char *day = strlen(text) == 10 ? arena_printf(&c->arena, "%sT23:59:59Z", text) : text;
    if (!day || time_parse(str_of(day), ret) != RC_OK)
        return err_set(&c->err, RC_INVALID, "expires",
                       "must be a day like 2026-12-31, or an RFC 3339 time");
    return RC_OK;
}

static enum rc add(struct cli *c, int64_t *ret_no, struct waiver *w)
{
    struct source s;
    TRY(source_find(c, cli_opt(c, "source"), &s));
    if (!gate_waivable(w->rule))
        return err_set(&c->err, RC_INVALID, "rule",
                       "%.60s cannot be waived. See which can: freshet docs policy", w->rule);
    TRY(read_expiry(c, cli_opt(c, "expires"), &w->expires_at));
    w->src_no = s.no;
    return waiver_add(c->ledger, w, clock_now(), ret_no, &c->err);
}

/* ---- what it would let pass ------------------------------------------------------------------ */

struct freed {
    struct cli *c;
    const char *rule;
    struct gate_waivers waivers; /* of the source, the new one among them */
    const char *events[DECISION_HELD_MAX];
    size_t n;
};

static enum rc find_freed(void *ctx, const char *event, struct str doc, struct err *err)
{
    struct freed *f = ctx;
    bool yes;
    CLEANUP(arena_release) struct arena a = {0};
    arena_init(&a, DECISION_MEMORY_MAX);
    TRY(gate_freed(&a, doc, &f->waivers, f->rule, &yes, err));
    if (!yes || f->n == ARRAY_LEN(f->events))
        return RC_OK;
    f->events[f->n] = arena_strdup(&f->c->arena, event);
    return f->events[f->n++] ? RC_OK : err_set(err, RC_NOMEM, "", "no memory for an event");
}

/* What is held stays so, since a person is to decide on it; but nobody shall have to find
 * out which. */
static enum rc look_for_freed(struct cli *c, const struct waiver *w, struct freed *f)
{
    *f = (struct freed){.c = c, .rule = w->rule};
    TRY(gate_waivers(c->ledger, w->src_no, clock_now(), &f->waivers, &c->err));
    return decision_held_each(c->ledger, w->src_no, find_freed, f, &c->err);
}

static const char *approve_command(struct cli *c, const char *event)
{
    const char *s =
        arena_printf(&c->arena, "freshet approve %s --reviewer NAME --note TEXT", event);
    return s ? s : "";
}

/* On standard error: the output is the number of the waiver. */
static void print_freed(struct cli *c, const struct freed *f)
{
    if (f->n == 0)
        return;
    fflush(stdout);
    fprintf(stderr,
            f->n == 1 ? "%zu change is held for this, and stays so until somebody decides:\n"
                      : "%zu changes are held for this, and stay so until somebody decides:\n",
            f->n);
    for (size_t i = 0; i < f->n; i++)
        fprintf(stderr, "  %s\n", approve_command(c, f->events[i]));
}

static void add_freed(struct cli *c, yyjson_mut_doc *d, yyjson_mut_val *o, const struct freed *f)
{
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(d, o, "held");
    for (size_t i = 0; i < f->n; i++) {
        yyjson_mut_val *one = yyjson_mut_arr_add_obj(d, list);
        json_add_str(d, one, "event", f->events[i]);
        json_add_str(d, one, "approve", approve_command(c, f->events[i]));
    }
}

int cmd_waiver_add(struct cli *c)
{
    struct freed *f;
    static const char *const needed[] = {"source",   "rule",    "requester",
                                         "reviewer", "expires", "note"};
    struct waiver w = {.rule = cli_opt(c, "rule"),
                       .requester = cli_opt(c, "requester"),
                       .reviewer = cli_opt(c, "reviewer"),
                       .note = cli_opt(c, "note")};
    int64_t no = 0;
    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        if (!cli_opt(c, needed[i]))
            return cli_usage(c, "--%s is needed. Usage: freshet waiver add %s", needed[i],
                             c->command->usage);
    if (!cli_ledger(c))
        return CLI_FAILED;
    f = ARENA_NEW(&c->arena, struct freed);
    if (!f)
        return cli_error(c, "waiver add", "no memory");
    if (add(c, &no, &w) != RC_OK || look_for_freed(c, &w, f) != RC_OK)
        return cli_fail(c);
    if (!c->json) {
        printf("%lld\n", (long long)no);
        print_freed(c, f);
        cli_hint(c, "It counts until %s. What was denied before: freshet dlq retry EVENT\n",
                 cli_time(c, w.expires_at));
        return CLI_DONE;
    }
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    yyjson_mut_obj_add_int(d, o, "waiver", no);
    json_add_str(d, o, "source_id", cli_opt(c, "source"));
    json_add_str(d, o, "rule", w.rule);
    json_add_time(d, o, "expires_at", w.expires_at);
    add_freed(c, d, o, f);
    return cli_print_json(c, d);
}

/* ---- list ------------------------------------------------------------------------------------ */

struct waivers {
    struct rows rows;
    int64_t now;
};

static const char *state_of(const struct waivers *all, const struct waiver *w)
{
    return w->revoked_at >= 0 ? "revoked" : w->expires_at <= all->now ? "expired" : "in force";
}

static void add_json(struct waivers *all, const struct waiver *w, const char *source)
{
    struct rows *l = &all->rows;
    yyjson_mut_val *o = rows_object(l);
    yyjson_mut_obj_add_int(l->doc, o, "waiver", w->no);
    json_add_str(l->doc, o, "source_id", source);
    json_add_str(l->doc, o, "rule", w->rule);
    json_add_str(l->doc, o, "state", state_of(all, w));
    json_add_str(l->doc, o, "requester", w->requester);
    json_add_str(l->doc, o, "reviewer", w->reviewer);
    json_add_str(l->doc, o, "note", w->note);
    json_add_time(l->doc, o, "at", w->at);
    json_add_time(l->doc, o, "expires_at", w->expires_at);
    json_add_time(l->doc, o, "revoked_at", w->revoked_at);
}

static enum rc list_one(void *ctx, const struct waiver *w, struct err *err)
{
    struct waivers *all = ctx;
    struct rows *l = &all->rows;
    struct source s;
    TRY(source_by_no(l->c->ledger, &l->c->arena, w->src_no, &s, err));
    if (l->c->json) {
        add_json(all, w, s.id);
        return RC_OK;
    }
    table_cell_i64(&l->table, w->no);
    table_cell(&l->table, s.id);
    table_cell(&l->table, w->rule);
    table_cell(&l->table, state_of(all, w));
    table_cell(&l->table, cli_time(l->c, w->expires_at));
    table_cell(&l->table, w->requester);
    table_cell(&l->table, w->reviewer);
    table_cell(&l->table, w->note);
    return RC_OK;
}

int cmd_waiver_list(struct cli *c)
{
    struct waivers all = {.now = clock_now()};
    struct source s = {0};
    const char *id = cli_opt(c, "source");
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (id && source_find(c, id, &s) != RC_OK)
        return cli_fail(c);
    int64_t since = cli_has(c, "all") ? -1 : all.now;
    rows_begin(&all.rows, c, "waivers", "waiver|source|rule|state|expires|requester|reviewer|note");
    return rows_end(&all.rows, waiver_each(c->ledger, s.no, since, list_one, &all, &c->err));
}

int cmd_waiver_revoke(struct cli *c)
{
    int64_t no;
    const char *by = cli_opt(c, "by"), *note = cli_opt(c, "note");
    if (!by || !note)
        return cli_usage(c, "--by and --note are needed: a revocation is somebody's, for a reason");
    if (str_to_i64(str_of(c->args[0]), &no) != RC_OK)
        return cli_usage(c, "NUMBER is the first column of: freshet waiver list");
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (waiver_revoke(c->ledger, no, by, note, clock_now(), &c->err) != RC_OK)
        return cli_fail(c);
    cli_hint(c, "Revoked from now on.\n");
    return CLI_DONE;
}
