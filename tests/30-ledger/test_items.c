/* test_items: searches by place against a plain look at every box. The R*Tree rounds to 32 bits and
 * the search trusts it away from the edges, so the areas here have edges a hair beside those of
 * the boxes. */
#include "tests/30-ledger/fixture.h"

#include <math.h>
#include <sqlite3.h>
#include "ledger/public_items.h"

#define ITEMS 300
#define AREAS 400
#define HAIR 1e-7 /* degrees: less than 32 bits can tell */

static double boxes[ITEMS][4];
static bool found[ITEMS];
static struct arena memory;
static unsigned seed = 7;

static double number(double from, double to)
{
    seed = seed * 1103515245u + 12345u;
    return from + (to - from) * (double)(seed >> 8) / (double)(1u << 24);
}

static void run(sqlite3 *db, const char *text)
{
    if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", text, sqlite3_errmsg(db));
}

/* Points and boxes, each the only version of its source; every tenth is without a place. */
static int setup(void **state)
{
    sqlite3 *db;
    char text[512];
    (void)state;
    fix_make();
    arena_init(&memory, 64u << 20);
    snprintf(text, sizeof text, "%s/ledger.db", fix_dir);
    assert_int_equal(sqlite3_open(text, &db), SQLITE_OK);
    run(db, "BEGIN");
    for (int i = 0; i < ITEMS; i++) {
        double *b = boxes[i], wide = i % 3 ? number(0, 20) : 0;
        b[0] = number(-180, 180 - wide), b[1] = number(-90, 90 - wide);
        b[2] = b[0] + wide, b[3] = b[1] + wide;
        snprintf(
            text, sizeof text,
            "INSERT INTO public_items (item_no, item_id, src_no, collection, datetime, version,"
            " west, south, east, north, at, gen, doc) VALUES (%d, 'i-%03d', %d, 'c%d',"
            " '2026-01-01T00:%02d:00.000Z', 1, %.17g, %.17g, %.17g, %.17g, 0, 1, '{}')",
            i + 1, i, i + 1, i % 2, i % 60, b[0], b[1], b[2], b[3]);
        if (i % 10 == 0)
            snprintf(text, sizeof text,
                     "INSERT INTO public_items (item_no, item_id, src_no, collection, at, gen, doc)"
                     " VALUES (%d, 'i-%03d', %d, 'c%d', 0, 1, '{}')",
                     i + 1, i, i + 1, i % 2);
        run(db, text);
        snprintf(text, sizeof text,
                 "INSERT INTO public_items_box VALUES (%d, %.17g, %.17g, %.17g, %.17g)", i + 1,
                 b[0], b[2], b[1], b[3]);
        if (i % 10)
            run(db, text);
    }
    run(db, "COMMIT");
    sqlite3_close(db);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_release(&memory);
    fix_drop();
    return 0;
}

static enum rc take(void *ctx, const struct public_item *i, const struct sort_value *keys,
                    size_t n_keys, struct err *err)
{
    int64_t no;
    (void)err;
    assert_int_equal(str_to_i64((struct str){i->id.p + 2, i->id.n - 2}, &no), RC_OK);
    assert_true(no < ITEMS && !found[no]); /* once */
    found[no] = true;
    assert_true(n_keys == 2 && str_eq(keys[1].s, i->id));
    assert_true(str_eq(i->latest, i->id) && i->next.n == 0);
    ++*(int64_t *)ctx;
    return RC_OK;
}

static char behind_text[2][64];
static struct sort_value behind[2];

static enum rc remember(void *ctx, const struct public_item *i, const struct sort_value *keys,
                        size_t n_keys, struct err *err)
{
    (void)i;
    (void)n_keys;
    (void)err;
    for (int k = 0; k < 2; k++) {
        snprintf(behind_text[k], sizeof behind_text[k], "%.*s", STR_FMT(keys[k].s));
        behind[k] = (struct sort_value){.kind = SORT_TEXT, .s = str_of(behind_text[k])};
    }
    ++*(int64_t *)ctx;
    return RC_OK;
}

