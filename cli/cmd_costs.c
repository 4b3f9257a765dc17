/* costs: what checking has cost, and what it saved against batch scraping.
 *
 * Batch scraping means: every check is one request that downloads the whole object. Bytes are those
 * of bodies, on both sides; headers cost the same either way. Noise avoided: other bytes that were
 * found to say the same, so that nobody was told (ledger/twin.h).
 *
 * Invariants
 *   1. Measured numbers come from check_days alone; the example says that it is one.
 *   2. The example is computed from its assumptions, which are printed with it.
 * Called by main_freshet.c. */
#include "cli/cli.h"
#include "cli/human.h"
#include "cli/period.h"
#include "core/clock.h"
#include "ledger/tally.h"
#include "ledger/twin.h"

/* The published example. */
#define EXAMPLE_SOURCES 19495
#define EXAMPLE_BYTES 2000000
#define EXAMPLE_CHANGED_PCT 5

struct cost {
    int64_t checks, requests, batch_requests, http_304, http_200, bytes, batch_bytes, noise;
};
struct costs {
    struct cli *c;
    struct table table;
    yyjson_mut_doc *doc;
    yyjson_mut_val *quarters, *years;
};

/* ---- printing -------------------------------------------------------------------------------- */

static void add_json(yyjson_mut_doc *d, yyjson_mut_val *o, const struct cost *k)
{
    yyjson_mut_obj_add_int(d, o, "checks", k->checks);
    yyjson_mut_obj_add_int(d, o, "requests", k->requests);
    yyjson_mut_obj_add_int(d, o, "batch_requests", k->batch_requests);
    yyjson_mut_obj_add_int(d, o, "http_304", k->http_304);
    yyjson_mut_obj_add_int(d, o, "http_200", k->http_200);
    yyjson_mut_obj_add_int(d, o, "bytes", k->bytes);
    yyjson_mut_obj_add_int(d, o, "batch_bytes", k->batch_bytes);
    yyjson_mut_obj_add_int(d, o, "bytes_saved", k->batch_bytes - k->bytes);
    yyjson_mut_obj_add_int(d, o, "noise_avoided", k->noise);
}

/* Numbers with units for a person, plain ones for a program. */
static void cell(struct costs *x, const char *human, int64_t n)
{
    if (x->c->tty)
        table_cell(&x->table, human);
    else
        table_cell_i64(&x->table, n);
}

static void add_row(struct costs *x, const char *name, const struct cost *k)
{
    char a[HUMAN_MAX], b[HUMAN_MAX], ratio[2 * HUMAN_MAX];
    int64_t saved = k->batch_bytes - k->bytes;
    table_cell(&x->table, name);
    cell(x, human_count(k->checks, a), k->checks);
    cell(x, human_count(k->requests, a), k->requests);
    if (x->c->tty)
        snprintf(ratio, sizeof ratio, "%s:%s", human_count(k->http_304, a),
                 human_count(k->http_200, b));
    else
        snprintf(ratio, sizeof ratio, "%lld:%lld", (long long)k->http_304, (long long)k->http_200);
    table_cell(&x->table, ratio);
    cell(x, human_bytes(k->bytes, a), k->bytes);
    cell(x, human_bytes(k->batch_bytes, a), k->batch_bytes);
    cell(x, human_bytes(saved, a), saved);
    table_cell(&x->table, human_share(saved, k->batch_bytes, a));
    cell(x, human_count(k->noise, a), k->noise);
}

static void begin(struct costs *x, bool example)
{
    struct cli *c = x->c;
    if (!c->json) {
        table_begin(
            &x->table, c,
            "period|checks|requests|304:200|read|batch would read|saved|share|noise avoided");
        return;
    }
    x->doc = json_doc(&c->arena);
    yyjson_mut_val *root = yyjson_mut_obj(x->doc);
    yyjson_mut_doc_set_root(x->doc, root);
    yyjson_mut_obj_add_bool(x->doc, root, "example", example);
    json_add_str(x->doc, root, "batch", "every check downloads the whole object");
    x->quarters = yyjson_mut_obj_add_arr(x->doc, root, "quarters");
    x->years = yyjson_mut_obj_add_arr(x->doc, root, "years");
}

static void add(struct costs *x, bool year, const char *name, const struct cost *k)
{
    if (!x->c->json) {
        add_row(x, name, k);
        return;
    }
    yyjson_mut_val *o = yyjson_mut_arr_add_obj(x->doc, year ? x->years : x->quarters);
    json_add_str(x->doc, o, "period", name);
    add_json(x->doc, o, k);
}

static int end(struct costs *x)
{
    if (x->c->json)
        return cli_print_json(x->c, x->doc);
    return table_end(&x->table) ? CLI_DONE : cli_error(x->c, "costs", "no memory");
}

/* ---- measured -------------------------------------------------------------------------------- */

