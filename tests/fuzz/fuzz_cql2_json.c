/* fuzz_cql2_json: filters as JSON; the same properties as fuzz_cql2_text. */
#include "core/cql2.h"
#include "tests/fuzz/fuzz_main.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a;
    struct buf b;
    struct err err = {0};
    struct cql2 *q;
    yyjson_val *v;
    arena_init(&a, 32u << 20);
    buf_init(&b, 8u << 20);
    if (json_parse(&a, (struct str){(const char *)data, n}, 0, "filter", &v, &err) == RC_OK) {
        if (cql2_from_json(&a, v, &q, &err) == RC_OK) {
            cql2_put(&b, q);
            HOLDS(buf_rc(&b) == RC_OK && b.len > 0);
        } else {
            HOLDS(err.rc == RC_INVALID && err.msg[0] != 0);
        }
    }
    buf_release(&b);
    arena_release(&a);
    return 0;
}
