/* fuzz_validate: rules over any bytes, expected as any kind.
 *
 * Properties
 *   1. (I9) The same bytes give the same report, and it is JSON.
 *   2. The outcome is pass exactly when no rule is broken.
 *   3. A box is in degrees and not inside out.
 * The first byte chooses what is expected. */
#include <sys/mman.h>
#include <unistd.h>
#include "handler/inspect_geojson.h"
#include "handler/validate.h"
#include "tests/fuzz/fuzz_main.h"

static const char *const types[] = {"",         "application/zip",  "application/geo+json",
                                    "text/csv", "application/json", "application/xml",
                                    "text/html"};

/* What the inspector says, without its sandbox; what only GDAL reads stays unread. */
static void inspect(struct arena *a, struct str bytes, struct summary *ret)
{
    struct inspect_options o;
    struct buf report;
    struct err err;
    yyjson_val *root;
    enum inspect_format f = inspect_sniff(bytes);
    bool unread = inspect_formats[f].engine == ENGINE_GDAL;
    inspect_options_default(&o);
    buf_init(&report, INSPECT_REPORT_MAX);
    if (unread)
        HOLDS(inspect_unread(f, (int64_t)bytes.n, &o, PROBLEM_COUNT, &report, &err) == RC_OK);
    else
        HOLDS(inspect_bytes((struct str){arena_str(a, bytes), bytes.n}, &o, inspect_geojson,
                            &report, &err) == RC_OK);
    HOLDS(json_parse(a, (struct str){arena_str(a, buf_view(&report)), report.len}, 0, "report",
                     &root, &err) == RC_OK);
    HOLDS(summary_of(root, ret, &err) == RC_OK);
    buf_release(&report);
}

static void check(struct arena *a, const struct validation *v)
{
    struct err err;
    yyjson_val *root;
    HOLDS(json_parse(a, v->report, 0, "report", &root, &err) == RC_OK);
    HOLDS((v->outcome == VERDICT_PASS) == (v->failed == 0));
    HOLDS((v->n_reasons == 0) == (v->failed == 0));
    if (!v->has_bbox)
        return;
    HOLDS(v->bbox[0] >= -180 && v->bbox[2] <= 180 && v->bbox[0] <= v->bbox[2]);
    HOLDS(v->bbox[1] >= -90 && v->bbox[3] <= 90 && v->bbox[1] <= v->bbox[3]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a;
    struct err err;
    struct validation once, twice;
    struct summary now;
    if (n == 0)
        return 0;
    const struct expectation e = {.media_type = types[data[0] % ARRAY_LEN(types)],
                                  .url = "https://example.org/data",
                                  .max_bytes = 1 << 20,
                                  .count_drift_pct = -1,
                                  .area_drift_pct = -1};
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    HOLDS(fd >= 0 && write(fd, data + 1, n - 1) == (ssize_t)(n - 1));
    arena_init(&a, 256u << 20);
    inspect(&a, (struct str){(const char *)data + 1, n - 1}, &now);
    HOLDS(validate(&a, fd, (int64_t)n - 1, &e, &now, NULL, &once, &err) == RC_OK);
    HOLDS(validate(&a, fd, (int64_t)n - 1, &e, &now, NULL, &twice, &err) == RC_OK);
    HOLDS(str_eq(once.report, twice.report));
    check(&a, &once);
    arena_release(&a);
    close(fd);
    return 0;
}
