/* pack: see pack.h. Called by generate.c, shape.c and the gzip traps of scenarios.
 *
 * The bomb is one deflate block with a Huffman table of our own: "repeat the last byte 258 times"
 * has the one-bit code 0 and its distance the one-bit code 0, so two zero bits stand for 258 bytes.
 * Its CRC is not computed over n bytes: feeding a zero byte is a linear map on the register, and
 * a linear map can be squared.
 */
#include "tests/upstream/pack.h"

#define CRC_POLY 0xedb88320u
#define STORED_MAX 65535u /* the most one stored deflate block can hold */
#define RUN 258u          /* the longest match of deflate */
#define DOS_DATE 0x21u    /* 1980-01-01 */

static uint32_t crc_zero_byte(uint32_t reg)
{
    for (int k = 0; k < 8; k++)
        reg = reg & 1 ? reg >> 1 ^ CRC_POLY : reg >> 1;
    return reg;
}

uint32_t pack_crc32(uint32_t crc, struct str s)
{
    static uint32_t table[256];
    if (!table[255]) {
        for (uint32_t i = 0; i < 256; i++)
            table[i] = crc_zero_byte(i);
    }
    crc = ~crc;
    for (size_t i = 0; i < s.n; i++)
        crc = table[(crc ^ (uint8_t)s.p[i]) & 255] ^ crc >> 8;
    return ~crc;
}

static uint32_t map_apply(const uint32_t map[32], uint32_t v)
{
    uint32_t sum = 0;
    for (int i = 0; i < 32; i++)
        sum ^= v >> i & 1 ? map[i] : 0;
    return sum;
}

static uint32_t crc32_of_zeros(uint64_t n)
{
    uint32_t map[32], square[32], reg = ~0u;
    for (int i = 0; i < 32; i++)
        map[i] = crc_zero_byte(1u << i);
    for (; n; n >>= 1) {
        if (n & 1)
            reg = map_apply(map, reg);
        for (int i = 0; i < 32; i++)
            square[i] = map_apply(map, map[i]);
        memcpy(map, square, sizeof map);
    }
    return ~reg;
}

static void put16(struct buf *b, unsigned v)
{
    buf_byte(b, (char)(v & 255));
    buf_byte(b, (char)(v >> 8 & 255));
}

static void put32(struct buf *b, uint32_t v)
{
    put16(b, v & 0xffff);
    put16(b, v >> 16);
}

/* The fields that a local header and a central entry share, from "version needed" on. */
static void zip_common(struct buf *out, const struct pack_member *m)
{
    put16(out, 10); /* version needed: 1.0, stored */
    put16(out, 0);  /* flags */
    put16(out, 0);  /* method: stored */
    put16(out, 0);  /* time */
    put16(out, DOS_DATE);
    put32(out, pack_crc32(0, m->data));
    put32(out, (uint32_t)m->data.n);
    put32(out, (uint32_t)m->data.n);
    put16(out, (unsigned)strlen(m->name));
    put16(out, 0); /* extra */
}

static void zip_central(struct buf *out, const struct pack_member *m, size_t offset)
{
    buf_puts(out, "PK\x01\x02");
    put16(out, 20); /* made by: 2.0, FAT */
    zip_common(out, m);
    put16(out, 0); /* comment */
    put16(out, 0); /* disk */
    put16(out, 0); /* internal attributes */
    put32(out, 0); /* external attributes */
    put32(out, (uint32_t)offset);
    buf_puts(out, m->name);
}

void pack_zip(struct buf *out, const struct pack_member *members, size_t n)
{
    size_t base = out->len, offset[PACK_MEMBERS_MAX];
    n = n < PACK_MEMBERS_MAX ? n : PACK_MEMBERS_MAX;
    for (size_t i = 0; i < n; i++) {
        offset[i] = out->len - base;
        buf_puts(out, "PK\x03\x04");
        zip_common(out, &members[i]);
        buf_puts(out, members[i].name);
        buf_str(out, members[i].data);
    }
    size_t directory = out->len - base;
    for (size_t i = 0; i < n; i++)
        zip_central(out, &members[i], offset[i]);
    size_t length = out->len - base - directory;
    buf_puts(out, "PK\x05\x06");
    put32(out, 0); /* disk numbers */
    put16(out, (unsigned)n);
    put16(out, (unsigned)n);
    put32(out, (uint32_t)length);
    put32(out, (uint32_t)directory);
    put16(out, 0); /* comment */
}

static void gzip_header(struct buf *out)
{
    buf_add(out, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", 10); /* no name, no time */
}

void pack_gzip(struct buf *out, struct str s)
{
    gzip_header(out);
    size_t at = 0;
    do {
        size_t n = s.n - at < STORED_MAX ? s.n - at : STORED_MAX;
        buf_byte(out, at + n == s.n); /* the last block says so */
        put16(out, (unsigned)n);
        put16(out, ~(unsigned)n & 0xffff);
        buf_add(out, s.p + at, n);
        at += n;
    } while (at < s.n);
    put32(out, pack_crc32(0, s));
    put32(out, (uint32_t)s.n);
}

struct bits {
    struct buf *out;
    unsigned held, n;
};

/* The lowest bit goes first, as deflate wants it; codes below are written already reversed. */
static void bits_put(struct bits *w, unsigned v, unsigned n)
{
    w->held |= v << w->n;
    w->n += n;
    for (; w->n >= 8; w->n -= 8, w->held >>= 8)
        buf_byte(w->out, (char)(w->held & 255));
}

/* Code lengths: literal 0 and end-of-block two bits, "258 bytes" one bit, distance 1 one bit. */
static void bomb_table(struct bits *w)
{
    static const uint8_t lengths_of_lengths[18] = {[2] = 1, [15] = 2, [17] = 2}; /* of 18, 2, 1 */
    bits_put(w, 1, 1);                                                           /* last block */
    bits_put(w, 2, 2);                                                           /* own table */
    bits_put(w, 286 - 257, 5);
    bits_put(w, 1 - 1, 5);
    bits_put(w, 18 - 4, 4);
    for (size_t i = 0; i < ARRAY_LEN(lengths_of_lengths); i++)
        bits_put(w, lengths_of_lengths[i], 3);
    bits_put(w, 3, 2);               /* literal 0 has length 2 */
    bits_put(w, (138 - 11) << 1, 8); /* 255 symbols have none */
    bits_put(w, (117 - 11) << 1, 8);
    bits_put(w, 3, 2);              /* end of block has length 2 */
    bits_put(w, (28 - 11) << 1, 8); /* 28 have none */
    bits_put(w, 1, 2);              /* length 258 has length 1 */
    bits_put(w, 1, 2);              /* distance 1 has length 1 */
}

void pack_bomb(struct buf *out, uint64_t n)
{
    struct bits w = {.out = out};
    gzip_header(out);
    bomb_table(&w);
    uint64_t runs = n ? (n - 1) / RUN : 0;
    uint64_t singles = n ? n - runs * RUN : 0;
    for (uint64_t i = 0; i < singles; i++)
        bits_put(&w, 1, 2);
    for (uint64_t i = 0; i < runs; i++)
        bits_put(&w, 0, 2);
    bits_put(&w, 3, 2); /* end of block */
    bits_put(&w, 0, 7); /* up to the next whole byte */
    put32(out, crc32_of_zeros(n));
    put32(out, (uint32_t)n);
}
