/* tls: see tls.h. */
#include "tests/upstream/tls.h"

#include <errno.h>
#include <mbedtls/asn1.h>
#include <mbedtls/base64.h>
#include <mbedtls/ecp.h>
#include <mbedtls/error.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/oid.h>
#include <mbedtls/pk.h>
#include <mbedtls/ssl.h>
#include <mbedtls/ssl_ticket.h>
#include <mbedtls/x509_crt.h>
#include <sys/socket.h>
#include "core/clock.h"
#include "core/digest.h"

/* Fixed, so that a client with another idea of the time still trusts it. */
#define NOT_BEFORE "20200101000000"
#define NOT_AFTER "20491231235959"
#define CA_NAME "CN=Freshet test upstream CA"
#define PEM_MAX 4096
#define TICKET_S 86400

struct tls {
    mbedtls_ssl_config conf;
    mbedtls_x509_crt cert;
    mbedtls_pk_context key;
    mbedtls_ssl_ticket_context tickets;
    struct tls_stats stats;
    char ca_pem[PEM_MAX], pin[80];
};

struct tls_conn {
    mbedtls_ssl_context ssl;
    struct tls *tls;
    int fd;
    size_t offered; /* bytes of the write that has to be repeated, 0 for none */
    bool wants_write, counted;
};

static int rng(void *ctx, unsigned char *out, size_t n)
{
    (void)ctx;
    rand_bytes(out, n);
    return 0;
}

/* ---- certificates -------------------------------------------------------------------------- */

struct cert_plan {
    const char *subject;
    mbedtls_pk_context *key, *issuer;
    bool ca;
};

static int add_names(mbedtls_x509write_cert *crt)
{
    static const unsigned char names[] = "\x30\x11\x82\x09localhost\x87\x04\x7f\x00\x00\x01";
    static const unsigned char usage[] = "\x30\x0a\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x01";
    int e = mbedtls_x509write_crt_set_extension(crt, MBEDTLS_OID_SUBJECT_ALT_NAME,
                                                MBEDTLS_OID_SIZE(MBEDTLS_OID_SUBJECT_ALT_NAME), 0,
                                                names, sizeof names - 1);
    return e ? e
             : mbedtls_x509write_crt_set_extension(crt, MBEDTLS_OID_EXTENDED_KEY_USAGE,
                                                   MBEDTLS_OID_SIZE(MBEDTLS_OID_EXTENDED_KEY_USAGE),
                                                   0, usage, sizeof usage - 1);
}

static int fill_cert(mbedtls_x509write_cert *crt, mbedtls_mpi *serial, const struct cert_plan *p)
{
    unsigned usage = p->ca ? MBEDTLS_X509_KU_KEY_CERT_SIGN : MBEDTLS_X509_KU_DIGITAL_SIGNATURE;
    int e;
    mbedtls_x509write_crt_set_version(crt, MBEDTLS_X509_CRT_VERSION_3);
    mbedtls_x509write_crt_set_md_alg(crt, MBEDTLS_MD_SHA256);
    mbedtls_x509write_crt_set_subject_key(crt, p->key);
    mbedtls_x509write_crt_set_issuer_key(crt, p->issuer);
    if ((e = mbedtls_mpi_fill_random(serial, 15, rng, NULL)) ||
        (e = mbedtls_x509write_crt_set_serial(crt, serial)) ||
        (e = mbedtls_x509write_crt_set_validity(crt, NOT_BEFORE, NOT_AFTER)) ||
        (e = mbedtls_x509write_crt_set_subject_name(crt, p->subject)) ||
        (e = mbedtls_x509write_crt_set_issuer_name(crt, CA_NAME)) ||
        (e = mbedtls_x509write_crt_set_basic_constraints(crt, p->ca, -1)) ||
        (e = mbedtls_x509write_crt_set_key_usage(crt, usage)) ||
        (e = mbedtls_x509write_crt_set_subject_key_identifier(crt)) ||
        (e = mbedtls_x509write_crt_set_authority_key_identifier(crt)))
        return e;
    return p->ca ? 0 : add_names(crt);
}

