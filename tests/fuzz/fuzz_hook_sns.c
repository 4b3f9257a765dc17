/* fuzz_hook_sns: any body as a message (properties in fuzz_hook.h, and)
 *   1. Nothing passes but the two messages that were signed, whatever is changed around what
 *      is signed.
 *   2. What is to be fetched is at SNS. */
#include "tests/fuzz/fuzz_hook.h"
#include "tests/fuzz/hook_keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct fuzz_hook f;
    static struct hook_reading r;
    fuzz_start(&f, data, n, "{\"topic_arns\":[\"" HOOK_TOPIC "\"]}", hook_certificate);
    bool passed = fuzz_verify(&f, &hook_sns) == RC_OK;
    bool was_read = fuzz_read(&f, &hook_sns, &r) == RC_OK;
    if (passed && was_read && r.kind == HOOK_EVENTS)
        HOLDS(r.n_events == 1 && str_is(r.events[0].id, HOOK_MESSAGE_ID));
    if (was_read && r.kind == HOOK_CONFIRM) {
        HOLDS(str_starts(r.confirm_url, STR("https://sns.")) && str_is_clean(r.confirm_url));
        HOLDS(!memchr(r.confirm_url.p, '@', r.confirm_url.n) || passed == false ||
              str_is(r.confirm_url, HOOK_CONFIRM_URL));
        HOLDS(!passed || str_is(r.confirm_url, HOOK_CONFIRM_URL));
    }
    arena_release(&f.a);
    return 0;
}
