/* diff: what one change did, read from its delta manifest.
 *
 * Invariants
 *   1. Nothing is computed here: people, programs and /deltas/{id} are told the same.
 *   2. The verdict comes first; totals are exact also where the list of features is cut.
 * Called by main_freshet.c. */
#include "cli/diff_html.h"
#include "cli/event.h"
#include "cli/human.h"
#include "ledger/promote.h"

/* The lists of a manifest and the sign of each. */
static const struct {
    const char *name, *sign;
} lists[] = {{"added", "+"}, {"modified", "~"}, {"removed", "-"}};

const char *diff_value(struct cli *c, yyjson_val *v)
{
    char number[32];
    if (yyjson_is_str(v))
        return yyjson_get_str(v);
    const char *s = v && json_scalar(v, number) ? arena_strdup(&c->arena, number) : NULL;
    return s ? s : "none";
}

static enum rc read_delta(struct cli *c, struct str *ret)
{
    struct source s;
    const char *name = cli_ref(c, c->args[0]);
    if (!name)
        return err_set(&c->err, RC_NOMEM, "", "no memory");
    if (str_starts(str_of(name), STR("dlt_")))
        return delta_get(c->ledger, &c->arena, name, ret, &c->err);
    TRY(source_by_id(c->ledger, &c->arena, name, &s, &c->err));
    return delta_last(c->ledger, &c->arena, s.no, ret, &c->err);
}

/* ---- for people ------------------------------------------------------------------------------ */

static const char *version_of(struct cli *c, yyjson_val *delta, const char *key)
{
    yyjson_val *v = yyjson_obj_get(yyjson_obj_get(delta, key), "version");
    return v ? arena_printf(&c->arena, "version %lld", (long long)yyjson_get_sint(v)) : "nothing";
}

/* "4 to 5: +2 ~1 -1" */
static const char *counts(struct cli *c, yyjson_val *totals)
{
    const char *s = arena_printf(&c->arena, "%lld to %lld",
                                 (long long)yyjson_get_sint(yyjson_obj_get(totals, "before")),
                                 (long long)yyjson_get_sint(yyjson_obj_get(totals, "after")));
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        yyjson_val *n = yyjson_obj_get(totals, lists[i].name);
        if (!yyjson_is_int(n))
            return arena_printf(&c->arena, "%s: too many to compare", s);
        s = arena_printf(&c->arena, "%s%s%s%lld", s, i ? " " : ": ", lists[i].sign,
                         (long long)yyjson_get_sint(n));
    }
    return s;
}

static const char *areas(struct cli *c, yyjson_val *totals)
{
    char change[HUMAN_MAX];
    yyjson_val *pct = yyjson_obj_get(totals, "area_change_pct");
    yyjson_val *gained = yyjson_obj_get(totals, "area_gained_km2");
    const char *s = arena_printf(&c->arena, "%.3f to %.3f km2",
                                 yyjson_get_num(yyjson_obj_get(totals, "area_before_km2")),
                                 yyjson_get_num(yyjson_obj_get(totals, "area_after_km2")));
    if (s && yyjson_is_num(pct))
        s = arena_printf(&c->arena, "%s (%s)", s, human_change(yyjson_get_num(pct), change));
    if (s && yyjson_is_num(gained))
        s = arena_printf(&c->arena, "%s, gained %.3f, lost %.3f", s, yyjson_get_num(gained),
                         yyjson_get_num(yyjson_obj_get(totals, "area_lost_km2")));
    return s;
}

/* "up to 12.3 m, 2 patches gained, 1 lost, 14 slivers"; NULL: nobody measured. */
static const char *moves(struct cli *c, yyjson_val *totals)
{
    yyjson_val *m = yyjson_obj_get(totals, "moved_m");
    if (!yyjson_is_num(m))
        return NULL;
    return arena_printf(&c->arena, "up to %.2f m, %lld patches gained, %lld lost, %lld slivers",
                        yyjson_get_num(m),
                        (long long)yyjson_get_sint(yyjson_obj_get(totals, "gained_patches")),
                        (long long)yyjson_get_sint(yyjson_obj_get(totals, "lost_patches")),
                        (long long)yyjson_get_sint(yyjson_obj_get(totals, "slivers")));
}