static int write_cert(const struct cert_plan *p, char pem[PEM_MAX])
{
    mbedtls_x509write_cert crt;
    mbedtls_mpi serial;
    mbedtls_x509write_crt_init(&crt);
    mbedtls_mpi_init(&serial);
    int e = fill_cert(&crt, &serial, p);
    if (!e)
        e = mbedtls_x509write_crt_pem(&crt, (unsigned char *)pem, PEM_MAX, rng, NULL);
    mbedtls_mpi_free(&serial);
    mbedtls_x509write_crt_free(&crt);
    return e;
}

static int make_key(mbedtls_pk_context *key)
{
    int e = mbedtls_pk_setup(key, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY));
    return e ? e : mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(*key), rng, NULL);
}

static int make_pin(struct tls *t)
{
    unsigned char der[256], text[64];
    struct sha256 digest;
    size_t n;
    int len = mbedtls_pk_write_pubkey_der(&t->key, der, sizeof der); /* written at the end */
    if (len < 0)
        return len;
    digest_mbed_sha256(der + sizeof der - len, (size_t)len, &digest);
    int e = mbedtls_base64_encode(text, sizeof text, &n, digest.b, sizeof digest.b);
    if (!e)
        snprintf(t->pin, sizeof t->pin, "sha256//%s", (char *)text);
    return e;
}

static int make_identity(struct tls *t)
{
    mbedtls_pk_context ca;
    char pem[PEM_MAX];
    int e;
    mbedtls_pk_init(&ca);
    if (!(e = make_key(&ca)) && !(e = make_key(&t->key)) &&
        !(e = write_cert(&(struct cert_plan){CA_NAME, &ca, &ca, true}, t->ca_pem)) &&
        !(e = write_cert(&(struct cert_plan){"CN=localhost", &t->key, &ca, false}, pem)) &&
        !(e = mbedtls_x509_crt_parse(&t->cert, (unsigned char *)pem, strlen(pem) + 1)))
        e = make_pin(t);
    mbedtls_pk_free(&ca);
    return e;
}

/* ---- the shared configuration -------------------------------------------------------------- */

static int parse_ticket(void *ctx, mbedtls_ssl_session *session, unsigned char *buf, size_t len)
{
    struct tls *t = ctx;
    int e = mbedtls_ssl_ticket_parse(&t->tickets, session, buf, len);
    if (!e)
        t->stats.resumed++;
    return e;
}

static int write_ticket(void *ctx, const mbedtls_ssl_session *session, unsigned char *start,
                        const unsigned char *end, size_t *len, uint32_t *lifetime)
{
    struct tls *t = ctx;
    return mbedtls_ssl_ticket_write(&t->tickets, session, start, end, len, lifetime);
}

static int configure(struct tls *t)
{
    static const char *protocols[] = {"http/1.1", NULL};
    /* mbedTLS prefers the largest curve, which no server on the web does: ten times the work,
     * for both. */
    static const mbedtls_ecp_group_id curves[] = {MBEDTLS_ECP_DP_SECP256R1,
                                                  MBEDTLS_ECP_DP_CURVE25519,
                                                  MBEDTLS_ECP_DP_SECP384R1, MBEDTLS_ECP_DP_NONE};
    int e = mbedtls_ssl_config_defaults(&t->conf, MBEDTLS_SSL_IS_SERVER,
                                        MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT);
    if (e)
        return e;
    mbedtls_ssl_conf_rng(&t->conf, rng, NULL);
    mbedtls_ssl_conf_curves(&t->conf, curves);
    mbedtls_ssl_conf_min_version(&t->conf, MBEDTLS_SSL_MAJOR_VERSION_3,
                                 MBEDTLS_SSL_MINOR_VERSION_3); /* TLS 1.2 */
    if ((e = mbedtls_ssl_conf_own_cert(&t->conf, &t->cert, &t->key)) ||
        (e = mbedtls_ssl_conf_alpn_protocols(&t->conf, protocols)) ||
        (e = mbedtls_ssl_ticket_setup(&t->tickets, rng, NULL, MBEDTLS_CIPHER_AES_256_GCM,
                                      TICKET_S)))
        return e;
    mbedtls_ssl_conf_session_tickets_cb(&t->conf, write_ticket, parse_ticket, t);
    return 0;
}

