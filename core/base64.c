/* base64: letters to bytes, by arithmetic instead of a table, as secrets and signatures pass here
 * (invariant 2). Called from everywhere; depends on str alone. */
#include "core/base64.h"

/* 0xff when lo <= c <= hi, else 0. */
static unsigned in_range(unsigned c, unsigned lo, unsigned hi)
{
    return ~(((c - lo) | (hi - c)) >> 8) & 0xff;
}

/* The six bits of a letter, 0x100 for a letter of another alphabet. */
static unsigned value_of(char letter, enum base64 kind)
{
    const unsigned plus = kind == BASE64_URL ? '-' : '+', slash = kind == BASE64_URL ? '_' : '/';
    const struct {
        unsigned lo, hi, value;
    } ranges[] = {
        {'A', 'Z', 0}, {'a', 'z', 26}, {'0', '9', 52}, {plus, plus, 62}, {slash, slash, 63}};
    unsigned c = (unsigned char)letter, v = 0, good = 0;
    for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
        unsigned here = in_range(c, ranges[i].lo, ranges[i].hi);
        v |= here & (c - ranges[i].lo + ranges[i].value);
        good |= here;
    }
    return v | (~good & 1) << 8;
}

/* Without its padding; RC_INVALID when that is not what the kind wants. */
static enum rc strip(struct str *s, enum base64 kind)
{
    if (kind == BASE64_URL)
        return s->n % 4 == 1 ? RC_INVALID : RC_OK;
    if (s->n % 4 != 0)
        return RC_INVALID;
    for (int i = 0; i < 2 && s->n > 0 && s->p[s->n - 1] == '='; i++)
        s->n--;
    return RC_OK;
}

enum rc base64_decode(struct str s, enum base64 kind, void *ret, size_t room, size_t *ret_n)
{
    unsigned char *out = ret;
    unsigned bits = 0, bad = 0;
    size_t n = 0;
    TRY(strip(&s, kind));
    if (s.n / 4 * 3 + (s.n % 4 ? s.n % 4 - 1 : 0) > room)
        return RC_TOO_LARGE;
    for (size_t i = 0; i < s.n; i++) {
        unsigned v = value_of(s.p[i], kind);
        bad |= v & 0x100;
        bits = (bits << 6 | (v & 0x3f)) & 0xffffff;
        if (i % 4 != 0)
            out[n++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
    }
    /* Two letters leave four bits over, three leave two. */
    unsigned over = s.n % 4 == 2 ? 0x0f : s.n % 4 == 3 ? 0x03 : 0;
    if (bad || (bits & over))
        return RC_INVALID;
    *ret_n = n;
    return RC_OK;
}

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(const void *bytes, size_t n, char *out)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t b1 = i + 1 < n ? p[i + 1] : 0, b2 = i + 2 < n ? p[i + 2] : 0;
        uint32_t v = (uint32_t)p[i] << 16 | b1 << 8 | b2;
        *out++ = letters[v >> 18];
        *out++ = letters[v >> 12 & 63];
        *out++ = i + 1 < n ? letters[v >> 6 & 63] : '=';
        *out++ = i + 2 < n ? letters[v & 63] : '=';
    }
    *out = '\0';
}
