/* listing: a set of named objects with what tells their versions apart, in one canonical form, and
 * the difference of two. Pure. Detectors make listings of foreign indexes, the handler and the
 * command line compare them.
 *
 * The canonical form is RFC 8785 JSON:
 *
 *   {"checksum":"sha256:<hex of the canonical entries>","count":2,"entries":[
 *     {"etag":…,"key":"a.zip","last_modified":…,"sha256":…,"size":…,"url":…,"version":…}, …],
 *    "listing_version":1}
 *
 * Invariants
 *   1. Entries are sorted by key, bytewise, and keys are unique: the same set gives the same bytes,
 *      in whatever order and on however many pages it came.
 *   2. What an entry does not say is absent, not empty.
 *   3. Two entries differ when both tell their sha256 and these differ; without that, when any of
 *      version, etag, size, last_modified that both tell differs, or one tells what the other does
 *      not. Another url alone is a difference too.
 *   4. Keys, urls and texts are clean (str_is_clean), bounded, and UTF-8.
 */
#ifndef FRESHET_CORE_LISTING_H
#define FRESHET_CORE_LISTING_H

#include <stdint.h>
#include "core/arena.h"
#include "core/buf.h"
#include "core/digest.h"

#define LISTING_MAX 200000    /* entries: an index of every county layer of a nation, tenfold */
#define LISTING_KEY_MAX 1024  /* a key of S3, the longest there are */
#define LISTING_TEXT_MAX 1024 /* an ETag or a version */
#define LISTING_URL_MAX 2048
#define LISTING_BYTES_MAX (64u << 20) /* of the canonical form: what json_parse reads (JSON_MAX) */

struct listing_entry {
    const char *key, *url; /* never "" */
    const char *version, *etag, *last_modified,
        *sha256;  /* NULL: not told. sha256 in lower-case hex */
    int64_t size; /* -1: not told */
};
struct listing {
    struct arena *arena;
    struct listing_entry *entries;
    size_t n, room;
};

/* Entries and their texts live in the arena, which outlives the listing. */
void listing_init(struct listing *l, struct arena *a);
/* Copies e; an empty text counts as not told, hex digits become lower case. RC_INVALID (names the
 * key) for what breaks invariant 4, RC_TOO_LARGE beyond LISTING_MAX, RC_NOMEM. */
MUST_CHECK enum rc listing_add(struct listing *l, const struct listing_entry *e, struct err *err);
/* Sorts. The same entry twice counts once; two under one key that are not alike in everything are
 * RC_INVALID. Until then, and after RC_INVALID, only listing_add and listing_close may
 * be called. */
MUST_CHECK enum rc listing_close(struct listing *l, struct err *err);
/* The canonical form of a closed listing, appended to out (LISTING_BYTES_MAX is room enough for
 * what can be read again). On failure out holds a part: throw it away. */
MUST_CHECK enum rc listing_write(const struct listing *l, struct buf *out, struct err *err);
/* Reads the canonical form, or any JSON of that shape: only `entries`, and in these key and url,
 * must be there. RC_CORRUPT when there is a checksum or a count and it is not theirs. The result
 * is closed. */
MUST_CHECK enum rc listing_read(struct arena *a, struct str text, struct listing *ret,
                                struct err *err);

/* Invariant 3. */
bool listing_differs(const struct listing_entry *old, const struct listing_entry *now);

enum listing_change { LISTING_ADDED, LISTING_MODIFIED, LISTING_REMOVED };
const char *listing_change_name(enum listing_change c); /* "added" */
/* old NULL for ADDED, new NULL for REMOVED; return RC_OK to go on. */
typedef enum rc listing_diff_fn(void *ctx, enum listing_change c, const struct listing_entry *old,
                                const struct listing_entry *now, struct err *err);
/* Calls fn for every difference, in the order of keys. Both are closed. */
MUST_CHECK enum rc listing_diff(const struct listing *old, const struct listing *now,
                                listing_diff_fn *fn, void *ctx, struct err *err);

#endif