static enum rc measure(struct costs *x, bool year, const struct period *p, bool even_empty)
{
    struct tally_sums sums;
    int64_t noise;
    TRY(noise_between(x->c->ledger, p->from, p->until, &noise, &x->c->err));
    TRY(tally_between(x->c->ledger, p->from, p->until, &sums, &x->c->err));
    const struct tally *t = &sums.all;
    if (t->checks == 0 && !even_empty)
        return RC_OK;
    struct cost k = {.checks = t->checks,
                     .requests = t->requests,
                     .batch_requests = t->checks,
                     .http_304 = t->http_304,
                     .http_200 = t->http_200,
                     .bytes = t->bytes_in,
                     .batch_bytes = t->bytes_in + t->bytes_saved,
                     .noise = noise};
    add(x, year, p->name, &k);
    return RC_OK;
}

static enum rc measure_year(struct costs *x, int year, bool even_empty)
{
    for (int q = 1; q <= 4; q++) {
        struct period p = period_quarter(year, q);
        TRY(measure(x, false, &p, false));
    }
    struct period p = period_year(year);
    return measure(x, true, &p, even_empty);
}

static enum rc measure_all(struct costs *x)
{
    int64_t first, last;
    int from, until, month, day;
    TRY(tally_range(x->c->ledger, &first, &last, &x->c->err));
    if (first < 0) {
        cli_note(x->c, "Nothing has been checked yet. For an idea: freshet costs --example\n");
        return RC_OK;
    }
    time_to_civil(first, &from, &month, &day);
    time_to_civil(last, &until, &month, &day);
    for (int year = from; year <= until; year++)
        TRY(measure_year(x, year, false));
    return RC_OK;
}

static enum rc measure_asked(struct costs *x, int year, int quarter)
{
    if (year == 0)
        return measure_all(x);
    if (quarter == 0)
        return measure_year(x, year, true);
    struct period p = period_quarter(year, quarter);
    return measure(x, false, &p, true);
}

/* ---- the example ----------------------------------------------------------------------------- */

/* `rounds` looks at every source. What changed is asked for twice: HEAD sees it, GET fetches it.
 * What did not change is still read every audit_every checks. */
static struct cost example_cost(int64_t rounds, int64_t audit_every)
{
    int64_t checks = rounds * EXAMPLE_SOURCES;
    int64_t changed = (checks * EXAMPLE_CHANGED_PCT + 50) / 100;
    int64_t audits = audit_every > 0 ? (checks - changed) / audit_every : 0;
    return (struct cost){.checks = checks,
                         .requests = checks + changed,
                         .batch_requests = checks,
                         .http_304 = checks - changed - audits,
                         .http_200 = changed + audits,
                         .bytes = (changed + audits) * EXAMPLE_BYTES,
                         .batch_bytes = checks * EXAMPLE_BYTES};
}

static int print_example(struct costs *x)
{
    static const struct {
        const char *quarter, *year;
        int64_t audit_every;
    } kinds[] = {
        {"a quarter", "a year", 0},
        {"a quarter, every 20th check read whole", "a year, every 20th check read whole", 20}};
    char a[HUMAN_MAX], b[HUMAN_MAX];
    begin(x, true);
    cli_note(
        x->c,
        "An example, nothing measured: %s files of %s, looked at once a quarter, %d %% changed.\n\n",
        human_count(EXAMPLE_SOURCES, a), human_bytes(EXAMPLE_BYTES, b), EXAMPLE_CHANGED_PCT);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct cost quarter = example_cost(1, kinds[i].audit_every),
                    year = example_cost(4, kinds[i].audit_every);
        add(x, false, kinds[i].quarter, &quarter);
        add(x, true, kinds[i].year, &year);
    }
    if (x->c->json) {
        yyjson_mut_val *o =
            yyjson_mut_obj_add_obj(x->doc, yyjson_mut_doc_get_root(x->doc), "assumptions");
        yyjson_mut_obj_add_int(x->doc, o, "sources", EXAMPLE_SOURCES);
        yyjson_mut_obj_add_int(x->doc, o, "bytes_each", EXAMPLE_BYTES);
        yyjson_mut_obj_add_int(x->doc, o, "changed_pct", EXAMPLE_CHANGED_PCT);
        yyjson_mut_obj_add_int(x->doc, o, "checks_per_quarter", 1);
    }
    return end(x);
}

int cmd_costs(struct cli *c)
{
    struct costs x = {.c = c};
    const char *quarter = cli_opt(c, "quarter"), *year = cli_opt(c, "year");
    int y = 0, q = 0;
    if (!!quarter + !!year + cli_has(c, "example") > 1)
        return cli_usage(c, "say one of --quarter, --year and --example");
    if (quarter && !period_read(quarter, true, &y, &q))
        return cli_usage(c, "--quarter must look like 2026Q4, not '%s'", quarter);
    if (year && !period_read(year, false, &y, &q))
        return cli_usage(c, "--year must look like 2026, not '%s'", year);
    if (cli_has(c, "example"))
        return print_example(&x);
    if (!cli_ledger(c))
        return CLI_FAILED;
    begin(&x, false);
    if (measure_asked(&x, y, q) != RC_OK)
        return cli_fail(c);
    return end(&x);
}
