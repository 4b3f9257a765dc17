/* tls: HTTPS on mbedTLS, so that the OpenSSL below libcurl is tested against another stack.
 *
 * At start a certificate authority and a server certificate for localhost and 127.0.0.1 are made
 * in memory, with new keys; clients trust the authority's PEM. TLS 1.2, session tickets.
 *
 * Invariants
 *   1. Private keys never leave memory.
 *   2. After tls_write returned TLS_AGAIN the same bytes are offered again (mbedTLS has already
 *      encrypted them); the connection remembers how many they were.
 *
 * Called by main (making) and conn.c (reading and writing).
 */
#ifndef FRESHET_UPSTREAM_TLS_H
#define FRESHET_UPSTREAM_TLS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "core/rc.h"

struct tls;
struct tls_conn;

struct tls_stats {
    uint64_t handshakes, resumed;
};

MUST_CHECK enum rc tls_new(struct tls **ret, struct err *err);
void tls_free(struct tls **t);
/* From now on every handshake is a whole one. */
void tls_forget_sessions(struct tls *t);
const char *tls_ca_pem(const struct tls *t);
const char *tls_pin(const struct tls *t); /* "sha256//..." of the server's public key */
struct tls_stats *tls_stats(struct tls *t);

#define TLS_AGAIN (-1)
#define TLS_ERROR (-2)
/* NULL when memory ran out. The fd stays the caller's. */
struct tls_conn *tls_accept(struct tls *t, int fd);
/* Bytes, 0 at the end, TLS_AGAIN or TLS_ERROR. The handshake happens inside the first reads. */
ssize_t tls_read(struct tls_conn *c, void *p, size_t n);
ssize_t tls_write(struct tls_conn *c, const void *p, size_t n);
size_t tls_pending(const struct tls_conn *c); /* decrypted bytes that epoll cannot see */
bool tls_wants_write(const struct tls_conn *c);
void tls_bye(struct tls_conn *c); /* close_notify */
void tls_drop(struct tls_conn **c);

#endif
