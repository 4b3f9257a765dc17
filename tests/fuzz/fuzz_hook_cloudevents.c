/* fuzz_hook_cloudevents: any delivery, in any mode, and the handshake (properties in
 * fuzz_hook.h, and)
 *   1. Without the secret, only a handshake of the configured origin is taken. */
#include "tests/fuzz/fuzz_hook.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct fuzz_hook f;
    static struct hook_reading r;
    fuzz_start(&f, data, n, "{\"origins\":[\"e.example\"],\"types\":[\"a\"]}",
               "a secret of 24 chars ..");
    if (fuzz_verify(&f, &hook_cloudevents) == RC_OK) {
        struct str token = req_header(&f.req, "Authorization");
        struct str origin = req_header(&f.req, "WebHook-Request-Origin");
        bool shakes = str_is(f.d.method, "OPTIONS");
        HOLDS(!shakes || (origin.p && str_ieq(str_trim(origin), STR("e.example"))));
        HOLDS(shakes || (token.p && str_ends(str_trim(token), STR("a secret of 24 chars .."))));
    }
    (void)fuzz_read(&f, &hook_cloudevents, &r);
    arena_release(&f.a);
    return 0;
}
