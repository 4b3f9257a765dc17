/* rsa: RSA signatures on mbedTLS (invariants in rsa.h). Keys are read anew for each signature: that
 * is a twentieth of the check itself, and leaves nothing to be kept or to grow old.
 * Called by api (intake). */
#include "core/rsa.h"

#include <mbedtls/pem.h>
#include <mbedtls/pk.h>
#include <mbedtls/platform_util.h>
#include <mbedtls/rsa.h>
#include <mbedtls/sha1.h>
#include <mbedtls/sha256.h>
#include <mbedtls/x509_crt.h>
#include "core/clock.h"

/* What is checked, and against what. */
struct check {
    mbedtls_md_type_t md;
    unsigned char digest[32];
    unsigned n_digest;
    struct str sig;
};

static struct check check_of(enum rsa_hash hash, struct str msg, struct str sig)
{
    struct check c = {.sig = sig};
    const unsigned char *p = (const unsigned char *)msg.p;
    int bad = hash == RSA_SHA1 ? mbedtls_sha1_ret(p, msg.n, c.digest)
                               : mbedtls_sha256_ret(p, msg.n, c.digest, 0);
    c.md = hash == RSA_SHA1 ? MBEDTLS_MD_SHA1 : MBEDTLS_MD_SHA256;
    c.n_digest = hash == RSA_SHA1 ? 20 : 32;
    if (bad) { /* only a hardware implementation can fail: no digest, no proof */
        memset(c.digest, 0, sizeof c.digest);
        c.n_digest = 0;
    }
    return c;
}

static size_t checks; /* of this process, which has one thread */

static enum rc weigh(mbedtls_rsa_context *rsa, const struct check *c, struct err *err)
{
    size_t bits = mbedtls_rsa_get_len(rsa) * 8;
    if (mbedtls_rsa_check_pubkey(rsa) != 0)
        return err_set(err, RC_INVALID, "", "a configured key is not an RSA key");
    if (bits < RSA_BITS_MIN || bits > RSA_BITS_MAX)
        return err_set(err, RC_INVALID, "", "a configured RSA key has %zu bits: %d to %d are taken",
                       bits, RSA_BITS_MIN, RSA_BITS_MAX);
    checks++;
    /* mbedTLS wants exactly as many bytes as the modulus has. */
    if (c->n_digest == 0 || c->sig.n != mbedtls_rsa_get_len(rsa) ||
        mbedtls_rsa_pkcs1_verify(rsa, NULL, NULL, MBEDTLS_RSA_PUBLIC, c->md, c->n_digest, c->digest,
                                 (const unsigned char *)c->sig.p) != 0)
        return err_set(err, RC_UNAUTHORIZED, "", "the signature is not that of a configured key");
    return RC_OK;
}

enum rc rsa_check_numbers(struct str n, struct str e, enum rsa_hash hash, struct str msg,
                          struct str sig, struct err *err)
{
    struct check c = check_of(hash, msg, sig);
    mbedtls_rsa_context rsa;
    enum rc rc;
    mbedtls_rsa_init(&rsa, MBEDTLS_RSA_PKCS_V15, 0);
    if (n.n > RSA_BITS_MAX / 8 || e.n > 8 ||
        mbedtls_rsa_import_raw(&rsa, (const unsigned char *)n.p, n.n, NULL, 0, NULL, 0, NULL, 0,
                               (const unsigned char *)e.p, e.n) != 0 ||
        mbedtls_rsa_complete(&rsa) != 0)
        rc = err_set(err, RC_INVALID, "", "a configured key is not an RSA key of at most %d bits",
                     RSA_BITS_MAX);
    else
        rc = weigh(&rsa, &c, err);
    mbedtls_rsa_free(&rsa);
    return rc;
}

size_t rsa_checks(void)
{
    return checks;
}

/* An odd number of RSA_BITS_MIN bits is as much work as a modulus. */
void rsa_decoy(void)
{
    char n[RSA_BITS_MIN / 8], sig[RSA_BITS_MIN / 8];
    struct err ignored = {0};
    memset(n, 0xff, sizeof n);
    memset(sig, 0x5a, sizeof sig);
    (void)!rsa_check_numbers((struct str){n, sizeof n}, (struct str){"\1\0\1", 3}, RSA_SHA256,
                             STR(""), (struct str){sig, sizeof sig}, &ignored);
}

/* ---- PEM ------------------------------------------------------------------------------------- */

static enum rc weigh_pk(const mbedtls_pk_context *pk, const struct check *c, struct err *err)
{
    if (!mbedtls_pk_can_do(pk, MBEDTLS_PK_RSA))
        return err_set(err, RC_INVALID, "", "a configured key is not an RSA key");
    return weigh(mbedtls_pk_rsa(*pk), c, err);
}

