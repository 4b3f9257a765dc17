/* fuzz_inspect_gdal: any bytes through every reader, GDAL's drivers included, in this process and
 * so without the sandbox: what crashes here would be INSPECTOR_CRASHED there.
 *
 * Properties
 *   1. (I9) The same bytes give the same report, also when another file was read before. */
#include "handler/inspect_gdal.h"
#include "tests/fuzz/fuzz_main.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static bool warm;
    const struct inspect_options o = {.feature_key = "GEOID", .precision_m = INSPECT_PRECISION_M};
    struct buf once, twice;
    struct err err;
    /* A view without end is what the time limit is for. */
    if (memmem(data, n, "RECURSIVE", 9))
        return 0;
    if (!warm)
        HOLDS(inspect_gdal_warm(&err) == RC_OK);
    warm = true;
    buf_init(&once, INSPECT_REPORT_MAX);
    buf_init(&twice, INSPECT_REPORT_MAX);
    /* Readers may write into the bytes, which are their own. */
    char *copy = malloc(n ? n : 1);
    HOLDS(copy != NULL);
    memcpy(copy, data, n);
    HOLDS(inspect_bytes((struct str){copy, n}, &o, inspect_gdal, &once, &err) == RC_OK);
    memcpy(copy, data, n);
    HOLDS(inspect_bytes((struct str){copy, n}, &o, inspect_gdal, &twice, &err) == RC_OK);
    HOLDS(str_eq(buf_view(&once), buf_view(&twice)));
    free(copy);
    buf_release(&once);
    buf_release(&twice);
    return 0;
}
