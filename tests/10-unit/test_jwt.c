/* jwt: which tokens are taken. Signed here by OpenSSL with keys made for the run. */
#include "tests/10-unit/hook_world.h"

#include "api/jwt.h"
#include "core/base64.h"

#define NOW (WORLD_NOW / 1000)
#define ISSUER "https://accounts.google.com"
#define AUDIENCE "https://freshet.example/hooks/maps"
#define EMAIL "push@project.iam.gserviceaccount.com"

static struct keys ours, theirs, small;
static struct arena a;
static struct err err;

static int make_keys(void **state)
{
    (void)state;
    keys_make(&ours, 2048, NOW + 86400);
    keys_make(&theirs, 2048, NOW + 86400);
    keys_make(&small, 1024, NOW + 86400);
    arena_init(&a, 8 << 20);
    return 0;
}
static int drop_keys(void **state)
{
    (void)state;
    keys_end(&ours);
    keys_end(&theirs);
    keys_end(&small);
    arena_release(&a);
    return 0;
}

/* ---- making tokens --------------------------------------------------------------------------- */

#define HEADER "{\"alg\":\"RS256\",\"kid\":\"k1\",\"typ\":\"JWT\"}"
#define CLAIMS                                                                                     \
    "{\"iss\":\"" ISSUER "\",\"aud\":\"" AUDIENCE "\",\"email\":\"" EMAIL                          \
    "\",\"email_verified\":true,\"iat\":1779999990,\"exp\":1780003590}"

static char token[20000];

static void unsigned_token(const char *header, const char *claims)
{
    char part[16000];
    encode_url((const unsigned char *)header, strlen(header), part);
    size_t n = (size_t)snprintf(token, sizeof token, "%s.", part);
    encode_url((const unsigned char *)claims, strlen(claims), part);
    snprintf(token + n, sizeof token - n, "%s", part);
}

static void append(const char *text)
{
    size_t n = strlen(token);
    snprintf(token + n, sizeof token - n, "%s", text);
}

static const char *token_of(const struct keys *k, const char *header, const char *claims)
{
    unsigned char sig[512];
    unsigned_token(header, claims);
    size_t n = strlen(token), len = keys_sign(k, "SHA256", (struct str){token, n}, sig);
    token[n] = '.';
    encode_url(sig, len, token + n + 1);
    return token;
}

/* ---- checking them --------------------------------------------------------------------------- */

static const char *jwk(const struct keys *k, const char *kid)
{
    return arena_printf(&a,
                        "{\"kty\":\"RSA\",\"use\":\"sig\",\"alg\":\"RS256\",\"kid\":\"%s\",\"n\":"
                        "\"%s\",\"e\":\"%s\"}",
                        kid, k->n, k->e);
}

static enum rc keys_from(const char *json, struct jwt_keys *keys)
{
    yyjson_val *v;
    struct err ignored = {0};
    keys->n = 0;
    err = (struct err){0};
    assert_rc(json_parse(&a, str_of(json), 0, "keys", &v, &ignored), RC_OK);
    return jwt_keys_add(&a, v, keys, &err);
}

static enum rc check_by(const char *json, const char *text, const char *email)
{
    static struct jwt_keys keys;
    assert_rc(keys_from(json, &keys), RC_OK);
    struct jwt_rules rules = {.keys = &keys,
                              .issuers = {STR(ISSUER), STR("accounts.google.com")},
                              .n_issuers = 2,
                              .audiences = {STR(AUDIENCE)},
                              .n_audiences = 1,
                              .email = str_of(email),
                              .now = WORLD_NOW,
                              .skew_ms = HOOK_SKEW_MS};
    return jwt_check(str_of(text), &rules, &a, &err);
}

static enum rc check(const char *text)
{
    const char *set = arena_printf(&a, "{\"keys\":[%s,%s]}", jwk(&theirs, "k2"), jwk(&ours, "k1"));
    enum rc rc = check_by(set, text, EMAIL);
    if (rc != RC_OK)
        assert_rc(rc, RC_UNAUTHORIZED);
    return rc;
}

static void says(const char *text, const char *word)
{
    assert_rc(check(text), RC_UNAUTHORIZED);
    if (!strstr(err.msg, word))
        fail_msg("\"%s\" instead of \"%s\"", err.msg, word);
}

