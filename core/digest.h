/* digest: sha256, our identity of bytes (I2). Two implementations of one shape: digest.c on
 * OpenSSL for bulk work (handler, detectors, cli), digest_mbed.c on mbedTLS for freshet-intake,
 * which must not link OpenSSL. Inside 32 bytes, outside 64 lower-case hex digits.
 *
 * Any thread may call any of these at any time: the scheduler hashes while its committer does. A
 * struct digest belongs to one thread at a time.
 */
#ifndef FRESHET_CORE_DIGEST_H
#define FRESHET_CORE_DIGEST_H

#include <stddef.h>
#include <stdint.h>
#include "core/rc.h"
#include "core/str.h"

#define SHA256_HEX 65 /* with the NUL */

struct sha256 {
    uint8_t b[32];
};

static inline bool sha256_eq(const struct sha256 *x, const struct sha256 *y)
{
    return memcmp(x->b, y->b, sizeof x->b) == 0;
}
static inline void sha256_hex(const struct sha256 *s, char out[SHA256_HEX])
{
    hex_encode(s->b, sizeof s->b, out);
}

/* One-shot. The type lets ledger/ be told at open which implementation its process links. */
typedef void sha256_fn(const void *p, size_t n, struct sha256 *ret);
sha256_fn digest_sha256;      /* OpenSSL */
sha256_fn digest_mbed_sha256; /* mbedTLS */

/* Streaming, OpenSSL. digest_new returns NULL when memory ran out. */
struct digest;
struct digest *digest_new(void);
void digest_add(struct digest *d, const void *p, size_t n);
/* Gives the digest of all added and starts anew. */
void digest_take(struct digest *d, struct sha256 *ret);
void digest_free(struct digest **d); /* fits CLEANUP */

/* HMAC, OpenSSL, for what we sign. */
void digest_hmac_sha256(struct str key, struct str msg, struct sha256 *ret);

/* HMAC and constant-time compare, mbedTLS, for intake. */
void mac_sha256(struct str key, struct str msg, struct sha256 *ret);
/* Of head followed by msg, without putting them together. */
void mac_sha256_of(struct str key, struct str head, struct str msg, struct sha256 *ret);
bool mac_equal(const void *a, const void *b, size_t n);

#endif
