/* hook_world: a delivery made by hand, for the tests of adapters; and keys, certificates and
 * signatures that are made when the test runs, with OpenSSL, so that mbedTLS is tested against
 * another hand. */
#ifndef FRESHET_TESTS_HOOK_WORLD_H
#define FRESHET_TESTS_HOOK_WORLD_H

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "tests/10-unit/unit.h"

#include "api/hook.h"
#include "core/clock.h"

#define WORLD_NOW 1780000000000LL /* 2026-05-28T20:26:40Z */
#define WORLD_SECRET "a secret of 24 characters"

struct world {
    struct arena a;
    struct req req;
    char *params[40];
    size_t n;
    struct hook_delivery d;
    struct hook_reading r;
    struct err err;
};

/* options: JSON, or NULL. */
static inline void world_start(struct world *w, const char *options)
{
    struct err err = {0};
    memset(w, 0, sizeof *w);
    arena_init(&w->a, REQ_ARENA_MAX);
    w->req.params_raw = w->params;
    w->req.arena = &w->a;
    w->d = (struct hook_delivery){.method = STR("POST"),
                                  .body = STR(""),
                                  .content_type = STR(""),
                                  .req = &w->req,
                                  .now = WORLD_NOW,
                                  .arena = &w->a};
    if (options && json_parse(&w->a, str_of(options), 0, "options", &w->d.options, &err) != RC_OK)
        fail_msg("%s", err.msg);
}
static inline void world_end(struct world *w)
{
    arena_release(&w->a);
}
static inline void world_secret(struct world *w, const char *value)
{
    w->d.secrets[w->d.n_secrets++] = str_of(value);
}
/* "HTTP_X_API_KEY=…" */
static inline void world_header(struct world *w, const char *param)
{
    assert_true(w->n + 1 < ARRAY_LEN(w->params));
    w->params[w->n++] = arena_strdup(&w->a, param);
    w->params[w->n] = NULL;
}
static inline void world_body(struct world *w, const char *type, const char *body)
{
    w->d.content_type = w->req.content_type = str_of(type);
    w->d.body = str_of(body);
}

static inline enum rc world_verify(struct world *w, const struct hook_adapter *adapter)
{
    w->err = (struct err){0};
    return adapter->verify(&w->d, &w->err);
}
static inline enum rc world_read(struct world *w, const struct hook_adapter *adapter)
{
    w->err = (struct err){0};
    w->r = (struct hook_reading){.n_events = 77};
    enum rc rc = adapter->read(&w->d, &w->r, &w->err);
    if (rc != RC_OK) /* nothing half done */
        assert_int_equal(w->r.n_events, 77);
    return rc;
}

static inline enum rc world_options(const struct hook_adapter *adapter, const char *options,
                                    size_t n_secrets, struct err *ret)
{
    struct world w;
    world_start(&w, options);
    *ret = (struct err){0};
    enum rc rc = adapter->check_options(w.d.options, n_secrets, ret);
    world_end(&w);
    return rc;
}

/* Declarations, and the field that each is refused for; NULL: taken. */
struct declared {
    const char *options;
    size_t n_secrets;
    const char *field;
};
static inline void world_declared(const struct hook_adapter *adapter, const struct declared *cases,
                                  size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct err err;
        enum rc rc = world_options(adapter, cases[i].options, cases[i].n_secrets, &err);
        assert_rc(rc, cases[i].field ? RC_INVALID : RC_OK);
        assert_string_equal(err.field, cases[i].field ? cases[i].field : "");
    }
}

#define refused(got, want, w, word) refused_at((got), (want), (w), (word), __LINE__)
static inline void refused_at(enum rc got, enum rc want, const struct world *w, const char *word,
                              int line)
{
    if (got == want && (strstr(w->err.field, word) || strstr(w->err.msg, word)))
        return;
    print_error("line %d: got %s, field \"%s\": \"%s\"; want %s with \"%s\"\n", line, rc_name(got),
                w->err.field, w->err.msg, rc_name(want), word);
    fail();
}

/* ---- keys ------------------------------------------------------------------------------------ */

struct keys {
    EVP_PKEY *pkey;
    char certificate[2048], public_key[1024]; /* PEM */
    char n[1024], e[16];                      /* base64url */
};

static inline void encode_url(const unsigned char *p, size_t n, char *out)
{
    int len = EVP_EncodeBlock((unsigned char *)out, p, (int)n);
    while (len > 0 && out[len - 1] == '=')
        len--;
    out[len] = '\0';
    for (char *c = out; *c; c++)
        *c = (char)(*c == '+' ? '-' : *c == '/' ? '_' : *c);
}

static inline void bio_text(BIO *b, char *out, size_t room)
{
    int n = BIO_read(b, out, (int)room - 1);
    assert_true(n > 0);
    out[n] = '\0';
    BIO_free(b);
}

static inline void key_number(const EVP_PKEY *pkey, const char *name, char *out)
{
    BIGNUM *bn = NULL;
    unsigned char bytes[1024];
    assert_int_equal(EVP_PKEY_get_bn_param(pkey, name, &bn), 1);
    encode_url(bytes, (size_t)BN_bn2bin(bn, bytes), out);
    BN_free(bn);
}

/* The certificate ends at the second `ends`. */
static inline void keys_make(struct keys *k, unsigned bits, int64_t ends)
{
    memset(k, 0, sizeof *k);
    k->pkey = EVP_RSA_gen(bits);
    assert_non_null(k->pkey);
    X509 *x = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    ASN1_TIME_set(X509_getm_notBefore(x), 1500000000);
    ASN1_TIME_set(X509_getm_notAfter(x), (time_t)ends);
    X509_set_pubkey(x, k->pkey);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               (const unsigned char *)"sns.example", -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(x));
    assert_true(X509_sign(x, k->pkey, EVP_sha256()) > 0);
    BIO *b = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(b, x);
    bio_text(b, k->certificate, sizeof k->certificate);
    b = BIO_new(BIO_s_mem());
    PEM_write_bio_PUBKEY(b, k->pkey);
    bio_text(b, k->public_key, sizeof k->public_key);
    X509_free(x);
    key_number(k->pkey, "n", k->n);
    key_number(k->pkey, "e", k->e);
}
static inline void keys_end(struct keys *k)
{
    EVP_PKEY_free(k->pkey);
}

/* PKCS #1 v1.5; hash is "SHA1" or "SHA256". Returns the length. */
static inline size_t keys_sign(const struct keys *k, const char *hash, struct str msg,
                               unsigned char out[512])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    size_t n = 512;
    assert_int_equal(EVP_DigestSignInit_ex(ctx, NULL, hash, NULL, NULL, k->pkey, NULL), 1);
    assert_int_equal(EVP_DigestSign(ctx, out, &n, (const unsigned char *)msg.p, msg.n), 1);
    EVP_MD_CTX_free(ctx);
    return n;
}

/* The JSON text of a PEM text: line breaks as \n. */
static inline const char *pem_json(const char *pem, char *out)
{
    char *at = out;
    for (; *pem; pem++) {
        if (*pem == '\n')
            *at++ = '\\';
        *at++ = *pem == '\n' ? 'n' : *pem;
    }
    *at = '\0';
    return out;
}

#endif
