/* monitor: changes that came outside of every window of their source.
 *
 * Invariants
 *   1. The operator's view: withheld sources are shown too.
 *   2. --follow prints every one once: it goes on from the newest candidate it has seen.
 * Called by main_freshet.c. */
#include <poll.h>
#include <signal.h>

#include "cli/cli.h"
#include "core/clock.h"
#include "ledger/trigger.h"
#include "ledger/unexpected.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX 100000
#define PAGE_MEMORY_MAX (256u << 20) /* LIMIT_MAX rows with their sources' windows */
#define FOLLOW_MS 500

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
    (void)signal;
    stopped = 1;
}

struct monitor {
    struct cli *c; /* its memory lasts one page */
    struct table table;
    yyjson_mut_doc *doc;
    yyjson_mut_val *rows;
    int64_t newest, since, limit, found;
};

static const char *copy(struct monitor *m, struct str s)
{
    const char *text = arena_str(&m->c->arena, s);
    return text ? text : "";
}

/* Where it has got to: promoted, held, waiting, ... */
static struct str progress_of(const struct unexpected *u)
{
    return u->result.n ? u->result : u->state;
}

static void add_json(struct monitor *m, const struct unexpected *u, const struct source *s,
                     const char *expected)
{
    yyjson_mut_doc *d = m->doc;
    yyjson_mut_val *o = yyjson_mut_arr_add_obj(d, m->rows);
    json_add_time(d, o, "detected_at", u->detected_at);
    json_add_str(d, o, "source_id", s->id);
    json_add_str(d, o, "change_event_id", copy(m, u->event_id));
    json_add_str(d, o, "outcome", copy(m, u->outcome));
    json_add_str(d, o, "change_type", u->change_type.n ? copy(m, u->change_type) : NULL);
    json_add_str(d, o, "change_class", u->change_class.n ? copy(m, u->change_class) : NULL);
    json_add_str(d, o, "state", copy(m, progress_of(u)));
    json_add_str(d, o, "expected", expected);
}

static void add_row(struct monitor *m, const struct unexpected *u, const struct source *s,
                    const char *expected)
{
    table_cell(&m->table, cli_time(m->c, u->detected_at));
    table_cell(&m->table, s->id);
    table_cell(&m->table, copy(m, u->change_type.n ? u->change_type : u->outcome));
    table_cell(&m->table, copy(m, progress_of(u)));
    table_cell(&m->table, expected);
    table_cell(&m->table, copy(m, u->event_id));
}

static enum rc take_one(void *ctx, const struct unexpected *u, struct err *err)
{
    struct monitor *m = ctx;
    struct source s;
    const char *expected;
    TRY(source_by_no(m->c->ledger, &m->c->arena, u->src_no, &s, err));
    TRY(trigger_words(&m->c->arena, &s, &expected, err));
    m->newest = u->cand_no > m->newest ? u->cand_no : m->newest;
    m->found++;
    if (m->c->json)
        add_json(m, u, &s, expected);
    else
        add_row(m, u, &s, expected);
    return RC_OK;
}

static int print_page(struct monitor *m, bool quiet_when_empty)
{
    struct cli *c = m->c;
    int64_t before = m->found;
    arena_reset(&c->arena);
    if (c->json) {
        m->doc = json_doc(&c->arena);
        yyjson_mut_val *root = yyjson_mut_obj(m->doc);
        yyjson_mut_doc_set_root(m->doc, root);
        m->rows = yyjson_mut_obj_add_arr(m->doc, root, "results");
    } else {
        table_begin(&m->table, c, "detected|source|change|state|expected|event");
    }
    if (unexpected_each(c->ledger, m->newest, m->since, m->limit, take_one, m, &c->err) != RC_OK)
        return cli_fail(c);
    if (m->found == before && quiet_when_empty)
        return CLI_DONE;
    if (c->json)
        return cli_print_json(c, m->doc);
    if (m->found == before)
        cli_note(c, "Nothing came outside of its windows.\n");
    return table_end(&m->table) ? CLI_DONE : cli_error(c, "monitor", "no memory");
}

static int follow(struct monitor *m)
{
    int code = CLI_DONE;
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    while (!stopped && code == CLI_DONE) {
        if (fflush(stdout) != 0)
            break; /* the reader is gone; cli_flush says what there is to say */
        poll(NULL, 0, FOLLOW_MS);
        code = print_page(m, true);
    }
    return code;
}

int cmd_monitor(struct cli *c)
{
    struct monitor m = {.limit = LIMIT_DEFAULT};
    const char *since = cli_opt(c, "since");
    if (since && time_parse(str_of(since), &m.since) != RC_OK)
        return cli_usage(c, "--since must be an RFC 3339 time such as 2026-07-01T00:00:00Z");
    if (!cli_opt_i64(c, "limit", 1, LIMIT_MAX, &m.limit))
        return CLI_USAGE;
    if (!cli_ledger(c))
        return CLI_FAILED;
    struct cli page = *c;
    arena_init(&page.arena, PAGE_MEMORY_MAX);
    m.c = &page;
    int code = print_page(&m, cli_has(c, "follow"));
    if (code == CLI_DONE && cli_has(c, "follow"))
        code = follow(&m);
    arena_release(&page.arena);
    if (code == CLI_DONE && m.found && cli_has(c, "exit-code"))
        return CLI_CHANGED;
    return code;
}
