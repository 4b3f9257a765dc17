/* stats: the numbers of an instance, all levels.
 *
 *   sources by level · health · checks by outcome, bytes and answers · changes, runs, inbox ·
 *   objects · evidence · what is still to be told · lag
 *
 * Called by main_freshet.c. */
#include "cli/rows.h"
#include "core/clock.h"
#include "ledger/stats.h"
#include "ledger/tally.h"
#include "ledger/unhealthy.h"

struct numbers {
    struct rows rows;
    yyjson_mut_val *object; /* the last group of the document, */
    const char *group;      /* and its name */
};

/* One number, in a group of the document or as a row; without a name the group alone. */
static void say(struct numbers *x, const char *group, const char *name, int64_t n)
{
    struct rows *l = &x->rows;
    if (!l->c->json) {
        if (!name)
            return;
        table_cell(&l->table, group);
        table_cell(&l->table, name);
        table_cell_i64(&l->table, n);
        return;
    }
    if (!x->group || strcmp(x->group, group) != 0) {
        x->object = yyjson_mut_obj_add_obj(l->doc, l->root, group);
        x->group = group;
    }
    if (name)
        yyjson_mut_obj_add(x->object, yyjson_mut_strcpy(l->doc, name), yyjson_mut_sint(l->doc, n));
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

static enum rc say_health(struct numbers *x, struct err *err)
{
    int64_t counts[HEALTH_COUNT] = {0};
    TRY(unhealthy_each(x->rows.c->ledger, clock_now(), count_health, counts, err));
    for (int h = 0; h < HEALTH_COUNT; h++)
        if (health_breach((enum health_state)h))
            say(x, "unhealthy", health_name((enum health_state)h), counts[h]);
    return RC_OK;
}

static enum rc say_checks(struct numbers *x, struct err *err)
{
    struct tally_sums sums;
    TRY(tally_between(x->rows.c->ledger, 0, INT64_MAX, &sums, err));
    say(x, "checks", NULL, 0);
    for (int o = 0; o < OUTCOME_COUNT; o++)
        if (sums.by_outcome[o].checks)
            say(x, "checks", outcome_name((enum outcome)o), sums.by_outcome[o].checks);
    say(x, "requests", "sent", sums.all.requests);
    say(x, "requests", "http_200", sums.all.http_200);
    say(x, "requests", "http_304", sums.all.http_304);
    say(x, "requests", "bytes_in", sums.all.bytes_in);
    say(x, "requests", "bytes_saved", sums.all.bytes_saved);
    return RC_OK;
}

static enum rc say_lag(struct numbers *x, struct err *err)
{
    struct stats_lag lag;
    TRY(stats_lag(x->rows.c->ledger, &lag, err));
    say(x, "lag_ms", NULL, 0);
    if (lag.changes) {
        say(x, "lag_ms", "p50", lag.p50);
        say(x, "lag_ms", "p95", lag.p95);
    }
    return RC_OK;
}

static enum rc say_all(struct numbers *x, struct err *err)
{
    TRY(say_health(x, err));
    TRY(say_checks(x, err));
    TRY(stats_each(x->rows.c->ledger, say_one, x, err));
    return say_lag(x, err);
}

int cmd_stats(struct cli *c)
{
    struct numbers x = {0};
    if (!cli_ledger(c))
        return CLI_FAILED;
    rows_begin(&x.rows, c, NULL, "about|what|number");
    return rows_end(&x.rows, say_all(&x, &c->err));
}
