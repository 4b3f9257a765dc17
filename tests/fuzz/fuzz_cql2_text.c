/* fuzz_cql2_text: filters as text.
 *
 * Properties
 *   1. What is refused has a reason and a field; what is taken has a form that is bounded. */
#include "core/cql2.h"
#include "tests/fuzz/fuzz_main.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a;
    struct buf b;
    struct err err = {0};
    struct cql2 *q;
    arena_init(&a, 16u << 20);
    buf_init(&b, 8u << 20);
    if (cql2_from_text(&a, (struct str){(const char *)data, n}, &q, &err) == RC_OK) {
        HOLDS(n <= CQL2_TEXT_MAX);
        cql2_put(&b, q);
        HOLDS(buf_rc(&b) == RC_OK && b.len > 0);
    } else {
        HOLDS(err.rc == RC_INVALID && err.msg[0] != 0);
    }
    buf_release(&b);
    arena_release(&a);
    return 0;
}
