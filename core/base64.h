/* base64: RFC 4648 section 4, with padding. Pure. */
#ifndef FRESHET_CORE_BASE64_H
#define FRESHET_CORE_BASE64_H

#include "core/str.h"

/* Characters of n bytes, with the NUL. */
#define BASE64_ROOM(n) (((n) + 2) / 3 * 4 + 1)

/* out has BASE64_ROOM(n) bytes; ends with NUL. */
void base64_encode(const void *bytes, size_t n, char *out);
/* Strict: the standard alphabet, whole quanta, padding where it belongs, no spaces, no spare bits.
 * ret has room bytes. RC_INVALID when s is none or does not fit. */
MUST_CHECK enum rc base64_decode(struct str s, void *ret, size_t room, size_t *ret_n);

#endif
