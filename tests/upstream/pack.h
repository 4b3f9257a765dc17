/* pack: the two containers that upstreams wrap data in, written by our own code so that the
 * upstream needs no compression library: zip archives (stored, not deflated) and gzip (stored,
 * or a bomb of zeros). Pure functions of their input: the same members give the same bytes.
 */
#ifndef FRESHET_UPSTREAM_PACK_H
#define FRESHET_UPSTREAM_PACK_H

#include "tests/upstream/blob.h"

#define PACK_MEMBERS_MAX 64

struct pack_member {
    const char *name;
    struct str data;
};

/* CRC-32 of zip and gzip; start with crc 0 and feed the result back to continue. */
uint32_t pack_crc32(uint32_t crc, struct str s);

/* A zip archive with local headers, central directory and end record. The time of all members is
 * 1980-01-01 00:00, the earliest a zip can tell, so that bytes depend on content alone. */
void pack_zip(struct buf *out, const struct pack_member *members, size_t n);

/* gzip of s in stored blocks. */
void pack_gzip(struct buf *out, struct str s);
/* gzip that inflates to n zero bytes, about a thousand times its own size. */
void pack_bomb(struct buf *out, uint64_t n);

#endif
