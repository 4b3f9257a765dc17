/* Properties of inspection and diff over random feature collections. The seed is printed when one
 * fails; FRESHET_SEED=N runs it again.
 *   1. Reordered, reformatted, jittered below the precision: the same content digest, verdict none.
 *   2. Any set of real edits gives exactly the rows that were edited.
 *   3. Apply, then revert: the features there were.
 *   4. Coordinates on the edges of steps, with noise below the precision: the comparison says the
 *      same. A single coordinate that moved by more, or any edit: it does not. */
#include "handler/compare.h"
#include "handler/diff.h"
#include "handler/inspect_geojson.h"
#include "tests/10-unit/unit.h"

#include <stdlib.h>

#define CASES 1500
#define FEATURES_MAX 14

struct feature {
    int key, name, shape; /* key 0: not there */
    int x, y, w, h;       /* steps of 1e-5 degrees */
};
struct collection {
    struct feature all[2 * FEATURES_MAX];
    size_t n;
};
static uint64_t seed, state_;

static unsigned roll(unsigned below)
{
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state_ >> 33) % below;
}

static struct feature random_feature(int key)
{
    return (struct feature){key,
                            (int)roll(5),
                            (int)roll(3),
                            (int)roll(9000000) - 4500000,
                            (int)roll(6000000) - 3000000,
                            (int)roll(50000) + 10,
                            (int)roll(50000) + 10};
}

/* ---- writing: plain, or any way that means the same ------------------------------------------ */

/* Noise: each coordinate lies on an edge of the steps that digests are made of, and moves by up to
 * nine millimetres, the same for all vertices that have it: so rings stay closed. */
static struct {
    bool on;
    uint64_t salt; /* 0: they do not move */
    int pushed;    /* this one moves by three centimetres; 0: none */
} noise;

static double moved(int steps)
{
    uint64_t h = ((uint64_t)(uint32_t)steps + noise.salt) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
    double by = noise.salt ? ((double)(h * 0xbf58476d1ce4e5b9u >> 40) / (1 << 23) - 1) * 8e-8 : 0;
    return steps / 1e5 + 5e-8 + (noise.pushed && steps == noise.pushed ? 4e-7 : by);
}

static void put_number(struct buf *b, int steps, bool otherwise)
{
    if (noise.on) {
        buf_printf(b, "%.13f", moved(steps));
        return;
    }
    unsigned how = otherwise ? roll(4) : 0;
    double v = steps / 1e5;
    if (how == 1)
        buf_printf(b, "%.9f", v + ((int)roll(3) - 1) * 1e-9);
    else if (how == 2)
        buf_printf(b, "%.12e", v);
    else if (how == 3)
        buf_printf(b, "%.5f000", v);
    else
        buf_printf(b, "%.5f", v);
}

static void put_at(struct buf *b, int x, int y, bool otherwise)
{
    buf_puts(b, otherwise && roll(2) ? "[ " : "[");
    put_number(b, x, otherwise);
    buf_puts(b, otherwise && roll(2) ? " ,\n" : ",");
    put_number(b, y, otherwise);
    buf_byte(b, ']');
}

static void put_polygon(struct buf *b, const struct feature *f, bool otherwise)
{
    const int at[4][2] = {
        {f->x, f->y}, {f->x + f->w, f->y}, {f->x + f->w, f->y + f->h}, {f->x, f->y + f->h}};
    size_t start = otherwise ? roll(4) : 0;
    bool back = otherwise && roll(2);
    buf_puts(b, "{\"type\":\"Polygon\",\"coordinates\":[[");
    for (size_t i = 0; i < 5; i++) {
        size_t k = (back ? start + 8 - i : start + i) % 4;
        buf_puts(b, i ? "," : "");
        put_at(b, at[k][0], at[k][1], otherwise);
    }
    buf_puts(b, "]]}");
}

static void put_geometry(struct buf *b, const struct feature *f, bool otherwise)
{
    if (f->shape == 0) {
        put_polygon(b, f, otherwise);
        return;
    }
    buf_printf(b, "{\"type\":\"%s\",\"coordinates\":", f->shape == 1 ? "Point" : "LineString");
    buf_puts(b, f->shape == 1 ? "" : "[");
    put_at(b, f->x, f->y, otherwise);
    if (f->shape == 2) {
        buf_byte(b, ',');
        put_at(b, f->x + f->w, f->y + f->h, otherwise);
    }
    buf_puts(b, f->shape == 1 ? "}" : "]}");
}