static enum rc weigh_public(const unsigned char *der, size_t n, const struct check *c,
                            struct err *err)
{
    mbedtls_pk_context pk;
    unsigned char *p = (unsigned char *)(uintptr_t)der;
    enum rc rc;
    mbedtls_pk_init(&pk);
    if (mbedtls_pk_parse_subpubkey(&p, der + n, &pk) != 0)
        rc = err_set(err, RC_INVALID, "", "a configured PUBLIC KEY cannot be read");
    else
        rc = weigh_pk(&pk, c, err);
    mbedtls_pk_free(&pk);
    return rc;
}

static bool has_ended(const mbedtls_x509_time *t, int64_t now)
{
    int64_t at = time_civil(t->year, t->mon, t->day) +
                 ((int64_t)t->hour * 3600 + (int64_t)t->min * 60 + t->sec) * 1000;
    return now > at;
}

static enum rc weigh_certificate(const unsigned char *der, size_t n, int64_t now,
                                 const struct check *c, struct err *err)
{
    mbedtls_x509_crt crt;
    enum rc rc;
    mbedtls_x509_crt_init(&crt);
    if (mbedtls_x509_crt_parse_der(&crt, der, n) != 0)
        rc = err_set(err, RC_INVALID, "", "a configured CERTIFICATE cannot be read");
    else if (has_ended(&crt.valid_to, now))
        rc = err_set(err, RC_UNAUTHORIZED, "",
                     "the configured certificate has ended: configure the one in use now");
    else
        rc = weigh_pk(&crt.pk, c, err);
    mbedtls_x509_crt_free(&crt);
    return rc;
}

/* Labels of the blocks that are read. mbedtls_pem_read_buffer finds the first block of a label, so
 * the text is cut at each end first. */
static enum rc weigh_block(const char *block, int64_t now, const struct check *c, struct err *err)
{
    bool certificate = strstr(block, "-----BEGIN CERTIFICATE-----") != NULL;
    mbedtls_pem_context pem;
    size_t used;
    enum rc rc;
    mbedtls_pem_init(&pem);
    if (mbedtls_pem_read_buffer(
            &pem, certificate ? "-----BEGIN CERTIFICATE-----" : "-----BEGIN PUBLIC KEY-----",
            certificate ? "-----END CERTIFICATE-----" : "-----END PUBLIC KEY-----",
            (const unsigned char *)block, NULL, 0, &used) != 0)
        rc = err_set(err, RC_INVALID, "",
                     "what is configured is no CERTIFICATE and no PUBLIC KEY in PEM form");
    else if (certificate)
        rc = weigh_certificate(pem.buf, pem.buflen, now, c, err);
    else
        rc = weigh_public(pem.buf, pem.buflen, c, err);
    mbedtls_pem_free(&pem);
    return rc;
}

/* The end of the first block of text, behind its line "-----END …-----"; NULL: there is none. */
static char *block_end(char *text)
{
    char *end = strstr(text, "-----END "), *close = end ? strstr(end + 9, "-----") : NULL;
    return close ? close + 5 : NULL;
}

/* Tries each block. When none fits, a key that could have is what is told of, else the
 * first fault. */
static enum rc weigh_blocks(char *text, int64_t now, const struct check *c, struct err *err)
{
    struct err told = {0}, why = {0};
    err_set(&told, RC_INVALID, "", "there is no CERTIFICATE and no PUBLIC KEY in it");
    for (int i = 0; i < RSA_PEM_KEYS_MAX; i++) {
        char *end = block_end(text), kept;
        if (!end)
            break;
        kept = *end;
        *end = '\0';
        enum rc rc = weigh_block(text, now, c, &why);
        *end = kept;
        if (rc == RC_OK)
            return rc;
        if (i == 0 || (rc == RC_UNAUTHORIZED && told.rc != rc))
            told = why;
        text = end;
    }
    *err = told;
    return told.rc;
}

enum rc rsa_check_pem(struct str pem, int64_t now, enum rsa_hash hash, struct str msg,
                      struct str sig, struct err *err)
{
    struct check c = check_of(hash, msg, sig);
    if (pem.n > RSA_PEM_MAX)
        return err_set(err, RC_INVALID, "", "the configured keys are longer than %u bytes",
                       RSA_PEM_MAX);
    char *text = malloc(pem.n + 1);
    if (!text)
        return err_set(err, RC_NOMEM, "", "no memory for the configured keys");
    memcpy(text, pem.p, pem.n);
    text[pem.n] = '\0';
    enum rc rc = weigh_blocks(text, now, &c, err);
    free(text);
    return rc;
}
