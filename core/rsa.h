/* rsa: checking RSA signatures (PKCS #1 v1.5) that others made, on mbedTLS, for freshet-intake. No
 * private key is ever here.
 *
 * Invariants
 *   1. The caller says which hash was used; a signature that names another is false.
 *   2. Keys below RSA_BITS_MIN are too weak to prove anything and above RSA_BITS_MAX a way to keep
 *      us busy: both are refused as a fault of the configuration.
 *   3. A certificate stands for its key and nothing else: it was configured, so no chain is walked.
 *      Past its end it is no longer used.
 */
#ifndef FRESHET_CORE_RSA_H
#define FRESHET_CORE_RSA_H

#include <stdint.h>
#include "core/rc.h"
#include "core/str.h"

#define RSA_BITS_MIN 2048
#define RSA_BITS_MAX 4096
#define RSA_PEM_MAX (64u << 10) /* of one text: some thirty certificates */
#define RSA_PEM_KEYS_MAX 32

enum rsa_hash { RSA_SHA1, RSA_SHA256 };

/* Does the signature over msg hold under one of the keys in pem (CERTIFICATE and PUBLIC KEY
 * blocks)? RC_UNAUTHORIZED: under none; the message tells when a certificate has ended. RC_INVALID:
 * there is no usable key, or a block that is none. now is in ms. */
MUST_CHECK enum rc rsa_check_pem(struct str pem, int64_t now, enum rsa_hash hash, struct str msg,
                                 struct str sig, struct err *err);
/* The same under the key of modulus n and exponent e, big-endian. */
MUST_CHECK enum rc rsa_check_numbers(struct str n, struct str e, enum rsa_hash hash, struct str msg,
                                     struct str sig, struct err *err);

/* For whoever must not tell by the time it takes whether there was a key: how many signatures this
 * process has checked, and one more check, under a key of nobody. */
size_t rsa_checks(void);
void rsa_decoy(void);

#endif
