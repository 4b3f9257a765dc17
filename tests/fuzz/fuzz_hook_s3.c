/* fuzz_hook_s3: any body as a notification (properties in fuzz_hook.h, and)
 *   1. Sequencers are hexadecimal in upper case.
 *   2. Every event but one of a test has an id. */
#include "tests/fuzz/fuzz_hook.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct fuzz_hook f;
    static struct hook_reading r;
    fuzz_start(&f, data, n, "{}", "a secret of 24 chars ..");
    (void)fuzz_verify(&f, &hook_s3);
    if (fuzz_read(&f, &hook_s3, &r) == RC_OK)
        for (size_t i = 0; i < r.n_events; i++) {
            struct str s = r.events[i].sequence;
            HOLDS(s.n == 0 || strspn(s.p, "0123456789ABCDEF") == s.n);
            HOLDS(r.events[i].id.n > 0 || r.events[i].what == HOOK_OTHER);
            HOLDS(r.events[i].what == HOOK_OTHER ||
                  memchr(r.events[i].object.p, '/', r.events[i].object.n));
        }
    arena_release(&f.a);
    return 0;
}
