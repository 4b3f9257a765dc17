/* digest: sha256 on OpenSSL's EVP, for bulk work (its assembler is four times as fast as plain C).
 *
 * Invariants
 *   1. The algorithm is fetched once per process, by whichever thread asks first: a fetch costs
 *      more than hashing a short text. It is all that threads share.
 *   2. There is no "no digest": bytes without identity (I2) must not travel on. OpenSSL refuses
 *      only when it is broken or memory ran out, and then the process ends; a lease or a
 *      transaction that was open is recovered as after any crash.
 * Called by handler, detectors, cli. Never together with digest_mbed.c in one program. */
#include "core/digest.h"

#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>

struct digest {
    EVP_MD_CTX *ctx;
};

static EVP_MD *sha256_md; /* algorithm() */

static void load_algorithm(void)
{
    sha256_md = EVP_MD_fetch(NULL, "SHA256", NULL);
}

static const EVP_MD *algorithm(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_algorithm);
    return sha256_md;
}

static void must(int ok)
{
    if (ok == 1)
        return;
    fputs("freshet: OpenSSL cannot compute sha256\n", stderr);
    abort();
}

static void start(struct digest *d)
{
    must(EVP_DigestInit_ex2(d->ctx, algorithm(), NULL));
}

void digest_sha256(const void *p, size_t n, struct sha256 *ret)
{
    const EVP_MD *md = algorithm();
    must(md && EVP_Digest(p, n, ret->b, NULL, md, NULL) == 1);
}

struct digest *digest_new(void)
{
    struct digest *d = malloc(sizeof *d);
    if (!d)
        return NULL;
    d->ctx = EVP_MD_CTX_new();
    if (!d->ctx || !algorithm()) {
        digest_free(&d);
        return NULL;
    }
    start(d);
    return d;
}

void digest_add(struct digest *d, const void *p, size_t n)
{
    if (n > 0)
        must(EVP_DigestUpdate(d->ctx, p, n));
}

void digest_take(struct digest *d, struct sha256 *ret)
{
    must(EVP_DigestFinal_ex(d->ctx, ret->b, NULL));
    start(d);
}

void digest_free(struct digest **d)
{
    if (!*d)
        return;
    EVP_MD_CTX_free((*d)->ctx);
    free(*d);
    *d = NULL;
}

void digest_hmac_sha256(struct str key, struct str msg, struct sha256 *ret)
{
    unsigned n = 0;
    must(key.n <= INT_MAX && HMAC(algorithm(), key.p, (int)key.n, (const unsigned char *)msg.p,
                                  msg.n, ret->b, &n) != NULL);
    must(n == sizeof ret->b);
}
