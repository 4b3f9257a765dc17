/* digest_mbed: sha256, HMAC and the constant-time compare on mbedTLS, for freshet-intake.
 *
 * Invariants
 *   1. No memory is taken: what verifies a signature cannot fail for want of it. Hence HMAC is
 *      spelled out (RFC 2104) instead of calling mbedtls_md_hmac, which allocates.
 *   2. Key material is wiped before return.
 *   3. mac_equal takes the same time wherever the first difference is.
 * Called by api (intake). Never together with digest.c in one program. */
#include "core/digest.h"

#include <mbedtls/constant_time.h>
#include <mbedtls/platform_util.h>
#include <mbedtls/sha256.h>

#define BLOCK 64 /* of sha256, in bytes */

/* The software implementation cannot fail; a hardware one that does leaves nothing to go
 * on with. */
static void must(int failed)
{
    if (!failed)
        return;
    fputs("freshet: mbedTLS cannot compute sha256\n", stderr);
    abort();
}

/* sha256 of the parts, one behind the other. */
static void hash_parts(const struct str *parts, size_t n, struct sha256 *ret)
{
    mbedtls_sha256_context ctx;
    mbedtls_sha256_init(&ctx);
    must(mbedtls_sha256_starts_ret(&ctx, 0));
    for (size_t i = 0; i < n; i++)
        if (parts[i].n > 0)
            must(mbedtls_sha256_update_ret(&ctx, (const unsigned char *)parts[i].p, parts[i].n));
    must(mbedtls_sha256_finish_ret(&ctx, ret->b));
    mbedtls_sha256_free(&ctx);
}

void digest_mbed_sha256(const void *p, size_t n, struct sha256 *ret)
{
    hash_parts(&(struct str){p, n}, 1, ret);
}

void mac_sha256(struct str key, struct str msg, struct sha256 *ret)
{
    mac_sha256_of(key, STR(""), msg, ret);
}

void mac_sha256_of(struct str key, struct str head, struct str msg, struct sha256 *ret)
{
    uint8_t block[BLOCK] = {0};
    struct sha256 inner, short_key;
    if (key.n > BLOCK) {
        digest_mbed_sha256(key.p, key.n, &short_key);
        key = (struct str){(const char *)short_key.b, sizeof short_key.b};
    }
    if (key.n > 0)
        memcpy(block, key.p, key.n);
    for (size_t i = 0; i < BLOCK; i++)
        block[i] ^= 0x36;
    const struct str pad = {(const char *)block, BLOCK};
    const struct str first[] = {pad, head, msg};
    const struct str second[] = {pad, {(const char *)inner.b, sizeof inner.b}};
    hash_parts(first, ARRAY_LEN(first), &inner);
    for (size_t i = 0; i < BLOCK; i++)
        block[i] ^= 0x36 ^ 0x5c;
    hash_parts(second, ARRAY_LEN(second), ret);
    mbedtls_platform_zeroize(block, sizeof block);
    mbedtls_platform_zeroize(&inner, sizeof inner);
    mbedtls_platform_zeroize(&short_key, sizeof short_key);
}

bool mac_equal(const void *a, const void *b, size_t n)
{
    return mbedtls_ct_memcmp(a, b, n) == 0;
}