static void a_good_token(void **state)
{
    (void)state;
    assert_rc(check(token_of(&ours, HEADER, CLAIMS)), RC_OK);
    assert_rc(check(token_of(&ours, "{\"alg\":\"RS256\",\"kid\":\"k1\"}", CLAIMS)), RC_OK);
    assert_rc(check(token_of(&theirs, "{\"alg\":\"RS256\",\"kid\":\"k2\"}", CLAIMS)), RC_OK);
}

static void algorithms_are_not_chosen_by_the_token(void **state)
{
    (void)state;
    static const char *const algs[] = {"none",  "None",   "NONE",  "nOnE",        "HS256",
                                       "HS512", "RS384",  "RS512", "PS256",       "ES256",
                                       "rs256", "RS256 ", "",      "RS256\\u0000"};
    for (size_t i = 0; i < ARRAY_LEN(algs); i++) {
        char header[100];
        snprintf(header, sizeof header, "{\"alg\":\"%s\",\"kid\":\"k1\"}", algs[i]);
        says(token_of(&ours, header, CLAIMS), "RS256");
    }
    says(token_of(&ours, "{\"kid\":\"k1\"}", CLAIMS), "RS256");
    says(token_of(&ours, "{\"alg\":5,\"kid\":\"k1\"}", CLAIMS), "RS256");
    says(token_of(&ours, "{\"alg\":[\"RS256\"],\"kid\":\"k1\"}", CLAIMS), "RS256");
    unsigned_token("{\"alg\":\"none\"}", CLAIMS);
    append(".");
    says(token, "three parts");
    append("AAAA");
    says(token, "RS256");
    unsigned_token(HEADER, CLAIMS);
    append(".");
    says(token, "three parts");
}

/* The classic: HMAC with the public key as its secret. */
static void hmac_with_the_public_key(void **state)
{
    (void)state;
    static const char *const headers[] = {"{\"alg\":\"HS256\",\"kid\":\"k1\"}", HEADER};
    const char *secrets[] = {ours.public_key, ours.n};
    for (int i = 0; i < 4; i++) {
        struct sha256 mac;
        char part[64];
        unsigned_token(headers[i % 2], CLAIMS);
        mac_sha256(str_of(secrets[i / 2]), str_of(token), &mac);
        encode_url(mac.b, sizeof mac.b, part);
        append(".");
        append(part);
        says(token, i % 2 ? "signature" : "RS256");
    }
}

static void keys_are_chosen_by_id(void **state)
{
    (void)state;
    says(token_of(&ours, "{\"alg\":\"RS256\",\"kid\":\"k2\"}", CLAIMS), "signature");
    says(token_of(&ours, "{\"alg\":\"RS256\",\"kid\":\"k3\"}", CLAIMS), "signature");
    says(token_of(&ours, "{\"alg\":\"RS256\",\"kid\":\"\"}", CLAIMS), "signature");
    says(token_of(&ours, "{\"alg\":\"RS256\",\"kid\":[\"k1\"]}", CLAIMS), "signature");
    says(token_of(&ours, "{\"alg\":\"RS256\"}", CLAIMS), "signature");
    /* A key in the token is not looked at. */
    const char *header =
        arena_printf(&a, "{\"alg\":\"RS256\",\"kid\":\"k9\",\"jwk\":%s}", jwk(&small, "k9"));
    says(token_of(&small, header, CLAIMS), "signature");
    says(token_of(&ours, "{\"alg\":\"RS256\",\"kid\":\"k1\",\"crit\":[\"exp\"]}", CLAIMS),
         "extension");
    says(token_of(&ours, "{\"alg\":\"RS256\",\"kid\":\"k1\",\"typ\":\"JWE\"}", CLAIMS),
         "not a JWT");
}

