/* redact: what each level lets through. Canaries sit in every field of the whole documents; none
 * may be heard where its field is withheld (I8). */
#include "handler/delta.h"
#include "handler/entry.h"
#include "handler/prov.h"
#include "handler/redact.h"
#include "handler/stac.h"
#include "change.h"

/* ---- canaries -------------------------------------------------------------------------------- */

/* Replaces every string in v, except the names that the walk itself reads, by its own path. */
static yyjson_mut_val *sing(yyjson_mut_doc *d, yyjson_val *v, const char *path)
{
    size_t i, n;
    yyjson_val *key, *item;
    char inner[512];
    if (yyjson_is_obj(v)) {
        yyjson_mut_val *o = yyjson_mut_obj(d);
        yyjson_obj_foreach(v, i, n, key, item)
        {
            const char *k = yyjson_get_str(key);
            bool named = strcmp(k, "rel") == 0 || strcmp(k, "prov:type") == 0;
            snprintf(inner, sizeof inner, "%s/%s", path, k);
            yyjson_mut_obj_add(o, yyjson_val_mut_copy(d, key),
                               named ? yyjson_val_mut_copy(d, item) : sing(d, item, inner));
        }
        return o;
    }
    if (yyjson_is_arr(v)) {
        yyjson_mut_val *list = yyjson_mut_arr(d);
        yyjson_arr_foreach(v, i, n, item)
        {
            const char *rel = yyjson_get_str(yyjson_obj_get(item, "rel"));
            snprintf(inner, sizeof inner, "%s/%s", path, rel ? rel : "*");
            yyjson_mut_arr_append(list, sing(d, item, inner));
        }
        return list;
    }
    return yyjson_is_str(v) ? json_fmt(d, "canary:%s!", path) : yyjson_val_mut_copy(d, v);
}

struct docs {
    struct arena a;
    struct err err;
    struct source s;
    struct candidate c;
    struct facts f;
    struct str whole[4], sung[4]; /* in the order of enum redact_doc */
};

static int setup(void **state)
{
    static struct docs x;
    x = (struct docs){.s = change_source(LEVEL_PUBLIC), .c = change_candidate()};
    x.f = change_facts(&x.s, &x.c);
    arena_init(&x.a, 16 << 20);
    assert_rc(entry_render(&x.a, &x.f, &x.whole[REDACT_ENTRY], &x.err), RC_OK);
    assert_rc(prov_render(&x.a, &x.f, &x.whole[REDACT_PROV], &x.err), RC_OK);
    assert_rc(delta_render(&x.a, &x.f, &x.whole[REDACT_DELTA], &x.err), RC_OK);
    assert_rc(stac_item(&x.a, &x.f, &x.whole[REDACT_ITEM], &x.err), RC_OK);
    for (int i = 0; i < 4; i++) {
        yyjson_val *root;
        yyjson_mut_doc *d = json_doc(&x.a);
        assert_rc(json_parse(&x.a, x.whole[i], 0, "document", &root, &x.err), RC_OK);
        yyjson_mut_doc_set_root(d, sing(d, root, ""));
        assert_rc(json_write(&x.a, d, 0, &x.sung[i], &x.err), RC_OK);
    }
    *state = &x;
    return 0;
}

static int teardown(void **state)
{
    struct docs *x = *state;
    arena_release(&x->a);
    return 0;
}

static struct str shown(struct docs *x, enum redact_doc doc, enum level level, struct str whole)
{
    struct str out;
    assert_rc(redact(&x->a, doc, level, 0.1, whole, &out, &x->err), RC_OK);
    return out;
}

