/* report: the changes of a quarter, as a table to paste.
 *
 * Invariants
 *   1. Every number is that of a change's own entry and delta; nothing is computed anew, but the
 *      box around the features that changed.
 *   2. The operator's view: withheld sources are in it.
 * Called by main_freshet.c. */
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/human.h"
#include "cli/period.h"
#include "core/clock.h"
#include "ledger/promote.h"

/* One change; texts in the arena of the command. */
struct row {
    const char *collection, *source, *type, *verdict, *event; /* verdict "": none was given */
    int64_t at, counts[3];                                    /* -1: nobody knows */
    bool has_pct;
    double pct; /* of the area */
    double box[4];
    size_t n_box;       /* 4, or 0: none */
    bool box_of_change; /* else of the whole dataset */
};
struct report {
    struct cli *c;
    struct period period;
    struct row *rows;
    size_t n, room;
};

static const char *const counted[] = {"added", "modified", "removed"};

static const char *text_of(struct report *r, yyjson_val *o, const char *key)
{
    const char *s = yyjson_get_str(yyjson_obj_get(o, key));
    s = s ? arena_strdup(&r->c->arena, s) : NULL;
    return s ? s : "";
}

/* ---- where ----------------------------------------------------------------------------------- */

struct place {
    double box[4];
    bool some,
        odd; /* odd: a box goes over the antimeridian, and a union of such is another matter */
};

static void take_box(struct place *p, yyjson_val *box)
{
    double b[4];
    if (yyjson_arr_size(box) != 4)
        return;
    for (size_t i = 0; i < 4; i++)
        b[i] = yyjson_get_num(yyjson_arr_get(box, i));
    p->odd = p->odd || b[0] > b[2];
    for (size_t i = 0; i < 4; i++)
        if (!p->some || (i < 2 ? b[i] < p->box[i] : b[i] > p->box[i]))
            p->box[i] = b[i];
    p->some = true;
}

/* Around all features that came, went or differ, as they were and are. A delta that does not list
 * them all cannot say. */
static bool place_of_change(yyjson_val *delta, double ret[4])
{
    yyjson_val *features = yyjson_obj_get(delta, "features"), *row;
    struct place p = {0};
    size_t i, n;
    if (!yyjson_is_true(yyjson_obj_get(features, "complete")))
        return false;
    for (size_t k = 0; k < ARRAY_LEN(counted); k++) {
        yyjson_val *list = yyjson_obj_get(features, counted[k]);
        yyjson_arr_foreach(list, i, n, row)
        {
            take_box(&p, yyjson_obj_get(row, "bbox"));
            take_box(&p, yyjson_obj_get(row, "old_bbox"));
        }
    }
    if (!p.some || p.odd)
        return false;
    memcpy(ret, p.box, sizeof p.box);
    return true;
}

static void read_place(struct row *row, yyjson_val *entry, yyjson_val *delta)
{
    yyjson_val *box = yyjson_obj_get(entry, "bbox");
    row->box_of_change = place_of_change(delta, row->box);
    row->n_box = row->box_of_change || yyjson_arr_size(box) == 4 ? 4 : 0;
    for (size_t i = 0; !row->box_of_change && i < row->n_box; i++)
        row->box[i] = yyjson_get_num(yyjson_arr_get(box, i));
}

static const char *place_word(const struct row *row)
{
    return row->n_box == 0 ? NULL : row->box_of_change ? "change" : "dataset";
}

static struct row read_row(struct report *r, const struct change *ch, yyjson_val *entry,
                           yyjson_val *delta)
{
    yyjson_val *qa = yyjson_obj_get(entry, "qa_summary"),
               *features = yyjson_obj_get(qa, "features");
    yyjson_val *pct = yyjson_obj_get(qa, "area_change_pct");
    struct row row = {.collection = text_of(r, entry, "collection"),
                      .source = text_of(r, entry, "source_id"),
                      .type = text_of(r, entry, "change_type"),
                      .event = text_of(r, entry, "change_event_id"),
                      .verdict = text_of(r, delta, "verdict"),
                      .at = ch->finalized_at,
                      .has_pct = yyjson_is_num(pct),
                      .pct = yyjson_get_num(pct)};
    read_place(&row, entry, delta);
    for (size_t i = 0; i < ARRAY_LEN(counted); i++) {
        yyjson_val *v = yyjson_obj_get(features, counted[i]);
        row.counts[i] = yyjson_is_int(v) ? yyjson_get_sint(v) : -1;
    }
    return row;
}

