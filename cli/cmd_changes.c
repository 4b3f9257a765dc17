/* changes: the public feed, as /changes gives it (api/feed.h renders both).
 *
 * Invariants
 *   1. --json without --follow prints the body of /changes; with --follow one body per page that
 *      has news, one line each.
 *   2. --follow prints every entry once: it goes on from last_seq.
 * Called by main_freshet.c. */
#include <poll.h>
#include <signal.h>

#include "api/feed.h"
#include "cli/cli.h"

#define PAGE_MEMORY_MAX (256u << 20) /* a page of RESP_BODY_MAX bytes, parsed */
#define FOLLOW_MS 500                /* soon enough for a person, cheap enough for the machine */

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
    (void)signal;
    stopped = 1;
}

struct changes {
    struct cli *c;
    struct cli page; /* a copy of c whose memory lasts one page */
    struct feed_query query;
    struct str base;
    char cursor[24]; /* since, once following has begun */
};

static enum rc set_query(struct changes *k)
{
    static const char *const names[] = {"since", "limit", "source"};
    struct cli *c = k->c;
    feed_query_init(&k->query);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = cli_opt(c, names[i]);
        if (value)
            TRY(feed_query_set(&k->query, names[i], str_of(value), &c->err));
    }
    if (cli_has(c, "follow") && !k->query.has_since)
        TRY(feed_query_set(&k->query, "since", STR("now"), &c->err));
    return RC_OK;
}

/* ---- for people ------------------------------------------------------------------------------ */

static bool print_rows(struct changes *k, yyjson_val *results)
{
    struct table t;
    yyjson_val *e;
    size_t i, n;
    table_begin(&t, &k->page, "seq|finalized|source|type|class|event");
    yyjson_arr_foreach(results, i, n, e)
    {
        table_cell(&t, json_member_text(e, "seq"));
        table_cell(&t, json_member_text(e, "finalized_at"));
        table_cell(&t, json_member_text(e, "source_id"));
        table_cell(&t, json_member_text(e, "change_type"));
        table_cell(&t, json_member_text(e, "change_class"));
        table_cell(&t, json_member_text(e, "change_event_id"));
    }
    return table_end(&t);
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Where to go on: last_seq of the page. */
static void advance(struct changes *k, yyjson_val *page)
{
    yyjson_val *last = yyjson_obj_get(page, "last_seq");
    if (yyjson_is_str(last))
        snprintf(k->cursor, sizeof k->cursor, "%s", yyjson_get_str(last));
    else
        snprintf(k->cursor, sizeof k->cursor, "%lld", (long long)yyjson_get_sint(last));
}

static enum rc print_page(struct changes *k, struct buf *body, bool quiet_when_empty, bool *ret_any)
{
    struct cli *c = &k->page;
    yyjson_val *page = NULL;
    arena_reset(&c->arena);
    buf_clear(body);
    TRY(feed_render(c->ledger, &c->arena, &k->query, k->base, body, &c->err));
    TRY(json_parse(&c->arena, buf_view(body), 0, "the page", &page, &c->err));
    yyjson_val *results = yyjson_obj_get(page, "results");
    bool any = yyjson_arr_size(results) > 0;
    advance(k, page);
    if (c->json && (any || !quiet_when_empty)) {
        fwrite(body->data, 1, body->len, stdout);
        if (body->len && body->data[body->len - 1] != '\n')
            putchar('\n');
    } else if (any && !print_rows(k, results)) {
        return err_set(&c->err, RC_NOMEM, "", "no memory for the page");
    }
    if (!any && !quiet_when_empty)
        cli_hint(c, "No changes%s.\n", k->query.has_since ? " since then" : " yet");
    *ret_any = any;
    return RC_OK;
}

static enum rc follow(struct changes *k, struct buf *body)
{
    bool any = true;
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    while (!stopped) {
        if (!any)
            poll(NULL, 0, FOLLOW_MS);
        TRY(feed_query_set(&k->query, "since", str_of(k->cursor), &k->page.err));
        TRY(print_page(k, body, true, &any));
        if (fflush(stdout) != 0)
            return RC_OK; /* the reader is gone; cli_flush says what there is to say */
    }
    return RC_OK;
}

int cmd_changes(struct cli *c)
{
    struct changes k = {.c = c};
    struct buf body;
    bool any;
    if (set_query(&k) != RC_OK)
        return cli_usage(c, "--%s %s", c->err.field, c->err.msg);
    if (!cli_ledger(c))
        return CLI_FAILED;
    k.base = instance_base(&c->arena, &c->inst);
    k.page = *c;
    arena_init(&k.page.arena, PAGE_MEMORY_MAX);
    buf_init(&body, RESP_BODY_MAX);
    enum rc rc = print_page(&k, &body, cli_has(c, "follow"), &any);
    if (rc == RC_OK && cli_has(c, "follow"))
        rc = follow(&k, &body);
    buf_release(&body);
    c->err = k.page.err;
    arena_release(&k.page.arena);
    return rc == RC_OK ? CLI_DONE : cli_fail(c);
}
