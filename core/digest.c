/* digest: sha256 on OpenSSL's EVP, for bulk work (its assembler is four times as fast as plain C).
 *
 * Invariants
 *   1. The algorithm is fetched once per process: a fetch costs more than hashing a short text.
 *   2. There is no "no digest": bytes without identity (I2) must not travel on. OpenSSL refuses
 *      only when it is broken or memory ran out, and then the process ends; a lease or a
 *      transaction that was open is recovered as after any crash.
 * Called by handler, detectors, cli. Never together with digest_mbed.c in one program. */
#include "core/digest.h"

#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

struct digest {
    EVP_MD_CTX *ctx;
};

static const EVP_MD *algorithm(void)
{
    static EVP_MD *md;
    if (!md)
        md = EVP_MD_fetch(NULL, "SHA256", NULL);
    return md;
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
    static struct digest *d;
    if (!d)
        d = digest_new();
    must(d != NULL);
    digest_add(d, p, n);
    digest_take(d, ret);
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
