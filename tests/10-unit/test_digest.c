/* digest: both implementations against the published vectors (FIPS 180-4, RFC 4231) and against
 * each other. */
#include "tests/10-unit/unit.h"

#include <pthread.h>
#include "core/clock.h"
#include "core/digest.h"

static void assert_hex(const struct sha256 *got, const char *want)
{
    char hex[SHA256_HEX];
    sha256_hex(got, hex);
    assert_string_equal(hex, want);
}

static void published_vectors(void **state)
{
    (void)state;
    static sha256_fn *const both[] = {digest_sha256, digest_mbed_sha256};
    for (size_t i = 0; i < 2; i++) {
        struct sha256 d;
        both[i](NULL, 0, &d);
        assert_hex(&d, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        both[i]("abc", 3, &d);
        assert_hex(&d, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        both[i]("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, &d);
        assert_hex(&d, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    }
}

static void a_million_in_pieces(void **state)
{
    (void)state;
    struct digest *d = digest_new();
    struct sha256 got;
    char chunk[997];
    memset(chunk, 'a', sizeof chunk);
    assert_non_null(d);
    for (size_t left = 1000000; left > 0;) {
        size_t n = left < sizeof chunk ? left : sizeof chunk;
        digest_add(d, chunk, n);
        left -= n;
    }
    digest_take(d, &got);
    assert_hex(&got, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    digest_add(d, "abc", 3);
    digest_take(d, &got);
    assert_hex(&got, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    digest_take(d, &got);
    assert_hex(&got, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    digest_free(&d);
    assert_null(d);
    digest_free(&d);
}

static void both_agree(void **state)
{
    (void)state;
    uint8_t bytes[300];
    rand_bytes(bytes, sizeof bytes);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        struct sha256 x, y;
        digest_sha256(bytes, n, &x);
        digest_mbed_sha256(bytes, n, &y);
        assert_true(sha256_eq(&x, &y));
    }
}

/* Many short texts, as the scheduler and its committer hash them at the same time. */
#define TEXTS 20000

struct hasher {
    pthread_t thread;
    char letter;
    size_t wrong;
};

static void *hash_texts(void *ctx)
{
    struct hasher *h = ctx;
    struct sha256 want, got;
    char text[200];
    memset(text, h->letter, sizeof text);
    digest_mbed_sha256(text, sizeof text, &want);
    for (int i = 0; i < TEXTS; i++) {
        digest_sha256(text, sizeof text, &got);
        h->wrong += !sha256_eq(&got, &want);
    }
    return NULL;
}

static void threads_at_the_same_time(void **state)
{
    (void)state;
    struct hasher hashers[4] = {{.letter = 'a'}, {.letter = 'b'}, {.letter = 'c'}, {.letter = 'd'}};
    for (size_t i = 0; i < ARRAY_LEN(hashers); i++)
        assert_int_equal(pthread_create(&hashers[i].thread, NULL, hash_texts, &hashers[i]), 0);
    for (size_t i = 0; i < ARRAY_LEN(hashers); i++) {
        assert_int_equal(pthread_join(hashers[i].thread, NULL), 0);
        assert_int_equal(hashers[i].wrong, 0);
    }
}

static void hmac_vectors(void **state)
{
    (void)state;
    char b20[20], aa131[131];
    memset(b20, 0x0b, sizeof b20);
    memset(aa131, 0xaa, sizeof aa131);
    const struct {
        struct str key, msg;
        const char *want;
    } rows[] = {
        {{b20, 20},
         STR("Hi There"),
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {STR("Jefe"), STR("what do ya want for nothing?"),
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {{aa131, 131},
         STR("Test Using Larger Than Block-Size Key - Hash Key First"),
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        {{NULL, 0}, STR(""), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sha256 got;
        mac_sha256(rows[i].key, rows[i].msg, &got);
        assert_hex(&got, rows[i].want);
    }
}

static void comparing(void **state)
{
    (void)state;
    uint8_t x[32] = {1}, y[32] = {1};
    assert_true(mac_equal(x, y, 32));
    for (size_t i = 0; i < 32; i++) {
        y[i] ^= 0x80;
        assert_false(mac_equal(x, y, 32));
        y[i] ^= 0x80;
    }
    assert_true(mac_equal(x, y, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors), cmocka_unit_test(a_million_in_pieces),
        cmocka_unit_test(both_agree),        cmocka_unit_test(hmac_vectors),
        cmocka_unit_test(comparing),         cmocka_unit_test(threads_at_the_same_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
