/* stats: the numbers of an instance, all levels.
 *
 *   sources by level · health · checks by outcome, bytes and answers · changes, runs, inbox · objects ·
 *   evidence · what is still to be told · lag
 *
 * Called by main_freshet.c. */
#include "cli/cli.h"
#include "core/clock.h"
#include "ledger/stats.h"
#include "ledger/tally.h"
#include "ledger/unhealthy.h"

struct listing {
    struct cli *c;
    struct table table;
    yyjson_mut_doc *doc;
    yyjson_mut_val *root, *object;
    const char *group; /* of object */
};

/* One number, in a group of the document or as a row; without a name the group alone. */
static void say(struct listing *l, const char *group, const char *name, int64_t n)
{
    if (!l->c->json) {
        if (!name)
            return;
        table_cell(&l->table, group);
        table_cell(&l->table, name);
        table_cell_i64(&l->table, n);
        return;
    }
    if (!l->group || strcmp(l->group, group) != 0) {
        l->object = yyjson_mut_obj_add_obj(l->doc, l->root, group);
        l->group = group;
    }
    if (name)
        yyjson_mut_obj_add(l->object, yyjson_mut_strcpy(l->doc, name), yyjson_mut_sint(l->doc, n));
}

static enum rc say_one(void *ctx, const char *group, const char *name, int64_t n, struct err *err)
{
    (void)err;
    say(ctx, group, name, n);
    return RC_OK;
}

static enum rc count_health(void *ctx, const struct source *s, const struct check_state *st,
                            const struct health *h, struct err *err)
{
    (void)s, (void)st, (void)err;
    ((int64_t *)ctx)[h->state]++;
    return RC_OK;
}

static enum rc say_health(struct listing *l, struct err *err)
{
    int64_t counts[HEALTH_COUNT] = {0};
    TRY(unhealthy_each(l->c->ledger, clock_now(), count_health, counts, err));
    for (int h = 0; h < HEALTH_COUNT; h++)
        if (health_breach((enum health_state)h))
            say(l, "unhealthy", health_name((enum health_state)h), counts[h]);
    return RC_OK;
}

static enum rc say_checks(struct listing *l, struct err *err)
{
    struct tally_sums sums;
    TRY(tally_between(l->c->ledger, 0, INT64_MAX, &sums, err));
    say(l, "checks", NULL, 0);
    for (int o = 0; o < OUTCOME_COUNT; o++)
        if (sums.by_outcome[o].checks)
            say(l, "checks", outcome_name((enum outcome)o), sums.by_outcome[o].checks);
    say(l, "requests", "sent", sums.all.requests);
    say(l, "requests", "http_200", sums.all.http_200);
    say(l, "requests", "http_304", sums.all.http_304);
    say(l, "requests", "bytes_in", sums.all.bytes_in);
    say(l, "requests", "bytes_saved", sums.all.bytes_saved);
    return RC_OK;
}

static enum rc say_lag(struct listing *l, struct err *err)
{
    struct stats_lag lag;
    TRY(stats_lag(l->c->ledger, &lag, err));
    say(l, "lag_ms", NULL, 0);
    if (lag.changes) {
        say(l, "lag_ms", "p50", lag.p50);
        say(l, "lag_ms", "p95", lag.p95);
    }
    return RC_OK;
}

static enum rc say_all(struct listing *l, struct err *err)
{
    TRY(say_health(l, err));
    TRY(say_checks(l, err));
    TRY(stats_each(l->c->ledger, say_one, l, err));
    return say_lag(l, err);
}

int cmd_stats(struct cli *c)
{
    struct listing l = {.c = c};
    if (!cli_ledger(c))
        return CLI_FAILED;
    l.doc = json_doc(&c->arena);
    l.root = yyjson_mut_obj(l.doc);
    yyjson_mut_doc_set_root(l.doc, l.root);
    table_begin(&l.table, c, "about|what|number");
    if (say_all(&l, &c->err) != RC_OK)
        return cli_fail(c, c->command->name);
    if (c->json)
        return cli_print_json(c, l.doc);
    return table_end(&l.table) ? CLI_DONE : cli_error(c, c->command->name, "no memory");
}
