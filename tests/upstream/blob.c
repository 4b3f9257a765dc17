/* blob: see blob.h. Called by whoever makes or sends a body. */
#include "tests/upstream/blob.h"

#include "core/digest.h"

struct blob *blob_new(size_t n)
{
    if (n > BLOB_MAX)
        return NULL;
    struct blob *b = malloc(sizeof *b + n);
    if (!b)
        return NULL;
    *b = (struct blob){.refs = 1, .n = n};
    return b;
}

void blob_seal(struct blob *b)
{
    struct sha256 digest;
    char hex[SHA256_HEX];
    digest_mbed_sha256(b->data, b->n, &digest);
    sha256_hex(&digest, hex);
    memcpy(b->tag, hex, BLOB_TAG - 1);
    b->tag[BLOB_TAG - 1] = '\0';
}

struct blob *blob_plain(struct str s)
{
    struct blob *b = blob_new(s.n);
    if (b)
        memcpy(b->data, s.p, s.n);
    return b;
}

struct blob *blob_copy(struct str s)
{
    struct blob *b = blob_plain(s);
    if (b)
        blob_seal(b);
    return b;
}

struct blob *blob_of_buf(const struct buf *b)
{
    return buf_rc(b) == RC_OK ? blob_copy(buf_view(b)) : NULL;
}

struct blob *blob_ref(struct blob *b)
{
    if (b)
        b->refs++;
    return b;
}

void blob_drop(struct blob **b)
{
    if (*b && --(*b)->refs == 0) {
        blob_drop(&(*b)->gzip);
        free(*b);
    }
    *b = NULL;
}