static enum rc take(void *ctx, const struct change *ch, struct err *err)
{
    struct report *r = ctx;
    CLEANUP(arena_release) struct arena a = {0};
    yyjson_val *entry, *delta;
    arena_init(&a, JSON_MAX);
    if (ch->finalized_at < r->period.from || ch->finalized_at >= r->period.until)
        return RC_OK;
    TRY(json_parse(&a, ch->entry, 0, "the entry", &entry, err));
    TRY(json_parse(&a, ch->delta, 0, "the delta manifest", &delta, err));
    if (r->n == r->room) {
        size_t room = r->room ? 2 * r->room : 64;
        struct row *rows =
            arena_resize(&r->c->arena, r->rows, r->room * sizeof *rows, room * sizeof *rows);
        if (!rows)
            return err_set(err, RC_NOMEM, "", "no memory for the report");
        r->rows = rows;
        r->room = room;
    }
    r->rows[r->n++] = read_row(r, ch, entry, delta);
    return RC_OK;
}

static int by_collection(const void *x, const void *y)
{
    const struct row *a = x, *b = y;
    int d = strcmp(a->collection, b->collection);
    if (d == 0)
        d = strcmp(a->source, b->source);
    return d ? d : (a->at > b->at) - (a->at < b->at);
}

/* ---- printing -------------------------------------------------------------------------------- */

static int print_table(struct report *r)
{
    struct table t;
    table_begin(&t, r->c, "COLLECTION|SOURCE|DAY|CHANGE|VERDICT|+|~|-|AREA|WHERE|OF");
    t.headed = true;
    for (size_t i = 0; i < r->n; i++) {
        const struct row *row = &r->rows[i];
        const char *at = cli_time(r->c, row->at);
        char area[HUMAN_MAX] = "", where[80] = "";
        table_cell(&t, row->collection);
        table_cell(&t, row->source);
        table_cell(&t, arena_str(&r->c->arena, str_cut(str_of(at), strlen("2026-10-06"))));
        table_cell(&t, row->type);
        table_cell(&t, row->verdict);
        for (size_t k = 0; k < ARRAY_LEN(counted); k++) {
            if (row->counts[k] < 0)
                table_cell(&t, NULL);
            else
                table_cell_i64(&t, row->counts[k]);
        }
        if (row->has_pct)
            (void)human_change(row->pct, area);
        if (row->n_box)
            snprintf(where, sizeof where, "%.5g,%.5g,%.5g,%.5g", row->box[0], row->box[1],
                     row->box[2], row->box[3]);
        table_cell(&t, area);
        table_cell(&t, where);
        table_cell(&t, place_word(row));
    }
    return table_end(&t) ? CLI_DONE : cli_error(r->c, "report", "no memory for the table");
}

static int print_json(struct report *r)
{
    yyjson_mut_doc *d = json_doc(&r->c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "quarter", r->period.name);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(d, o, "changes");
    for (size_t i = 0; i < r->n; i++) {
        const struct row *row = &r->rows[i];
        yyjson_mut_val *x = yyjson_mut_arr_add_obj(d, list);
        json_add_str(d, x, "collection", row->collection);
        json_add_str(d, x, "source_id", row->source);
        json_add_str(d, x, "change_event_id", row->event);
        json_add_time(d, x, "finalized_at", row->at);
        json_add_str(d, x, "change_type", row->type);
        json_add_str(d, x, "verdict", *row->verdict ? row->verdict : NULL);
        for (size_t k = 0; k < ARRAY_LEN(counted); k++) {
            if (row->counts[k] < 0)
                yyjson_mut_obj_add_null(d, x, counted[k]);
            else
                yyjson_mut_obj_add_int(d, x, counted[k], row->counts[k]);
        }
        yyjson_mut_obj_add_val(d, x, "area_change_pct",
                               row->has_pct ? yyjson_mut_real(d, row->pct) : yyjson_mut_null(d));
        yyjson_mut_obj_add_val(d, x, "bbox",
                               row->n_box ? yyjson_mut_arr_with_real(d, row->box, row->n_box)
                                          : yyjson_mut_null(d));
        json_add_str(d, x, "bbox_of", place_word(row));
    }
    return cli_print_json(r->c, d);
}

int cmd_report(struct cli *c)
{
    const char *quarter = cli_opt(c, "quarter");
    struct report r = {.c = c};
    int year, month, day, q;
    time_to_civil(clock_now(), &year, &month, &day);
    q = (month + 2) / 3;
    if (quarter && *quarter && !period_read(quarter, true, &year, &q))
        return cli_usage(c, "--quarter must look like 2026Q4, not '%.20s'", quarter);
    r.period = period_quarter(year, q);
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (change_each(c->ledger, take, &r, &c->err) != RC_OK)
        return cli_fail(c);
    if (r.n > 0)
        qsort(r.rows, r.n, sizeof *r.rows, by_collection);
    return c->json ? print_json(&r) : print_table(&r);
}
