/* identity: a key with a certificate made for the occasion, for servers of tests. */
#ifndef FRESHET_TESTS_IDENTITY_H
#define FRESHET_TESTS_IDENTITY_H

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include "tests/10-unit/unit.h"

struct identity {
    EVP_PKEY *key;
    X509 *cert;
    char path[64]; /* the certificate as a CA bundle */
    char pin[64];
};

static inline void identity_pin(struct identity *id)
{
    unsigned char *der = NULL, md[32];
    int n = i2d_PUBKEY(id->key, &der);
    assert_true(n > 0);
    assert_int_equal(EVP_Digest(der, (size_t)n, md, NULL, EVP_sha256(), NULL), 1);
    OPENSSL_free(der);
    memcpy(id->pin, "sha256//", 8);
    assert_int_equal(EVP_EncodeBlock((unsigned char *)id->pin + 8, md, sizeof md), 44);
}

static inline void make_identity(struct identity *id, const char *alt_name)
{
    static long serial;
    id->key = EVP_EC_gen("P-256");
    id->cert = X509_new();
    assert_non_null(id->key);
    X509_set_version(id->cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(id->cert), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(id->cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(id->cert), 3600);
    X509_set_pubkey(id->cert, id->key);
    X509_NAME *name = X509_get_subject_name(id->cert);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)alt_name, -1, -1,
                               0);
    X509_set_issuer_name(id->cert, name);
    X509_EXTENSION *alt = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, alt_name);
    assert_non_null(alt);
    X509_add_ext(id->cert, alt, -1);
    X509_EXTENSION_free(alt);
    assert_true(X509_sign(id->cert, id->key, EVP_sha256()) > 0);
    unit_temp(id->path);
    FILE *out = fopen(id->path, "w");
    assert_non_null(out);
    assert_int_equal(PEM_write_X509(out, id->cert), 1);
    assert_int_equal(fclose(out), 0);
    identity_pin(id);
}

static inline void free_identity(struct identity *id)
{
    unlink(id->path);
    X509_free(id->cert);
    EVP_PKEY_free(id->key);
}

#endif
