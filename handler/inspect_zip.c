/* inspect_zip: end record, central directory, and the local headers it points to (APPNOTE 4.3). */
#include "handler/inspect_zip.h"

#define END_SIZE 22
#define ENTRY_SIZE 46
#define LOCAL_SIZE 30
#define COMMENT_MAX 65535
#define MADE_ON_UNIX 3
#define MODE_TYPE 0170000u
#define MODE_LINK 0120000u
#define FLAG_ENCRYPTED 1u
#define ZIP64_MARK 0xffffffffu

/* One entry of the central directory. */
struct record {
    unsigned flags, made_by, mode;
    int64_t packed, inflated, at;
    struct str name;
    size_t size; /* of the record itself */
};

static unsigned u16(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;
    return (unsigned)b[0] | (unsigned)b[1] << 8;
}

static uint32_t u32(const char *p)
{
    return (uint32_t)u16(p) | (uint32_t)u16(p + 2) << 16;
}

/* The last end record whose comment reaches exactly to the end of the file. */
static const char *find_end(struct str s)
{
    size_t most = END_SIZE + COMMENT_MAX;
    for (size_t left = END_SIZE; left <= s.n && left <= most; left++) {
        const char *p = s.p + s.n - left;
        if (memcmp(p, "PK\x05\x06", 4) == 0)
            return u16(p + 20) == left - END_SIZE ? p : NULL;
    }
    return NULL;
}

static bool read_record(struct str s, size_t at, struct record *r)
{
    const char *p = s.p + at;
    if (at > s.n || s.n - at < ENTRY_SIZE || memcmp(p, "PK\x01\x02", 4) != 0)
        return false;
    size_t name = u16(p + 28), extra = u16(p + 30), comment = u16(p + 32);
    r->size = ENTRY_SIZE + name + extra + comment;
    if (s.n - at < r->size)
        return false;
    r->flags = u16(p + 8);
    r->made_by = u16(p + 4) >> 8;
    r->mode = u32(p + 38) >> 16;
    r->packed = u32(p + 20);
    r->inflated = u32(p + 24);
    r->at = u32(p + 42);
    r->name = (struct str){p + ENTRY_SIZE, name};
    return true;
}

/* Relative, forward slashes, no part that goes up, nothing that a screen or a path takes amiss. */
static bool safe_name(struct str name)
{
    struct str rest = name, part;
    if (name.n == 0 || name.n > ZIP_NAME_MAX || *name.p == '/' || !str_is_utf8(name) ||
        !str_is_clean(name) || memchr(name.p, '\\', name.n) || memchr(name.p, ':', name.n))
        return false;
    while (str_next(&rest, '/', &part))
        if (str_is(part, "..") || str_is(part, ".") || (part.n == 0 && rest.n > 0))
            return false;
    return true;
}

static bool safe_record(struct str s, const struct record *r)
{
    if (!safe_name(r->name) || r->flags & FLAG_ENCRYPTED)
        return false;
    if (r->made_by == MADE_ON_UNIX && (r->mode & MODE_TYPE) == MODE_LINK)
        return false;
    /* The local header must be there and carry the same name: readers differ in whom
     * they believe. */
    const char *p = s.p + r->at;
    return r->at <= (int64_t)s.n - LOCAL_SIZE && memcmp(p, "PK\x03\x04", 4) == 0 &&
           u16(p + 26) == r->name.n &&
           r->at + LOCAL_SIZE + (int64_t)r->name.n + r->packed <= (int64_t)s.n &&
           memcmp(p + LOCAL_SIZE, r->name.p, r->name.n) == 0;
}

static int by_name(const void *x, const void *y)
{
    const struct str a = ((const struct zip_entry *)x)->name,
                     b = ((const struct zip_entry *)y)->name;
    int d = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
    return d ? d : (a.n > b.n) - (a.n < b.n);
}

static bool has_twins(struct arena *a, const struct zip *z)
{
    struct zip_entry *sorted = arena_alloc(a, (z->n ? z->n : 1) * sizeof *sorted);
    if (!sorted)
        return true;
    memcpy(sorted, z->entries, z->n * sizeof *sorted);
    qsort(sorted, z->n, sizeof *sorted, by_name);
    for (size_t i = 1; i < z->n; i++)
        if (str_eq(sorted[i].name, sorted[i - 1].name))
            return true;
    return false;
}

/* Entries of an honest zip lie behind each other: their packed sizes sum up to less than the file.
 * Overlapping ones, with which 42 kB can claim petabytes, sum up to more. */
static enum zip_verdict judge_sums(struct str s, int64_t packed, int64_t inflated)
{
    if (packed > (int64_t)s.n)
        return ZIP_UNSAFE;
    if (inflated > ZIP_INFLATED_MAX)
        return ZIP_TOO_LARGE;
    return inflated > ZIP_RATIO_FREE && inflated / ZIP_RATIO_MAX > (int64_t)s.n ? ZIP_UNSAFE
                                                                                : ZIP_OK;
}

static enum zip_verdict read_entries(struct str s, size_t at, size_t count, struct zip *z)
{
    int64_t packed = 0, inflated = 0;
    for (size_t i = 0; i < count; i++) {
        struct record r;
        if (!read_record(s, at, &r))
            return ZIP_BROKEN;
        if (r.packed == ZIP64_MARK || r.inflated == ZIP64_MARK || r.at == ZIP64_MARK)
            return ZIP_TOO_LARGE;
        if (!safe_record(s, &r))
            return ZIP_UNSAFE;
        packed += r.packed + LOCAL_SIZE;
        inflated += r.inflated;
        at += r.size;
        if (r.name.p[r.name.n - 1] != '/')
            z->entries[z->n++] = (struct zip_entry){r.name, r.inflated};
    }
    return judge_sums(s, packed, inflated);
}

enum rc zip_read(struct arena *a, struct str bytes, enum zip_verdict *verdict, struct zip *ret)
{
    const char *end = find_end(bytes);
    struct zip z = {0};
    *verdict = ZIP_BROKEN;
    if (!end)
        return RC_OK;
    size_t count = u16(end + 10);
    if (count > ZIP_ENTRIES_MAX) {
        *verdict = ZIP_TOO_LARGE;
        return RC_OK;
    }
    z.entries = arena_alloc(a, (count ? count : 1) * sizeof *z.entries);
    if (!z.entries)
        return RC_NOMEM;
    *verdict = read_entries(bytes, u32(end + 16), count, &z);
    if (*verdict == ZIP_OK && has_twins(a, &z))
        *verdict = ZIP_UNSAFE;
    if (*verdict == ZIP_OK)
        *ret = z;
    return RC_OK;
}
