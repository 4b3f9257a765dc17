/* fuzz_jwt: any text as a token, and any text as keys; the input is keys, a line feed, a token.
 *
 * Properties
 *   1. Keys are read or refused with a field; what was read is bounded.
 *   2. No token passes under keys that somebody else brought, unless they made it for us: then its
 *      claims are ours.
 *   3. Under our key nothing passes but the token that was signed. */
#include "api/jwt.h"
#include "tests/fuzz/fuzz_main.h"
#include "tests/fuzz/hook_keys.h"

static enum rc check(struct arena *a, const struct jwt_keys *keys, struct str token)
{
    struct err err = {0};
    struct jwt_rules rules = {.keys = keys,
                              .issuers = {STR("https://accounts.google.com")},
                              .n_issuers = 1,
                              .audiences = {STR(HOOK_AUDIENCE)},
                              .n_audiences = 1,
                              .email = STR(HOOK_EMAIL),
                              .now = 1780000000000LL,
                              .skew_ms = 300000};
    enum rc rc = jwt_check(token, &rules, a, &err);
    HOLDS(rc == err.rc && str_is_clean(str_of(err.msg)) && str_is_utf8(str_of(err.msg)));
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct jwt_keys keys;
    struct str token = {(const char *)data, n}, text;
    struct err err = {0};
    struct arena a;
    if (!str_next(&token, '\n', &text))
        return 0;
    arena_init(&a, 16u << 20);
    keys.n = 0;
    enum rc rc = jwt_keys_add_text(&a, text, &keys, &err);
    HOLDS(rc == err.rc && (rc == RC_OK || err.field[0]) && keys.n <= JWT_KEYS_MAX);
    if (rc == RC_OK)
        (void)check(&a, &keys, token);
    keys.n = 0;
    HOLDS(jwt_keys_add_text(&a, str_of(hook_key_set), &keys, &err) == RC_OK);
    if (check(&a, &keys, token) == RC_OK)
        HOLDS(str_is(token, hook_token));
    arena_release(&a);
    return 0;
}
