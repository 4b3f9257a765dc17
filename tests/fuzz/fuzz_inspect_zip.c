/* fuzz_inspect_zip: any bytes as a table of contents.
 *
 * Properties
 *   1. Names of an archive that passed are inside the bytes, relative, and lead nowhere else.
 *   2. The sum of what is claimed is within the limit. */
#include "handler/inspect_zip.h"
#include "tests/fuzz/fuzz_main.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str bytes = {(const char *)data, n};
    enum zip_verdict verdict;
    struct zip z = {0};
    struct arena a;
    int64_t sum = 0;
    arena_init(&a, 8u << 20);
    HOLDS(zip_read(&a, bytes, &verdict, &z) == RC_OK);
    for (size_t i = 0; verdict == ZIP_OK && i < z.n; i++) {
        struct str name = z.entries[i].name;
        HOLDS(name.n > 0 && name.p >= bytes.p && name.p + name.n <= bytes.p + bytes.n);
        HOLDS(*name.p != '/' && !memmem(name.p, name.n, "../", 3));
        sum += z.entries[i].inflated;
    }
    HOLDS(sum >= 0 && sum <= ZIP_INFLATED_MAX);
    arena_release(&a);
    return 0;
}
