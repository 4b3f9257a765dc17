/* base64: three bytes are four characters. */
#include "core/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(const void *bytes, size_t n, char *out)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t b1 = i + 1 < n ? p[i + 1] : 0, b2 = i + 2 < n ? p[i + 2] : 0;
        uint32_t v = (uint32_t)p[i] << 16 | b1 << 8 | b2;
        *out++ = alphabet[v >> 18];
        *out++ = alphabet[v >> 12 & 63];
        *out++ = i + 1 < n ? alphabet[v >> 6 & 63] : '=';
        *out++ = i + 2 < n ? alphabet[v & 63] : '=';
    }
    *out = '\0';
}

static int value_of(char c)
{
    const char *at = c ? strchr(alphabet, c) : NULL;
    return at ? (int)(at - alphabet) : -1;
}

/* Four characters, of which the last `pad` are '='. */
static bool quantum(const char *p, size_t pad, uint32_t *ret)
{
    uint32_t v = 0;
    for (size_t i = 0; i < 4; i++) {
        int x = i < 4 - pad ? value_of(p[i]) : p[i] == '=' ? 0 : -1;
        if (x < 0)
            return false;
        v = v << 6 | (uint32_t)x;
    }
    *ret = v;
    return (v & ((1u << (8 * pad)) - 1)) == 0;
}

enum rc base64_decode(struct str s, void *ret, size_t room, size_t *ret_n)
{
    uint8_t *out = ret;
    size_t n = 0;
    if (s.n % 4 != 0)
        return RC_INVALID;
    for (size_t i = 0; i < s.n; i += 4) {
        const char *p = s.p + i;
        size_t pad = i + 4 < s.n || p[3] != '=' ? 0 : p[2] == '=' ? 2 : 1;
        uint32_t v = 0;
        if (!quantum(p, pad, &v) || n + 3 - pad > room)
            return RC_INVALID;
        for (size_t k = 0; k < 3 - pad; k++)
            out[n++] = (uint8_t)(v >> (16 - 8 * k));
    }
    *ret_n = n;
    return RC_OK;
}