/* Every page tells the number of all, not of what is on it or behind it. */
static void check_pages(struct ledger *l, struct item_query q, int64_t want)
{
    int64_t matched = -1, seen = 0, before = -1;
    q.limit = want / 3 + 1;
    for (int page = 0; seen != before; page++) {
        before = seen;
        OK(public_item_search(l, &memory, &q, remember, &seen, &matched, &fix_err));
        assert_int_equal(matched, want);
        q.beyond = behind;
        assert_true(page < 5);
    }
    assert_int_equal(seen, want);
}

/* Exactly those that meet it, and as many are counted. */
static void compare(struct ledger *l, const struct place *area, const struct str *collection)
{
    struct item_query q = {.area = area,
                           .limit = ITEMS + 1,
                           .collections = collection,
                           .n_collections = collection != NULL};
    int64_t n = 0, matched = -1, counted = -1, want = 0;
    memset(found, 0, sizeof found);
    OK(public_item_search(l, &memory, &q, take, &n, &matched, &fix_err));
    OK(public_item_count(l, &memory, &q, &counted, &fix_err));
    for (int i = 0; i < ITEMS; i++) {
        bool meets = i % 10 && place_meets_box(area, boxes[i]) && (!collection || i % 2 == 1);
        if (meets != found[i])
            fail_msg("item %d is %s by mistake", i, meets ? "missed" : "found");
        want += meets;
    }
    assert_int_equal(n, want);
    assert_int_equal(counted, want);
    assert_int_equal(matched, want);
    check_pages(l, q, want);
}

/* An edge that touches a box, or misses it by a hair. */
static double near(double edge)
{
    double beside[] = {edge, edge - HAIR, edge + HAIR};
    return beside[(int)number(0, 2.999)];
}

static void places_are_exact(void **state)
{
    struct ledger *l = fix_open(LEDGER_READ);
    const struct str c1 = STR("c1");
    (void)state;
    for (int i = 0; i < AREAS; i++) {
        const double *b = boxes[(int)number(0, ITEMS - 1)];
        double w = near(b[2]), s = near(b[3]), v[4] = {w, s, w + number(0, 40), s + number(0, 40)};
        if (i % 4 == 1) /* it ends at the box instead */
            v[2] = near(b[0]), v[3] = near(b[1]), v[0] = v[2] - number(0, 40),
            v[1] = v[3] - number(0, 40);
        if (i % 4 == 2) /* over the antimeridian */
            v[0] = number(100, 180), v[2] = near(b[0]) < 100 ? near(b[0]) : -100;
        for (int k = 0; k < 4; k++)
            v[k] = fmax(k % 2 ? -90 : -180, fmin(k % 2 ? 90 : 180, v[k]));
        struct place *area;
        if (v[1] > v[3])
            continue;
        OK(place_from_bbox(&memory, v, 4, &area, &fix_err));
        compare(l, area, NULL);
        compare(l, area, &c1);
        arena_reset(&memory);
    }
    ledger_close(&l);
}

/* What is no box is not taken for one. */
static void shapes_are_exact(void **state)
{
    static const char *const shapes[] = {
        "{\"type\":\"Polygon\",\"coordinates\":[[[-100,-50],[100,-50],[0,60],[-100,-50]]]}",
        /* with a hole */
        "{\"type\":\"Polygon\",\"coordinates\":[[[-100,-50],[100,-50],[100,60],[-100,-50]],[[-50,-40],[50,-40],[50,0],[-50,-40]]]}",
        "{\"type\":\"Polygon\",\"coordinates\":[[[0,-50],[100,0],[0,50],[-100,0],[0,-50]]]}",
        "{\"type\":\"Polygon\",\"coordinates\":[[[0,0],[50,0],[50,50],[50,0],[0,0]]]}",
        "{\"type\":\"LineString\",\"coordinates\":[[-170,-80],[170,80]]}"};
    struct ledger *l = fix_open(LEDGER_READ);
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        yyjson_val *v;
        struct place *area;
        OK(json_parse(&memory, str_of(shapes[i]), 0, "test", &v, &fix_err));
        OK(place_from_json(&memory, v, &area, &fix_err));
        compare(l, area, NULL);
    }
    ledger_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(places_are_exact),
                                       cmocka_unit_test(shapes_are_exact)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
