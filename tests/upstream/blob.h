/* blob: bytes that several replies may be sending at once, counted.
 *
 * A slow reply keeps the bytes it began with, whatever happens to its resource meanwhile: it
 * holds a reference of its own.
 *
 * Invariants
 *   1. The bytes of a sealed blob do not change; `tag` is the start of their sha256.
 *   2. No blob is larger than BLOB_MAX.
 *
 * Used by every file of the upstream that holds or makes bodies.
 */
#ifndef FRESHET_UPSTREAM_BLOB_H
#define FRESHET_UPSTREAM_BLOB_H

#include <stddef.h>
#include <stdint.h>
#include "core/buf.h"
#include "core/str.h"

#define BLOB_MAX (64u << 20) /* larger bodies are played with `endless`, which holds none */
#define BLOB_TAG 17          /* 16 hex digits and the NUL */

struct blob {
    unsigned refs;
    size_t n;
    char tag[BLOB_TAG];
    struct blob *gzip; /* the same bytes encoded, made when first asked for */
    char data[];
};

/* A blob with one reference and n bytes to be filled, then sealed. NULL: no memory or too large. */
struct blob *blob_new(size_t n);
void blob_seal(struct blob *b);
/* A copy of bytes that nobody will ask the tag of: not sealed, which saves the digest. */
struct blob *blob_plain(struct str s);
/* Sealed copies of bytes; of a buffer that had failed, NULL. */
struct blob *blob_copy(struct str s);
struct blob *blob_of_buf(const struct buf *b);

struct blob *blob_ref(struct blob *b); /* NULL stays NULL */
void blob_drop(struct blob **b);       /* fits CLEANUP; sets *b to NULL */

static inline struct str blob_view(const struct blob *b)
{
    return b ? (struct str){b->data, b->n} : (struct str){"", 0};
}

#endif
