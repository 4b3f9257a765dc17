/* str: views of bytes that somebody else owns. Not NUL-terminated; may hold any byte. */
#ifndef FRESHET_CORE_STR_H
#define FRESHET_CORE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "core/rc.h"

struct str {
    const char *p;
    size_t n;
};

#define STR(literal) ((struct str){"" literal, sizeof(literal) - 1})
/* For printf: "%.*s", STR_FMT(s) */
#define STR_FMT(s) (int)(s).n, (s).p
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static inline struct str str_of(const char *z)
{
    return (struct str){z ? z : "", z ? strlen(z) : 0};
}

bool str_eq(struct str a, struct str b);
bool str_ieq(struct str a, struct str b); /* ASCII case only */
bool str_is(struct str a, const char *z);
bool str_is_one_of(struct str s, const char *const *names, size_t n);
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
bool str_ihas(struct str s, struct str part); /* anywhere in it; ASCII case only */
/* Without spaces, tabs, CR and LF at both ends. */
struct str str_trim(struct str s);
/* Without spaces, tabs, CR and LF at its start; without the byte order mark of UTF-8 there. */
struct str str_skip_space(struct str s);
struct str str_skip_bom(struct str s);
/* Splits at the first `sep`: *head is before it, *s becomes what follows. False when s is empty:
 *   while (str_next(&list, ',', &item)) ...   An absent sep yields the whole rest. */
bool str_next(struct str *s, char sep, struct str *head);
/* All of s must be decimal digits (with '-' allowed in front) and fit. */
MUST_CHECK enum rc str_to_i64(struct str s, int64_t *ret);
/* Is every byte one of [a-z0-9_-] and the length 1..max? The form of all our ids. */
bool str_is_slug(struct str s, size_t max);
/* Printable, no CR, LF, NUL or other controls: fit for a header line or a log. */
bool str_is_clean(struct str s);
/* Valid UTF-8 without surrogates and overlong forms. */
bool str_is_utf8(struct str s);
/* Length of the valid UTF-8 sequence that s starts with (1..4), 0 when there is none. */
size_t str_utf8_len(struct str s);
/* The start of s, at most max bytes, that does not end inside a UTF-8 sequence. */
struct str str_cut(struct str s, size_t max);
/* The same for printf: "%.*s", STR_CUT(text, 60) */
#define STR_CUT(z, max) STR_FMT(str_cut(str_of(z), (max)))

/* Insertions, deletions and replacements that turn a into b (Levenshtein). Where one is longer than
 * STR_DISTANCE_MAX, the most there can be: as many as the longer has bytes. */
#define STR_DISTANCE_MAX 64
size_t str_distance(struct str a, struct str b);
/* The name that a mistyped or cut word probably meant, or NULL when none is near. */
const char *str_nearest(struct str word, const char *const *names, size_t n);

void hex_encode(const void *bytes, size_t n, char *out); /* writes 2n + 1 characters */
/* s must be exactly 2n hex digits, either case. */
MUST_CHECK enum rc hex_decode(struct str s, void *ret, size_t n);

#endif