enum rc tls_new(struct tls **ret, struct err *err)
{
    struct tls *t = calloc(1, sizeof *t);
    if (!t)
        return err_set(err, RC_NOMEM, "tls-port", "no memory for TLS");
    mbedtls_ssl_config_init(&t->conf);
    mbedtls_x509_crt_init(&t->cert);
    mbedtls_pk_init(&t->key);
    mbedtls_ssl_ticket_init(&t->tickets);
    int e = make_identity(t);
    if (!e)
        e = configure(t);
    if (e) {
        tls_free(&t);
        return err_set(err, RC_INTERNAL, "tls-port", "mbedTLS refused: -0x%04x", (unsigned)-e);
    }
    *ret = t;
    return RC_OK;
}

void tls_free(struct tls **t)
{
    if (!*t)
        return;
    mbedtls_ssl_config_free(&(*t)->conf);
    mbedtls_x509_crt_free(&(*t)->cert);
    mbedtls_pk_free(&(*t)->key);
    mbedtls_ssl_ticket_free(&(*t)->tickets);
    free(*t);
    *t = NULL;
}

void tls_forget_sessions(struct tls *t)
{
    mbedtls_ssl_conf_session_tickets_cb(&t->conf, NULL, NULL, NULL);
}

const char *tls_ca_pem(const struct tls *t)
{
    return t->ca_pem;
}

const char *tls_pin(const struct tls *t)
{
    return t->pin;
}

struct tls_stats *tls_stats(struct tls *t)
{
    return &t->stats;
}

/* ---- connections --------------------------------------------------------------------------- */

static int bio_send(void *ctx, const unsigned char *p, size_t n)
{
    struct tls_conn *c = ctx;
    ssize_t k = send(c->fd, p, n, MSG_NOSIGNAL);
    if (k >= 0)
        return (int)k;
    return errno == EAGAIN ? MBEDTLS_ERR_SSL_WANT_WRITE : MBEDTLS_ERR_NET_SEND_FAILED;
}

static int bio_recv(void *ctx, unsigned char *p, size_t n)
{
    struct tls_conn *c = ctx;
    ssize_t k = recv(c->fd, p, n, 0);
    if (k >= 0)
        return (int)k;
    return errno == EAGAIN ? MBEDTLS_ERR_SSL_WANT_READ : MBEDTLS_ERR_NET_RECV_FAILED;
}

struct tls_conn *tls_accept(struct tls *t, int fd)
{
    struct tls_conn *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->tls = t;
    c->fd = fd;
    mbedtls_ssl_init(&c->ssl);
    if (mbedtls_ssl_setup(&c->ssl, &t->conf) != 0) {
        tls_drop(&c);
        return NULL;
    }
    mbedtls_ssl_set_bio(&c->ssl, c, bio_send, bio_recv, NULL);
    return c;
}

static ssize_t outcome(struct tls_conn *c, int e)
{
    if (!c->counted && c->ssl.state == MBEDTLS_SSL_HANDSHAKE_OVER) {
        c->counted = true;
        c->tls->stats.handshakes++;
    }
    c->wants_write = e == MBEDTLS_ERR_SSL_WANT_WRITE;
    if (e >= 0)
        return e;
    if (e == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY || e == MBEDTLS_ERR_SSL_CONN_EOF)
        return 0;
    return e == MBEDTLS_ERR_SSL_WANT_READ || c->wants_write ? TLS_AGAIN : TLS_ERROR;
}

ssize_t tls_read(struct tls_conn *c, void *p, size_t n)
{
    return outcome(c, mbedtls_ssl_read(&c->ssl, p, n));
}

ssize_t tls_write(struct tls_conn *c, const void *p, size_t n)
{
    n = c->offered ? c->offered : n;
    ssize_t k = outcome(c, mbedtls_ssl_write(&c->ssl, p, n));
    c->offered = k == TLS_AGAIN ? n : 0;
    return k;
}

size_t tls_pending(const struct tls_conn *c)
{
    return mbedtls_ssl_get_bytes_avail(&c->ssl);
}

bool tls_wants_write(const struct tls_conn *c)
{
    return c->wants_write;
}

void tls_bye(struct tls_conn *c)
{
    (void)mbedtls_ssl_close_notify(&c->ssl);
}

void tls_drop(struct tls_conn **c)
{
    if (!*c)
        return;
    mbedtls_ssl_free(&(*c)->ssl);
    free(*c);
    *c = NULL;
}