static bool heard(struct str text, const char *word)
{
    return text.n > 0 && memmem(text.p, text.n, word, strlen(word)) != NULL;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* The table names every field, so the public level shows all but what it says. */
static void public_shows_everything(void **state)
{
    struct docs *x = *state;
    assert_true(str_eq(shown(x, REDACT_ENTRY, LEVEL_PUBLIC, x->whole[REDACT_ENTRY]),
                       x->whole[REDACT_ENTRY]));
    assert_true(str_eq(shown(x, REDACT_DELTA, LEVEL_PUBLIC, x->whole[REDACT_DELTA]),
                       x->whole[REDACT_DELTA]));
    assert_true(
        str_eq(shown(x, REDACT_ITEM, LEVEL_PUBLIC, x->whole[REDACT_ITEM]), x->whole[REDACT_ITEM]));
    struct str prov = shown(x, REDACT_PROV, LEVEL_PUBLIC, x->whole[REDACT_PROV]);
    assert_false(heard(prov, "R. Viewer"));
    assert_false(heard(prov, "two counties merged"));
    assert_true(heard(prov, "counties.geojson"));
    /* Nothing else is missing. */
    const size_t decision =
        strlen(",\"kfm:reviewer\":\"R. Viewer\",\"kfm:note\":\"two counties merged\"");
    assert_int_equal(prov.n + decision, x->whole[REDACT_PROV].n);
}

static void generalized(void **state)
{
    static const char *const silent[] = {"canary:/source_uri!",     "kfm:version_hint",
                                         "canary:/links/via/href!", "canary:/links/via/type!",
                                         "canary:/assets/data",     "kfm:note!",
                                         "kfm:reviewer!",           "kfm:uri/$!"};
    static const char *const loud[] = {"canary:/title!", "canary:/detected_at!",
                                       "canary:/object_identity/sha256!",
                                       "canary:/assets/provenance/href!", "canary:/to/sha256!"};
    struct docs *x = *state;
    bool met[ARRAY_LEN(loud)] = {false};
    for (int i = 0; i < 4; i++) {
        struct str out = shown(x, (enum redact_doc)i, LEVEL_GENERALIZED, x->sung[i]);
        for (size_t k = 0; k < ARRAY_LEN(silent); k++)
            if (heard(out, silent[k]))
                fail_msg("%s is heard in %.*s", silent[k], STR_FMT(out));
        for (size_t k = 0; k < ARRAY_LEN(loud); k++)
            met[k] = met[k] || heard(out, loud[k]);
        out = shown(x, (enum redact_doc)i, LEVEL_GENERALIZED, x->whole[i]);
        assert_false(heard(out, "counties.geojson"));
        assert_false(heard(out, "8443"));
        assert_false(heard(out, "-102.05"));
        assert_false(heard(out, "36.99"));
        assert_false(heard(out, "/assets/"));
    }
    for (size_t k = 0; k < ARRAY_LEN(loud); k++)
        assert_true(met[k]);
}

/* Exactly these and nothing else; prov, delta and item have no public form at all. */
static void restricted(void **state)
{
    struct docs *x = *state;
    struct str out = shown(x, REDACT_ENTRY, LEVEL_RESTRICTED, x->whole[REDACT_ENTRY]);
    assert_str(
        out,
        "{\"change_event_id\":\"evt_20260702T000000Z_a1b2c3000001\",\"source_id\":\"ks-counties\","
        "\"collection\":\"boundaries\",\"title\":\"Counties of Kansas\","
        "\"finalized_at\":\"2026-07-02\",\"qa_summary\":{\"status\":\"approved\"},"
        "\"sensitivity\":\"restricted\",\"redacted\":[\"change_type\",\"change_class\","
        "\"detector\",\"detected_at\",\"received_at\",\"finalized_at\",\"source_uri\","
        "\"object_identity\",\"previous_identity\",\"delta_manifest_ref\","
        "\"qa_summary.checks\",\"qa_summary.failed\",\"qa_summary.reasons\","
        "\"qa_summary.features\",\"qa_summary.area_change_pct\",\"prov_ref\",\"stac_ref\","
        "\"openlineage_ref\",\"bbox\",\"unexpected\",\"rollback_ref\"]}");
    for (int i = REDACT_PROV; i <= REDACT_ITEM; i++)
        assert_int_equal(shown(x, (enum redact_doc)i, LEVEL_RESTRICTED, x->whole[i]).n, 0);
}

static void sovereign(void **state)
{
    struct docs *x = *state;
    struct public_rows rows;
    x->s.level = LEVEL_SOVEREIGN;
    const struct redact_change whole = {x->whole[0], x->whole[1], x->whole[2],
                                        x->whole[3], CHANGE_AT,   {{0}}};
    for (int i = 0; i < 4; i++)
        assert_int_equal(shown(x, (enum redact_doc)i, LEVEL_SOVEREIGN, x->whole[i]).n, 0);
    assert_rc(redact_rows(&x->a, &x->s, &whole, &rows, &x->err), RC_OK);
    assert_int_equal(rows.entry.n + rows.prov.n + rows.delta.n + rows.item.n, 0);
    assert_false(rows.asset || rows.has_bbox);
    assert_int_equal(rows.shown_at, -1);
    assert_int_equal(redact_action(REDACT_SOURCE, LEVEL_SOVEREIGN, "title"), REDACT_DROP);
}

/* A change that was found on this level has an id without a second: it stays. */
static void born_restricted_keeps_its_id(void **state)
{
    struct docs *x = *state;
    static const struct str entry = STR("{\"change_event_id\":\"evt_20260702T000000Z_a1b2c3\","
                                        "\"delta_manifest_ref\":\"/deltas/dlt_0123456\"}");
    assert_str(shown(x, REDACT_ENTRY, LEVEL_RESTRICTED, entry),
               "{\"change_event_id\":\"evt_20260702T000000Z_a1b2c3\"}");
}

/* Counts tell how much there is, measures tell where: digits enough find a feature again. */
static void generalized_counts_but_does_not_measure(void **state)
{
    struct docs *x = *state;
    static const struct str delta =
        STR("{\"verdict\":\"local\",\"totals\":{\"before\":4,\"after\":4,\"added\":1,\"removed\":1,"
            "\"modified\":2,\"area_before_km2\":40.123456,\"area_after_km2\":45.5,"
            "\"area_gained_km2\":15.5,\"area_lost_km2\":10.0,\"area_change_pct\":13.75,"
            "\"area_gained_pct\":38.75,\"area_lost_pct\":25.0,\"moved_m\":812.1,"
            "\"gained_patches\":1,\"lost_patches\":2,\"slivers\":3,\"slivers_km2\":0.1}}");
    assert_str(
        shown(x, REDACT_DELTA, LEVEL_GENERALIZED, delta),
        "{\"verdict\":\"local\",\"totals\":{\"before\":4,\"after\":4,\"added\":1,\"removed\":1,"
        "\"modified\":2}}");
    assert_str(shown(x, REDACT_DELTA, LEVEL_PUBLIC, delta), delta.p);
    struct str entry = shown(x, REDACT_ENTRY, LEVEL_GENERALIZED, x->whole[REDACT_ENTRY]);
    assert_true(heard(entry, "\"sensitivity\":\"generalized\""));
    assert_true(heard(entry, "evt_20260702T095900Z_a1b2c3"));
    assert_false(heard(entry, "\"area_change_pct\":"));
}

/* Default deny: a field that nobody wrote a row for is shown on no level. */
static void unknown_fields_are_withheld(void **state)
{
    struct docs *x = *state;
    static const struct str entry =
        STR("{\"title\":\"t\",\"new_field\":\"canary\",\"redacted\":[]}");
    for (int level = 0; level < LEVEL_COUNT; level++)
        assert_false(heard(shown(x, REDACT_ENTRY, (enum level)level, entry), "canary"));
    assert_str(shown(x, REDACT_ENTRY, LEVEL_PUBLIC, entry),
               "{\"title\":\"t\",\"redacted\":[\"new_field\"]}");
}

static void rows_by_level(void **state)
{
    struct docs *x = *state;
    struct public_rows r;
    const struct redact_change whole = {x->whole[0], x->whole[1], x->whole[2],
                                        x->whole[3], CHANGE_AT,   {{0}}};
    assert_rc(redact_rows(&x->a, &x->s, &whole, &r, &x->err), RC_OK);
    assert_true(r.asset && r.has_bbox);
    assert_memory_equal(r.bbox, x->f.qa.bbox, sizeof r.bbox);
    assert_int_equal(r.shown_at, CHANGE_AT);
    x->s.level = LEVEL_GENERALIZED;
    assert_rc(redact_rows(&x->a, &x->s, &whole, &r, &x->err), RC_OK);
    assert_false(r.asset);
    assert_memory_equal(r.bbox, ((double[]){-102.1, 36.9, -94.5, 40.1}), sizeof r.bbox);
    assert_true(r.prov.n && r.delta.n && r.item.n);
    assert_rc(delta_check(r.delta, &x->err), RC_OK);
    x->s.level = LEVEL_RESTRICTED;
    assert_rc(redact_rows(&x->a, &x->s, &whole, &r, &x->err), RC_OK);
    assert_false(r.asset || r.has_bbox || r.prov.n || r.delta.n || r.item.n);
    assert_int_equal(r.shown_at, CHANGE_AT - CHANGE_AT % 86400000);
}

/* Outward, never equal, also on the grid and at the ends of the world. */
static void snapping(void **state)
{
    static const struct {
        double box[4], grid, want[4];
        bool ok;
    } cases[] = {
        {{-97.53, 38.02, -97.51, 38.08}, 0.1, {-97.6, 38, -97.5, 38.1}, true},
        {{-97.5, 38.0, -97.4, 38.1}, 0.1, {-97.6, 37.9, -97.3, 38.2}, true},
        {{0.3, 0.3, 0.3, 0.3}, 0.1, {0.2, 0.2, 0.4, 0.4}, true},
        {{-97.5, 38.0, -97.5, 38.0}, 1, {-98, 37, -97, 39}, true},
        {{-180, -90, 0, 0}, 10, {-180, -90, 10, 10}, true},
        {{-180, -90, 180, 90}, 0.1, {0}, false},
        {{-179.99, -89.99, 179.99, 89.99}, 0.1, {-180, -90, 180, 90}, true},
        {{1, 1, 2, 2}, 0, {0}, false},
        {{1, 1, 2, 2}, 1000, {0, 0, 180, 90}, true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        double got[4] = {0};
        assert_int_equal(redact_snap(cases[i].box, cases[i].grid, got), cases[i].ok);
        for (int k = 0; k < 4; k++)
            assert_true(got[k] == cases[i].want[k]);
    }
}

static void snapped_box_always_covers(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        double w = -180 + (i * 7919 % 360000) / 1000.0, s = -90 + (i * 104729 % 180000) / 1000.0;
        double box[4] = {w, s, w + (i % 97) / 1000.0, s + (i % 89) / 1000.0}, got[4];
        double grid = (double[]){0.1, 0.25, 1.0 / 3, 0.01, 5}[i % 5];
        if (box[2] > 180 || box[3] > 90)
            continue;
        assert_true(redact_snap(box, grid, got));
        assert_true(got[0] <= box[0] && got[1] <= box[1] && got[2] >= box[2] && got[3] >= box[3]);
        assert_true(got[0] < box[0] || box[0] == -180);
        assert_true(got[2] > box[2] || box[2] == 180);
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(public_shows_everything),
                                       T(generalized),
                                       T(restricted),
                                       T(sovereign),
                                       T(unknown_fields_are_withheld),
                                       T(born_restricted_keeps_its_id),
                                       T(generalized_counts_but_does_not_measure),
                                       T(rows_by_level),
                                       cmocka_unit_test(snapping),
                                       cmocka_unit_test(snapped_box_always_covers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
