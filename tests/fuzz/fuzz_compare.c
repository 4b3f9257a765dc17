/* fuzz_compare: two files in one seed, cut at the first NUL byte, through the comparison.
 *
 * Properties
 *   1. (I9) The same bytes give the same comparison, and it is its own canonical form.
 *   2. A file compared with itself has no rows; what is listed is bounded; no measure
 *      is negative. */
#include "handler/compare.h"
#include "handler/diff.h"
#include "handler/inspect_geojson.h"
#include "tests/fuzz/fuzz_main.h"

static const struct inspect_options options = {"GEOID", INSPECT_PRECISION_M, "since"};

static yyjson_val *compare(struct arena *a, struct str old, struct str now)
{
    struct buf once, twice, again;
    struct err err;
    yyjson_val *root;
    buf_init(&once, COMPARE_MAX);
    buf_init(&twice, COMPARE_MAX);
    buf_init(&again, COMPARE_MAX);
    HOLDS(compare_bytes(old, now, &options, inspect_geojson, &once, &err) == RC_OK);
    HOLDS(compare_bytes(old, now, &options, inspect_geojson, &twice, &err) == RC_OK);
    HOLDS(str_eq(buf_view(&once), buf_view(&twice)));
    HOLDS(json_parse(a, buf_view(&once), 0, "comparison", &root, &err) == RC_OK);
    HOLDS(json_canon(&again, root, &err) == RC_OK);
    HOLDS(str_eq(buf_view(&again), buf_view(&once)));
    buf_release(&once);
    buf_release(&twice);
    buf_release(&again);
    return root;
}

static size_t rows(yyjson_val *root)
{
    static const char *const lists[] = {"added", "removed", "modified"};
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        size_t one = yyjson_arr_size(yyjson_obj_get(root, lists[i]));
        HOLDS(one <= DIFF_LISTED_MAX);
        n += one;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const uint8_t *cut = n > 0 ? memchr(data, 0, n) : NULL;
    size_t first = cut ? (size_t)(cut - data) : n;
    struct str old = {(const char *)data, first}, now = {(const char *)data, 0};
    struct arena a;
    if (cut)
        now = (struct str){(const char *)cut + 1, n - first - 1};
    if (inspect_formats[inspect_sniff(old)].engine == ENGINE_GDAL ||
        inspect_formats[inspect_sniff(now)].engine == ENGINE_GDAL)
        return 0;
    arena_init(&a, 256u << 20);
    yyjson_val *root = compare(&a, old, now), *t = yyjson_obj_get(root, "totals");
    static const char *const measures[] = {"moved_m", "gained_km2", "lost_km2", "slivers_km2"};
    for (size_t i = 0; i < ARRAY_LEN(measures); i++)
        HOLDS(!t || yyjson_get_num(yyjson_obj_get(t, measures[i])) >= 0);
    (void)rows(root);
    HOLDS(rows(compare(&a, old, old)) == 0);
    arena_release(&a);
    return 0;
}
