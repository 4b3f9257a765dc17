/* fuzz_hook_gcs: any token and any message (properties in fuzz_hook.h, and)
 *   1. No token passes but the one that was signed.
 *   2. Sequences are numbers of one width. */
#include "tests/fuzz/fuzz_hook.h"
#include "tests/fuzz/hook_keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct fuzz_hook f;
    static struct hook_reading r;
    fuzz_start(&f, data, n, "{\"audience\":\"" HOOK_AUDIENCE "\",\"email\":\"" HOOK_EMAIL "\"}",
               hook_key_set);
    if (fuzz_verify(&f, &hook_gcs) == RC_OK)
        HOLDS(str_ends(str_trim(req_header(&f.req, "Authorization")), str_of(hook_token)));
    if (fuzz_read(&f, &hook_gcs, &r) == RC_OK) {
        HOLDS(r.n_events == 1 && r.events[0].id.n > 0);
        HOLDS(r.events[0].sequence.n == 0 || r.events[0].sequence.n == 21);
    }
    arena_release(&f.a);
    return 0;
}