static void parts_that_are_none(void **state)
{
    (void)state;
    static const char *const texts[] = {"", ".", "..", "...", "a.b", "a.b.c.d", "a..c", ".b.c"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        says(texts[i], "token");
    token_of(&ours, HEADER, CLAIMS);
    size_t n = strlen(token);
    says(arena_printf(&a, "%.*s", (int)n - 2, token), "signature");
    says(arena_printf(&a, "%s=", token), "base64url");
    says(arena_printf(&a, "%s.x", token), "three parts");
    says(arena_printf(&a, " %s", token), "base64url");
    says(arena_printf(&a, "%s\n", token), "base64url");
    says(token_of(&ours, "[]", CLAIMS), "JSON object");
    says(token_of(&ours, "{\"alg\":\"RS256\",\"kid\":\"k1\",\"alg\":\"none\"}", CLAIMS), "single");
    says(token_of(&ours, "{\"alg\":\"RS256\",\"kid\":\"k1\"} ", "{"), "JSON object");
    says(token_of(&ours, HEADER, "{\"exp\":1,\"exp\":99999999999}"), "single");
    static char long_claims[10000];
    snprintf(long_claims, sizeof long_claims, "{\"x\":\"%09000d\"}", 1);
    says(token_of(&ours, HEADER, long_claims), "longer");
}

static void claims(void **state)
{
    (void)state;
#define TIMES ",\"iat\":1779999990,\"exp\":1780003590"
#define WHO ",\"email\":\"" EMAIL "\",\"email_verified\":true"
#define IA "{\"iss\":\"" ISSUER "\",\"aud\":\"" AUDIENCE "\""
    static const struct {
        const char *claims, *word; /* NULL: taken */
    } cases[] = {
        {IA WHO TIMES "}", NULL},
        {"{\"iss\":\"accounts.google.com\",\"aud\":[\"x\",\"" AUDIENCE "\"]" WHO TIMES "}", NULL},
        {"{\"iss\":\"https://accounts.google.com.evil.example\",\"aud\":\"" AUDIENCE "\"" WHO TIMES
         "}",
         "issuer"},
        {"{\"iss\":\"" ISSUER "/\",\"aud\":\"" AUDIENCE "\"" WHO TIMES "}", "issuer"},
        {"{\"aud\":\"" AUDIENCE "\"" WHO TIMES "}", "issuer"},
        {"{\"iss\":\"\",\"aud\":\"" AUDIENCE "\"" WHO TIMES "}", "issuer"},
        {"{\"iss\":[\"" ISSUER "\"],\"aud\":\"" AUDIENCE "\"" WHO TIMES "}", "issuer"},
        {"{\"iss\":\"" ISSUER "\",\"aud\":\"" AUDIENCE "2\"" WHO TIMES "}", "audience"},
        {"{\"iss\":\"" ISSUER "\",\"aud\":[]" WHO TIMES "}", "audience"},
        {"{\"iss\":\"" ISSUER "\",\"aud\":{\"x\":\"" AUDIENCE "\"}" WHO TIMES "}", "audience"},
        {"{\"iss\":\"" ISSUER "\"" WHO TIMES "}", "audience"},
        {IA TIMES "}", "account"},
        {IA ",\"email\":\"other@x\",\"email_verified\":true" TIMES "}", "account"},
        {IA ",\"email\":\"" EMAIL "\"" TIMES "}", "verified"},
        {IA ",\"email\":\"" EMAIL "\",\"email_verified\":\"true\"" TIMES "}", "verified"},
        {IA ",\"email\":\"" EMAIL "\",\"email_verified\":false" TIMES "}", "verified"},
        {IA WHO "}", "times"},
        {IA WHO ",\"iat\":1779999990}", "times"},
        {IA WHO ",\"exp\":\"1780003590\"}", "times"},
        {IA WHO ",\"exp\":null}", "times"},
        {IA WHO ",\"exp\":1e300}", "times"},
        {IA WHO ",\"exp\":-1}", "times"},
        {IA WHO ",\"exp\":true}", "times"},
        {IA WHO ",\"exp\":1780000000}", NULL},
        {IA WHO ",\"exp\":1779999700}", NULL}, /* at the edge of the skew */
        {IA WHO ",\"exp\":1779999699}", "expired"},
        {IA WHO ",\"exp\":1780003590,\"nbf\":1780000300}", NULL},
        {IA WHO ",\"exp\":1780003590,\"nbf\":1780000301}", "not valid yet"},
        {IA WHO ",\"exp\":1780003590,\"iat\":1780000301}", "not valid yet"},
        {IA WHO ",\"exp\":1780003590.5}", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        token_of(&ours, HEADER, cases[i].claims);
        if (cases[i].word)
            says(token, cases[i].word);
        else if (check(token) != RC_OK)
            fail_msg("%s: %s", cases[i].claims, err.msg);
    }
}

/* Nothing of a claim is believed before the signature: a wrong one says so, whatever the
 * claims are. */
static void signature_before_claims(void **state)
{
    (void)state;
    says(token_of(&theirs, HEADER, "{\"iss\":\"x\"}"), "signature");
    says(token_of(&theirs, HEADER, "no JSON"), "signature");
}

static void shapes_of_keys(void **state)
{
    (void)state;
    char one[2048], two[2048];
    const char *ec = "{\"kty\":\"EC\",\"kid\":\"e\",\"crv\":\"P-256\"}";
    const char *good[] = {
        jwk(&ours, "k1"),
        arena_printf(&a, "[%s,%s]", ec, jwk(&ours, "k1")),
        arena_printf(&a, "{\"keys\":[%s,%s]}", ec, jwk(&ours, "k1")),
        arena_printf(&a, "\"%s\"", pem_json(ours.public_key, one)),
        arena_printf(&a, "[\"%s\"]", pem_json(ours.certificate, one)),
        arena_printf(&a, "{\"k1\":\"%s\",\"k2\":\"%s\"}", pem_json(ours.certificate, one),
                     pem_json(theirs.certificate, two)),
        arena_printf(&a, "[{\"kty\":\"RSA\",\"n\":\"%s\",\"e\":\"%s\"}]", ours.n, ours.e),
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (check_by(good[i], token_of(&ours, HEADER, CLAIMS), EMAIL) != RC_OK)
            fail_msg("shape %zu: %s", i, err.msg);
    struct jwt_keys keys = {.n = 0};
    static const char *const bad[] = {"7",
                                      "[7]",
                                      "[\"x\"]",
                                      "{\"k\":\"x\"}",
                                      "{\"keys\":[{}]}",
                                      "[{\"kty\":\"RSA\",\"n\":\"AA\"}]",
                                      "[{\"kty\":\"RSA\",\"n\":\"A=\",\"e\":\"AQAB\"}]",
                                      "[{\"kty\":\"RSA\",\"n\":5,\"e\":\"AQAB\"}]"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_rc(keys_from(bad[i], &keys), RC_INVALID);
        assert_string_equal(err.field, "keys");
    }
    assert_rc(keys_from("{\"keys\":[]}", &keys), RC_OK);
    assert_int_equal(keys.n, 0);
}

static void weak_keys_are_a_fault_of_ours(void **state)
{
    (void)state;
    assert_rc(check_by(jwk(&small, "k1"), token_of(&small, HEADER, CLAIMS), ""), RC_INVALID);
    assert_string_equal(err.field, "adapter_options.keys");
    assert_rc(check_by("{\"keys\":[]}", token_of(&ours, HEADER, CLAIMS), ""), RC_UNAUTHORIZED);
}

static void email_is_asked_for_where_it_is_named(void **state)
{
    (void)state;
    assert_rc(check_by(jwk(&ours, "k1"), token_of(&ours, HEADER, IA TIMES "}"), ""), RC_OK);
}

/* RFC 7515, appendix A.2, and what is made of it. */
static void vectors(void **state)
{
    (void)state;
    yyjson_val *doc, *one;
    size_t i, n;
    struct err ignored;
    if (json_parse_file(&a, "../shared/data/vectors/jwt_rs256_rfc7515_a2.json", 0, &doc,
                        &ignored) != RC_OK)
        skip();
    struct jwt_keys keys = {.n = 0};
    struct jwt_rules rules = {.keys = &keys,
                              .issuers = {STR("joe")},
                              .n_issuers = 1,
                              .audiences = {STR("us")},
                              .n_audiences = 1,
                              .now = 1300819380000};
    assert_rc(jwt_keys_add(&a, yyjson_obj_get(doc, "jwk"), &keys, &err), RC_OK);
    /* It has no audience, so it is refused, but only after its signature held. */
    assert_rc(jwt_check(json_text(yyjson_obj_get(doc, "jws")), &rules, &a, &err), RC_UNAUTHORIZED);
    assert_non_null(strstr(err.msg, "audience"));
    yyjson_arr_foreach(yyjson_obj_get(doc, "negative"), i, n, one)
    {
        if (!yyjson_obj_get(one, "jws"))
            continue;
        assert_rc(jwt_check(json_text(yyjson_obj_get(one, "jws")), &rules, &a, &err),
                  RC_UNAUTHORIZED);
        assert_null(strstr(err.msg, "audience"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_token),
        cmocka_unit_test(algorithms_are_not_chosen_by_the_token),
        cmocka_unit_test(hmac_with_the_public_key),
        cmocka_unit_test(keys_are_chosen_by_id),
        cmocka_unit_test(parts_that_are_none),
        cmocka_unit_test(claims),
        cmocka_unit_test(signature_before_claims),
        cmocka_unit_test(shapes_of_keys),
        cmocka_unit_test(weak_keys_are_a_fault_of_ours),
        cmocka_unit_test(email_is_asked_for_where_it_is_named),
        cmocka_unit_test(vectors),
    };
    return cmocka_run_group_tests(tests, make_keys, drop_keys);
}