static void put_feature(struct buf *b, const struct feature *f, bool otherwise)
{
    bool swap = otherwise && roll(2);
    buf_puts(b, "{\"type\":\"Feature\",");
    if (swap)
        buf_printf(b, "\"properties\":{\"n\": %d.0,\"GEOID\":\"%03d\"},", f->name, f->key);
    buf_puts(b, "\"geometry\":");
    put_geometry(b, f, otherwise);
    if (!swap)
        buf_printf(b, ",\"properties\":{\"GEOID\":\"%03d\",\"n\":%d}", f->key, f->name);
    buf_byte(b, '}');
}

static void shuffle(struct collection *c)
{
    for (size_t i = c->n; i > 1; i--) {
        size_t k = roll((unsigned)i);
        struct feature t = c->all[i - 1];
        c->all[i - 1] = c->all[k];
        c->all[k] = t;
    }
}

static void put_collection(struct buf *text, const struct collection *c, bool otherwise)
{
    struct collection copy = *c;
    if (otherwise)
        shuffle(&copy);
    buf_puts(text, "{\"type\":\"FeatureCollection\",\"features\":[");
    for (size_t i = 0; i < copy.n; i++) {
        buf_puts(text, i ? "," : "");
        put_feature(text, &copy.all[i], otherwise);
    }
    buf_puts(text, "]}");
    assert_rc(buf_rc(text), RC_OK);
}

static yyjson_val *report_of(struct arena *a, const struct collection *c, bool otherwise)
{
    const struct inspect_options o = {.feature_key = "GEOID", .precision_m = INSPECT_PRECISION_M};
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(buf_release) struct buf report = {0};
    struct err err;
    yyjson_val *root;
    buf_init(&text, 1u << 20);
    buf_init(&report, INSPECT_REPORT_MAX);
    put_collection(&text, c, otherwise);
    assert_rc(inspect_bytes(buf_view(&text), &o, inspect_geojson, &report, &err), RC_OK);
    struct str kept = {arena_str(a, buf_view(&report)), report.len};
    assert_rc(json_parse(a, kept, 0, "report", &root, &err), RC_OK);
    return root;
}

/* ---- editing --------------------------------------------------------------------------------- */

struct edits {
    bool added[200], removed[200], modified[200]; /* by key */
    int64_t n_added, n_removed, n_modified;
};

static void edit(struct collection *c, struct edits *e)
{
    struct collection out = {.n = 0};
    int next = 100;
    for (size_t i = 0; i < c->n; i++) {
        struct feature f = c->all[i];
        switch (roll(5)) {
        case 0: e->removed[f.key] = true, e->n_removed++; continue;
        case 1: f.name += 7, e->modified[f.key] = true, e->n_modified++; break;
        case 2: f.w += 3, f.x -= 1, e->modified[f.key] = true, e->n_modified++; break;
        default: break;
        }
        out.all[out.n++] = f;
    }
    for (unsigned k = roll(4); k > 0; k--) {
        e->added[next] = true, e->n_added++;
        out.all[out.n++] = random_feature(next++);
    }
    *c = out;
}

static void assert_rows(const struct diff_list *l, int64_t n, const bool *expected)
{
    assert_int_equal(l->total, n);
    assert_int_equal(l->n, n);
    for (size_t i = 0; i < l->n; i++) {
        yyjson_val *f = l->rows[i].now ? l->rows[i].now : l->rows[i].old;
        long key = strtol(yyjson_get_str(yyjson_obj_get(f, "key")), NULL, 10);
        assert_true(key >= 0 && key < 200 && expected[key]);
    }
}

/* ---- applying -------------------------------------------------------------------------------- */

static int by_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static size_t digests_of(yyjson_val *report, const char *out[])
{
    size_t i, n, k = 0;
    yyjson_val *f;
    yyjson_arr_foreach(yyjson_obj_get(report, "features"), i, n, f) out[k++] =
        yyjson_get_str(yyjson_obj_get(f, "digest"));
    return k;
}

static size_t swap_digest(const char *set[], size_t n, yyjson_val *out, yyjson_val *in)
{
    const char *gone = yyjson_get_str(yyjson_obj_get(out, "digest"));
    size_t i = 0;
    if (gone) {
        while (i < n && strcmp(set[i], gone) != 0)
            i++;
        assert_true(i < n);
        set[i] = set[--n];
    }
    if (in)
        set[n++] = yyjson_get_str(yyjson_obj_get(in, "digest"));
    return n;
}

/* The rows of d, forward or backward. */
static size_t apply(const struct diff *d, const char *set[], size_t n, bool back)
{
    const struct diff_list *lists[] = {&d->added, &d->removed, &d->modified};
    for (size_t k = 0; k < ARRAY_LEN(lists); k++)
        for (size_t i = 0; i < lists[k]->n; i++) {
            const struct diff_row *r = &lists[k]->rows[i];
            n = swap_digest(set, n, back ? r->now : r->old, back ? r->old : r->now);
        }
    return n;
}