static void print_moves(struct cli *c, yyjson_val *delta)
{
    yyjson_val *comparison = yyjson_obj_get(delta, "comparison"),
               *dates = yyjson_obj_get(delta, "legal_dates");
    const char *moved = moves(c, yyjson_obj_get(delta, "totals"));
    if (moved)
        event_line(c, "moved", moved);
    else if (comparison)
        event_line(
            c, "moved",
            arena_printf(&c->arena, "not measured (%s)", json_member_text(comparison, "reason")));
    if (dates)
        event_line(c, "legal since",
                   arena_printf(&c->arena, "%s to %s", json_member_text(dates, "first"),
                                json_member_text(dates, "last")));
}

static void print_card(struct cli *c, yyjson_val *delta)
{
    yyjson_val *totals = yyjson_obj_get(delta, "totals");
    event_line(c, "delta", json_member_text(delta, "delta_id"));
    event_line(c, "source", json_member_text(delta, "source_id"));
    event_line(c, "what",
               arena_printf(&c->arena, "%s (%s): %s to %s", json_member_text(delta, "change_type"),
                            json_member_text(delta, "change_class"), version_of(c, delta, "from"),
                            version_of(c, delta, "to")));
    event_line(c, "when", json_member_text(delta, "created_at"));
    if (!totals) {
        event_line(c, "features", "none to compare: the file is told as a whole");
        return;
    }
    event_line(c, "verdict", json_member_text(delta, "verdict"));
    event_line(c, "features", counts(c, totals));
    event_line(c, "area", areas(c, totals));
    print_moves(c, delta);
}

static const char *box_text(struct cli *c, yyjson_val *box)
{
    const char *s = "";
    for (size_t i = 0; s && i < yyjson_arr_size(box); i++)
        s = arena_printf(&c->arena, "%s%s%.6g", s, i ? "," : "",
                         yyjson_get_num(yyjson_arr_get(box, i)));
    return s;
}

/* "name: B -> B2; since: none -> 2026-07-01" */
static const char *attributes_text(struct cli *c, yyjson_val *feature)
{
    yyjson_val *x = yyjson_obj_get(feature, "attributes"), *one;
    const char *s = "";
    size_t i, n;
    yyjson_arr_foreach(yyjson_obj_get(x, "listed"), i, n, one)
    {
        if (!s)
            return "";
        s = arena_printf(&c->arena, "%s%s%s: %s -> %s", s, *s ? "; " : "",
                         json_member_text(one, "name"), diff_value(c, yyjson_obj_get(one, "old")),
                         diff_value(c, yyjson_obj_get(one, "new")));
    }
    return s ? s : "";
}

static const char *what_of(struct cli *c, yyjson_val *feature)
{
    yyjson_val *moved = yyjson_obj_get(feature, "moved"), *m = yyjson_obj_get(feature, "moved_m");
    const char *attributes = attributes_text(c, feature);
    if (!moved)
        return "";
    if (!yyjson_get_bool(moved))
        return *attributes ? attributes : "attributes";
    const char *shape =
        yyjson_is_num(m) ? arena_printf(&c->arena, "shape by %.2f m", yyjson_get_num(m)) : "shape";
    return *attributes ? arena_printf(&c->arena, "%s; %s", shape, attributes) : shape;
}

static int print_table(struct cli *c, yyjson_val *delta)
{
    yyjson_val *features = yyjson_obj_get(delta, "features"), *f;
    struct table t;
    size_t k, n;
    print_card(c, delta);
    if (!features)
        return CLI_DONE;
    table_begin(&t, c, "|KEY|WHAT|BOX");
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        yyjson_arr_foreach(yyjson_obj_get(features, lists[i].name), k, n, f)
        {
            table_cell(&t, lists[i].sign);
            table_cell(&t, json_member_text(f, "key"));
            table_cell(&t, what_of(c, f));
            table_cell(&t, box_text(c, yyjson_obj_get(f, "bbox")));
        }
    }
    if (!table_end(&t))
        return cli_error(c, "diff", "no memory for the table");
    if (!yyjson_get_bool(yyjson_obj_get(features, "complete")))
        cli_note(c, "The list is cut; the counts above are not.");
    return CLI_DONE;
}

/* ---- for maps -------------------------------------------------------------------------------- */

