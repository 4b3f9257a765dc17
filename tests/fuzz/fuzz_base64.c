/* fuzz_base64: any bytes as base64 of both kinds.
 *
 * Properties
 *   1. One text for each value: what was read, written again by another hand (mbedTLS), is
 *      the text.
 *   2. What is refused leaves the length untouched; nothing is written beyond the room. */
#include <mbedtls/base64.h>

#include "core/base64.h"
#include "tests/fuzz/fuzz_main.h"

static void written_again(struct str in, enum base64 kind, const unsigned char *p, size_t n)
{
    size_t len = 0, room = 4 * (n / 3 + 2);
    unsigned char *text = malloc(room);
    HOLDS(text && mbedtls_base64_encode(text, room, &len, p, n) == 0);
    for (size_t i = 0; i < len && kind == BASE64_URL; i++)
        text[i] = text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i];
    while (kind == BASE64_URL && len > 0 && text[len - 1] == '=')
        len--;
    HOLDS(str_eq(in, (struct str){(const char *)text, len}));
    free(text);
}

static void one(struct str in, enum base64 kind)
{
    size_t room = base64_room(in.n), n = 12345;
    unsigned char *out = malloc(room);
    HOLDS(out != NULL);
    enum rc rc = base64_decode(in, kind, out, room, &n);
    HOLDS(rc == RC_OK || rc == RC_INVALID);
    if (rc == RC_OK)
        written_again(in, kind, out, n);
    else
        HOLDS(n == 12345);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str in = {(const char *)data, n};
    one(in, BASE64_STANDARD);
    one(in, BASE64_URL);
    return 0;
}
