/* base64: reading base64 strictly, and writing it. One text for each value, so that what was
 * compared, remembered or signed as text cannot be written in a second way.
 *
 * Invariants
 *   1. Letters outside the alphabet (white space too), missing or surplus padding and left-over
 *      bits that are not zero are refused.
 *   2. The time taken hangs on the length alone where all letters are good.
 */
#ifndef FRESHET_CORE_BASE64_H
#define FRESHET_CORE_BASE64_H

#include <stddef.h>
#include "core/rc.h"
#include "core/str.h"

enum base64 {
    BASE64_STANDARD, /* RFC 4648 section 4: '+', '/', with padding */
    BASE64_URL       /* section 5: '-', '_', without padding, as JWT has it */
};

/* Bytes that n letters decode to, at most. */
static inline size_t base64_room(size_t n)
{
    return n / 4 * 3 + 3;
}

/* *ret_n bytes to ret, which has `room`. RC_INVALID for what is not base64 of this kind,
 * RC_TOO_LARGE for what does not fit; ret may hold a part then. */
MUST_CHECK enum rc base64_decode(struct str s, enum base64 kind, void *ret, size_t room,
                                 size_t *ret_n);

/* Letters of n bytes, with padding and the NUL. */
#define BASE64_ROOM(n) (((n) + 2) / 3 * 4 + 1)
/* The standard alphabet; out has BASE64_ROOM(n) bytes. By a table: not for what is secret. */
void base64_encode(const void *bytes, size_t n, char *out);

#endif