static yyjson_mut_val *box_shape(yyjson_mut_doc *d, yyjson_val *box)
{
    static const int corners[][2] = {{0, 1}, {2, 1}, {2, 3}, {0, 3}, {0, 1}};
    if (yyjson_arr_size(box) != 4)
        return yyjson_mut_null(d);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    json_add_str(d, o, "type", "Polygon");
    yyjson_mut_val *ring = yyjson_mut_arr_add_arr(d, yyjson_mut_obj_add_arr(d, o, "coordinates"));
    for (size_t i = 0; i < ARRAY_LEN(corners); i++) {
        yyjson_mut_val *at = yyjson_mut_arr_add_arr(d, ring);
        for (int k = 0; k < 2; k++)
            yyjson_mut_arr_add_real(d, at,
                                    yyjson_get_num(yyjson_arr_get(box, (size_t)corners[i][k])));
    }
    return o;
}

/* Its shape, the newest there is; else its box. */
static yyjson_mut_val *shape_of(yyjson_mut_doc *d, yyjson_val *f)
{
    static const char *const members[] = {"new_shape", "shape"};
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        yyjson_val *v = yyjson_obj_get(f, members[i]);
        if (yyjson_is_obj(v))
            return yyjson_val_mut_copy(d, v);
    }
    return box_shape(d, yyjson_obj_get(f, "bbox"));
}

static void add_feature(yyjson_mut_doc *d, yyjson_mut_val *list, const char *change,
                        yyjson_val *key, yyjson_val *f)
{
    static const char *const copied[] = {"old_digest", "new_digest", "moved",      "moved_m",
                                         "area_km2",   "width_m",    "attributes", "legal_date"};
    yyjson_mut_val *o = yyjson_mut_arr_add_obj(d, list);
    json_add_str(d, o, "type", "Feature");
    yyjson_mut_val *p = yyjson_mut_obj_add_obj(d, o, "properties");
    json_add_str(d, p, "change", change);
    yyjson_mut_obj_add_val(d, p, "key", yyjson_val_mut_copy(d, key));
    for (size_t i = 0; i < ARRAY_LEN(copied); i++) {
        yyjson_val *v = yyjson_obj_get(f, copied[i]);
        if (v)
            yyjson_mut_obj_add_val(d, p, copied[i], yyjson_val_mut_copy(d, v));
    }
    yyjson_mut_obj_add_val(d, o, "geometry", shape_of(d, f));
}

/* Each patch is a feature of its own: "gained" or "lost". */
static void add_patches(yyjson_mut_doc *d, yyjson_mut_val *list, yyjson_val *f)
{
    static const char *const sides[] = {"gained", "lost"};
    yyjson_val *patch;
    size_t k, n;
    for (size_t i = 0; i < ARRAY_LEN(sides); i++)
        yyjson_arr_foreach(yyjson_obj_get(yyjson_obj_get(f, sides[i]), "listed"), k, n, patch)
            add_feature(d, list, sides[i], yyjson_obj_get(f, "key"), patch);
}

static int print_geojson(struct cli *c, yyjson_val *delta)
{
    yyjson_val *features = yyjson_obj_get(delta, "features"), *f;
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    size_t k, n;
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "type", "FeatureCollection");
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(d, o, "features");
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        yyjson_arr_foreach(yyjson_obj_get(features, lists[i].name), k, n, f)
        {
            add_feature(d, list, lists[i].name, yyjson_obj_get(f, "key"), f);
            add_patches(d, list, f);
        }
    }
    return cli_print_json(c, d);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int print_json(struct cli *c, yyjson_val *delta)
{
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_doc_set_root(d, yyjson_val_mut_copy(d, delta));
    return cli_print_json(c, d);
}

int cmd_diff(struct cli *c)
{
    static const struct {
        const char *name;
        int (*print)(struct cli *c, yyjson_val *delta);
    } forms[] = {{"table", print_table},
                 {"json", print_json},
                 {"geojson", print_geojson},
                 {"html", diff_html}};
    const char *form = cli_opt(c, "output");
    struct str doc;
    yyjson_val *delta;
    size_t i = 0;
    if (!form)
        form = c->json ? "json" : "table";
    while (i < ARRAY_LEN(forms) && strcmp(forms[i].name, form) != 0)
        i++;
    if (i == ARRAY_LEN(forms))
        return cli_usage(c, "--output is table, json, geojson or html, not %.40s", form);
    if (!cli_ledger(c))
        return CLI_FAILED;
    if (read_delta(c, &doc) != RC_OK ||
        json_parse(&c->arena, doc, 0, "the delta manifest", &delta, &c->err) != RC_OK)
        return cli_fail(c);
    int code = forms[i].print(c, delta);
    bool differs = strcmp(json_member_text(delta, "verdict"), "none") != 0;
    return code == CLI_DONE && differs && cli_has(c, "exit-code") ? CLI_CHANGED : code;
}
