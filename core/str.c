/* str: comparing, splitting and checking views of bytes; hex.
 *
 * Invariants
 *   1. No function reads at or beyond p + n, and none needs a NUL there.
 *   2. Nothing depends on the locale: letters and digits are those of ASCII.
 * Called from everywhere; depends on rc alone. */
#include "core/str.h"

bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

bool str_ieq(struct str a, struct str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (lower(a.p[i]) != lower(b.p[i]))
            return false;
    return true;
}

bool str_is(struct str a, const char *z)
{
    return str_eq(a, str_of(z));
}

bool str_is_one_of(struct str s, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(s, names[i]))
            return true;
    return false;
}

bool str_starts(struct str s, struct str prefix)
{
    return s.n >= prefix.n && str_eq((struct str){s.p, prefix.n}, prefix);
}

bool str_ends(struct str s, struct str suffix)
{
    return s.n >= suffix.n && str_eq((struct str){s.p + (s.n - suffix.n), suffix.n}, suffix);
}

bool str_ihas(struct str s, struct str part)
{
    for (size_t i = 0; i + part.n <= s.n; i++)
        if (str_ieq((struct str){s.p + i, part.n}, part))
            return true;
    return false;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_skip_space(struct str s)
{
    while (s.n > 0 && is_space(s.p[0])) {
        s.p++;
        s.n--;
    }
    return s;
}

struct str str_skip_bom(struct str s)
{
    return str_starts(s, STR("\xef\xbb\xbf")) ? (struct str){s.p + 3, s.n - 3} : s;
}

struct str str_trim(struct str s)
{
    s = str_skip_space(s);
    while (s.n > 0 && is_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

bool str_next(struct str *s, char sep, struct str *head)
{
    if (s->n == 0)
        return false;
    const char *at = memchr(s->p, sep, s->n);
    size_t n = at ? (size_t)(at - s->p) : s->n;
    size_t skip = at ? n + 1 : n;
    *head = (struct str){s->p, n};
    *s = (struct str){s->p + skip, s->n - skip};
    return true;
}

enum rc str_to_i64(struct str s, int64_t *ret)
{
    bool negative = s.n > 0 && s.p[0] == '-';
    size_t i = negative ? 1 : 0;
    int64_t v = 0; /* kept negative, as INT64_MIN has no positive twin */
    if (i == s.n)
        return RC_INVALID;
    for (; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return RC_INVALID;
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, s.p[i] - '0', &v))
            return RC_INVALID;
    }
    if (!negative && v == INT64_MIN)
        return RC_INVALID;
    *ret = negative ? v : -v;
    return RC_OK;
}

static bool is_slug_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool str_is_slug(struct str s, size_t max)
{
    if (s.n == 0 || s.n > max)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!is_slug_char(s.p[i]))
            return false;
    return true;
}

bool str_is_clean(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return false;
    return true;
}

/* Bounds of the second byte keep out overlong forms (E0, F0), surrogates (ED) and what lies above
 * U+10FFFF (F4): table 3-7 of the Unicode standard. */
size_t str_utf8_len(struct str s)
{
    const unsigned char *u = (const unsigned char *)s.p;
    if (s.n == 0)
        return 0;
    if (u[0] < 0x80)
        return 1;
    size_t need = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
    if (u[0] < 0xc2 || u[0] > 0xf4 || s.n < need)
        return 0;
    unsigned char lo = u[0] == 0xe0 ? 0xa0 : u[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char hi = u[0] == 0xed ? 0x9f : u[0] == 0xf4 ? 0x8f : 0xbf;
    if (u[1] < lo || u[1] > hi)
        return 0;
    for (size_t i = 2; i < need; i++)
        if (u[i] < 0x80 || u[i] > 0xbf)
            return 0;
    return need;
}

bool str_is_utf8(struct str s)
{
    while (s.n > 0) {
        size_t n = str_utf8_len(s);
        if (n == 0)
            return false;
        s.p += n;
        s.n -= n;
    }
    return true;
}

struct str str_cut(struct str s, size_t max)
{
    if (s.n <= max)
        return s;
    size_t n = max;
    while (n > 0 && max - n < 3 && ((unsigned char)s.p[n] & 0xc0) == 0x80)
        n--;
    /* Bytes that are no UTF-8 have no boundaries: cut them where they are. */
    bool boundary = ((unsigned char)s.p[n] & 0xc0) != 0x80;
    return (struct str){s.p, boundary ? n : max};
}

static size_t least(size_t x, size_t y)
{
    return x < y ? x : y;
}

size_t str_distance(struct str a, struct str b)
{
    size_t row[STR_DISTANCE_MAX + 1]; /* from the start of a that was seen to each start of b */
    if (a.n > STR_DISTANCE_MAX || b.n > STR_DISTANCE_MAX)
        return a.n > b.n ? a.n : b.n;
    for (size_t j = 0; j <= b.n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t above = row[j];
            size_t replaced = diagonal + (a.p[i - 1] != b.p[j - 1]);
            row[j] = least(replaced, least(above, row[j - 1]) + 1);
            diagonal = above;
        }
    }
    return row[b.n];
}

const char *str_nearest(struct str word, const char *const *names, size_t n)
{
    const char *best = NULL;
    size_t best_distance = word.n <= 3 ? 2 : word.n / 3 + 2;
    for (size_t i = 0; i < n; i++) {
        struct str name = str_of(names[i]);
        /* A word that was cut off is near, however much is missing. */
        size_t d = word.n >= 3 && str_starts(name, word) ? 1 : str_distance(word, name);
        if (d < best_distance) {
            best = names[i];
            best_distance = d;
        }
    }
    return best;
}

void hex_encode(const void *bytes, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *b = bytes;
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[b[i] >> 4];
        out[2 * i + 1] = digits[b[i] & 15];
    }
    out[2 * n] = 0;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

enum rc hex_decode(struct str s, void *ret, size_t n)
{
    unsigned char *out = ret;
    if (s.n % 2 != 0 || s.n / 2 != n)
        return RC_INVALID;
    for (size_t i = 0; i < s.n; i++)
        if (hex_value(s.p[i]) < 0)
            return RC_INVALID;
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)(hex_value(s.p[2 * i]) * 16 + hex_value(s.p[2 * i + 1]));
    return RC_OK;
}
