/* hook_secret: is a delivery from somebody who knows one of the source's secrets? For schemes whose
 * senders have no signature of their own (cloudevents, s3 through an API destination or a
 * relay, azure).
 *
 *   adapter_options   auth     "secret": the header holds the secret itself (the default, over
 *                              TLS); "hmac": the header holds an HMAC-SHA256 of the body, as
 *                              adapter hmac has it
 *                     header   which header; each adapter has a usual one
 *                     prefix   what stands in front of the secret there; "Bearer " for
 *                              Authorization ("hmac" has its own prefix and encoding)
 *
 * Invariants
 *   1. Fail closed: no secret configured, no header, an unknown `auth` are refused.
 *   2. All live secrets are compared, by digest, in the same time wherever a difference is and
 *      however long they are.
 */
#ifndef FRESHET_API_HOOK_SECRET_H
#define FRESHET_API_HOOK_SECRET_H

#include "api/hook.h"

MUST_CHECK enum rc hook_secret_verify(const struct hook_delivery *d, const char *usual_header,
                                      struct err *err);

#endif
