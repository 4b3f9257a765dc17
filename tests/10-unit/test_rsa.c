/* rsa: signatures made by OpenSSL hold, and nothing else does. */
#include "tests/10-unit/hook_world.h"

#include "core/rsa.h"

static struct keys ours, theirs, small, ended;

static int make_keys(void **state)
{
    (void)state;
    keys_make(&ours, 2048, WORLD_NOW / 1000);
    keys_make(&theirs, 2048, WORLD_NOW / 1000);
    keys_make(&small, 1024, WORLD_NOW / 1000);
    keys_make(&ended, 2048, WORLD_NOW / 1000 - 1);
    return 0;
}
static int drop_keys(void **state)
{
    (void)state;
    keys_end(&ours);
    keys_end(&theirs);
    keys_end(&small);
    keys_end(&ended);
    return 0;
}

static unsigned char sig[512];
static const char message[] = "a message";

static struct str made(const struct keys *k, const char *hash)
{
    return (struct str){(const char *)sig, keys_sign(k, hash, STR("a message"), sig)};
}

static enum rc check(const char *pem, enum rsa_hash hash, struct str s)
{
    struct err err = {0};
    enum rc rc = rsa_check_pem(str_of(pem), WORLD_NOW, hash, str_of(message), s, &err);
    assert_rc(err.rc, rc);
    return rc;
}

static void signatures_hold(void **state)
{
    (void)state;
    char both[8192];
    snprintf(both, sizeof both, "a word before\n%sand between\n%s", theirs.public_key,
             ours.certificate);
    assert_rc(check(ours.certificate, RSA_SHA256, made(&ours, "SHA256")), RC_OK);
    assert_rc(check(ours.public_key, RSA_SHA256, made(&ours, "SHA256")), RC_OK);
    assert_rc(check(ours.certificate, RSA_SHA1, made(&ours, "SHA1")), RC_OK);
    assert_rc(check(both, RSA_SHA256, made(&ours, "SHA256")), RC_OK);
    assert_rc(check(both, RSA_SHA256, made(&theirs, "SHA256")), RC_OK);
}

static void others_do_not(void **state)
{
    (void)state;
    struct str s = made(&ours, "SHA256");
    assert_rc(check(theirs.certificate, RSA_SHA256, s), RC_UNAUTHORIZED);
    assert_rc(check(ours.certificate, RSA_SHA1, s), RC_UNAUTHORIZED);
    assert_rc(check(ours.certificate, RSA_SHA256, made(&ours, "SHA1")), RC_UNAUTHORIZED);
    assert_rc(check(ours.certificate, RSA_SHA256, made(&ours, "SHA512")), RC_UNAUTHORIZED);
    s = made(&ours, "SHA256");
    assert_rc(check(ours.certificate, RSA_SHA256, (struct str){s.p, s.n - 1}), RC_UNAUTHORIZED);
    assert_rc(check(ours.certificate, RSA_SHA256, (struct str){s.p, s.n + 1}), RC_UNAUTHORIZED);
    assert_rc(check(ours.certificate, RSA_SHA256, STR("")), RC_UNAUTHORIZED);
    for (size_t i = 0; i < s.n; i += 37) {
        sig[i] ^= 1;
        assert_rc(check(ours.certificate, RSA_SHA256, s), RC_UNAUTHORIZED);
        sig[i] ^= 1;
    }
    assert_rc(check(ours.certificate, RSA_SHA256, s), RC_OK);
}

static void keys_that_are_none(void **state)
{
    (void)state;
    char cut[2048];
    struct str s = made(&ours, "SHA256");
    snprintf(cut, sizeof cut, "%.600s\n-----END CERTIFICATE-----\n", ours.certificate);
    assert_rc(check("", RSA_SHA256, s), RC_INVALID);
    assert_rc(check("-----BEGIN", RSA_SHA256, s), RC_INVALID);
    assert_rc(check("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----", RSA_SHA256, s),
              RC_INVALID);
    assert_rc(check(cut, RSA_SHA256, s), RC_INVALID);
    assert_rc(check(small.certificate, RSA_SHA256, made(&small, "SHA256")), RC_INVALID);
    assert_rc(check(small.public_key, RSA_SHA256, made(&small, "SHA256")), RC_INVALID);
}

/* To the second: at its last one it is still good. */
static void certificates_end(void **state)
{
    (void)state;
    struct err err = {0};
    struct str s = made(&ended, "SHA256"), pem = str_of(ended.certificate);
    assert_rc(rsa_check_pem(pem, WORLD_NOW, RSA_SHA256, str_of(message), s, &err), RC_UNAUTHORIZED);
    assert_non_null(strstr(err.msg, "has ended"));
    assert_rc(rsa_check_pem(pem, WORLD_NOW - 1000, RSA_SHA256, str_of(message), s, &err), RC_OK);
    assert_rc(check(ended.public_key, RSA_SHA256, s), RC_OK);
}

static void one_bad_block_does_not_hide_a_good_one(void **state)
{
    (void)state;
    char both[8192];
    struct str s = made(&ours, "SHA256");
    snprintf(both, sizeof both, "%s%s%s", small.certificate, ended.certificate, ours.certificate);
    assert_rc(check(both, RSA_SHA256, s), RC_OK);
    snprintf(both, sizeof both, "%s%s", small.certificate, theirs.certificate);
    assert_rc(check(both, RSA_SHA256, s), RC_UNAUTHORIZED);
}

static enum rc check_numbers(struct str n, struct str e, struct str s)
{
    struct err err = {0};
    return rsa_check_numbers(n, e, RSA_SHA256, str_of(message), s, &err);
}

static void numbers_are_a_key(void **state)
{
    (void)state;
    unsigned char n[256];
    BIGNUM *bn = NULL;
    struct str s = made(&ours, "SHA256"), e = STR("\1\0\1");
    assert_int_equal(EVP_PKEY_get_bn_param(ours.pkey, "n", &bn), 1);
    assert_int_equal(BN_bn2bin(bn, n), 256);
    BN_free(bn);
    struct str modulus = {(const char *)n, 256};
    assert_rc(check_numbers(modulus, e, s), RC_OK);
    assert_rc(check_numbers(modulus, STR("\3"), s), RC_UNAUTHORIZED);
    assert_rc(check_numbers(modulus, STR("\1"), s), RC_INVALID);
    assert_rc(check_numbers(modulus, STR("\0"), s), RC_INVALID);
    assert_rc(check_numbers(modulus, STR(""), s), RC_INVALID);
    assert_rc(check_numbers(STR(""), e, s), RC_INVALID);
    assert_rc(check_numbers((struct str){modulus.p, 128}, e, s), RC_INVALID);
    n[255] &= 0xfe;
    assert_rc(check_numbers(modulus, e, s), RC_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_hold),
        cmocka_unit_test(others_do_not),
        cmocka_unit_test(keys_that_are_none),
        cmocka_unit_test(certificates_end),
        cmocka_unit_test(one_bad_block_does_not_hide_a_good_one),
        cmocka_unit_test(numbers_are_a_key),
    };
    return cmocka_run_group_tests(tests, make_keys, drop_keys);
}
