/* fuzz_validate: rules over any bytes, expected as any kind.
 *
 * Properties
 *   1. (I9) The same bytes give the same report, and it is JSON.
 *   2. The outcome is pass exactly when no rule is broken.
 *   3. A box is in degrees and not inside out.
 * The first byte chooses what is expected. */
#include <sys/mman.h>
#include <unistd.h>
#include "handler/validate.h"
#include "tests/fuzz/fuzz_main.h"

static const char *const types[] = {"",         "application/zip",  "application/geo+json",
                                    "text/csv", "application/json", "application/xml",
                                    "text/html"};

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
    if (n == 0)
        return 0;
    const struct expectation e = {.media_type = types[data[0] % ARRAY_LEN(types)],
                                  .url = "https://example.org/data",
                                  .max_bytes = 1 << 20};
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    HOLDS(fd >= 0 && write(fd, data + 1, n - 1) == (ssize_t)(n - 1));
    arena_init(&a, 64u << 20);
    HOLDS(validate(&a, fd, (int64_t)n - 1, &e, &once, &err) == RC_OK);
    HOLDS(validate(&a, fd, (int64_t)n - 1, &e, &twice, &err) == RC_OK);
    HOLDS(str_eq(once.report, twice.report));
    check(&a, &once);
    arena_release(&a);
    close(fd);
    return 0;
}
