/* fuzz_inspect_geojson: any bytes through sniffing and our own GeoJSON reader.
 *
 * Properties
 *   1. (I9) The same bytes give the same report, and it is its own canonical form.
 *   2. A report without problems has at least told its format; one that lists features lists as
 *      many as it counts. */
#include "handler/inspect_geojson.h"
#include "tests/fuzz/fuzz_main.h"

static void check(struct arena *a, struct str report)
{
    struct err err;
    yyjson_val *root;
    struct buf again;
    HOLDS(json_parse(a, report, 0, "report", &root, &err) == RC_OK);
    buf_init(&again, INSPECT_REPORT_MAX);
    HOLDS(json_canon(&again, root, &err) == RC_OK);
    HOLDS(str_eq(buf_view(&again), report));
    buf_release(&again);
    HOLDS(yyjson_is_str(yyjson_obj_get(root, "format")));
    yyjson_val *listed = yyjson_obj_get(root, "features"), *layers = yyjson_obj_get(root, "layers");
    size_t counted = 0, i, n;
    yyjson_val *l;
    yyjson_arr_foreach(layers, i, n, l) counted +=
        (size_t)yyjson_get_uint(yyjson_obj_get(l, "features"));
    HOLDS(!yyjson_is_arr(listed) || yyjson_arr_size(listed) == counted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct inspect_options o = {.feature_key = "GEOID", .precision_m = INSPECT_PRECISION_M};
    struct str bytes = {(const char *)data, n};
    struct buf once, twice;
    struct arena a;
    struct err err;
    if (inspect_formats[inspect_sniff(bytes)].engine == ENGINE_GDAL)
        return 0;
    buf_init(&once, INSPECT_REPORT_MAX);
    buf_init(&twice, INSPECT_REPORT_MAX);
    arena_init(&a, 256u << 20);
    HOLDS(inspect_bytes(bytes, &o, inspect_geojson, &once, &err) == RC_OK);
    HOLDS(inspect_bytes(bytes, &o, inspect_geojson, &twice, &err) == RC_OK);
    HOLDS(str_eq(buf_view(&once), buf_view(&twice)));
    check(&a, buf_view(&once));
    arena_release(&a);
    buf_release(&once);
    buf_release(&twice);
    return 0;
}
