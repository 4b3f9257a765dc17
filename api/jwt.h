/* jwt: is a signed token (RFC 7519, compact form) one of an issuer we know, meant for us, now?
 * Pure. jwt_keys.c reads the configured keys and needs no crypto; jwt.c checks tokens.
 *
 * Invariants
 *   1. The algorithm is RS256, whatever the token says: another one is refused before a key is
 *      looked at.
 *   2. Claims are read after the signature held, and only then.
 *   3. Fail closed: no key, no issuer, no audience, no `exp` are refused; so is a header with
 *      `crit`, a name given twice, a part that is not strict base64url.
 *   4. Errors say which check failed, and nothing of the token.
 */
#ifndef FRESHET_API_JWT_H
#define FRESHET_API_JWT_H

#include "core/arena.h"
#include "core/json.h"

#define JWT_MAX 8192 /* bytes of a token; those of large providers have some 1,200 */
#define JWT_KEYS_MAX 16
#define JWT_NAMES_MAX 16 /* issuers, audiences */

struct jwt_key {
    struct str kid;  /* "": serves any token */
    struct str n, e; /* modulus and exponent, big-endian */
    struct str pem;  /* or PUBLIC KEY or CERTIFICATE blocks; .n 0 when there are numbers */
};
struct jwt_keys {
    struct jwt_key items[JWT_KEYS_MAX];
    size_t n;
};

/* Adds what v holds: a JWK set, a list of JWKs or PEM texts, or an object of PEM texts by key id.
 * Keys of another kind or use (EC, "enc") are left out. RC_INVALID names the fault. Texts stay
 * those of v. */
MUST_CHECK enum rc jwt_keys_add(struct arena *a, yyjson_val *v, struct jwt_keys *keys,
                                struct err *err);
/* The same for the content of a file: a JSON document of that shape, or PEM. */
MUST_CHECK enum rc jwt_keys_add_text(struct arena *a, struct str text, struct jwt_keys *keys,
                                     struct err *err);

struct jwt_rules {
    const struct jwt_keys *keys;
    struct str issuers[JWT_NAMES_MAX],
        audiences[JWT_NAMES_MAX]; /* one of each must be the token's */
    size_t n_issuers, n_audiences;
    struct str email; /* the claim `email` must be this and verified; "": not asked */
    int64_t now, skew_ms;
};
/* RC_OK, or RC_UNAUTHORIZED, or RC_INVALID when a configured key cannot be used. */
MUST_CHECK enum rc jwt_check(struct str token, const struct jwt_rules *rules, struct arena *a,
                             struct err *err);

#endif
