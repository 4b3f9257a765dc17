/* fuzz_hook_azure: any delivery of Event Grid, in both schemas (properties in fuzz_hook.h, and)
 *   1. Nothing passes without the key, handshakes neither.
 *   2. The answer to a validation is a JSON object of one text. */
#include "tests/fuzz/fuzz_hook.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct fuzz_hook f;
    static struct hook_reading r;
    struct err err = {0};
    yyjson_val *v;
    fuzz_start(&f, data, n, "{}", "a secret of 24 chars ..");
    if (fuzz_verify(&f, &hook_azure) == RC_OK)
        HOLDS(str_is(str_trim(req_header(&f.req, "aeg-sas-key")), "a secret of 24 chars .."));
    if (fuzz_read(&f, &hook_azure, &r) == RC_OK && r.reply.n > 0) {
        HOLDS(json_parse(&f.a, r.reply, 0, "reply", &v, &err) == RC_OK);
        HOLDS(yyjson_obj_size(v) == 1 && yyjson_is_str(yyjson_obj_get(v, "validationResponse")));
    }
    arena_release(&f.a);
    return 0;
}