static void assert_same_set(const char *set[], size_t n, yyjson_val *report)
{
    const char *want[4 * FEATURES_MAX];
    size_t m = digests_of(report, want);
    assert_int_equal(n, m);
    qsort(set, n, sizeof *set, by_text);
    qsort(want, m, sizeof *want, by_text);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(set[i], want[i]);
}

/* ---- the cases ------------------------------------------------------------------------------- */

static struct collection random_collection(void)
{
    struct collection c = {.n = 1 + roll(FEATURES_MAX)};
    for (size_t i = 0; i < c.n; i++)
        c.all[i] = random_feature((int)i + 1);
    return c;
}

static const char *content_of(yyjson_val *report)
{
    return yyjson_get_str(yyjson_obj_get(report, "content_digest"));
}

/* What the comparison says of c as it was written last, in `before`, and as it is written now. */
static bool vanishes(struct arena *a, const struct buf *before, const struct collection *c)
{
    const struct inspect_options o = {.feature_key = seed % 2 ? "GEOID" : "",
                                      .precision_m = INSPECT_PRECISION_M};
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(buf_release) struct buf out = {0};
    struct err err;
    yyjson_val *root;
    buf_init(&text, 1u << 20);
    buf_init(&out, COMPARE_MAX);
    put_collection(&text, c, true);
    assert_rc(compare_bytes(buf_view(before), buf_view(&text), &o, inspect_geojson, &out, &err),
              RC_OK);
    assert_rc(json_parse(a, buf_view(&out), 0, "comparison", &root, &err), RC_OK);
    return yyjson_get_bool(yyjson_ptr_get(root, "/totals/within_precision"));
}

static void noise_case(struct arena *a)
{
    CLEANUP(buf_release) struct buf before = {0};
    struct collection c = random_collection();
    struct edits e = {.n_added = 0};
    buf_init(&before, 1u << 20);
    noise.on = true;
    noise.salt = 0;
    put_collection(&before, &c, false);
    noise.salt = 1 + seed;
    assert_true(vanishes(a, &before, &c));
    noise.pushed = c.all[roll((unsigned)c.n)].y;
    assert_false(vanishes(a, &before, &c));
    noise.pushed = 0;
    edit(&c, &e);
    if (e.n_added + e.n_removed + e.n_modified > 0)
        assert_false(vanishes(a, &before, &c));
    noise.on = false;
}

static void one_case(struct arena *a)
{
    struct collection c = random_collection();
    struct edits e = {.n_added = 0};
    struct diff d;
    struct err err;
    const char *set[4 * FEATURES_MAX];
    yyjson_val *before = report_of(a, &c, false), *same = report_of(a, &c, true);
    assert_string_equal(content_of(before), content_of(same));
    assert_rc(diff_of(a, before, same, DIFF_LISTED_MAX, &d, &err), RC_OK);
    assert_string_equal(d.verdict, "none");
    edit(&c, &e);
    yyjson_val *after = report_of(a, &c, true);
    assert_rc(diff_of(a, before, after, DIFF_LISTED_MAX, &d, &err), RC_OK);
    assert_rows(&d.added, e.n_added, e.added);
    assert_rows(&d.removed, e.n_removed, e.removed);
    assert_rows(&d.modified, e.n_modified, e.modified);
    bool edited = e.n_added + e.n_removed + e.n_modified > 0;
    if (c.n > 0) /* without features there are no fields to have the same digest */
        assert_int_equal(strcmp(content_of(before), content_of(after)) != 0, edited);
    size_t n = apply(&d, set, digests_of(before, set), false);
    assert_same_set(set, n, after);
    n = apply(&d, set, n, true);
    assert_same_set(set, n, before);
}

static void any_collection(void **state)
{
    const char *given = getenv("FRESHET_SEED");
    uint64_t first = given ? strtoull(given, NULL, 10) : 1;
    (void)state;
    for (seed = first; seed < first + (given ? 1 : CASES); seed++) {
        CLEANUP(arena_release) struct arena a = {0};
        arena_init(&a, 64u << 20);
        state_ = seed * 0x9e3779b97f4a7c15u;
        one_case(&a);
        noise_case(&a);
    }
}

static void say_seed(void)
{
    if (seed > 0)
        fprintf(stderr, "the last seed was %llu: run again with FRESHET_SEED\n",
                (unsigned long long)seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_collection)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed)
        say_seed();
    return failed;
}
